// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hardware breakpoints on a real process with the real BPF program: three counts of the same
 * calls, the process's own, BPF's and the kernel's, must agree. In C and not through
 * place-probe's command line, because moving a breakpoint and who holds which register are
 * between the parts. Needs root; without it everything is skipped.
 */
#include "unit.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "attach/breakpoints.h"
#include "bpf/event.h"
#include "bpf/place_probe.skel.h"
#include "caller.h"
#include "clock.h"
#include "error.h"
#include "target/process.h"

enum { CPUS_MAX = 1024 };

/* Breakpoints on a caller, and all that they need. */
struct bench {
	struct caller caller;
	struct process process;
	struct place_probe_bpf *bpf;
	struct breakpoints *breakpoints;
	bool armed[BODIES]; /* at some time or other */
	struct error err;
};

static struct address body_address(int body)
{
	return (struct address){ (uint64_t)(uintptr_t)caller_bodies[body] };
}

static int keep_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static void load(struct bench *bench, pid_t tid)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	struct bpf_program *program;

	assert_non_null(bpf);
	bench->bpf = bpf;
	bpf->rodata->target_tgid =
		(uint32_t)(bench->process.initial_pid_ns ? bench->process.pid :
							   bench->process.ns_pid);
	if (!bench->process.initial_pid_ns) {
		bpf->rodata->target_pid_ns_dev = bench->process.pid_ns_dev;
		bpf->rodata->target_pid_ns_inode = bench->process.pid_ns_inode;
	}
	bpf->rodata->target_tid = (uint32_t)tid;
	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, program == bpf->progs.count_break);
	}
	assert_return_code(bpf_map__set_max_entries(bpf->maps.counters, BODIES), 0);
	assert_return_code(bpf_map__set_max_entries(bpf->maps.events, 4096), 0);
	assert_return_code(bpf_map__set_max_entries(bpf->maps.breakpoint_sites, 1024), 0);
	assert_return_code(place_probe_bpf__load(bpf), 0);
	bpf->bss->active = 1;
}

static const struct bench new_bench = {
	.process = { .pidfd = -1, .proc_fd = -1, .view_fd = -1 },
};

/* Look at the caller, and load a program for it or for its thread @tid. */
static void open_bench(struct bench *bench, pid_t tid)
{
	struct breakpoints_config config = { .tid = tid };

	if (process_init(&bench->process, bench->caller.pid, &bench->err))
		fail_msg("%s", bench->err.text);
	load(bench, tid);
	config.program_fd = bpf_program__fd(bench->bpf->progs.count_break);
	config.sites_fd = bpf_map__fd(bench->bpf->maps.breakpoint_sites);
	config.process = &bench->process;
	assert_return_code(breakpoints_create(&bench->breakpoints, &config, &bench->err), 0);
}

static void begin(struct bench *bench)
{
	assert_true(caller_begin(&bench->caller));
	open_bench(bench, 0);
}

/* The site of a body is its number. */
static int add(struct bench *bench, int body)
{
	bench->err.text[0] = '\0';
	return breakpoints_add(bench->breakpoints, body_address(body), (uint32_t)body, &bench->err);
}

static int must_add(struct bench *bench, int body)
{
	int slot = add(bench, body);

	if (slot < 0)
		fail_msg("%s", bench->err.text);
	bench->armed[body] = true;
	return slot;
}

static void must_move(struct bench *bench, int slot, int body)
{
	if (breakpoints_move(bench->breakpoints, slot, body_address(body), (uint32_t)body,
			     &bench->err))
		fail_msg("%s", bench->err.text);
	bench->armed[body] = true;
}

static void order(struct bench *bench, enum order what, int body, int threads, int calls)
{
	struct caller_order words = { what, body, threads, calls };

	assert_true(caller_do(&bench->caller, words));
}

