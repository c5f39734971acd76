// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What probes cost, measured, and left out of durations: functions of this process are timed with
 * and without what was measured, in turns, and the two are compared. By uprobes only. Needs root.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "latency/calibrate.h"
#include "capture/capture_internal.h"
#include "base/clock.h"
#include "base/error.h"
#include "latency/latency.h"
#include "plan/timed.h"
#include "target/maps.h"
#include "target/process.h"
#include "tests/helpers/capture_phases.h"

enum {
	SPIN_NS = 1800, /* buckets are 32 ns wide there */
	INNER_CALLS = 20,
	CALLS = 400,
	TURNS = 7,
	SITES = 5,
};

/* Functions whose only return is known, and what the second has called. */
void timed_empty(void);
void timed_empty_exit(void);
void timed_around(void (*call)(void));
void timed_around_exit(void);
void timed_stepped(void);
void timed_stepped_exit(void);
void timed_patchable(void);
void timed_patchable_exit(void);
void timed_jump(void);
void timed_jump_exit(void);

__asm__(".pushsection .text\n"
	".globl timed_empty, timed_empty_exit, timed_around, timed_around_exit\n"
	".globl timed_stepped, timed_stepped_exit, timed_jump, timed_jump_exit\n"
	"timed_empty: push %rbp\n"
	"pop %rbp\n"
	"timed_empty_exit: ret\n"
	"timed_around: push %rbp\n"
	"call *%rdi\n"
	"pop %rbp\n"
	"timed_around_exit: ret\n"
	"timed_stepped: test %edi, %edi\n"
	"timed_stepped_exit: ret\n"
	".globl timed_patchable, timed_patchable_exit\n"
	"timed_patchable: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"timed_patchable_exit: ret\n"
	"timed_jump: push %rbp\n"
	"pop %rbp\n"
	"timed_jump_exit: jmp 1f\n"
	"1: ret\n"
	".popsection\n");

static void spin(void)
{
	uint64_t until = clock_now_ns() + SPIN_NS;

	while (clock_now_ns() < until)
		;
}

static void call_empty(void)
{
	for (int i = 0; i < INNER_CALLS; i++)
		timed_empty();
}

enum site_number { EMPTY, AROUND, STEPPED, JUMP, PATCHABLE };

struct bench {
	struct process process;
	struct options options;
	struct site sites[SITES];
	struct site_exit exits[SITES];
	struct plan plan;
	int file_fds[1];
	struct capture *capture;
	struct error err;
};

static struct file_offset offset_of(const struct maps *maps, void (*code)(void))
{
	struct address address = { (uint64_t)(uintptr_t)code };
	const struct mapping *mapping = maps_find(maps, address);

	assert_non_null(mapping);
	return mapping_offset(mapping, address);
}

static int set_up(void **state)
{
	static char names[SITES][8] = { "empty", "around", "stepped", "jump", "patched" };
	void (*const code[SITES][2])(void) = {
		[EMPTY] = { timed_empty, timed_empty_exit },
		[AROUND] = { (void (*)(void))timed_around, timed_around_exit },
		[STEPPED] = { timed_stepped, timed_stepped_exit },
		[JUMP] = { timed_jump, timed_jump_exit },
		[PATCHABLE] = { timed_patchable, timed_patchable_exit },
	};
	struct bench *bench = calloc(1, sizeof(*bench));
	struct maps maps;

	assert_non_null(bench);
	assert_return_code(process_init(&bench->process, getpid(), &bench->err), 0);
	assert_return_code(maps_read(&maps, &bench->process, &bench->err), 0);
	for (int i = 0; i < SITES; i++) {
		bench->exits[i].offset = offset_of(&maps, code[i][1]);
		bench->exits[i].emulated = i == JUMP;
		bench->sites[i] = (struct site){
			.method = names[i],
			.image = "test",
			.mechanism = MECHANISM_UPROBE,
			.cost = i == STEPPED || i == PATCHABLE ? INSN_SINGLE_STEPPED :
								 INSN_EMULATED,
			.patchable = i == PATCHABLE,
			.offset = offset_of(&maps, code[i][0]),
			.exits = &bench->exits[i],
			.exit_count = 1,
		};
	}
	maps_deinit(&maps);
	bench->options = (struct options){
		.mode = MODE_HIST, .timed = true, .buffer_bytes = 4096, .pid = getpid()
	};
	bench->plan = (struct plan){ .timed = true, .sites = bench->sites, .count = SITES };
	assert_return_code(plan_sort_methods(&bench->plan, &bench->err), 0);
	bench->file_fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (capture_begin(&bench->capture, &bench->options, &bench->process, &bench->plan,
			  bench->file_fds, NULL, &bench->err))
		fail_msg("%s", bench->err.text);
	capture_activate(bench->capture);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	capture_destroy(bench->capture);
	process_deinit(&bench->process);
	close(bench->file_fds[0]);
	free(bench->plan.by_method);
	free(bench);
	return 0;
}

