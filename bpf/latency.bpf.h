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

#include "bpf/latency_totals.bpf.h"

/* Set before loading. */
const volatile bool trace_calls; /* --trace: each call below one of a root is reported */

/* Of headers that come later: watch_report.bpf.h, async.bpf.h, thrown.bpf.h and trace.bpf.h. */
int watch_left(__u64 number, __u32 fate, __u64 took_ns);
extern const volatile bool watch_async;
static int async_enter(__u32 number, __u32 site, struct timed_thread *thread,
		       const bpf_user_pt_regs_t *ctx);
int thrown_forget(__u64 id);
static bool is_traced(struct timed_thread *thread, const struct timed_site *timed);
static __u64 end_traced(struct timed_thread *thread, struct timed_site *begun, __u64 took_ns,
			__u32 exit_ns);
int trace_left(struct timed_thread *thread, __u32 fate, __u64 took_ns);

#define LATENCY_NONE (~0ULL)

static const struct timed_thread no_calls;

SHARED_ARRAY(timed_sites, 1 /* set to the number of sites */, struct timed_site);

MAP(timed_threads, HASH, 1 /* set to what there is room for */,
    __u64 /* as bpf_get_current_pid_tgid() has it */, struct timed_thread);

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

/* How long @call has taken, as far as is known, without @within_ns; no call takes nothing. */
static __always_inline __u64 taken_until(const struct timed_call *call, __u64 now_ns,
					 __u64 within_ns)
{
	__u64 took_ns = now_ns - call->entered_ns, overhead_ns = call->overhead_ns + within_ns;

	return took_ns > overhead_ns ? took_ns - overhead_ns : 1;
}

/* A call of which the end said that it is not asked for, or did not tell: nothing is left of it. */
static __always_inline bool filter_drop(const struct timed_call *call)
{
	if (watch_values && call->by)
		watch_release(call->by);
	return true;
}

/* Is @call such a one, which ends at an exit? Not @is_timed: nobody knows how it ended. */
static __always_inline bool filter_drops(const struct timed_call *call, bool is_timed,
					 const bpf_user_pt_regs_t *ctx, __u64 took_ns)
{
	if (!filters_at_end || !call->filter ||
	    (is_timed && filter_end(ctx, call, took_ns) == WATCH_ACCEPT))
		return false;
	return filter_drop(call);
}

/* Likewise, one that was left otherwise. */
static __always_inline bool filter_drops_left(const struct timed_call *call, bool is_timed)
{
	if (!filters_at_end || !call->filter ||
	    (is_timed &&
	     filter_left(call->site, call->filter, taken_until(call, bpf_ktime_get_ns(), 0),
			 watch_values ? call->by : 0) == WATCH_ACCEPT))
		return false;
	return filter_drop(call);
}

static __always_inline void leave_watched(const struct timed_call *call, bool is_timed)
{
	if (call->by)
		watch_left(call->by, is_timed ? WATCH_UNWOUND : WATCH_UNSEEN,
			   is_timed ? taken_until(call, bpf_ktime_get_ns(), 0) : 0);
}

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

/* @make: it is kept if it is not yet. */
static __always_inline struct timed_thread *thread_with_calls(__u64 id, bool make)
{
	return make ? find_or_add(&timed_threads, &id, &no_calls) :
		      bpf_map_lookup_elem(&timed_threads, &id);
}

/* Of a value, by what is known at the entry. */
static __always_inline __u64 kept_apart_by(const struct registers *regs, __u32 tid)
{
	if (latency_by == LATENCY_BY_TID)
		return tid;
	if (latency_by == LATENCY_BY_VALUE)
		return BY_UNKNOWN;
	return latency_by == LATENCY_BY_CALLER ? return_address_of(regs) : 0;
}

