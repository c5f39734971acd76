// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uprobes and hardware breakpoints in one run, on a plan that is made by hand: each way alone, both
 * side by side, and what becomes of sites for which there is no register. Needs root.
 */
#include "capture_bench.h"

#include <errno.h>
#include <sys/resource.h>

#include "follow/follow_internal.h"
#include "probe/breakpoint_event.h"
#include "probe/programs.h"
#include "probe/uprobes.h"
#include "unwind/tables.h"

enum { MISSED = 7 };

/* Have all bodies called, body n by n + 1 threads 100 times each, while hits count. */
static void run(struct bench *bench, int calls)
{
	const struct capture_handlers handlers = { .hit = on_hit,
						   .tick = capture_no_tick,
						   .ctx = bench };
	enum capture_end end;

	capture_activate(bench->capture);
	for (int body = 0; body < BODIES; body++) {
		struct caller_order order = { CALL_THREADS, body, body + 1, calls };

		assert_true(caller_do(&bench->caller, order));
	}
	assert_return_code(capture_consume(bench->capture, &handlers, &end, &bench->err), 0);
	assert_int_equal(end, CAPTURE_TIME_IS_UP);
	capture_end(bench->capture, &handlers);
	capture_read_counters(bench->capture, bench->counters);
}

static void expect_exact(const struct bench *bench)
{
	const struct capture_losses lost = capture_losses(bench->capture);
	uint64_t missed = 0;

	for (size_t i = 0; i < bench->plan.count; i++) {
		uint64_t calls = bench->caller.shared->calls[i];

		if (bench->sites[i].mechanism == MECHANISM_NONE)
			calls = 0;
		missed += calls - bench->counters[i].hits;
		assert_int_equal(bench->counters[i].lost, 0);
	}
	assert_int_equal(missed, lost.breakpoints_missed);
	assert_int_equal(lost.breakpoints_unexplained, 0);
	assert_int_equal(lost.cpus_switched_on, 0);
	assert_int_equal(lost.anchor_exits, 0);
}

UNIT_TEST_WITHIN(test_side_by_side, set_up, tear_down)
{
	struct bench *bench = *state;

	unit_skip_if_breakpoints_are_dead();
	for (int i = 0; i < 3; i++) {
		plan_body(bench, MECHANISM_UPROBE);
		plan_body(bench, MECHANISM_BREAKPOINT);
	}
	if (create(bench))
		fail_msg("%s", bench->err.text);
	assert_int_equal(capture_site_count(bench->capture), 6);
	assert_non_null(strstr(capture_means(bench->capture), " and hardware breakpoints"));
	assert_null(capture_breakpoint_problem(bench->capture));
	/* Called before it begins. */
	assert_true(caller_do(&bench->caller, (struct caller_order){ CALL, 1, 0, 10 }));
	atomic_store(&bench->caller.shared->calls[1], 0);
	run(bench, 100);
	expect_exact(bench);
}

static uint32_t rows_of(const struct bench *bench)
{
	return bpf_map__max_entries(bench->capture->bpf->maps.unwind_rows);
}

/* What was loaded beside other work is what runs, or it is loaded again if that is of no use. */
UNIT_TEST_WITHIN(test_loaded_beside, set_up, tear_down)
{
	const struct unwind_expected expected = { .rows = 1000 };
	struct bench *bench = *state;
	struct unwind_tables *tables;
	uint32_t room;

	bench->options.mode = MODE_HITS;
	plan_body(bench, MECHANISM_UPROBE);
	assert_int_equal(unwind_tables_create(&tables, NULL), 0);
	if (capture_create(&bench->capture, &bench->options, &bench->process, &bench->plan,
			   &bench->err))
		fail_msg("%s", bench->err.text);
	capture_begin_load(bench->capture, &expected);
	if (capture_load(bench->capture, tables, &bench->err))
		fail_msg("%s", bench->err.text);
	room = rows_of(bench);
	assert_int_equal(room, bench->capture->row_capacity);
	assert_true(room > expected.rows);
	capture_destroy(bench->capture);

	if (capture_create(&bench->capture, &bench->options, &bench->process, &bench->plan,
			   &bench->err))
		fail_msg("%s", bench->err.text);
	capture_begin_load(bench->capture, &expected);
	capture_await_load(bench->capture);
	assert_int_equal(rows_of(bench), room);
	if (capture_load(bench->capture, tables, &bench->err))
		fail_msg("%s", bench->err.text);
	assert_int_equal(rows_of(bench), bench->capture->row_capacity);
	assert_true(rows_of(bench) != room);
	unwind_tables_destroy(tables);
}

