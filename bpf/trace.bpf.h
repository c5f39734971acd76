/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --trace: each call of a thread that has one of a root under way is sent when it is over, the
 * inner ones first. Whoever reads them makes a tree of those of one number (session/tracing.c).
 */
#ifndef BPF_TRACE_BPF_H
#define BPF_TRACE_BPF_H

/* Is a call of @timed that begins now within a trace, or the beginning of one? */
static __noinline bool is_traced(struct timed_thread *thread, const struct timed_site *timed)
{
	bool root = timed && timed->root;

	if (thread && thread->depth)
		return true;
	if (thread && root) {
		thread->trace.number++;
		thread->trace.ended = 0;
		thread->trace.missed = 0;
	}
	return root;
}

/* With a limit, so many traces are taken that are to be shown, and what comes then is not sent. */
static __always_inline bool is_trace_wanted(bool is_root, __u32 fate, __u64 took_ns)
{
	if (!active || !max_hits)
		return active;
	if (is_root && fate != WATCH_UNSEEN && took_ns >= slow_ns)
		return __sync_fetch_and_add(&hits_taken, 1) < max_hits;
	return hits_taken < max_hits;
}

static __noinline int count_lost(__u32 site)
{
	struct site_counters *count = counters_of(site);

	if (count)
		__sync_fetch_and_add(&count->lost, 1);
	return 0;
}

/* Functions of their own, since their frames are to be small: see test_bpf.c. */
__noinline int trace_send(struct timed_thread *thread, __u32 fate, __u64 took_ns)
{
	const struct timed_call *call = thread ? innermost(thread) : NULL;
	struct hit_event *event;
	__u32 missed;
	__u64 ids;

	if (!call)
		return 0;
	event = bpf_ringbuf_reserve(&events, HIT_EVENT_HEADER_BYTES, 0);
	if (!event)
		return count_lost(call->site);
	ids = target_ids(bpf_get_current_pid_tgid());
	fill_hit(event, call->site, ids >> 32, (__u32)ids);
	event->entered_ns = call->entered_ns;
	missed = thread->trace.missed;
	event->duration_ns = took_ns;
	event->stack_end = STACK_TRUNCATED;
	event->trace = thread->trace.number;
	event->ended = thread->trace.ended;
	event->traced.depth = (thread->depth - 1) & (LATENCY_DEPTH - 1);
	event->traced.fate = fate;
	event->traced.missed = missed < 0xffff ? missed : 0xffff;
	bpf_ringbuf_submit(event, wakeup_flags());
	return 0;
}

/*
 * The innermost call of @thread is about to be left. @took_ns: of one that has returned. What
 * sending takes is no part of the time of the call around.
 */
__noinline int trace_left(struct timed_thread *thread, __u32 fate, __u64 took_ns)
{
	__u64 began_ns = bpf_ktime_get_ns();
	struct timed_call *call = thread ? innermost(thread) : NULL;

	if (!call)
		return 0;
	thread->trace.ended++;
	if (fate == WATCH_UNSEEN)
		took_ns = 0;
	else if (fate != WATCH_RETURNED)
		took_ns = taken_until(call, began_ns, 0);
	if (is_trace_wanted(thread->depth == 1, fate, took_ns))
		trace_send(thread, fate, took_ns);
	call->overhead_ns += bpf_ktime_get_ns() - began_ns;
	return 0;
}

/*
 * The innermost call of @thread, that began at @begun, ends. Its duration is counted as any other:
 * what is deducted of the time of the call around is with that.
 */
static __noinline __u64 end_traced(struct timed_thread *thread, struct timed_site *begun,
				   __u64 took_ns, __u32 exit_ns)
{
	struct timed_call *call = innermost(thread);
	bool timed = call && is_still_timed(call, begun);

	if (!call)
		return LATENCY_NONE;
	trace_left(thread, timed ? WATCH_RETURNED : WATCH_UNSEEN, took_ns);
	leave_call(thread, call, begun, exit_ns);
	if (timed)
		count_duration(call->site, call->by, took_ns);
	else
		count_untimed(call->site, call->by);
	return LATENCY_NONE;
}

#endif