/* What capturing has taken since @since_ns is no part of the time of the call around. */
static __always_inline void deduct_since(struct timed_thread *thread, __u64 since_ns)
{
	struct timed_call *around = innermost(thread);

	if (around)
		around->overhead_ns += bpf_ktime_get_ns() - since_ns;
}

/* What is known of a call that begins: bits. */
enum {
	CALL_ENDS = 1,	/* at exits that have probes */
	CALL_LATER = 2, /* which say whether it is asked for */
};

/* In the upper half: of what is not asked for as far as is known, nothing is kept. */
#define WATCH_NOTHING (1U << 31)

/*
 * The slot of what was captured of one that is watched: in the lower half, if it stays until the
 * call ends, else in the upper one, to be reported at once.
 */
static __noinline __u64 begin_watched(struct timed_thread *thread, const bpf_user_pt_regs_t *ctx,
				      __u32 site, __u32 tid, __u32 call)
{
	__u64 began_ns = thread && thread->depth ? bpf_ktime_get_ns() : 0;
	__u32 number = watch_enter(ctx, site, tid);
	bool kept;

	if (began_ns)
		deduct_since(thread, began_ns);
	kept = call & CALL_ENDS &&
	       watch_keep(number, thread && thread->depth < LATENCY_DEPTH, call & CALL_LATER);
	if (watch_async)
		async_enter(kept ? number : 0, site, thread, ctx);
	if (kept)
		return number;
	if (!(call & CALL_LATER))
		return (__u64)number << 32;
	watch_release(number);
	return (__u64)WATCH_NOTHING << 32;
}

/* --if, at an entry: what it takes is no part of the time of the call around, whatever it says. */
static __noinline __u64 filter_timed(struct timed_thread *thread, const bpf_user_pt_regs_t *ctx,
				     __u32 site)
{
	__u64 began_ns = thread && thread->depth ? bpf_ktime_get_ns() : 0;
	__u64 verdict = filter_call(ctx, site);

	if (began_ns)
		deduct_since(thread, began_ns);
	return verdict;
}

/* --by=EXPR, likewise. */
static __noinline __u64 by_timed(struct timed_thread *thread, const bpf_user_pt_regs_t *ctx,
				 __u32 site)
{
	__u64 began_ns = thread && thread->depth ? bpf_ktime_get_ns() : 0;
	__u64 number = by_value_of(ctx, site, stack_pointer_of(ctx));

	if (began_ns)
		deduct_since(thread, began_ns);
	return number;
}

/* Without its time, which nobody takes. */
static __noinline int count_by_value(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	__u64 by = by_value_of(ctx, site, stack_pointer_of(ctx));
	struct latency_totals *totals = totals_of(site, by);

	if (totals)
		__sync_fetch_and_add(&totals->returned, 1);
	return 0;
}

/* It is followed to its end; what its end is to decide is in its place already. */
static __noinline int push_call(struct timed_thread *thread, struct timed_site *timed,
				__u64 stack_pointer, __u64 by, __u64 ready_and_site)
{
	struct timed_call *call = &thread->calls[thread->depth & (LATENCY_DEPTH - 1)];
	struct watch_slot *slot;
	__u64 entered_ns;

	thread->depth++;
	call->stack_pointer = stack_pointer;
	call->overhead_ns = 0;
	call->by = by;
	call->site = (__u32)ready_and_site;
	call->ready = ready_and_site >> 32;
	if (timed->keeps_count)
		__sync_fetch_and_add(&timed->under_way, 1);
	call->entered_ns = entered_ns = bpf_ktime_get_ns();
	slot = watch_values ? watch_slot_of(by) : NULL;
	if (slot)
		slot->entered_ns = entered_ns;
	return 0;
}

