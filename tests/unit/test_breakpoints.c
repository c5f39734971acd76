// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose hits hardware breakpoints count, and that none is lost when they move. In C and not
 * through place-probe's command line, because moving is between its parts. Needs root; without
 * it everything is skipped.
 */
#include "breakpoint_bench.h"

#include <pthread.h>

#include "probe/breakpoint_event.h"
#include "registers/in_flight.h"
#include "registers/policy.h"
#include "registers/scheduler.h"
#include "base/clock.h"

/* Who is counted -------------------------------------------------------------------------- */

static void publish(struct bench *bench, unsigned long number)
{
	atomic_store(&bench->caller.shared->published, number);
}

/* Wait until all workers call what was published last, and nothing else any more. */
static void wait_seen(const struct bench *bench, int workers)
{
	unsigned long number = atomic_load(&bench->caller.shared->published);

	for (int i = 0, turns = 0; i < workers; i++) {
		for (; atomic_load(&bench->caller.shared->seen[i]) < number; turns++) {
			assert_true(turns < 100000);
			usleep(100);
		}
	}
}

UNIT_TEST_WITHIN(test_threads, set_up, tear_down)
{
	struct bench *bench = *state;

	begin(bench);
	publish(bench, 7);
	order(bench, WORK, 0, 3, 50);
	must_add(bench, 0);
	/* Body 0: called by threads that were there before, too. */
	publish(bench, 8);
	wait_seen(bench, 3);
	order(bench, CALL, 0, 0, 500);
	order(bench, CALL_THREADS, 0, 4, 500);
	order(bench, CALL_NESTED, 0, 8, 60);
	order(bench, REST, 0, 0, 0);
	assert_true(hits(bench, 0) > 500 + 4 * 500 + 8 * 5 * 60);
	end(bench, 0);
}

/* Threads are being born in threads while breakpoints are armed and moved. */
UNIT_TEST_WITHIN(test_churn, set_up, tear_down)
{
	enum { WORKERS = 4 };
	struct bench *bench = *state;

	for (int round = 0; round < 5; round++) {
		begin(bench);
		publish(bench, 7);
		order(bench, WORK, 0, WORKERS, 0);
		usleep(2000);
		must_add(bench, 0);
		publish(bench, 8);
		usleep(20000);
		wait_seen(bench, WORKERS);
		order(bench, REST, 0, 0, 0);
		order(bench, CALL_NESTED, 0, 8, 20);
		end(bench, 0);
	}
}

UNIT_TEST_WITHIN(test_children, set_up, tear_down)
{
	struct bench *bench = *state;

	begin(bench);
	must_add(bench, 0);
	order(bench, CALL, 0, 0, 10);
	order(bench, CALL_FORK, 0, 0, 200);
	order(bench, CALL_VFORK, 0, 0, 200);
	order(bench, CALL_CLONE, 0, 0, 200);
	order(bench, CALL, 0, 0, 10);
	/* The same address in a process that has nothing to do with it. */
	for (int i = 0; i < 100; i++)
		caller_bodies[0]();
	assert_int_equal(hits(bench, 0), 20);
	end(bench, 700);
}

UNIT_TEST_WITHIN(test_main_thread_exits, set_up, tear_down)
{
	struct bench *bench = *state;

	begin(bench);
	must_add(bench, 0);
	order(bench, CALL, 0, 0, 100);
	order(bench, EXIT_MAIN, 0, 0, 0);
	while (process_thread_alive(&bench->process, bench->caller.pid))
		usleep(1000);
	order(bench, CALL_THREADS, 0, 3, 100);
	/* And one more that comes when the main thread has gone. */
	must_add(bench, 1);
	order(bench, CALL_NESTED, 1, 2, 30);
	end(bench, 0);
}

UNIT_TEST_WITHIN(test_one_thread, set_up, tear_down)
{
	struct bench *bench = *state;
	unsigned long of_others;

	assert_true(caller_begin(&bench->caller));
	open_bench(bench, bench->caller.shared->serving_tid);
	must_add(bench, 0);
	order(bench, CALL, 0, 0, 300);
	order(bench, CALL_THREADS, 0, 3, 100);
	assert_int_equal(hits(bench, 0), 300);
	/* Not even fired for the others. */
	of_others = 3 * 100;
	atomic_fetch_sub(&bench->caller.shared->calls[0], of_others);
	end(bench, 0);
}

