/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls under way that were left without an exit: by an exception, longjmp() and the like. */
#ifndef BPF_LATENCY_LEFT_BPF_H
#define BPF_LATENCY_LEFT_BPF_H

/*
 * The innermost call, if its frame is further down the stack than @limit: it has been left without
 * an exit, or by one that had no probe any more. Nonzero: there is no such call. A function by
 * itself, which the kernel goes through once.
 */
__noinline int drop_innermost(struct timed_thread *thread, __u64 limit)
{
	struct timed_call *call = thread ? innermost(thread) : NULL;
	struct timed_site *timed;

	if (!call || call->stack_pointer >= limit)
		return 1;
	timed = site_of(call);
	if (filter_drops_left(call, is_still_timed(call, timed))) {
		leave_call(thread, call, timed, 0);
		return 0;
	}
	if (trace_calls)
		trace_left(thread, is_still_timed(call, timed) ? WATCH_UNWOUND : WATCH_UNSEEN, 0);
	if (watch_values)
		leave_watched(call, is_still_timed(call, timed));
	else if (is_still_timed(call, timed))
		count_unwound(call->site, call->by);
	else
		count_untimed(call->site, call->by);
	leave_call(thread, call, timed, 0);
	return 0;
}

/* All such calls. */
__noinline int drop_all(struct timed_thread *thread, __u64 limit)
{
	for (int i = 0; thread && i < LATENCY_DEPTH; i++) {
		if (drop_innermost(thread, limit))
			break;
	}
	return 0;
}

/* Most often there are none. */
static __always_inline void drop_unwound(struct timed_thread *thread, __u64 limit)
{
	const struct timed_call *call = innermost(thread);

	if (call && call->stack_pointer < limit)
		drop_all(thread, limit);
}

#endif