/* Is a call that begins asked for, or can it be? Then it is said in its place what is open. */
static __noinline bool filter_begins(struct timed_thread *thread, const bpf_user_pt_regs_t *ctx,
				     __u32 site, bool followed)
{
	__u64 filter = filter_timed(thread, ctx, site);

	if (filter == WATCH_ACCEPT)
		filter = 0;
	else if (!(filter & FILTER_LATER) || !followed)
		return false;
	if (thread && followed)
		thread->calls[thread->depth & (LATENCY_DEPTH - 1)].filter = filter;
	return true;
}

/* Is there room for a call that begins, whose exits are @ready? */
static __always_inline bool has_room_for(const struct timed_thread *thread, __u32 ready)
{
	return ready && thread && thread->depth < LATENCY_DEPTH;
}

static __always_inline bool is_later(const struct timed_thread *thread, __u32 ready)
{
	return filters_at_end && thread && has_room_for(thread, ready) &&
	       thread->calls[thread->depth & (LATENCY_DEPTH - 1)].filter;
}

/*
 * A call of the thread @id begins. Of one that is watched, the slot of what was captured if that is
 * to be reported at once; else 0. What is known of it is asked for again where it is needed: there
 * are few registers, and the frame must be small.
 */
static __noinline __u32 begin_call(__u64 id, const struct registers *regs, __u32 site, __u32 tid,
				   const bpf_user_pt_regs_t *ctx)
{
	struct timed_site *timed = bpf_map_lookup_elem(&timed_sites, &site);
	/* Of --trace: a thread is kept from the first call of a root on. */
	struct timed_thread *thread = thread_with_calls(id, !trace_calls || (timed && timed->root));
	__u32 ready = timed ? latency_ready(timed) : 0, at_once = 0;
	__u64 by;

	/* What has not ended by an exit is not to be taken for this one. */
	if (thread)
		drop_unwound(thread, regs->stack_pointer + 1);
	if (timed && timed->closed && !timed->uprobes)
		return 0;
	/* As little as can be: most calls are outside. */
	if (trace_calls && !is_traced(thread, timed))
		return 0;
	if (watch_filters && !filter_begins(thread, ctx, site, has_room_for(thread, ready)))
		return 0;
	if (!is_later(thread, ready))
		count_call(counters_of(site));
	if (watch_values) {
		by = begin_watched(thread, ctx, site, tid,
				   (ready ? CALL_ENDS : 0) |
					   (is_later(thread, ready) ? CALL_LATER : 0));
		at_once = by >> 32;
		if (at_once & WATCH_NOTHING)
			return 0;
		by = (__u32)by;
	} else {
		by = by_when == BY_ENTRY ? by_timed(thread, ctx, site) : kept_apart_by(regs, tid);
	}
	if (thread && timed && has_room_for(thread, ready)) {
		push_call(thread, timed, regs->stack_pointer, by, (__u64)ready << 32 | site);
	} else if (!watch_values) {
		if (trace_calls && thread)
			thread->trace.missed++;
		count_untimed(site, by);
	}
	return at_once;
}

/* The call that has begun at @stack_pointer; NULL: none that was seen. */
static __always_inline struct timed_call *find_call(struct timed_thread *thread,
						    __u64 stack_pointer)
{
	struct timed_call *call;

	drop_unwound(thread, stack_pointer);
	call = innermost(thread);
	return call && call->stack_pointer == stack_pointer ? call : NULL;
}

/*
 * What has become of @call, that was left at an exit; without @ctx by a jump to another function,
 * and has no result. How long it took, or LATENCY_NONE; if it is watched, its slot, which knows
 * that, or LATENCY_NONE.
 */