static unsigned long hits(const struct bench *bench, int body)
{
	static struct site_counters per_cpu[CPUS_MAX];
	uint32_t site = (uint32_t)body;
	unsigned long sum = 0;

	memset(per_cpu, 0, sizeof(per_cpu));
	assert_return_code(
		bpf_map_lookup_elem(bpf_map__fd(bench->bpf->maps.counters), &site, per_cpu), 0);
	for (int i = 0; i < CPUS_MAX; i++)
		sum += per_cpu[i].hits;
	return sum;
}

static struct breakpoint_counters runs(const struct bench *bench)
{
	static struct breakpoint_counters per_cpu[CPUS_MAX];
	struct breakpoint_counters sum = { 0 };
	uint32_t zero = 0;

	memset(per_cpu, 0, sizeof(per_cpu));
	assert_return_code(bpf_map_lookup_elem(bpf_map__fd(bench->bpf->maps.breakpoint_counts),
					       &zero, per_cpu),
			   0);
	for (int i = 0; i < CPUS_MAX; i++) {
		sum.runs += per_cpu[i].runs;
		sum.unknown_address += per_cpu[i].unknown_address;
	}
	return sum;
}

static void close_bench(struct bench *bench)
{
	breakpoints_destroy(bench->breakpoints);
	place_probe_bpf__destroy(bench->bpf);
	process_deinit(&bench->process);
}

/* Returns how it had ended before, 0 if it had not. */
static int end_caller(struct bench *bench)
{
	int status = caller_end(&bench->caller);

	close_bench(bench);
	*bench = new_bench;
	return status;
}

/*
 * End it: of the bodies with a breakpoint every call was counted, by BPF and by the kernel, and of
 * the others none. @others fired and are not the caller's. A hit that the kernel left out is known.
 */
static void end(struct bench *bench, unsigned long others)
{
	uint64_t fired = breakpoints_stop(bench->breakpoints);
	const atomic_ulong *called = bench->caller.shared->calls;
	struct breakpoint_counters counters = runs(bench);
	unsigned long calls = 0, counted = 0;

	for (int i = 0; i < BODIES; i++) {
		counted += hits(bench, i);
		calls += bench->armed[i] ? called[i] : 0;
		if (fired == counters.runs)
			assert_int_equal(hits(bench, i), bench->armed[i] ? called[i] : 0);
	}
	assert_int_equal(fired, calls + others);
	assert_int_equal(counters.runs, counted + others);
	assert_int_equal(counters.unknown_address, 0);
	if (fired != counters.runs)
		print_message("the kernel left out %lu of %lu hits\n",
			      (unsigned long)(fired - counters.runs), (unsigned long)fired);
	assert_int_equal(end_caller(bench), 0);
}

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

static void test_threads(void **state)
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
static void test_churn(void **state)
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

static void test_children(void **state)
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

static void test_main_thread_exits(void **state)
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

static void test_one_thread(void **state)
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

static void test_thread_is_gone(void **state)
{
	struct bench *bench = *state;

	assert_true(caller_begin(&bench->caller));
	open_bench(bench, getpid());
	/* The test's own thread is none of the process. */
	assert_int_equal(add(bench, 0), -ESRCH);
	assert_non_null(strstr(bench->err.text, "has exited"));
	end(bench, 0);
}

static void test_two_at_once(void **state)
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
	assert_int_equal(breakpoints_stop(other.breakpoints), runs(&other).runs);
	close_bench(&other);
	end(bench, 0);
}

/* Moving ---------------------------------------------------------------------------------- */

static void test_move(void **state)
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
	order(bench, CALL, 2, 0, 10);
	assert_int_equal(must_add(bench, 3), slot);
	order(bench, CALL, 3, 0, 10);
	assert_int_equal(breakpoints_read(bench->breakpoints, slot), 10);
	end(bench, 0);
}

/*
 * As a method goes from body to body while threads, old and new, call it: a breakpoint is moved to the
 * next body before that is published, from one that nobody calls any more.
 */
static void test_move_under_way(void **state)
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
 * While a bpf() call on a map is under way on a CPU the kernel runs no program of a perf event there; with
 * full preemption the caller's hits can come in between. What is left out then must be known.
 */
static void test_left_out(void **state)
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

