// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records that a session makes of a plan, as a format gets them: this test's own format, which
 * keeps what it needs.
 */
#include "unit.h"

#include <string.h>

#include "base/text.h"
#include "output/ops.h"
#include "session/counts.h"
#include "session/resolve.h"
#include "session/sites.h"
#include "target/numbers.h"

static void note_counts(struct output *output, const struct output_count *counts, size_t count)
{
	struct text *notes = output->state;

	for (size_t i = 0; i < count; i++) {
		text_printf(notes, "%s %d:", counts[i].method, (int)counts[i].calls);
		for (size_t j = 0; j < counts[i].body_count; j++)
			text_printf(notes, " %s=%d", counts[i].bodies[j].tier,
				    (int)counts[i].bodies[j].calls);
		for (size_t j = 0; counts[i].lower_bound && counts[i].lower_bound[j]; j++)
			text_printf(notes, " <%s", counts[i].lower_bound[j]);
		if (counts[i].lower_bound)
			text_printf(notes, " of %d, %.2f", (int)counts[i].all_calls,
				    counts[i].watched);
		text_add(notes, "\n");
	}
}

static void note_site(struct output *output, const struct output_site *site)
{
	struct text *notes = output->state;

	text_printf(notes, "%s%s %s", site->first ? "* " : "", site->method, site->mechanism);
	text_printf(notes, " %s", site->file ? site->file : "-");
	text_printf(notes, "%s%s", site->file_has_path ? " path" : "",
		    site->file_is_here ? " here" : "");
	text_printf(notes, "%s%s%s", site->placed ? " placed" : "",
		    site->by_address ? " address" : "", site->by_stub ? " stub" : "");
	text_printf(notes, " %s", site->reason ? site->reason : "-");
	text_printf(notes, " %s", site->cost ? site->cost : "-");
	for (size_t i = 0; site->names_from[i]; i++)
		text_printf(notes, " (%s)", site->names_from[i]);
	/* Nothing is known of inlining without metadata. */
	assert_null(site->inlined_into);
	assert_false(site->inlined_whole);
	assert_int_equal(site->pid, 4711);
	text_add(notes, "\n");
}

static const struct output_ops notes_output = { .counts = note_counts, .site = note_site };

static char a_b[] = "A::b()", b_c[] = "B::c()", c_d[] = "C::d()";

static struct site sites[] = {
	{ .method = c_d,
	  .image = "d.so",
	  .tier = TIER_NATIVE,
	  .mechanism = MECHANISM_UPROBE,
	  .cost = INSN_SINGLE_STEPPED,
	  .file = 1,
	  .offset = { 0x10 },
	  .sources = 1 << NAME_SOURCE_SYMBOLS },
	{ .method = a_b,
	  .image = "a.dll",
	  .tier = TIER_R2R,
	  .mechanism = MECHANISM_UPROBE,
	  .cost = INSN_EMULATED,
	  .offset = { 0x20 },
	  .sources = 1 << NAME_SOURCE_METADATA | 1 << NAME_SOURCE_PERF_MAP },
	{ .method = a_b,
	  .image = "a.dll",
	  .tier = TIER_TIER1,
	  .mechanism = MECHANISM_BREAKPOINT,
	  .stub = true,
	  .file = BODY_NO_FILE,
	  .sources = 1ULL << 63 },
	{ .method = a_b,
	  .image = "a.dll",
	  .tier = TIER_TIER0,
	  .mechanism = MECHANISM_NONE,
	  .reason = REASON_SUPERSEDED,
	  .file = BODY_NO_FILE },
	{ .method = b_c,
	  .image = "a.dll",
	  .mechanism = MECHANISM_NONE,
	  .reason = REASON_NO_IL,
	  .file = 2 },
};

enum { SITES = sizeof(sites) / sizeof(sites[0]) };

static char here[] = "/app/a.dll", there[] = "/app/d.so", gone[] = "/gone";
static char from_here[] = "/proc/1/root/app/d.so";

static struct target_file files[] = {
	{ .path = here, .user_path = here, .name = "a.dll" },
	{ .path = there, .user_path = from_here, .name = "d.so" },
	{ .path = gone, .name = "gone" },
};

static struct target_file *by_number[] = { &files[0], &files[1], &files[2] };

static struct plan plan = { .sites = sites, .count = SITES };

static int set_up(void **state)
{
	(void)state;
	return plan_sort_methods(&plan, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	free(plan.by_method);
	return 0;
}

static const char *code(unsigned int reason)
{
	static const char *const codes[] = { "one", "two", "two", "three" };

	return codes[reason];
}

UNIT_TEST(calls_by_method)
{
	static const uint64_t calls[SITES] = { 5, 12, 30, 0, 0 };
	static const uint32_t masks[SITES] = { 0, 1 << 1 | 1 << 3, 1 << 2, 1, 0 };
	static const double watched[SITES] = { 0.75, 0, 0, 1, 1 };
	static const uint64_t all_calls[SITES] = { 50, 20, 40, 9, 0 };
	const struct count_bounds bounds = {
		.of_sites = masks,
		.reasons = 4,
		.code = code,
		.watched = watched,
		.all_calls = all_calls,
	};
	struct text notes = { 0 };
	struct output output = { .ops = &notes_output, .state = &notes };

	assert_int_equal(counts_write(&output, &plan, calls, NULL, NULL), 0);
	assert_string_equal(text_chars(&notes), "A::b() 42: r2r=12 tier1=30\n"
						"C::d() 5: native=5\n");
	text_clear(&notes);
	assert_int_equal(counts_write(&output, &plan, calls, &bounds, NULL), 0);
	assert_string_equal(text_chars(&notes),
			    "A::b() 42: r2r=12 tier1=30 <one <two <three of 60, 0.75\n"
			    "C::d() 5: native=5 of 50, 1.00\n");
	text_deinit(&notes);
}

UNIT_TEST(sites_of_a_plan)
{
	struct target target = {
		.process.pid = 4711,
		.files = {
			.files = files,
			.count = 3,
			.by_number = by_number,
			.number_capacity = 3,
		},
	};
	struct resolution resolution = { .target = &target };
	struct text notes = { 0 };
	struct output output = { .ops = &notes_output, .state = &notes };

	assert_int_equal(sites_write(&output, &plan, &resolution, false, NULL), 0);
	assert_string_equal(
		text_chars(&notes),
		"* A::b() uprobe /app/a.dll path here placed - emulated (cheap)"
		" (metadata) (perf map)\n"
		"A::b() breakpoint - placed address stub - - (?)\n"
		"A::b() none - superseded -\n"
		"* B::c() none /gone no-il -\n"
		"* C::d() uprobe /app/d.so path placed - single-stepped (several times dearer)"
		" (symbols)\n");
	text_clear(&notes);
	/* Commands come as the plan has its sites. */
	assert_int_equal(sites_write(&output, &plan, &resolution, true, NULL), 0);
	assert_memory_equal(text_chars(&notes), "* C::d()", strlen("* C::d()"));
	text_deinit(&notes);
}

UNIT_MAIN(set_up, tear_down)
