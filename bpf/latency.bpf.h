/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairing entries with exits, by the stack pointer, which is the same at both. What is further down
 * the stack when a call begins or ends has been left without an exit: by an exception or longjmp().
 *
 * What is kept of a thread only its own programs touch, one after the other.
 *
 * Costs, by tests/bench/latency_cost on a virtual machine: reading the clock 36 ns, a lookup in a
 * hash 29, a call of a function or helper 7 to 9. So there are as few of them as may be. A call
 * takes 310 to 350 ns more than two empty programs (wanted: below 400) with an exit that the kernel
 * emulates, and 480 when kept apart by caller.
 */
#ifndef BPF_LATENCY_BPF_H
#define BPF_LATENCY_BPF_H

#include "bpf/latency.h"

/* Set before loading. */
const volatile __u32 latency_by; /* enum latency_by */
const volatile __u64
	slow_ns; /* report calls that took so long at least, and nothing else; 0: do not */
const volatile bool trace_calls; /* --trace: each call below one of a root is reported */
const volatile __u64 linear_min_ns;
const volatile __u64 linear_step_ns; /* 0: no linear buckets */
const volatile __u64 linear_count;   /* the last one has all that is longer */

struct latency_losses latency_losses;

/* Of --watch, see watch_report.bpf.h: what was captured of a call at its entry. */
int watch_left(__u64 number, __u32 fate, __u64 took_ns);

/* Of --trace, see trace.bpf.h. */
static bool is_traced(struct timed_thread *thread, const struct timed_site *timed);
static __u64 end_traced(struct timed_thread *thread, struct timed_site *begun, __u64 took_ns,
			__u32 exit_ns);
int trace_left(struct timed_thread *thread, __u32 fate, __u64 took_ns);

#define LATENCY_NONE (~0ULL)

static const struct timed_thread no_calls;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set to the number of sites */
	__type(key, __u32);
	__type(value, struct timed_site);
} timed_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set to LATENCY_THREADS */
	__type(key, __u64);	/* as bpf_get_current_pid_tgid() has it */
	__type(value, struct timed_thread);
} timed_threads SEC(".maps");

/* With LATENCY_BY_SITE; otherwise they are in the next one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set to the number of sites */
	__type(key, __u32);
	__type(value, struct latency_totals);
} site_totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1); /* set to what there is room for */
	__type(key, struct latency_key);
	__type(value, struct latency_totals);
} latency_totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1); /* likewise */
	__type(key, struct latency_key);
	__type(value, __u64);
} latency_buckets SEC(".maps");

static const struct latency_totals no_totals;
static const __u64 no_count;

static __always_inline struct latency_totals *totals_of(__u32 site, __u64 by)
{
	struct latency_key key = { .by = by, .site = site };
	struct latency_totals *totals;

	if (latency_by == LATENCY_BY_SITE)
		return bpf_map_lookup_elem(&site_totals, &site);
	totals = bpf_map_lookup_elem(&latency_totals, &key);
	if (totals)
		return totals;
	/* Another CPU may have been first. */
	bpf_map_update_elem(&latency_totals, &key, &no_totals, BPF_NOEXIST);
	totals = bpf_map_lookup_elem(&latency_totals, &key);
	if (!totals)
		__sync_fetch_and_add(&latency_losses.durations, 1);
	return totals;
}

/* A program can be preempted by another on its CPU. */
static __always_inline void raise_to(__u64 *highest, __u64 value)
{
	for (int i = 0; i < 8; i++) {
		__u64 had = *(volatile __u64 *)highest;

		if (had >= value || __sync_val_compare_and_swap(highest, had, value) == had)
			break;
	}
}

/* The number of the bucket for a duration; see LATENCY_SUBS. */
static __always_inline __u32 latency_bucket(__u64 ns)
{
	__u64 rest = ns;
	__u32 power = 0;

	if (ns < LATENCY_SUBS)
		return (__u32)ns;
	for (__u32 bits = 32; bits; bits /= 2) {
		if (rest >> bits) {
			rest >>= bits;
			power += bits;
		}
	}
	return (power - LATENCY_SUB_BITS + 1) * LATENCY_SUBS +
	       ((ns >> (power - LATENCY_SUB_BITS)) & (LATENCY_SUBS - 1));
}