/* CPUs that come and go --------------------------------------------------------------------- */

static void switch_cpu(const char *how)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);

	assert_return_code(fd, 0);
	assert_int_equal(write(fd, how, 1), 1);
	close(fd);
}

static void test_cpu_is_switched(void **state)
{
	struct bench *bench = *state;

	/* Only in the guests of tests/kernels: they are ours alone. */
	if (!getenv("PLACE_PROBE_TEST_GUEST"))
		skip();
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

/* Refusals -------------------------------------------------------------------------------- */

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void test_bad_address(void **state)
{
	const struct address of_the_kernel = { 0xffffffff81000000 };
	struct bench *bench = *state;
	int slot, descriptors;

	begin(bench);
	descriptors = open_descriptors();
	assert_int_equal(breakpoints_add(bench->breakpoints, of_the_kernel, 0, &bench->err),
			 -EINVAL);
	assert_non_null(strstr(bench->err.text, "0xffffffff81000000"));
	assert_int_equal(open_descriptors(), descriptors);
	slot = must_add(bench, 0);
	assert_int_equal(breakpoints_move(bench->breakpoints, slot, of_the_kernel, 1, &bench->err),
			 -EINVAL);
	/* It is still where it was, on every CPU. */
	order(bench, CALL, 0, 0, 30);
	order(bench, CALL_THREADS, 0, 8, 1000);
	assert_int_equal(hits(bench, 0), 8030);
	assert_int_equal(breakpoints_keep(bench->breakpoints, &bench->err), 0);
	end(bench, 0);
}

/* A debugger of thread @pid that has @registers of it. */
static pid_t start_debugger(pid_t pid, int registers)
{
	pid_t debugger = fork();
	int status;

	if (debugger == 0) {
		unsigned long control = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "gdb");
		if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid)
			_exit(1);
		for (int i = 0; i < registers; i++) {
			control |= 1UL << (2 * i);
			if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[i]),
				   0x1000))
				_exit(2);
		}
		if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), control) ||
		    ptrace(PTRACE_CONT, pid, NULL, NULL))
			_exit(3);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	assert_true(debugger > 0);
	/* It stops itself once it has what it wants. */
	assert_int_equal(waitpid(debugger, &status, WUNTRACED), debugger);
	assert_true(WIFSTOPPED(status));
	return debugger;
}

/* Killed, it lets go of what it traced. */
static void end_debugger(pid_t debugger)
{
	kill(debugger, SIGKILL);
	waitpid(debugger, NULL, 0);
}

static void test_debugger_has_two(void **state)
{
	char words[64];
	struct bench *bench = *state;
	int descriptors;
	pid_t debugger;

	begin(bench);
	debugger = start_debugger(bench->caller.pid, 2);
	must_add(bench, 0);
	must_add(bench, 1);
	descriptors = open_descriptors();
	assert_int_equal(add(bench, 2), -ENOSPC);
	assert_int_equal(open_descriptors(), descriptors);
	assert_int_equal(breakpoints_count(bench->breakpoints), 2);
	snprintf(words, sizeof(words), "place-probe itself has 2, gdb (%d) 2;", debugger);
	if (!strstr(bench->err.text, words))
		fail_msg("'%s' is not in: %s", words, bench->err.text);
	/* Those that there are work, also with the debugger's beside them. */
	order(bench, CALL_NESTED, 0, 3, 30);
	order(bench, CALL, 1, 0, 30);
	order(bench, CALL, 2, 0, 30);
	/* What a debugger leaves behind stays until the thread exits. */
	end_debugger(debugger);
	assert_int_equal(add(bench, 2), -ENOSPC);
	if (!strstr(bench->err.text,
		    "itself has 2, another place-probe, perf or a debugger that is gone 2;"))
		fail_msg("%s", bench->err.text);
	end(bench, 0);
}