UNIT_TEST_WITHIN(test_uprobes_alone, set_up, tear_down)
{
	struct bench *bench = *state;

	plan_body(bench, MECHANISM_UPROBE);
	plan_body(bench, MECHANISM_UPROBE);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	assert_string_equal(capture_means(bench->capture),
			    uprobe_multi_works() ? "uprobe_multi" : "perf events");
	run(bench, 100);
	expect_exact(bench);
}

/* More than there are registers: the first ones of the plan get them. */
UNIT_TEST_WITHIN(test_breakpoints_alone, set_up, tear_down)
{
	struct bench *bench = *state;

	unit_skip_if_breakpoints_are_dead();
	for (int i = 0; i < 6; i++)
		plan_body(bench, MECHANISM_BREAKPOINT);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	assert_int_equal(capture_site_count(bench->capture), 4);
	assert_string_equal(capture_means(bench->capture), "hardware breakpoints");
	for (int i = 4; i < 6; i++) {
		assert_int_equal(bench->sites[i].mechanism, MECHANISM_NONE);
		assert_int_equal(bench->sites[i].reason, REASON_NO_DEBUG_REGISTER);
	}
	assert_non_null(capture_breakpoint_problem(bench->capture));
	assert_non_null(
		strstr(capture_breakpoint_problem(bench->capture), "place-probe itself has 4"));
	run(bench, 100);
	expect_exact(bench);
}

/* As if the kernel had left out the program so many times: it counts hits of its own. */
static void take_runs(const struct bench *bench, uint32_t site, uint64_t count)
{
	const uint32_t sites = bench->capture->bpf->rodata->counters_of_cpu;
	struct site_counters *of = &bench->capture->counters[site];
	int cpu = 0;

	while (cpu < bench->capture->cpu_count && of[cpu * sites].runs < count)
		cpu++;
	assert_true(cpu < bench->capture->cpu_count);
	of[cpu * sites].runs -= count;
	of[cpu * sites].hits -= count;
}

/* What no program ran for is told. */
UNIT_TEST_WITHIN(test_missed, set_up, tear_down)
{
	const struct capture_handlers handlers = { .hit = on_hit,
						   .tick = capture_no_tick,
						   .ctx = *state };
	struct bench *bench = *state;
	enum capture_end end;

	unit_skip_if_breakpoints_are_dead();
	plan_body(bench, MECHANISM_BREAKPOINT);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	capture_activate(bench->capture);
	assert_true(caller_do(&bench->caller, (struct caller_order){ CALL, 0, 0, 1000 }));
	assert_return_code(capture_consume(bench->capture, &handlers, &end, &bench->err), 0);
	take_runs(bench, 0, MISSED);
	capture_end(bench->capture, &handlers);
	capture_read_counters(bench->capture, bench->counters);
	assert_true(capture_losses(bench->capture).breakpoints_missed >= MISSED);
	expect_exact(bench);
}