UNIT_TEST_WITHIN(test_thread_is_gone, set_up, tear_down)
{
	struct bench *bench = *state;

	assert_true(caller_begin(&bench->caller));
	open_bench(bench, getpid());
	/* The test's own thread is none of the process. */
	assert_int_equal(add(bench, 0), -ESRCH);
	assert_non_null(strstr(bench->err.text, "has exited"));
	end(bench, 0);
}

UNIT_TEST_WITHIN(test_two_at_once, set_up, tear_down)
{
	struct bench *bench = *state, other = new_bench;

	begin(bench);
	other.caller = bench->caller;
	open_bench(&other, 0);
	must_add(bench, 0);
	must_add(bench, 1);
	must_add(&other, 0);
	must_add(&other, 2);
	for (int body = 0; body < 3; body++)
		order(bench, CALL_NESTED, body, 2, 40);
	assert_int_equal(hits(&other, 0), hits(bench, 0));
	assert_int_equal(hits(&other, 2), bench->caller.shared->calls[2]);
	assert_int_equal(hits(&other, 1), 0);
	assert_int_equal(breakpoints_stop(other.breakpoints), runs(&other));
	close_bench(&other);
	end(bench, 0);
}

/* Moving ---------------------------------------------------------------------------------- */

UNIT_TEST_WITHIN(test_move, set_up, tear_down)
{
	struct bench *bench = *state;
	int slot;

	begin(bench);
	slot = must_add(bench, 0);
	order(bench, CALL, 0, 0, 1000);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 1000);
	must_move(bench, slot, 1);
	order(bench, CALL_THREADS, 1, 2, 1000);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 3000);
	/* The old address has none any more. */
	order(bench, CALL, 0, 0, 50);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 3000);
	atomic_fetch_sub(&bench->caller.shared->calls[0], 50);
	/* Taken away and put elsewhere. */
	breakpoints_remove(bench->breakpoints, slot);
	assert_int_equal(breakpoints_count(bench->breakpoints), 0);
	assert_int_equal(breakpoints_watching(bench->breakpoints), 0);
	order(bench, CALL, 2, 0, 10);
	assert_int_equal(must_add(bench, 3), slot);
	order(bench, CALL, 3, 0, 10);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 10);
	end(bench, 0);
}

/*
 * As a method goes from body to body while threads, old and new, call it: a breakpoint is moved to
 * the next body before that is published, from one that nobody calls any more.
 */
UNIT_TEST_WITHIN(test_move_under_way, set_up, tear_down)
{
	enum { WORKERS = 6, MOVES = 400 };
	struct bench *bench = *state;
	int slots[2];

	begin(bench);
	slots[0] = must_add(bench, 0);
	slots[1] = must_add(bench, 1);
	order(bench, WORK, 0, WORKERS, 20);
	for (unsigned long number = 1; number < MOVES; number++) {
		publish(bench, number);
		wait_seen(bench, WORKERS);
		must_move(bench, slots[(number + 1) % 2], (int)((number + 1) % BODIES));
	}
	order(bench, REST, 0, 0, 0);
	assert_true(caller_calls(&bench->caller) > MOVES);
	end(bench, 0);
}

/*
 * While a bpf() call on a map is under way on a CPU the kernel runs no program of a perf event
 * there; with full preemption the caller's hits can come in between. What is left out then must be
 * known.
 */
UNIT_TEST_WITHIN(test_left_out, set_up, tear_down)
{
	struct bench *bench = *state;
	uint64_t until = clock_now_ns() + NS_PER_S;

	begin(bench);
	must_add(bench, 0);
	order(bench, WORK, 0, 4, 0);
	while (clock_now_ns() < until)
		hits(bench, 0);
	order(bench, REST, 0, 0, 0);
	end(bench, 0);
}

/* Registers that others have ------------------------------------------------------------------ */