static __noinline __u64 finish_call(struct timed_thread *thread, struct timed_call *call,
				    const struct timed_site *begun, const bpf_user_pt_regs_t *ctx,
				    __u64 took_ns)
{
	bool is_timed = is_still_timed(call, begun);

	if (filter_drops(call, is_timed, ctx, took_ns))
		return LATENCY_NONE;
	/* It may be another call's end, if one's was missed. */
	if (watch_values && is_timed)
		return watch_took(call->by, took_ns, thread->depth) ? call->by : LATENCY_NONE;
	if (!is_timed) {
		if (watch_values)
			leave_watched(call, false);
		else
			count_untimed(call->site, call->by);
		return LATENCY_NONE;
	}
	if (by_when == BY_END && ctx)
		call->by = by_value_of(ctx, call->site, call->stack_pointer);
	/* With a limit, exactly so many are. */
	if ((!slow_ns || took_ns >= slow_ns) && max_hits &&
	    __sync_fetch_and_add(&hits_taken, 1) >= max_hits)
		return LATENCY_NONE;
	count_duration(call->site, call->by, took_ns);
	return took_ns;
}

/* At the exit with @cookie: what the stack pointer will be as the body is left. */
static __always_inline __u64 left_at(const bpf_user_pt_regs_t *ctx, __u64 cookie)
{
	__u64 from = stack_pointer_of(ctx), frame = frame_pointer_of(ctx);

	/* Or one load comes of it, by an offset that the verifier does not know. */
	barrier_var(from);
	barrier_var(frame);
	if (cookie & LATENCY_EXIT_FROM_FRAME)
		from = frame;
	return from + (cookie >> LATENCY_TAKEN_DOWN_SHIFT) * LATENCY_TAKEN_DOWN_UNIT;
}

/* A call of thread @id ends at the exit with @cookie: as finish_call(). */
static __noinline __u64 end_call(__u64 id, const bpf_user_pt_regs_t *ctx, __u64 now_ns,
				 __u64 cookie)
{
	__u32 site = (__u32)cookie;
	struct timed_site *timed = bpf_map_lookup_elem(&timed_sites, &site);
	__u64 took_ns;
	__u32 exit_ns;
	struct timed_thread *thread = bpf_map_lookup_elem(&timed_threads, &id);
	struct timed_call *call = timed && thread ? find_call(thread, left_at(ctx, cookie)) : NULL;
	/* It may have begun in an older body of the method. */
	struct timed_site *begun = call ? site_of(call) : NULL;

	if (!timed || !thread || !call || !begun || begun->method != timed->method) {
		/* Those that are too deep have been told already. Most have been left out. */
		if ((!thread || thread->depth < LATENCY_DEPTH) && !watch_filters && !trace_calls)
			__sync_fetch_and_add(&latency_losses.orphans, 1);
		return LATENCY_NONE;
	}
	took_ns = taken_until(call, now_ns, timed->within_ns);
	exit_ns = cookie & LATENCY_EXIT_EMULATED ? timed->emulated_exit_ns : timed->exit_ns;
	if (trace_calls)
		return end_traced(thread, begun, took_ns, exit_ns);
	leave_call(thread, call, begun, exit_ns);
	return finish_call(thread, call, begun, cookie & LATENCY_EXIT_JUMPS ? NULL : ctx, took_ns);
}

/* The innermost call is never finished. Nonzero: there is none. As drop_innermost(). */
__noinline int forget_innermost(struct timed_thread *thread)
{
	struct timed_call *call = thread ? innermost(thread) : NULL;

	if (!call)
		return 1;
	if (filter_drops_left(call, false)) {
		leave_call(thread, call, site_of(call), 0);
		return 0;
	}
	if (trace_calls)
		trace_left(thread, WATCH_THREAD_ENDED, 0);
	if (watch_values && call->by)
		watch_left(call->by, WATCH_THREAD_ENDED, taken_until(call, bpf_ktime_get_ns(), 0));
	leave_call(thread, call, site_of(call), 0);
	return 0;
}

static long forget_turn(__u32 turn, struct timed_thread **thread)
{
	return forget_innermost(*thread) != 0;
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
	bpf_loop(LATENCY_DEPTH, forget_turn, &thread, 0);
	bpf_map_delete_elem(&timed_threads, &id);
	if (watch_values)
		thrown_forget(id);
	return 0;
}

#endif
