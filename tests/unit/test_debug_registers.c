// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a breakpoint cannot be had: others have the debug registers, or the address is none. Then
 * nothing is left half done, and it is said who has them. Needs root.
 */
#include "breakpoint_bench.h"

#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/user.h>

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

UNIT_TEST_WITHIN(test_bad_address, set_up, tear_down)
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

UNIT_TEST_WITHIN(test_debugger_has_two, set_up, tear_down)
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
		    "itself has 2, another place-probe, perf or a debugger that is gone 2"))
		fail_msg("%s", bench->err.text);
	end(bench, 0);
}

UNIT_TEST_WITHIN(test_debugger_has_all, set_up, tear_down)
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
UNIT_TEST_WITHIN(test_debugger_of_the_thread, set_up, tear_down)
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

UNIT_TEST_WITHIN(test_other_instance_has_most, set_up, tear_down)
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
		    "itself has 1, another place-probe, perf or a debugger that is gone 3"))
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
UNIT_TEST_WITHIN(test_killed, set_up, tear_down)
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

int main(void)
{
	unit_needs_root("set breakpoints");
	unit_needs_breakpoints();
	caller_keep_perf_on();
	return unit_run(NULL, NULL);
}