/* All of them, for a moment, as by who wants to know how many there are. */
static void *let_go(void *ctx)
{
	const struct timespec moment = { .tv_nsec = 15 * NS_PER_MS };
	int *fds = ctx;

	nanosleep(&moment, NULL);
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		close(fds[i]);
	return NULL;
}

UNIT_TEST_WITHIN(test_had_for_a_moment, set_up, tear_down)
{
	struct bench *bench = *state;
	int fds[BREAKPOINTS_MAX], slot;
	pthread_t thread;

	begin(bench);
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		fds[i] = breakpoint_event_open((struct address){ 0x1000 }, 0, -1);
		assert_return_code(fds[i], 0);
	}
	assert_int_equal(breakpoints_reserve(bench->breakpoints, false, NULL), -ENOSPC);
	assert_int_equal(pthread_create(&thread, NULL, let_go, fds), 0);
	slot = breakpoints_reserve(bench->breakpoints, true, &bench->err);
	assert_return_code(slot, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	must_move(bench, slot, 0);
	order(bench, CALL_THREADS, 0, 2, 100);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 200);
	end(bench, 0);
}

/* Registers that wait ------------------------------------------------------------------------- */

/* One that is taken, or parked, watches nothing until it is moved. */
UNIT_TEST_WITHIN(test_park, set_up, tear_down)
{
	struct bench *bench = *state;
	unsigned long not_seen = 0;
	int slot;

	begin(bench);
	slot = breakpoints_reserve(bench->breakpoints, true, &bench->err);
	assert_return_code(slot, 0);
	assert_int_equal(breakpoints_count(bench->breakpoints), 1);
	assert_int_equal(breakpoints_watching(bench->breakpoints), 0);
	order(bench, CALL, 0, 0, 100);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 0);
	not_seen += 100;
	must_move(bench, slot, 0);
	assert_int_equal(breakpoints_watching(bench->breakpoints), 1);
	order(bench, CALL_THREADS, 0, 2, 100);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 200);
	breakpoints_park(bench->breakpoints, slot);
	assert_int_equal(breakpoints_watching(bench->breakpoints), 0);
	order(bench, CALL_THREADS, 0, 2, 100);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 200);
	not_seen += 200;
	/* To where it was, and elsewhere. */
	must_move(bench, slot, 0);
	order(bench, CALL_THREADS, 0, 2, 100);
	breakpoints_park(bench->breakpoints, slot);
	must_move(bench, slot, 1);
	order(bench, CALL_THREADS, 1, 2, 100);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 600);
	order(bench, CALL, 0, 0, 100);
	not_seen += 100;
	assert_int_equal(hits(bench, 0), 400);
	atomic_fetch_sub(&bench->caller.shared->calls[0], not_seen);
	end(bench, 0);
}

/* After an error it is where it was: nowhere. */
UNIT_TEST_WITHIN(test_parked_and_refused, set_up, tear_down)
{
	struct bench *bench = *state;
	const struct address none = { 0xffffffff81000000 };
	int slot;

	begin(bench);
	slot = must_add(bench, 0);
	order(bench, CALL, 0, 0, 100);
	breakpoints_park(bench->breakpoints, slot);
	assert_int_equal(breakpoints_move(bench->breakpoints, slot, none, 1, &bench->err), -EINVAL);
	/* On whatever CPU. */
	order(bench, CALL_THREADS, 0, 8, 100);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 100);
	atomic_fetch_sub(&bench->caller.shared->calls[0], 800);
	must_move(bench, slot, 1);
	order(bench, CALL, 1, 0, 100);
	end(bench, 0);
}

/* Three methods, each with a body that is called and, at times, one before it: sites are bodies. */
struct methods {
	struct scheduler scheduler;
	int body[POLICY_GUARANTEED];
	int method_of[BODIES];
	int next;
};