static void test_debugger_has_all(void **state)
{
	for (int registers = 3; registers <= 4; registers++) {
		struct bench *bench = *state;
		pid_t debugger;
		char words[64];

		begin(bench);
		debugger = start_debugger(bench->caller.pid, registers);
		if (registers == 3)
			must_add(bench, 0);
		assert_int_equal(add(bench, 1), -ENOSPC);
		snprintf(words, sizeof(words), "itself has %d, gdb (%d) %d;", 4 - registers,
			 debugger, registers);
		if (!strstr(bench->err.text, words))
			fail_msg("'%s' is not in: %s", words, bench->err.text);
		order(bench, CALL, 0, 0, 10);
		order(bench, CALL, 1, 0, 10);
		end_debugger(debugger);
		end(bench, 0);
	}
}

/* With one thread asked for: the registers of that thread are what counts. */
static void test_debugger_of_the_thread(void **state)
{
	struct bench *bench = *state;
	pid_t debugger;
	char words[64];

	assert_true(caller_begin(&bench->caller));
	open_bench(bench, bench->caller.shared->serving_tid);
	debugger = start_debugger(bench->caller.shared->serving_tid, 3);
	must_add(bench, 0);
	assert_int_equal(add(bench, 1), -ENOSPC);
	snprintf(words, sizeof(words), "itself has 1, gdb (%d) 3;", debugger);
	if (!strstr(bench->err.text, words))
		fail_msg("'%s' is not in: %s", words, bench->err.text);
	end_debugger(debugger);
	order(bench, CALL, 0, 0, 10);
	end(bench, 0);
}

static void test_other_instance_has_most(void **state)
{
	struct bench *bench = *state, other = new_bench;
	int descriptors;

	begin(bench);
	other.caller = bench->caller;
	open_bench(&other, 0);
	for (int body = 0; body < 3; body++)
		must_add(&other, body);
	must_add(bench, 3);
	descriptors = open_descriptors();
	assert_int_equal(add(bench, 4), -ENOSPC);
	if (!strstr(bench->err.text,
		    "itself has 1, another place-probe, perf or a debugger that is gone 3;"))
		fail_msg("%s", bench->err.text);
	assert_int_equal(open_descriptors(), descriptors);
	close_bench(&other);
	/* All four at once, and no fifth. */
	for (int body = 0; body < 3; body++)
		must_add(bench, body);
	assert_int_equal(add(bench, 4), -ENOSPC);
	if (!strstr(bench->err.text, "place-probe itself has 4;"))
		fail_msg("%s", bench->err.text);
	for (int body = 0; body < 5; body++)
		order(bench, CALL_THREADS, body, 2, 40);
	end(bench, 0);
}

/* Whoever is killed leaves none behind. */
static void test_killed(void **state)
{
	struct bench *bench = *state;
	pid_t child;
	int status;

	begin(bench);
	child = fork();
	if (child == 0) {
		for (int body = 0; body < 4; body++)
			must_add(bench, body);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(breakpoints_free(&bench->err), 4);
	end(bench, 0);
}

static int set_up(void **state)
{
	struct error err = { .text = "" };
	int free_registers;

	libbpf_set_print(keep_quiet);
	/* Of the machine's: somebody else's test may have some just now. */
	for (int i = 0; (free_registers = breakpoints_free(&err)) != BREAKPOINTS_MAX && i < 300;
	     i++)
		usleep(100000);
	if (free_registers != BREAKPOINTS_MAX) {
		print_error("%d of %d debug registers are free %s\n", free_registers,
			    BREAKPOINTS_MAX, err.text);
		return -1;
	}
	*state = malloc(sizeof(struct bench));
	if (!*state)
		return -1;
	*(struct bench *)*state = new_bench;
	return 0;
}

/* After a failure there is something left. */
static int tear_down(void **state)
{
	struct bench *bench = *state;

	if (bench->caller.pid)
		end_caller(bench);
	free(bench);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_churn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_children, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_main_thread_exits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_thread_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_move, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_move_under_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cpu_is_switched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_debugger_has_two, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_debugger_has_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_debugger_of_the_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_instance_has_most, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
	};

	if (geteuid() != 0) {
		print_message("only root can set breakpoints: skipped\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
