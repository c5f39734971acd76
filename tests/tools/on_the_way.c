// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * on_the_way TID ADDRESS [BEGIN END]: stop a thread where it is about to execute the first instruction at ADDRESS
 * (hexadecimal), before any breakpoint there has fired, as if it had lost its CPU just then; or, with the bounds of the
 * runtime's code, wherever it is, and with each line of input after the next system call on its way through that code. Says
 * so; lets it go on when the input ends. For tests.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { STEPS_MAX = 1000000 };

struct way {
	pid_t tid;
	uint64_t address;
	uint64_t begin; /* these two: of the runtime's code, or 0 */
	uint64_t end;
	bool inside; /* it has come there, and not to the address since */
	long signal; /* that it is still to get */
	int steps;   /* since it was stopped last */
	int calls;   /* of those: at the address */
};

/* Is a system call what comes next? */
static bool calls_kernel(pid_t tid, uint64_t address)
{
	return (ptrace(PTRACE_PEEKTEXT, tid, address, NULL) & 0xffff) == 0x050f;
}

/* Has it come where it is to stop? */
static bool is_there(struct way *way, uint64_t at, bool has_called)
{
	if (!way->end)
		return at == way->address;
	way->inside |= at >= way->begin && at < way->end;
	way->inside &= at != way->address;
	return way->inside && has_called;
}

/* Steps, with all signals that come meanwhile. False if the thread has ended. */
static bool step(struct way *way)
{
	struct user_regs_struct regs;
	bool calls = false;
	int status;

	way->calls = 0;
	for (way->steps = 0; way->steps < STEPS_MAX; way->steps++) {
		if (ptrace(PTRACE_SINGLESTEP, way->tid, NULL, way->signal) ||
		    waitpid(way->tid, &status, __WALL) != way->tid || !WIFSTOPPED(status))
			return false;
		way->signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (ptrace(PTRACE_GETREGS, way->tid, NULL, &regs))
			return false;
		way->calls += regs.rip == way->address;
		if (is_there(way, regs.rip, calls) && !way->signal)
			return true;
		calls = way->inside && calls_kernel(way->tid, regs.rip);
	}
	errno = ETIMEDOUT;
	return false;
}

int main(int argc, char **argv)
{
	struct way way = { .tid = argc == 3 || argc == 5 ? (pid_t)strtol(argv[1], NULL, 10) : 0 };
	int status, input = '\n';

	if (way.tid)
		way.address = strtoull(argv[2], NULL, 16);
	if (argc == 5) {
		way.begin = strtoull(argv[3], NULL, 16);
		way.end = strtoull(argv[4], NULL, 16);
	}
	if (!way.tid || ptrace(PTRACE_SEIZE, way.tid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, way.tid, NULL, NULL) ||
	    waitpid(way.tid, &status, __WALL) != way.tid) {
		fprintf(stderr, "on_the_way: %s\n",
			way.tid ? strerror(errno) : "which thread and address?");
		return 1;
	}
	for (bool there = way.end; input == '\n'; there = false, input = getchar()) {
		if (!there && !step(&way)) {
			fprintf(stderr, "on_the_way: %s\n", strerror(errno));
			return 1;
		}
		fprintf(stderr, "on_the_way: after %d instructions and %d calls\n", way.steps,
			way.calls);
		puts("on the way");
		fflush(stdout);
	}
	return ptrace(PTRACE_DETACH, way.tid, NULL, NULL) ? 1 : 0;
}
