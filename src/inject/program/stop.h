/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread, stopped by ptrace and let go as it was: nothing here lasts longer than it must, and
 * of all that may come in between nothing is taken from the program.
 */
#ifndef INJECT_PROGRAM_STOP_H
#define INJECT_PROGRAM_STOP_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct stopped {
	pid_t tid;
	struct user_regs_struct registers; /* as they are to be when it is let go */
	uint64_t mask;			   /* the signals it blocks itself */
	int signal; /* one that has come, and that it gets when it is let go */
	uint64_t begin_ns;
};

/*
 * Stop thread @tid and have it block all signals that are not its own doing. 0, or -ESRCH (it has
 * gone), -EPERM (it may not be, or somebody traces it), -ETIMEDOUT (it does not come to a stop; it
 * is let go as soon as it does), -ENOEXEC (it runs code of another kind).
 */
int thread_stop(struct stopped *stopped, pid_t tid);

/* What a single step came to. */
enum step_end {
	STEP_DONE,
	STEP_GONE,	/* the thread is no more */
	STEP_DISTURBED, /* a signal came first, that thread_release() passes on: nothing was done */
	STEP_FORBIDDEN, /* the system call has raised SIGSYS, which is dropped */
	STEP_LOST,	/* it went elsewhere */
};

/* Make the system call at @instruction with @registers, which show afterwards what came of it. */
enum step_end thread_call(struct stopped *stopped, struct user_regs_struct *registers,
			  uint64_t instruction);

/* Let it go with its own registers and signals. Returns for how long it was stopped. */
uint64_t thread_release(struct stopped *stopped);

/* Let go of threads that have come to a stop too late, or under another id. */
void threads_release_late(void);

#endif
