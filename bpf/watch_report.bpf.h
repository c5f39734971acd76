/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch: what watch.bpf.h has captured of a call becomes its one event: at the exit, or, where
 * that does not come, when it is known that it does not. The stack is that of the entry or of the
 * exit, which are the same; of a call that was left otherwise it is gone.
 */
#ifndef BPF_WATCH_REPORT_BPF_H
#define BPF_WATCH_REPORT_BPF_H

static __always_inline void watch_count_lost(const struct watch_slot *slot)
{
	struct site_counters *count = counters_of(slot->site);

	/* What is still to be decided stays undecided. */
	if (count && !slot->values.types)
		__sync_fetch_and_add(&count->lost, 1);
}

/* Arguments that are kept for the end of the call are none of the hits that are asked for. */
static __always_inline bool is_shown(const struct watch_slot *slot)
{
	return !watch_async || slot->async.kind == ASYNC_NONE ||
	       slot->values.async_news & ASYNC_ENDED;
}

/* Is one more to be reported? It is filled in to the last. */
static __always_inline bool watch_complete(struct watch_slot *slot)
{
	struct hit_event *event = (struct hit_event *)slot->hit;

	if (!active)
		return false;
	/* Steps are not told, but what there is to be said of the whole. */
	if (watch_async && slot->async.kind != ASYNC_NONE) {
		if (slow_ns && slot->values.async_ns < slow_ns)
			slot->values.async_news &= ~ASYNC_ENDED;
		if (!slot->values.async_news)
			return false;
	} else if (slow_ns && event->duration_ns < slow_ns) {
		return false;
	}
	if (max_hits && is_shown(slot) && __sync_fetch_and_add(&hits_taken, 1) >= max_hits)
		return false;
	event->time_ns = bpf_ktime_get_ns();
	event->stack_end = STACK_TRUNCATED;
	event->watched = sizeof(slot->values) + slot->used;
	slot->values.exit_bytes = slot->used - slot->values.entry_bytes;
	return true;
}

/* Without a stack. */
__noinline int watch_send(struct watch_slot *slot)
{
	if (!slot || !watch_complete(slot))
		return 0;
	if (!put_out(slot->hit, HIT_EVENT_HEADER_BYTES + sizeof(slot->values) + watch_at(slot)))
		watch_count_lost(slot);
	return 0;
}

/* Call @number, that was kept, is over or cannot be followed any more. @took_ns: 0 if not known. */
__noinline int watch_left(__u64 number, __u32 fate, __u64 took_ns)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (!slot)
		return 0;
	if (watch_async)
		async_left(number);
	slot->values.fate = fate;
	((struct hit_event *)slot->hit)->duration_ns = took_ns;
	watch_send(slot);
	return watch_release(number);
}

/* With the values behind its last frame. */
static __always_inline bool watch_send_walk(struct walk *walk, struct watch_slot *slot,
					    struct registers *regs)
{
	__u64 bytes = sizeof(slot->values) + watch_at(slot);
	__u32 count;

	for (int i = 0; i < WATCH_HIT_WORDS; i++)
		((__u64 *)&walk->event)[i] = slot->hit[i];
	walk_stack(walk, regs);
	count = walk->event.frame_count;
	return count <= EVENT_SLOTS &&
	       !bpf_probe_read_kernel(&walk->event.frames[count], bytes, &slot->values) &&
	       put_out(&walk->event,
		       HIT_EVENT_HEADER_BYTES + count * sizeof(walk->event.frames[0]) + bytes);
}

static __always_inline void watch_report(struct watch_slot *slot, struct registers *regs)
{
	struct walk *walk = max_frames ? walk_claim() : NULL;

	if (!walk) {
		watch_send(slot);
		return;
	}
	if (watch_complete(slot) && !watch_send_walk(walk, slot, regs))
		watch_count_lost(slot);
	walk_release(walk);
}

/* A call of whose end nothing will be seen. */
static __noinline int watch_entered(__u64 number, struct registers *regs)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (slot)
		watch_report(slot, regs);
	return watch_release(number);
}

/* What capturing has taken since @began_ns is no part of the time of the call around. */
static __noinline int watch_deduct(__u64 began_ns)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct timed_thread *thread = bpf_map_lookup_elem(&timed_threads, &id);

	if (thread)
		deduct_since(thread, began_ns);
	return 0;
}

/* At an exit of a call that is kept; one that @jumps has no result. */
static __noinline int watch_returned(__u64 number, struct registers *regs,
				     const bpf_user_pt_regs_t *ctx, bool jumps)
{
	struct watch_slot *slot = watch_slot_of(number);
	__u64 began_ns;

	if (!slot)
		return 0;
	began_ns = slot->within ? bpf_ktime_get_ns() : 0;
	if (watch_async)
		async_exit(number, ctx, jumps);
	slot->words[WATCH_RESULT_0] = result_of(ctx);
	slot->words[WATCH_RESULT_1] = second_result_of(ctx);
	slot->words[WATCH_STACK] = slot->stack_pointer;
	slot->values.fate = jumps ? WATCH_TAIL_CALL : WATCH_RETURNED;
	/* What has come by was caught in it. */
	slot->used = slot->values.entry_bytes;
	watch_prepare(slot,
		      slot->program.first + slot->program.filter_count + slot->program.entry_count,
		      jumps ? 0 : slot->program.exit_count);
	watch_run(slot);
	watch_report(slot, regs);
	watch_release(number);
	return began_ns ? watch_deduct(began_ns) : 0;
}

#endif