/* Each hit with its stack, of both kinds alike. */
UNIT_TEST_WITHIN(test_hits, set_up, tear_down)
{
	struct bench *bench = *state;
	size_t of_breakpoints = 0;

	unit_skip_if_breakpoints_are_dead();
	bench->options.mode = MODE_HITS;
	plan_body(bench, MECHANISM_UPROBE);
	plan_body(bench, MECHANISM_BREAKPOINT);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	run(bench, 10);
	expect_exact(bench);
	assert_int_equal(bench->hit_count, 10 + 2 * 10);
	for (size_t i = 0; i < bench->hit_count; i++) {
		const struct hit_event *hit = &bench->hits[i];
		uint64_t function = (uint64_t)(uintptr_t)caller_thread;

		assert_in_range(hit->site, 0, 1);
		of_breakpoints += hit->site == 1;
		assert_int_equal(hit->frames[0].pc, bench->sites[hit->site].address.value);
		assert_true(hit->frame_count >= 2);
		/* Its caller may be inlined into the function that runs in each thread. */
		assert_in_range(hit->frames[1].pc, function - 4096, function + 4096);
		assert_int_not_equal(hit->tid, bench->caller.pid);
	}
	assert_int_equal(of_breakpoints, 20);
}

/* The target gets signals that it did not ask for; whose fault that is is told. */
UNIT_TEST_WITHIN(test_stray_traps, set_up, tear_down)
{
	const struct capture_handlers handlers = { .hit = on_hit,
						   .tick = capture_no_tick,
						   .ctx = *state };
	struct bench *bench = *state;
	enum capture_end end;

	unit_skip_if_breakpoints_are_dead();
	if (!debug_registers_are_virtual())
		unit_skip("stray traps are counted in virtual machines only");
	plan_body(bench, MECHANISM_BREAKPOINT);
	bench->sites[0].address.value = (uint64_t)(uintptr_t)caller_stray_body;
	if (create(bench))
		fail_msg("%s", bench->err.text);
	capture_activate(bench->capture);
	assert_true(caller_do(&bench->caller, (struct caller_order){ CALL_STRAY, .calls = 3 }));
	/* Nor are those that it sends itself ours. */
	kill(bench->caller.pid, SIGTRAP);
	assert_return_code(capture_consume(bench->capture, &handlers, &end, &bench->err), 0);
	capture_end(bench->capture, &handlers);
	capture_read_counters(bench->capture, bench->counters);
	assert_true(atomic_load(&bench->caller.shared->traps) >= 4);
	assert_int_equal(capture_losses(bench->capture).spurious_traps,
			 atomic_load(&bench->caller.shared->traps) - 1);
	/* It went on at the breakpoint. */
	assert_int_equal(bench->counters[0].hits, 3);
}

/* Of three sites the kernel refuses the second: that one alone is not probed. */
static void refuses_the_second(struct bench *bench)
{
	if (create(bench))
		fail_msg("%s", bench->err.text);
	assert_int_equal(capture_site_count(bench->capture), 2);
	assert_int_equal(bench->sites[1].mechanism, MECHANISM_NONE);
	assert_int_equal(bench->sites[1].reason, REASON_KERNEL_REFUSED);
	assert_int_equal(bench->sites[1].kernel_error, EINVAL);
	run(bench, 100);
	expect_exact(bench);
}

/* One that no breakpoint can be at does not keep the others from theirs. */
UNIT_TEST_WITHIN(test_bad_address, set_up, tear_down)
{
	struct bench *bench = *state;

	unit_skip_if_breakpoints_are_dead();
	for (int i = 0; i < 3; i++)
		plan_body(bench, MECHANISM_BREAKPOINT);
	bench->sites[1].address.value = 0xffffffff81000000;
	refuses_the_second(bench);
}

/* Nor one that the kernel takes no uprobe for. */
static void check_refused_uprobe(struct bench *bench, enum uprobe_by means)
{
	for (int i = 0; i < 3; i++)
		plan_body(bench, MECHANISM_UPROBE);
	bench->options.uprobe_by = means;
	bench->sites[1].offset.value = BEYOND_FILE;
	refuses_the_second(bench);
}

UNIT_TEST_WITHIN(test_refused_by_multi, set_up, tear_down)
{
	if (!uprobe_multi_works())
		unit_skip("this kernel has no uprobe_multi");
	check_refused_uprobe(*state, UPROBE_BY_MULTI);
}

UNIT_TEST_WITHIN(test_refused_by_perf, set_up, tear_down)
{
	check_refused_uprobe(*state, UPROBE_BY_PERF);
}

