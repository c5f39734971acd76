/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While a bpf() call on a map is under way on a CPU, the kernel runs no program for the perf events
 * that fire there. A kernel with full preemption may run the target in the middle of such a call,
 * and all its hits of breakpoints are left out. So we are not to be preempted meanwhile: on 6.12
 * with preempt=full, moving breakpoints lost about 50 of 17,000 hits before, and none since.
 */
#ifndef PROBE_UNDISTURBED_H
#define PROBE_UNDISTURBED_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { UNDISTURBED_CALLS = 64 };

struct undisturbed {
	int policy;
	struct sched_param param;
	bool raised;
};

/* From here on no ordinary thread runs in place of this one; nothing where not permitted. */
static inline struct undisturbed undisturbed_begin(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct undisturbed before = { .policy = sched_getscheduler(0) };

	if ((before.policy == SCHED_OTHER || before.policy == SCHED_BATCH ||
	     before.policy == SCHED_IDLE) &&
	    sched_getparam(0, &before.param) == 0)
		before.raised = sched_setscheduler(0, SCHED_FIFO, &first) == 0;
	return before;
}

static inline void undisturbed_end(const struct undisturbed *before)
{
	if (before->raised)
		sched_setscheduler(0, before->policy, &before->param);
}

/* Before each @number of many bpf() calls, from 0: now and then others get their turn. */
static inline void undisturbed_but_for_others(struct undisturbed *before, size_t number)
{
	if (number % UNDISTURBED_CALLS)
		return;
	undisturbed_end(before);
	*before = undisturbed_begin();
}

#endif