static __always_inline void count_bucket(__u32 site, __u64 by, __u32 bucket)
{
	struct latency_key key = { .by = by, .site = site, .bucket = bucket };
	__u64 *count = bpf_map_lookup_elem(&latency_buckets, &key);

	if (!count) {
		bpf_map_update_elem(&latency_buckets, &key, &no_count, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&latency_buckets, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		__sync_fetch_and_add(&latency_losses.durations, 1);
}

__noinline int count_linear(__u32 site, __u64 by, __u64 ns)
{
	__u64 number = ns < linear_min_ns ? 0 : (ns - linear_min_ns) / linear_step_ns + 1;

	number = number < linear_count ? number : linear_count;
	count_bucket(site, by, LATENCY_LINEAR | (__u32)number);
	return 0;
}

/* Functions of their own: a frame of 64 bytes and more would be shared, see test_bpf.c. */
__noinline int count_unwound(__u32 site, __u64 by)
{
	struct latency_totals *totals = totals_of(site, by);

	if (totals)
		__sync_fetch_and_add(&totals->unwound, 1);
	return 0;
}

__noinline int count_untimed(__u32 site, __u64 by)
{
	struct latency_totals *totals = totals_of(site, by);

	__sync_fetch_and_add(&latency_losses.untimed, 1);
	if (totals)
		__sync_fetch_and_add(&totals->untimed, 1);
	return 0;
}

__noinline int count_duration(__u32 site, __u64 by, __u64 ns)
{
	struct latency_totals *totals = totals_of(site, by);

	if (!totals)
		return 0;
	__sync_fetch_and_add(&totals->returned, 1);
	__sync_fetch_and_add(&totals->sum_ns, ns);
	raise_to(&totals->max_ns, ns);
	raise_to(&totals->min_inverted_ns, ~ns);
	count_bucket(site, by, latency_bucket(ns));
	if (linear_step_ns)
		count_linear(site, by, ns);
	return 0;
}

/* The innermost call under way of @thread, or NULL. */
static __always_inline struct timed_call *innermost(struct timed_thread *thread)
{
	__u64 depth = thread->depth;

	return depth ? &thread->calls[(depth - 1) & (LATENCY_DEPTH - 1)] : NULL;
}

/* That which the call began at. */
static __always_inline struct timed_site *site_of(const struct timed_call *call)
{
	/* Linux 6.1 takes no key that is in the memory a function was given. */
	__u32 site = call->site;

	return bpf_map_lookup_elem(&timed_sites, &site);
}

/* @call, of @timed, is over, and so is what its probes took of the time of the call around it. */
static __always_inline void leave_call(struct timed_thread *thread, const struct timed_call *call,
				       struct timed_site *timed, __u32 exit_ns)
{
	__u64 overhead_ns = call->overhead_ns + exit_ns;
	struct timed_call *around;

	if (timed)
		overhead_ns += timed->entry_ns;
	if (timed && timed->keeps_count)
		__sync_fetch_and_add(&timed->under_way, -1);
	thread->depth--;
	around = innermost(thread);
	if (around)
		around->overhead_ns += overhead_ns;
}

/* Have the exits of @timed, at which @call began, had their probes all the time? */
static __always_inline bool is_still_timed(const struct timed_call *call,
					   const struct timed_site *timed)
{
	return timed && latency_is_ready(timed, call->ready);
}

/* For --watch and --trace: how long @call has taken until now, as far as is known. */
static __always_inline __u64 taken_until(const struct timed_call *call, __u64 now_ns)
{
	__u64 took_ns = now_ns - call->entered_ns;

	return took_ns > call->overhead_ns ? took_ns - call->overhead_ns : 1;
}

static __always_inline void leave_watched(const struct timed_call *call, bool is_timed)
{
	if (call->by)
		watch_left(call->by, is_timed ? WATCH_UNWOUND : WATCH_UNSEEN,
			   is_timed ? taken_until(call, bpf_ktime_get_ns()) : 0);
}

/*
 * Those whose frames are further down the stack than @limit have been left without an exit, or by
 * one that had no probe any more.
 */
__noinline int drop_unwound(struct timed_thread *thread, __u64 limit)
{
	if (!thread)
		return 0;
	for (int i = 0; i < LATENCY_DEPTH; i++) {
		struct timed_call *call = innermost(thread);
		struct timed_site *timed;

		if (!call || call->stack_pointer >= limit)
			break;
		timed = site_of(call);
		if (trace_calls)
			trace_left(thread,
				   is_still_timed(call, timed) ? WATCH_UNWOUND : WATCH_UNSEEN, 0);
		if (watch_values)
			leave_watched(call, is_still_timed(call, timed));
		else if (is_still_timed(call, timed))
			count_unwound(call->site, call->by);
		else
			count_untimed(call->site, call->by);
		leave_call(thread, call, timed, 0);
	}
	return 0;
}

/* Most often there are none. */
static __always_inline void look_for_unwound(struct timed_thread *thread, __u64 limit)
{
	const struct timed_call *call = innermost(thread);

	if (call && call->stack_pointer < limit)
		drop_unwound(thread, limit);
}

/* @make: it is kept if it is not yet. */
static __always_inline struct timed_thread *thread_with_calls(__u64 id, bool make)
{
	struct timed_thread *thread = bpf_map_lookup_elem(&timed_threads, &id);

	if (thread || !make)
		return thread;
	bpf_map_update_elem(&timed_threads, &id, &no_calls, BPF_NOEXIST);
	return bpf_map_lookup_elem(&timed_threads, &id);
}

static __always_inline __u64 kept_apart_by(const struct registers *regs, __u32 tid)
{
	if (latency_by == LATENCY_BY_TID)
		return tid;
	return latency_by == LATENCY_BY_CALLER ? return_address_of(regs) : 0;
}

/* What capturing has taken since @since_ns is no part of the time of the call around. */
static __always_inline void deduct_since(struct timed_thread *thread, __u64 since_ns)
{
	struct timed_call *around = innermost(thread);

	if (around)
		around->overhead_ns += bpf_ktime_get_ns() - since_ns;
}

/* At the entry of one that is watched, as watch_enter(). */
static __always_inline __u32 enter_watched(struct timed_thread *thread,
					   const bpf_user_pt_regs_t *ctx, __u32 site, __u32 tid)
{
	__u64 began_ns = bpf_ktime_get_ns();
	__u32 number = watch_enter(ctx, site, tid);

	if (thread)
		deduct_since(thread, began_ns);
	return number;
}

/* Of --trace: a thread is kept from the first call of a root on. */
static __always_inline bool may_begin(const struct timed_site *timed)
{
	return !trace_calls || (timed && timed->root);
}

/*
 * A call of the thread @id begins. Of one that is watched, the slot of what was captured if that is
 * to be reported at once; else 0.
 */
static __noinline __u32 begin_call(__u64 id, const struct registers *regs, __u32 site, __u32 tid,
				   const bpf_user_pt_regs_t *ctx)
{
	__u64 stack_pointer = regs->stack_pointer;
	struct timed_site *timed = bpf_map_lookup_elem(&timed_sites, &site);
	struct timed_thread *thread = thread_with_calls(id, may_begin(timed));
	struct timed_call *call;
	__u64 by = kept_apart_by(regs, tid);
	__u32 ready = timed ? latency_ready(timed) : 0, at_once = 0;

	/* What has not ended by an exit is not to be taken for this one. */
	if (thread)
		look_for_unwound(thread, stack_pointer + 1);
	if (timed && timed->closed && !timed->uprobes)
		return 0;
	/* As little as can be: most calls are outside. */
	if (trace_calls && !is_traced(thread, timed))
		return 0;
	count_call(bpf_map_lookup_elem(&counters, &site));
	if (watch_values) {
		by = enter_watched(thread, ctx, site, tid);
		if (by == WATCH_FILTERED)
			return 0;
		if (!timed || !ready || !watch_keep(by, thread && thread->depth < LATENCY_DEPTH)) {
			at_once = by;
			by = 0;
		}
		if (!timed || !ready || !thread || thread->depth >= LATENCY_DEPTH)
			return at_once;
	}
	if (!timed || !ready || !thread || thread->depth >= LATENCY_DEPTH) {
		if (trace_calls && thread)
			thread->trace.missed++;
		count_untimed(site, by);
		return 0;
	}
	call = &thread->calls[thread->depth & (LATENCY_DEPTH - 1)];
	thread->depth++;
	call->stack_pointer = stack_pointer;
	call->overhead_ns = 0;
	call->by = by;
	call->site = site;
	call->ready = ready;
	if (timed->keeps_count)
		__sync_fetch_and_add(&timed->under_way, 1);
	call->entered_ns = bpf_ktime_get_ns();
	return at_once;
}

/* The call that has begun at @stack_pointer; NULL: none that was seen. */
static __always_inline struct timed_call *find_call(struct timed_thread *thread,
						    __u64 stack_pointer)
{
	struct timed_call *call;

	look_for_unwound(thread, stack_pointer);
	call = innermost(thread);
	return call && call->stack_pointer == stack_pointer ? call : NULL;
}

/*
 * A call of thread @id ends at the exit with @cookie. How long it took, or LATENCY_NONE; if it is
 * watched, its slot, which knows that, or LATENCY_NONE.
 */
static __noinline __u64 end_call(__u64 id, __u64 stack_pointer, __u64 now_ns, __u64 cookie)
{
	__u32 site = (__u32)cookie;
	struct timed_site *timed = bpf_map_lookup_elem(&timed_sites, &site);
	__u64 took_ns, overhead_ns;
	__u32 exit_ns;
	struct timed_thread *thread = bpf_map_lookup_elem(&timed_threads, &id);
	struct timed_call *call = timed && thread ? find_call(thread, stack_pointer) : NULL;
	/* It may have begun in an older body of the method. */
	struct timed_site *begun = call ? site_of(call) : NULL;

	if (!timed || !thread || !call || !begun || begun->method != timed->method) {
		/* Those that are too deep have been told already. Most have been left out. */
		if ((!thread || thread->depth < LATENCY_DEPTH) && !watch_filters && !trace_calls)
			__sync_fetch_and_add(&latency_losses.orphans, 1);
		return LATENCY_NONE;
	}
	overhead_ns = call->overhead_ns + timed->within_ns;
	took_ns = now_ns - call->entered_ns;
	took_ns = took_ns > overhead_ns ? took_ns - overhead_ns : 0;
	exit_ns = cookie & LATENCY_EXIT_EMULATED ? timed->emulated_exit_ns : timed->exit_ns;
	if (trace_calls)
		return end_traced(thread, begun, took_ns, exit_ns);
	leave_call(thread, call, begun, exit_ns);
	/* It may be another call's end, if one's was missed. */
	if (watch_values && is_still_timed(call, begun))
		return watch_took(call->by, took_ns) ? call->by : LATENCY_NONE;
	if (!is_still_timed(call, begun)) {
		if (watch_values)
			leave_watched(call, false);
		else
			count_untimed(call->site, call->by);
		return LATENCY_NONE;
	}
	/* With a limit, exactly so many are. */
	if ((!slow_ns || took_ns >= slow_ns) && max_hits &&
	    __sync_fetch_and_add(&hits_taken, 1) >= max_hits)
		return LATENCY_NONE;
	count_duration(call->site, call->by, took_ns);
	return took_ns;
}

/* They are never finished. */
static __noinline int forget_calls(struct timed_thread *thread)
{
	for (int i = 0; i < LATENCY_DEPTH; i++) {
		struct timed_call *call = innermost(thread);

		if (!call)
			break;
		if (trace_calls)
			trace_left(thread, WATCH_THREAD_ENDED, 0);
		if (watch_values && call->by)
			watch_left(call->by, WATCH_THREAD_ENDED,
				   taken_until(call, bpf_ktime_get_ns()));
		leave_call(thread, call, site_of(call), 0);
	}
	return 0;
}

/*
 * The thread is gone, and its id may be another's soon. What its stack pointer has passed it had
 * left; what it had under way stays unfinished.
 */
SEC("raw_tp/sched_process_exit")
int forget_thread(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), stack_pointer;
	struct timed_thread *thread = bpf_map_lookup_elem(&timed_threads, &id);
	const bpf_user_pt_regs_t *regs;

	if (!thread)
		return 0;
	regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (active && read_stack_pointer(regs, &stack_pointer))
		drop_unwound(thread, stack_pointer);
	forget_calls(thread);
	bpf_map_delete_elem(&timed_threads, &id);
	return 0;
}

#endif