/* That no thread can be looked for does not mean that there is none. */
UNIT_TEST_WITHIN(test_keep_without_descriptors, set_up, tear_down)
{
	struct bench *bench = *state;
	struct rlimit limit, none;
	int result;

	plan_body(bench, MECHANISM_UPROBE);
	bench->options.uprobe_by = UPROBE_BY_PERF;
	if (create(bench))
		fail_msg("%s", bench->err.text);
	assert_true(caller_do(&bench->caller, (struct caller_order){ .order = EXIT_MAIN }));
	while (process_thread_alive(&bench->process, bench->caller.pid))
		usleep(1000);
	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), 0);
	result = uprobes_keep(bench->capture->uprobes, &bench->err);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(result, -EMFILE);
	assert_non_null(strstr(bench->err.text, "cannot look for the thread"));
	/* The probes are on another thread now, and the target's end is no error. */
	assert_int_equal(uprobes_keep(bench->capture->uprobes, &bench->err), 1);
	assert_int_equal(uprobes_keep(bench->capture->uprobes, &bench->err), 0);
}

/* Those of the follower are put there again though who has found the place has closed the file. */
UNIT_TEST_WITHIN(test_followers_probes_have_a_file_of_their_own, set_up, tear_down)
{
	struct bench *bench = *state;
	struct follow_shared shared = { 0 };
	struct follow_kernel kernel = { .shared = &shared, .means = UPROBE_PERF };
	struct probes probes = { .kernel = &kernel, .process = &bench->process };
	int fd;

	plan_body(bench, MECHANISM_UPROBE);
	bench->options.uprobe_by = UPROBE_BY_PERF;
	if (create(bench))
		fail_msg("%s", bench->err.text);
	kernel.begin_fd = kernel.end_fd =
		programs_fd(bench->capture->loaded, capture_uprobe_program(bench->capture));
	fd = dup(bench->file_fds[0]);
	assert_return_code(fd, errno);
	assert_int_equal(probes_attach_compiler(&probes, fd, bench->sites[0].offset,
						bench->sites[0].offset, &bench->err),
			 0);
	close(fd);
	assert_true(caller_do(&bench->caller, (struct caller_order){ .order = EXIT_MAIN }));
	while (process_thread_alive(&bench->process, bench->caller.pid))
		usleep(1000);
	assert_int_equal(uprobes_keep(probes.of[PROBES_COMPILE_BEGIN], &bench->err), 1);
	assert_int_equal(uprobes_keep(probes.of[PROBES_COMPILE_END], &bench->err), 1);
	assert_int_equal(probes_keep(&probes), 0);
	probes_detach(&probes);
}

/* Somebody else has all registers. */
UNIT_TEST_WITHIN(test_no_register, set_up, tear_down)
{
	struct bench *bench = *state;
	int taken[BREAKPOINTS_MAX];

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		taken[i] = breakpoint_event_open((struct address){ 0x1000 }, -1, 0);
		assert_return_code(taken[i], 0);
	}
	plan_body(bench, MECHANISM_BREAKPOINT);
	plan_body(bench, MECHANISM_BREAKPOINT);
	assert_int_equal(create(bench), -ENOSPC);
	assert_non_null(strstr(bench->err.text,
			       breakpoint_events_fire() ? "another place-probe" : "do not fire"));
	assert_int_equal(bench->sites[0].reason, REASON_NO_DEBUG_REGISTER);
	assert_int_equal(bench->sites[1].reason, REASON_NO_DEBUG_REGISTER);
	/* With a uprobe beside them there is something to go on with. */
	bench->sites[0].mechanism = MECHANISM_BREAKPOINT;
	plan_body(bench, MECHANISM_UPROBE);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	assert_non_null(capture_breakpoint_problem(bench->capture));
	assert_int_equal(capture_site_count(bench->capture), 1);
	run(bench, 100);
	expect_exact(bench);
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		close(taken[i]);
}

int main(void)
{
	unit_needs_root("set breakpoints");
	caller_keep_perf_on();
	return unit_run(NULL, NULL);
}
