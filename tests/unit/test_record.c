// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recorded and replayed: what comes out of a record, in each format, is what came out beside it, or
 * what would have come with other options; and what is left of records that were damaged.
 */
#include "unit.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "latency/latency.h"
#include "record/record.h"
#include "record/replay.h"
#include "tests/unit/scratch.h"

static char record_path[PATH_MAX], live_path[PATH_MAX], replay_path[PATH_MAX];

static int set_up(void **state)
{
	if (scratch_make(state))
		return -1;
	snprintf(record_path, PATH_MAX, "%s", scratch_path("record"));
	snprintf(live_path, PATH_MAX, "%s", scratch_path("live"));
	snprintf(replay_path, PATH_MAX, "%s", scratch_path("replay"));
	return 0;
}

static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	char *bytes;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*size = (size_t)st.st_size;
	bytes = calloc(1, *size + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

/* Runs ---------------------------------------------------------------------------------------- */

/* A run's records, as session/ makes them; @record: NULL, it is not recorded. */
typedef void run_fn(struct output *output, struct record *record, const struct options *options);

/* What the run prints at @path, as @options ask for; recorded if they ask for that. */
static void run(run_fn *records, const struct options *asked, const char *path)
{
	struct options options = *asked;
	struct record *record = NULL;
	struct error err = { .text = "" };
	struct output output;

	options.output_path = path;
	options.memory_bytes = 64 << 20;
	assert_int_equal(output_open(&output, &options, &err), 0);
	output.start_ns = 500;
	output.wall_offset_ns = 1700000000123456789;
	output.zone_s = 3600;
	if (options.record_path)
		assert_int_equal(record_create(&record, &options, &output, &err), 0);
	output.start_ns = 1000;
	if (record)
		record_start(record);
	records(&output, record, &options);
	output.end_ns = 9999999;
	assert_int_equal(output_close(&output, &err), 0);
	assert_int_equal(record_close(record, &err), 0);
}

static enum replay_status replay(const struct options *asked, struct error *err)
{
	struct options options = *asked;

	options.output_path = replay_path;
	options.replay_path = record_path;
	options.record_path = NULL;
	options.memory_bytes = 64 << 20;
	/* Other tests come after it, in this process. */
	options.no_sandbox = true;
	return replay_run(&options, err);
}

static void assert_same_files(const char *a, const char *b)
{
	size_t a_size, b_size;
	char *a_bytes = read_all(a, &a_size), *b_bytes = read_all(b, &b_size);

	assert_true(a_size > 0);
	if (a_size != b_size || memcmp(a_bytes, b_bytes, a_size) != 0)
		print_error("live:\n%s\nreplayed:\n%s\n", a_bytes, b_bytes);
	assert_int_equal(a_size, b_size);
	assert_memory_equal(a_bytes, b_bytes, a_size);
	free(a_bytes);
	free(b_bytes);
}

static void record_run(run_fn *records, struct options options)
{
	options.record_path = record_path;
	run(records, &options, live_path);
}

/* The record at hand gives what a run with @options would have. */
static void assert_replays(run_fn *records, const struct options *options)
{
	struct error err = { .text = "" };

	run(records, options, live_path);
	assert_int_equal(replay(options, &err), REPLAY_OK);
	assert_same_files(live_path, replay_path);
}

static void assert_refused(const struct options *options, const char *why)
{
	struct error err = { .text = "" };

	assert_int_equal(replay(options, &err), REPLAY_REFUSED);
	if (!strstr(err.text, why))
		print_error("%s\n", err.text);
	assert_non_null(strstr(err.text, why));
}

/* Hits ---------------------------------------------------------------------------------------- */

static const struct frame frames[] = {
	{ .kind = FRAME_DOTNET,
	  .address = { 0x1000 },
	  .name = "A::b(int32)",
	  .module = "a (1).dll",
	  .offset = 0x1f,
	  .in_file = true,
	  .file_offset = 0x2f,
	  .source = "/src/A \x01.cs",
	  .line = 12,
	  .made_from = "state machine of A::c()",
	  .tier = NULL },
	{ .kind = FRAME_NATIVE,
	  .address = { 0x2000 },
	  .module = "lib\x1b\".so",
	  .offset = 0x20,
	  .guessed = true,
	  .unmanaged = true },
	{ .kind = FRAME_STUB, .address = { 0x3000 }, .name = "[stub]" },
	{ .kind = FRAME_V8,
	  .address = { UINT64_MAX },
	  .name = "Shop.\"o\\r\xff\xc3\xa4\n",
	  .source = "my shop\n.js",
	  .line = UINT32_MAX,
	  .column = 5,
	  .tier = "maglev",
	  .inlined = true },
	{ .kind = FRAME_DOTNET, .address = { 0x3900 }, .name = "Left::", .unmanaged = true },
	{ .kind = FRAME_NATIVE,
	  .address = { 0x3a00 },
	  .name = "operator new(unsigned long)",
	  .module = "libc.so.6",
	  .inlined = true,
	  .unmanaged = true },
	{ .kind = FRAME_UNKNOWN, .address = { 0x7fffffff4000 } },
};
/* Of these, which a managed stack has. */
static const size_t managed_frames[] = { 0, 2, 3, 6 };

enum { FRAMES = sizeof(frames) / sizeof(frames[0]) };

static void write_hits(struct output *output, struct record *record, const struct options *options)
{
	struct frame of_stack[FRAMES];
	struct rendering rendering = { 0 };
	struct stack stack = { .frames = of_stack, .end = STACK_BROKEN, .guessed = 1 };
	struct hit hit = { .time_ns = 2001,
			   .pid = 7,
			   .tid = 123456,
			   .comm = "w\x01rk 3;",
			   .method = "A::b(int32)",
			   .tier = "tier1",
			   .stack = &stack };
	const struct stack busy = { .end = STACK_BUSY };
	const struct output_unshown shed[] = {
		{ .method = "A::b(int32)", .sampled_out = 3, .shed = 4 }, { .method = NULL }
	};
	static const struct output_unshown filtered[] = {
		{ .method = "A::b()", .filtered = 5, .undecided = 6 }, { .method = NULL }
	};
	const struct output_loss losses[] = { { "ring-buffer-full", 3 }, { "v8-moved", 1 }, { 0 } };
	const char *const bounds[] = { "inlined", "late", NULL };
	struct output_stacks stacks = { .ends = { 0, 0, 1 }, .guessed = 2 };
	const struct output_body bodies[] = { { "r2r", 2 }, { "tier1", 5 } };
	const struct output_count count = { .method = "A::b(int32)",
					    .calls = 7,
					    .bodies = bodies,
					    .body_count = 2,
					    .lower_bound = bounds,
					    .watched = 0.25,
					    .all_calls = 7 };
	const struct output_loss counted[] = { { 0 } }, without_stacks[] = { losses[0], { 0 } };
	bool counts = options->mode == MODE_COUNT;

	for (size_t i = 0; i < FRAMES; i++) {
		if (options->stack == STACK_MODE_MANAGED && !record && frames[i].unmanaged)
			continue;
		of_stack[stack.count++] = frames[i];
	}
	if (options->stack == STACK_MODE_MANAGED && !record) {
		assert_int_equal(stack.count, sizeof(managed_frames) / sizeof(size_t));
		for (size_t i = 0; i < stack.count; i++)
			assert_int_equal(of_stack[i].address.value,
					 frames[managed_frames[i]].address.value);
	}
	if (options->stack == STACK_MODE_NONE)
		hit.stack = NULL;
	for (int i = 0; i < 3 && !counts; i++) {
		output_hit(output, &hit);
		hit.time_ns += 10 - 15 * (uint64_t)i;
		stack.rendering = &rendering;
		hit.tid = 7 + i;
	}
	hit.comm = "";
	hit.stack = hit.stack ? &busy : NULL;
	hit.time_ns = 12345678901234;
	if (!counts)
		output_hit(output, &hit);
	if (record) {
		record_totals_begin(record);
		output_counts(record_output(record), &count, 1);
		record_totals_end(record);
	}
	if (counts)
		output_counts(output, &count, 1);
	output_kept(output);
	output_summary(
		output,
		&(struct output_summary){
			.hits = counts ? 7 : 4,
			.calls = 7,
			.shed = counts ? NULL : shed,
			.filtered = filtered,
			.losses = counts			    ? counted :
				  options->stack == STACK_MODE_NONE ? without_stacks :
								      losses,
			.lower_bound = bounds,
			.stacks = counts || options->stack == STACK_MODE_NONE ? NULL : &stacks });
	free(rendering.text);
}

UNIT_TEST(hits_in_each_format)
{
	static const struct options each[] = {
		{ .mode = MODE_HITS },
		{ .mode = MODE_HITS, .wall_clock = true },
		{ .mode = MODE_HITS, .format = FORMAT_JSON },
		{ .mode = MODE_HITS, .format = FORMAT_JSON, .wall_clock = true },
		{ .mode = MODE_HITS, .stack = STACK_MODE_MANAGED },
		{ .mode = MODE_FOLDED, .stack = STACK_MODE_MANAGED },
		{ .mode = MODE_HITS, .stack = STACK_MODE_NONE },
		{ .mode = MODE_HITS, .stack = STACK_MODE_NONE, .format = FORMAT_JSON },
		{ .mode = MODE_HITS, .format = FORMAT_PERF_SCRIPT },
		{ .mode = MODE_HITS, .format = FORMAT_SPEEDSCOPE },
		{ .mode = MODE_HITS, .format = FORMAT_TRACE_EVENT },
		{ .mode = MODE_HITS, .format = FORMAT_TRACE_EVENT, .stack = STACK_MODE_NONE },
		{ .mode = MODE_HITS, .format = FORMAT_PPROF },
		{ .mode = MODE_FOLDED },
		{ .mode = MODE_FOLDED, .format = FORMAT_JSON },
		{ .mode = MODE_FOLDED, .by = LATENCY_BY_TID },
		{ .mode = MODE_COUNT },
		{ .mode = MODE_COUNT, .format = FORMAT_JSON },
		{ .mode = MODE_COUNT, .format = FORMAT_OPENMETRICS },
	};

	record_run(write_hits, each[0]);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		assert_replays(write_hits, &each[i]);
}

/* Beside a record, the output lacks what a managed stack lacks, and the record does not. */
UNIT_TEST(managed_stacks)
{
	static const struct options full = { .mode = MODE_HITS, .format = FORMAT_JSON };
	static const struct options managed = { .mode = MODE_HITS,
						.format = FORMAT_JSON,
						.stack = STACK_MODE_MANAGED };
	struct error err = { .text = "" };

	record_run(write_hits, managed);
	assert_int_equal(replay(&managed, &err), REPLAY_OK);
	assert_same_files(live_path, replay_path);
	assert_replays(write_hits, &managed);
	assert_replays(write_hits, &full);
}

UNIT_TEST(what_hits_do_not_hold)
{
	record_run(write_hits, (struct options){ .mode = MODE_HITS });
	assert_refused(&(struct options){ .mode = MODE_HIST }, "--hist cannot be had of it");
	assert_refused(&(struct options){ .mode = MODE_LIST }, "--list cannot be had of it");
	assert_refused(&(struct options){ .mode = MODE_FOLDED, .interval_ns = 5 },
		       "-i cannot be had of it");
	assert_refused(&(struct options){ .mode = MODE_HITS, .format = FORMAT_OPENMETRICS },
		       "it goes with -c and -H");
	record_run(write_hits, (struct options){ .mode = MODE_HITS, .stack = STACK_MODE_NONE });
	assert_refused(&(struct options){ .mode = MODE_FOLDED }, "it was made with --no-stack");
}

UNIT_TEST(no_run_of_that_mode_is_recorded)
{
	const struct options options = { .mode = MODE_HITS };
	struct error err = { .text = "" };

	record_run(write_hits, (struct options){ .mode = MODE_TRACE });
	assert_int_equal(replay(&options, &err), REPLAY_FAILED);
	assert_non_null(strstr(err.text, "makes no sense"));
}

/* Calls that have ended, of which a later --min takes the longer ones. */
static void write_calls(struct output *output, struct record *record, const struct options *options)
{
	struct frame frame = frames[0];
	struct stack stack = { .frames = &frame, .count = 1 };
	const struct output_loss none = { 0 };
	const char *const no_bounds[] = { NULL };
	struct output_stacks stacks = { .guessed = 0 };
	uint64_t shown = 0;

	(void)record;
	for (uint64_t ns = 1000; ns < 5000; ns += 500) {
		if (ns < options->slow_ns)
			continue;
		output_hit(output, &(struct hit){ .time_ns = 5000 + ns,
						  .pid = 1,
						  .tid = 1,
						  .comm = "c",
						  .method = "M::m()",
						  .tier = "r2r",
						  .duration_ns = ns,
						  .stack = &stack });
		stacks.ends[STACK_WHOLE]++;
		shown++;
	}
	output_kept(output);
	output_summary(output, &(struct output_summary){ .hits = shown,
							 .calls = 100,
							 .losses = &none,
							 .lower_bound = no_bounds,
							 .stacks = &stacks });
}

UNIT_TEST(slow_calls)
{
	struct options options = { .mode = MODE_HIST, .timed = true, .slow_ns = 1500 };
	struct error err = { .text = "" };

	record_run(write_calls, options);
	assert_int_equal(replay(&(struct options){ .mode = MODE_HITS }, &err), REPLAY_OK);
	assert_same_files(live_path, replay_path);
	options.slow_ns = 3000;
	assert_replays(write_calls, &options);
	options.format = FORMAT_JSON;
	assert_replays(write_calls, &options);
	options.format = FORMAT_PPROF;
	assert_replays(write_calls, &options);
	options.slow_ns = 1400;
	assert_refused(&options, "it holds calls from 1500 ns on");
	options = (struct options){ .mode = MODE_HIST };
	assert_refused(&options, "--hist cannot be had of it: it holds slow calls");
}

/* Merged stacks ------------------------------------------------------------------------------- */

static void write_kinds(struct output *output, struct record *record, const struct options *options)
{
	struct frame first = frames[0], second = frames[3];
	struct stack stack = { .frames = &first, .count = 1 },
		     other = { .frames = &second, .count = 1 };
	struct hit hit = {
		.pid = 1, .tid = 5, .comm = "k", .method = "m", .tier = "r2r", .stack = &stack
	};
	const struct output_loss none = { 0 };
	const char *const no_bounds[] = { NULL };
	struct output_stacks stacks = { .ends = { 17 } };
	struct output_kind *a, *b, *c;

	(void)record;
	a = output_kind(output, &hit);
	hit.stack = &other;
	b = output_kind(output, &hit);
	output_kind_count(output, a, 3);
	output_kind_count(output, b, 1);
	if (options->interval_ns)
		output_kept(output);
	output_kind_release(output, a);
	hit.tid = 6;
	c = output_kind(output, &hit);
	output_kind_count(output, c, 4);
	output_kind_count(output, b, 5);
	output_hit(output, &hit);
	output_kind_count(output, NULL, 3);
	output_kept(output);
	output_summary(output, &(struct output_summary){ .hits = 17,
							 .calls = 17,
							 .losses = &none,
							 .lower_bound = no_bounds,
							 .stacks = &stacks });
}

UNIT_TEST(merged_stacks)
{
	struct options options = { .mode = MODE_FOLDED, .interval_ns = 1000, .by = LATENCY_BY_TID };

	record_run(write_kinds, options);
	assert_replays(write_kinds, &options);
	options.format = FORMAT_JSON;
	assert_replays(write_kinds, &options);
	options.interval_ns = 0;
	assert_replays(write_kinds, &options);
	options.by = LATENCY_BY_SITE;
	assert_replays(write_kinds, &options);
	record_run(write_kinds, options);
	options.by = LATENCY_BY_TID;
	assert_refused(&options, "--by=tid cannot be had of it");
	options = (struct options){ .mode = MODE_HITS, .format = FORMAT_PERF_SCRIPT };
	assert_refused(&options, "--folded and --format=perf-script are two formats");
}

/* Counts and histograms ----------------------------------------------------------------------- */

static void write_totals(struct output *output, struct record *record, uint64_t first,
			 const char *const *bounds)
{
	const struct output_body bodies[] = { { "r2r", first }, { "tier1", 5 } };
	const struct output_count counts[] = {
		{ .method = "A::b",
		  .calls = first + 5,
		  .bodies = bodies,
		  .body_count = 2,
		  .lower_bound = bounds,
		  .watched = 1,
		  .all_calls = 17 },
		{ .method = "A::c",
		  .calls = first,
		  .bodies = bodies,
		  .body_count = 1,
		  .lower_bound = bounds,
		  .watched = 0.5,
		  .all_calls = 12 },
	};

	if (record)
		record_totals_begin(record);
	output_counts(output, counts, 2);
	if (record)
		record_totals_end(record);
}

static void write_count_run(struct output *output, struct record *record,
			    const struct options *options)
{
	const struct output_loss none = { 0 };
	const char *const bounds[] = { "late", NULL };
	bool intervals = options->interval_ns;

	if (intervals) {
		write_totals(output, NULL, 2, NULL);
		output_kept(output);
	}
	/* As far as it was known by then. */
	if (record)
		write_totals(record_output(record), record, 3, NULL);
	write_totals(output, NULL, intervals ? 10 : 12, bounds);
	if (record)
		write_totals(record_output(record), record, 12, bounds);
	output_kept(output);
	output_summary(output,
		       &(struct output_summary){
			       .hits = 29, .calls = 29, .losses = &none, .lower_bound = bounds });
}

UNIT_TEST(counts_of_intervals_and_of_all)
{
	struct options options = { .mode = MODE_COUNT, .interval_ns = 1000 };

	record_run(write_count_run, options);
	assert_replays(write_count_run, &options);
	options.format = FORMAT_JSON;
	assert_replays(write_count_run, &options);
	options.interval_ns = 0;
	assert_replays(write_count_run, &options);
	options.format = FORMAT_OPENMETRICS;
	assert_replays(write_count_run, &options);
	options.interval_ns = 2000;
	assert_refused(&options, "-i: it has other intervals");
	options = (struct options){ .mode = MODE_FOLDED };
	assert_refused(&options, "--folded cannot be had of it: it holds counts (-c)");
}

static void write_one_hist(struct output *output, const struct options *options, uint64_t most,
			   const char *const *bounds)
{
	struct histogram *histogram = calloc(1, sizeof(*histogram));
	uint64_t linear[6] = { 0, 1, 0, 0, most, 7 };

	assert_non_null(histogram);
	histogram->returned = most + 1;
	histogram->unwound = 2;
	histogram->untimed = 3;
	histogram->unfinished = 4;
	histogram->sum_ns = 55555;
	histogram->min_ns = 10;
	histogram->max_ns = 40000;
	histogram->buckets[0] = most;
	histogram->buckets[LATENCY_BUCKETS - 1] = 1;
	if (options->linear.step_ns) {
		histogram->linear = linear;
		histogram->linear_count = 4;
	}
	output_hist(output, &(struct output_hist){ .method = "A::b",
						   .by = options->by,
						   .caller = "C::d",
						   .tid = 77,
						   .histogram = histogram,
						   .lower_bound = bounds,
						   .watched = bounds ? 0.75 : 0 });
	free(histogram);
}

static void write_hist_run(struct output *output, struct record *record,
			   const struct options *options)
{
	const struct output_loss none = { 0 };
	const char *const bounds[] = { NULL };

	if (options->interval_ns) {
		write_one_hist(output, options, 3, NULL);
		output_kept(output);
	}
	write_one_hist(output, options, options->interval_ns ? 6 : 9, bounds);
	if (record) {
		record_totals_begin(record);
		write_one_hist(record_output(record), options, 9, bounds);
		record_totals_end(record);
	}
	output_kept(output);
	output_summary(output,
		       &(struct output_summary){
			       .hits = 9, .calls = 9, .losses = &none, .lower_bound = bounds });
}

UNIT_TEST(histograms)
{
	static const struct hist_range range = { 0, 4000, 1000 };
	struct options options = { .mode = MODE_HIST, .timed = true };

	for (enum latency_by by = LATENCY_BY_SITE; by <= LATENCY_BY_CALLER; by++) {
		options = (struct options){ .mode = MODE_HIST,
					    .timed = true,
					    .by = by,
					    .interval_ns = 1000,
					    .linear = range };
		record_run(write_hist_run, options);
		assert_replays(write_hist_run, &options);
		options.unit = TIME_UNIT_US;
		assert_replays(write_hist_run, &options);
		options.format = FORMAT_JSON;
		options.unit = 0;
		assert_replays(write_hist_run, &options);
		options.interval_ns = 0;
		assert_replays(write_hist_run, &options);
		options.linear.step_ns = 0;
		assert_replays(write_hist_run, &options);
		options.format = FORMAT_OPENMETRICS;
		assert_replays(write_hist_run, &options);
	}
	options = (struct options){ .mode = MODE_HIST };
	assert_refused(&options, "--hist without its --by cannot be had of it");
	options.by = LATENCY_BY_TID;
	assert_refused(&options, "this --by cannot be had of it");
	options.by = LATENCY_BY_CALLER;
	options.linear = (struct hist_range){ 0, 5000, 1000 };
	assert_refused(&options, "this range of --hist cannot be had of it");
}

/* Sites --------------------------------------------------------------------------------------- */

static void write_sites(struct output *output, struct record *record, const struct options *options)
{
	const char *const sources[] = { "metadata", "a\x01 map", NULL };
	const char *const inliners[] = { "B::a", "B::b", "B::c", "B::d", NULL };
	const char *const few[] = { "B::a", "B::b", "B::c", NULL };
	const struct output_loss none = { 0 };
	const char *const no_bounds[] = { NULL };
	bool all = record || options->verbose || options->format == FORMAT_JSON;
	const struct output_site sites[] = {
		{ .method = "A::b",
		  .made_from = "lambda",
		  .image = "a.dll",
		  .tier = "r2r",
		  .state = "current",
		  .mechanism = "uprobe",
		  .cost = "cheap",
		  .names_from = sources,
		  .inlined_into = all ? inliners : few,
		  .inlined_count = 4,
		  .inlined_whole = true,
		  .native_function = "f",
		  .file = "/x y/a.dll",
		  .file_offset = 0x1234,
		  .address = UINT64_MAX,
		  .size = 9,
		  .pid = 3,
		  .first = true,
		  .placed = true,
		  .file_has_path = true,
		  .file_is_here = true },
		{ .method = "A::b",
		  .image = "a.dll",
		  .tier = "tier1",
		  .mechanism = "none",
		  .reason = "no-register",
		  .reason_text = "too few",
		  .reason_next = "end others",
		  .names_from = sources,
		  .address = 0x10,
		  .size = 1,
		  .pid = 3 },
		{ .method = "A::c",
		  .image = "a.dll",
		  .tier = "tier1",
		  .mechanism = "breakpoint",
		  .names_from = sources,
		  .address = 0x20,
		  .pid = 3,
		  .first = true,
		  .placed = true,
		  .by_address = true },
		{ .method = "A::d",
		  .image = "a.dll",
		  .tier = "tier1",
		  .mechanism = "uprobe",
		  .names_from = sources,
		  .address = 0x20,
		  .pid = 3,
		  .first = true,
		  .placed = true,
		  .remapped = true },
		{ .method = "A::e",
		  .image = "a.dll",
		  .tier = "stub",
		  .mechanism = "uprobe",
		  .file = "/f",
		  .names_from = sources,
		  .pid = 3,
		  .first = true,
		  .placed = true,
		  .by_stub = true },
		{ .method = "A::f",
		  .image = "a.dll",
		  .tier = "r2r",
		  .mechanism = "uprobe",
		  .file = "/g",
		  .file_offset = 3,
		  .names_from = sources,
		  .pid = 3,
		  .first = true,
		  .placed = true,
		  .file_has_path = true },
	};

	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		output_site(output, &sites[i]);
	if (options->mode == MODE_LIST)
		output_summary(output, &(struct output_summary){ .losses = &none,
								 .lower_bound = no_bounds });
}

UNIT_TEST(sites)
{
	struct options options = { .mode = MODE_LIST };
	struct error err = { .text = "" };

	record_run(write_sites, options);
	assert_int_equal(replay(&options, &err), REPLAY_OK);
	assert_same_files(live_path, replay_path);
	assert_replays(write_sites, &options);
	options.verbose = true;
	assert_replays(write_sites, &options);
	options.format = FORMAT_JSON;
	assert_replays(write_sites, &options);
	options = (struct options){ .mode = MODE_DRY_RUN };
	assert_refused(&options, "--dry-run cannot be had of it: it holds a list of sites (-l)");
	record_run(write_sites, options);
	assert_replays(write_sites, &options);
}

UNIT_MAIN(set_up, scratch_remove)
