/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --trace: each call of a thread that has one of a root under way is sent when it is over, the
 * inner ones first. Whoever reads them makes a tree of those of one number (session/tracing.c).
 */
#ifndef BPF_TRACE_BPF_H
#define BPF_TRACE_BPF_H

/* With a limit, so many traces are taken that are to be shown, and what comes then is not sent. */
static __always_inline bool is_trace_wanted(bool is_root, __u32 fate, __u64 took_ns)
{
	if (!active || !max_hits)
		return active;
	if (is_root && fate != WATCH_UNSEEN && took_ns >= slow_ns)
		return __sync_fetch_and_add(&hits_taken, 1) < max_hits;
	return hits_taken < max_hits;
}

static __always_inline void fill_traced(struct hit_event *event, const struct timed_thread *thread,
					__u32 fate, __u64 took_ns)
{
	__u32 missed = thread->trace.missed;

	event->duration_ns = took_ns;
	event->stack_end = STACK_TRUNCATED;
	event->trace = thread->trace.number;
	event->ended = thread->trace.ended;
	event->traced.depth = (thread->depth - 1) & (LATENCY_DEPTH - 1);
	event->traced.fate = fate;
	event->traced.missed = missed < 0xffff ? missed : 0xffff;
}

__noinline int trace_left(struct timed_thread *thread, __u32 fate, __u64 took_ns)
{
	const struct timed_call *call = thread ? innermost(thread) : NULL;
	struct site_counters *count;
	struct hit_event *event;
	__u64 ids;
	__u32 site;

	if (!call)
		return 0;
	thread->trace.ended++;
	if (!is_trace_wanted(thread->depth == 1, fate, took_ns))
		return 0;
	/* Linux 6.1 takes no key that is in the memory a function was given. */
	site = call->site;
	event = bpf_ringbuf_reserve(&events, HIT_EVENT_HEADER_BYTES, 0);
	if (!event) {
		count = bpf_map_lookup_elem(&counters, &site);
		if (count)
			__sync_fetch_and_add(&count->lost, 1);
		return 0;
	}
	ids = target_ids(bpf_get_current_pid_tgid());
	fill_hit(event, site, ids >> 32, (__u32)ids);
	event->entered_ns = call->entered_ns;
	fill_traced(event, thread, fate, took_ns);
	bpf_ringbuf_submit(event, wakeup_flags());
	return 0;
}

#endif