/* Half of the calls of @site that @call makes are reported to take no longer. */
static double median_ns(struct bench *bench, enum site_number site, void (*call)(void))
{
	const struct latency_key key = { .site = site };
	struct latencies before, after;
	struct histogram *histogram = calloc(1, sizeof(*histogram));
	uint64_t median;

	assert_non_null(histogram);
	assert_return_code(capture_read_latencies(bench->capture, &before, &bench->err), 0);
	for (int i = 0; i < CALLS; i++)
		call();
	assert_return_code(capture_read_latencies(bench->capture, &after, &bench->err), 0);
	latencies_subtract(&after, &before);
	histogram_add(histogram, &after, &key);
	assert_true(histogram->returned >= CALLS);
	assert_int_equal(histogram->unwound, 0);
	median = histogram_percentile(histogram, 0.5);
	latencies_deinit(&before);
	latencies_deinit(&after);
	free(histogram);
	return (double)median;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The machine may be busy, or slow down, in any of the turns. */
static double middle(double turns[TURNS])
{
	qsort(turns, TURNS, sizeof(*turns), by_value);
	return turns[TURNS / 2];
}

static void time_sites(struct bench *bench)
{
	for (uint32_t i = 0; i < SITES; i++)
		capture_time_site(bench->capture, i);
}

struct compared {
	double with;	/* as it is timed, in ns */
	double without; /* what probes take */
};

/* Measured anew in each turn: then whatever the machine does is done to both. */
static struct compared compare(struct bench *bench, enum site_number site, void (*call)(void))
{
	double with[TURNS], without[TURNS];

	for (int turn = 0; turn < TURNS; turn++) {
		memset(bench->capture->costs, 0, sizeof(bench->capture->costs));
		time_sites(bench);
		with[turn] = median_ns(bench, site, call);
		capture_calibrate(bench->capture);
		assert_string_equal(bench->capture->cost_problem.text, "");
		time_sites(bench);
		without[turn] = median_ns(bench, site, call);
	}
	return (struct compared){ middle(with), middle(without) };
}

/*
 * What probes take on top of @truth_ns is left out for the most part, and no more than that. How
 * near it comes depends on what else the machine does: tests/bench/run says it.
 */
static void assert_left_out(struct compared took, double truth_ns)
{
	double probes_ns = took.with - truth_ns, off_ns = took.without - truth_ns;

	assert_true(probes_ns > 0);
	assert_true(off_ns < probes_ns * 3 / 4);
	assert_true(off_ns > -probes_ns * 3 / 4);
}

UNIT_TEST_WITHIN(test_empty, set_up, tear_down)
{
	struct compared took = compare(*state, EMPTY, timed_empty);

	print_message("empty: %.0f ns, and %.0f without\n", took.with, took.without);
	assert_left_out(took, 0);
}

UNIT_TEST_WITHIN(test_stepped, set_up, tear_down)
{
	struct compared took = compare(*state, STEPPED, timed_stepped);

	print_message("empty, single-stepped: %.0f ns, and %.0f without\n", took.with,
		      took.without);
	assert_left_out(took, 0);
}

/* Cheap on some kernels and dear on others. */
UNIT_TEST_WITHIN(test_patchable, set_up, tear_down)
{
	struct compared took = compare(*state, PATCHABLE, timed_patchable);

	print_message("empty, patchable: %.0f ns, and %.0f without\n", took.with, took.without);
	assert_left_out(took, 0);
}

static void call_spin(void)
{
	timed_around(spin);
}

UNIT_TEST_WITHIN(test_spin, set_up, tear_down)
{
	struct compared took = compare(*state, AROUND, call_spin);

	print_message("%d ns: %.0f ns, and %.0f without\n", SPIN_NS, took.with, took.without);
	assert_left_out(took, SPIN_NS);
}

static void call_nested(void)
{
	timed_around(call_empty);
}

UNIT_TEST_WITHIN(test_nested, set_up, tear_down)
{
	struct compared took = compare(*state, AROUND, call_nested);

	print_message("around %d: %.0f ns, and %.0f without\n", INNER_CALLS, took.with,
		      took.without);
	assert_left_out(took, 0);
}

static void call_jump(void)
{
	for (int i = 0; i < INNER_CALLS; i++) {
		timed_jump();
		spin();
	}
}

static void call_around_jump(void)
{
	timed_around(call_jump);
}

/* What is left is what the call does itself, no less. */
UNIT_TEST_WITHIN(test_nested_time, set_up, tear_down)
{
	struct compared took = compare(*state, AROUND, call_around_jump);
	double truth = INNER_CALLS * SPIN_NS;

	print_message("around %d of %d ns: %.0f ns, and %.0f without\n", INNER_CALLS, SPIN_NS,
		      took.with, took.without);
	assert_left_out(took, truth);
}

UNIT_TEST_WITHIN(test_told, set_up, tear_down)
{
	struct bench *bench = *state;
	struct capture_costs costs = capture_costs(bench->capture);

	assert_null(costs.problem);
	assert_true(costs.entry.least_ns > 0);
	assert_true(costs.exit.least_ns > 0);
	/* Some sites are entered by an instruction that is emulated, and one by one that is not. */
	assert_true(costs.entry.most_ns > costs.entry.least_ns);
	/* Likewise exits. */
	assert_true(costs.exit.most_ns > costs.exit.least_ns);
}

/* Kernels without uprobe_multi have perf events, and all have those. */
UNIT_TEST(test_means)
{
	struct calibration calibration = {
		.latency = { .by = LATENCY_BY_TID, .linear_step_ns = 100, .linear_count = 11 },
		.means = UPROBE_PERF,
	};
	struct probe_cost costs[PROBE_KINDS];
	struct error err = { .text = "" };

	calibration.wanted[PROBE_EMULATED] = true;
	calibration.wanted[PROBE_SINGLE_STEPPED] = true;
	assert_return_code(calibrate(&calibration, costs, &err), 0);
	assert_true(costs[PROBE_EMULATED].within_ns > 0);
	assert_true(costs[PROBE_EMULATED].entry_ns > 0);
	assert_true(costs[PROBE_EMULATED].exit_ns > 0);
	assert_true(costs[PROBE_SINGLE_STEPPED].entry_ns > costs[PROBE_EMULATED].entry_ns);
	assert_true(costs[PROBE_SINGLE_STEPPED].within_ns > costs[PROBE_EMULATED].within_ns);
	assert_int_equal(costs[PROBE_BREAKPOINT].entry_ns, 0);
}

UNIT_TEST(test_failure)
{
	struct calibration calibration = {
		.latency.by = LATENCY_BY_SITE,
		.means = UPROBE_PERF,
	};
	struct probe_cost costs[PROBE_KINDS], none[PROBE_KINDS] = { 0 };
	struct error err = { .text = "" };
	struct rlimit limit, few;
	int result;

	memset(costs, 0xff, sizeof(costs));
	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = 12; /* too few for the maps */
	assert_return_code(setrlimit(RLIMIT_NOFILE, &few), 0);
	calibration.wanted[PROBE_EMULATED] = true;
	result = calibrate(&calibration, costs, &err);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(result < 0);
	assert_string_not_equal(err.text, "");
	assert_memory_equal(costs, none, sizeof(none));
}

UNIT_TEST(test_wanted)
{
	struct site_exit exit = { .emulated = true };
	struct site sites[] = {
		{ .mechanism = MECHANISM_UPROBE, .cost = INSN_EMULATED, .exits = &exit },
		{ .mechanism = MECHANISM_NONE, .cost = INSN_SINGLE_STEPPED },
		{ .mechanism = MECHANISM_UPROBE, .cost = INSN_SINGLE_STEPPED },
		{ .mechanism = MECHANISM_UPROBE, .cost = INSN_SINGLE_STEPPED, .patchable = true },
		{ .mechanism = MECHANISM_BREAKPOINT, .cost = INSN_SINGLE_STEPPED },
	};
	const bool expected[][PROBE_KINDS] = {
		{ true, true, true, true }, /* nothing is known yet */
		{ true, false, false, false }, { true, false, false, false },
		{ true, true, false, false },  { true, true, true, false },
		{ true, true, true, true },
	};

	const bool uprobes[PROBE_KINDS] = { true, true, true, false };
	struct calibration native = { 0 }, waiting = { .any_kind = true };

	for (size_t count = 0; count < sizeof(expected) / sizeof(expected[0]); count++) {
		const struct plan plan = { .timed = true, .sites = sites, .count = count };
		struct calibration calibration = { .means = UPROBE_PERF };

		calibration_want(&calibration, &plan);
		assert_memory_equal(calibration.wanted, expected[count], sizeof(expected[count]));
	}
	/* Libraries may come, with all kinds of functions; debug registers are for methods. */
	sites[0].tier = TIER_NATIVE;
	calibration_want(&native, &(struct plan){ .timed = true, .sites = sites, .count = 1 });
	assert_memory_equal(native.wanted, uprobes, sizeof(uprobes));
	sites[0].tier = TIER_R2R;
	calibration_want(&waiting, &(struct plan){ .timed = true, .sites = sites, .count = 1 });
	assert_memory_equal(waiting.wanted, uprobes, sizeof(uprobes));
}

UNIT_TEST(test_patchable_instruction)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const uint8_t other[] = { 0x0f, 0x1f, 0x44, 0x00, 0x08 };

	assert_true(insn_is_patchable((struct span){ nop5, sizeof(nop5) }));
	assert_false(insn_is_patchable((struct span){ nop5, sizeof(nop5) - 1 }));
	assert_false(insn_is_patchable((struct span){ other, sizeof(other) }));
	assert_int_equal(insn_probe_cost((struct span){ nop5, sizeof(nop5) }), INSN_SINGLE_STEPPED);
}

int main(void)
{
	unit_needs_root("set probes");
	return unit_run(NULL, NULL);
}
