// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * on_the_way TID ADDRESS: stop a thread where it is about to execute the first instruction at ADDRESS (hexadecimal),
 * before any breakpoint there has fired, as if it had lost its CPU just then. Says so; lets it go on when the input ends.
 * For tests.
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

enum { STEPS_MAX = 10000000 };

/* Steps, with all signals that come meanwhile. False if the thread has ended. */
static bool step_to(pid_t tid, uint64_t address)
{
	struct user_regs_struct regs;
	long signal = 0;
	int status;

	for (int i = 0; i < STEPS_MAX; i++) {
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, signal) ||
		    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return false;
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
			return false;
		if (regs.rip == address && !signal)
			return true;
	}
	errno = ETIMEDOUT;
	return false;
}

int main(int argc, char **argv)
{
	pid_t tid = argc == 3 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	int status;

	if (!tid || ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid ||
	    !step_to(tid, strtoull(argv[2], NULL, 16))) {
		fprintf(stderr, "on_the_way: %s\n",
			tid ? strerror(errno) : "which thread and address?");
		return 1;
	}
	puts("on the way");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return ptrace(PTRACE_DETACH, tid, NULL, NULL) ? 1 : 0;
}