/* A new body of @method comes up; its thread is @method, too. */
static void compile(struct bench *bench, struct methods *methods, int method)
{
	const struct register_claim claim = {
		.body = (uint32_t)methods->next,
		.address = body_address(methods->next),
		.rank = (uint32_t)method,
		.may_be_freed = true,
	};
	uint32_t evicted;

	scheduler_note_publisher(&methods->scheduler, (uint32_t)method, clock_now_ns());
	/* On a busy machine it takes as long as it takes until calls have left the older one. */
	methods->scheduler.wait_until_ns = clock_now_ns() + 5 * (uint64_t)NS_PER_S;
	if (scheduler_arm(&methods->scheduler, &claim, true, &evicted, &bench->err))
		fail_msg("%s", bench->err.text);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	for (uint32_t body = 0; body < claim.body; body++) {
		if (methods->method_of[body] == method)
			scheduler_supersede(&methods->scheduler, body, claim.body,
					    (uint32_t)method);
	}
	methods->method_of[claim.body] = method;
	bench->armed[claim.body] = true;
	methods->body[method] = methods->next++;
	order(bench, CALL_THREADS, methods->body[method], 2, 20);
}

/*
 * Methods go from body to body, one after the other, with one register more than there are methods:
 * no call of the bodies that are in use is missed, and nobody is said to have lost a register.
 */
UNIT_TEST_WITHIN(test_scheduler, set_up, tear_down)
{
	struct bench *bench = *state;
	struct methods methods = { .next = 0 };
	struct in_flight *in_flight;
	unsigned long not_seen = 0;

	begin(bench);
	if (in_flight_create(&in_flight, &bench->process, &bench->err))
		fail_msg("%s", bench->err.text);
	scheduler_init(&methods.scheduler, bench->breakpoints, &bench->bpf->bss->follow);
	scheduler_use_in_flight(&methods.scheduler, in_flight);
	assert_true(scheduler_reserve(&methods.scheduler, BREAKPOINTS_MAX, true));
	for (int i = 0; i < BODIES; i++) {
		compile(bench, &methods, i % POLICY_GUARANTEED);
		for (int other = 0; other < POLICY_GUARANTEED && i >= other; other++)
			order(bench, CALL, methods.body[other], 0, 10);
		usleep(2000);
	}
	for (int other = 0; other < POLICY_GUARANTEED; other++)
		assert_true(scheduler_has_entry(&methods.scheduler, (uint32_t)methods.body[other]));
	/* Code that is freed has no breakpoint any more, and the programs know where others are. */
	assert_int_equal(scheduler_drop_range(&methods.scheduler, body_address(methods.body[0]), 1),
			 1);
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		assert_int_not_equal(bench->bpf->bss->follow.armed[i],
				     body_address(methods.body[0]).value);
	order(bench, CALL, methods.body[0], 0, 10);
	not_seen += 10;
	atomic_fetch_sub(&bench->caller.shared->calls[methods.body[0]], not_seen);
	end(bench, 0);
	in_flight_destroy(in_flight);
}

/* CPUs that come and go --------------------------------------------------------------------- */

static void switch_cpu(const char *how)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);

	assert_return_code(fd, 0);
	assert_int_equal(write(fd, how, 1), 1);
	close(fd);
}

UNIT_TEST_WITHIN(test_cpu_is_switched, set_up, tear_down)
{
	struct bench *bench = *state;

	if (!getenv("PLACE_PROBE_TEST_GUEST"))
		unit_skip(
			"CPUs are switched in the guests of tests/kernels only, which are ours alone");
	begin(bench);
	must_add(bench, 0);
	order(bench, CALL_THREADS, 0, 4, 200);
	switch_cpu("0");
	assert_int_equal(breakpoints_keep(bench->breakpoints, &bench->err), 0);
	order(bench, CALL_THREADS, 0, 4, 200);
	must_add(bench, 1);
	order(bench, CALL_THREADS, 1, 4, 200);
	switch_cpu("1");
	assert_int_equal(breakpoints_keep(bench->breakpoints, &bench->err), 1);
	assert_int_equal(breakpoints_keep(bench->breakpoints, &bench->err), 0);
	order(bench, CALL_THREADS, 0, 4, 200);
	order(bench, CALL_THREADS, 1, 4, 200);
	end(bench, 0);
}

int main(void)
{
	unit_needs_root("set breakpoints");
	unit_needs_breakpoints();
	caller_keep_perf_on();
	return unit_run(NULL, NULL);
}
