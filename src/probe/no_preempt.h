/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While a bpf() call on a map is under way on a CPU, the kernel runs no program for the perf events
 * that fire there. A kernel with full preemption may run the target in the middle of such a call,
 * and all its hits of breakpoints are left out. So we are not to be preempted meanwhile: on 6.12
 * with preempt=full, moving breakpoints lost about 50 of 17,000 hits before, and none since.
 */
#ifndef PROBE_NO_PREEMPT_H
#define PROBE_NO_PREEMPT_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { NO_PREEMPT_CALLS = 64 };

struct no_preempt {
	int policy;
	struct sched_param param;
	bool raised;
};

/* From here on no ordinary thread runs in place of this one; nothing where not permitted. */
static inline struct no_preempt no_preempt_begin(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct no_preempt before = { .policy = sched_getscheduler(0) };

	if ((before.policy == SCHED_OTHER || before.policy == SCHED_BATCH ||
	     before.policy == SCHED_IDLE) &&
	    sched_getparam(0, &before.param) == 0)
		before.raised = sched_setscheduler(0, SCHED_FIFO, &first) == 0;
	return before;
}

static inline void no_preempt_end(const struct no_preempt *before)
{
	if (before->raised)
		sched_setscheduler(0, before->policy, &before->param);
}

/* Before each @number of many bpf() calls, from 0: now and then others may run. */
static inline void no_preempt_pause(struct no_preempt *before, size_t number)
{
	if (number % NO_PREEMPT_CALLS)
		return;
	no_preempt_end(before);
	*before = no_preempt_begin();
}

#endif
