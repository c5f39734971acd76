/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --watch --async: what a step has come to when it returns; the second part of async.bpf.h. */
#ifndef BPF_ASYNC_END_BPF_H
#define BPF_ASYNC_END_BPF_H

/*
 * Where the object is, after a collection; 0: not known. What the caller has kept all the time only
 * the collector can have changed, and it did so because that place is in use. One that is as before
 * says nothing: the object may have stayed where it was, or be elsewhere while nobody asks for that
 * place any more; then another one of its kind can have come to its address.
 */
static __noinline __u64 async_moved(struct watch_slot *slot, __u64 number)
{
	__u32 changed = slot->async.holders & ~async_held(number);

	for (int i = 0; i < KEPT_REGISTERS + ASYNC_WORDS; i++) {
		__u64 box = slot->async.kept[i];

		if (changed & 1U << i)
			return box && async_table_of(box) == slot->async.fresh.table ? box : 0;
	}
	return 0;
}

/* Where the state machine is now; 0: not known. Its object may be another one by now, too. */
static __noinline __u64 async_machine(struct watch_slot *slot, const struct async_site *about,
				      __u64 number, bool kept)
{
	__u64 box, machine, task, offset = slot->async.this - slot->async.box;

	/* On a stack nothing moves. */
	if (!async_has_moved(slot) || (!slot->async.box && !about->by_object))
		return slot->async.this;
	box = slot->async.box && async_counts && kept && !about->by_object ?
		      async_moved(slot, number) :
		      0;
	if (!box)
		return 0;
	machine = box + offset;
	/* Of a call that is over, the runtime may have cleared it. */
	task = async_word(machine + about->task_at);
	if (task && task != box)
		return 0;
	slot->async.box = box;
	return machine;
}

/* How has it ended that has the Task @task? One that has none has just its result. */
static __always_inline __u32 async_outcome(__u64 task, const struct async_site *about)
{
	__u32 flags = 0;

	if (task)
		bpf_probe_read_user(&flags, sizeof(flags), (void *)(task + about->flags_at));
	return flags & ASYNC_TASK_FAULTED  ? ASYNC_FAULTED :
	       flags & ASYNC_TASK_CANCELED ? ASYNC_CANCELED :
					     ASYNC_COMPLETED;
}

/*
 * The type of the exception in the Task @object, that has faulted; 0: not known. Linux 6.1 takes no
 * loop that goes on right behind a call.
 */
static __noinline __u64 async_fault_of(__u64 object)
{
	if (!async_fault_at[0])
		return 0;
#pragma unroll
	for (int i = 0; i < ASYNC_HOPS; i++)
		object = object ? async_word(object + async_fault_at[i]) : 0;
	return object ? async_table_of(object) : 0;
}

__noinline int async_count_end(__u32 method, __u32 outcome, __u64 now_ns)
{
	struct async_totals *totals = async_totals_of(method);

	if (!totals || outcome >= ASYNC_OUTCOMES)
		return 0;
	__sync_fetch_and_add(&totals->ended[outcome], 1);
	__sync_fetch_and_add(&totals->sum_ns, now_ns);
	return 0;
}

__noinline int async_count_paired(__u32 method, bool synchronous)
{
	struct async_totals *totals = async_totals_of(method);

	if (!totals)
		return 0;
	__sync_fetch_and_add(&totals->paired, 1);
	if (synchronous)
		__sync_fetch_and_add(&totals->synchronous, 1);
	return 0;
}

__noinline int async_count_unknown(__u32 method)
{
	struct async_totals *totals = async_totals_of(method);

	if (totals)
		__sync_fetch_and_add(&totals->unknown, 1);
	return 0;
}

__noinline int async_count_no_room(__u32 method)
{
	struct async_totals *totals = async_totals_of(method);

	if (totals)
		__sync_fetch_and_add(&totals->no_room, 1);
	return 0;
}

/* It waits from now on, as the object @key: whoever goes on with it is to know of which call. */
__noinline int async_keep(__u64 number, __u64 key)
{
	struct watch_slot *slot = watch_slot_of(number);
	struct async_box *found;
	__u32 epoch = *(volatile __u32 *)&async_epoch, had;

	if (!slot || !key || !async_counts)
		return 0;
	slot->async.fresh.table = async_table_of(key);
	slot->async.fresh.steps = 0;
	key = async_key(key, epoch);
	slot->async.fresh.id = slot->async.id;
	slot->async.fresh.started_ns = slot->async.started_ns;
	slot->async.fresh.epoch = epoch;
	slot->async.fresh.news = ASYNC_BEGUN;
	for (int i = 0; i < 2; i++) {
		found = bpf_map_lookup_elem(&async_boxes, &key);
		if (!found || found->epoch != epoch) {
			if (!bpf_map_update_elem(&async_boxes, &key, &slot->async.fresh,
						 found ? BPF_ANY : BPF_NOEXIST))
				return 0;
			continue;
		}
		/* Another thread has gone on with it already. */
		if (found->table != slot->async.fresh.table)
			return 0;
		found->id = slot->async.id;
		found->started_ns = slot->async.started_ns;
		had = __sync_fetch_and_or(&found->news, ASYNC_BEGUN);
		if (had & ASYNC_ENDED) {
			async_count_paired(slot->async.method, false);
			async_tell(slot->async.parent ? slot->async.parent : number, slot->async.id,
				   found->ended_ns - slot->async.started_ns, found->outcome,
				   found->fault);
			bpf_map_delete_elem(&async_boxes, &key);
		}
		return 0;
	}
	return async_count_no_room(slot->async.method);
}

/* What was kept of it by its address has done. */
__noinline int async_forget(__u64 box, __u32 epoch, __u64 id)
{
	__u64 key = async_key(box, epoch);
	struct async_box *found = bpf_map_lookup_elem(&async_boxes, &key);

	if (found && found->id == id)
		bpf_map_delete_elem(&async_boxes, &key);
	return 0;
}

/* It is over, but the thread that has begun it has not said so yet, if it is one of this epoch. */
__noinline int async_end_unknown(__u64 number, __u32 outcome, __u64 now_ns)
{
	struct watch_slot *slot = watch_slot_of(number);
	struct async_box *found;
	__u64 key;
	__u32 had;

	if (!slot || async_has_moved(slot))
		return 0;
	key = async_key(slot->async.box, slot->async.epoch);
	found = async_find(slot->async.box, slot->async.epoch, slot->async.fresh.table);
	if (!found)
		return 0;
	found->ended_ns = now_ns;
	found->outcome = outcome;
	found->fault = slot->async.fault;
	had = __sync_fetch_and_or(&found->news, ASYNC_ENDED);
	if (!(had & ASYNC_BEGUN))
		return 0;
	async_count_paired(slot->async.method, false);
	async_tell(number, found->id, now_ns - found->started_ns, outcome, slot->async.fault);
	bpf_map_delete_elem(&async_boxes, &key);
	return 0;
}

__noinline int async_end(__u64 number, __u32 outcome)
{
	struct watch_slot *slot = watch_slot_of(number);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!slot)
		return 0;
	async_count_end(slot->async.method, outcome, now_ns);
	if (!slot->async.id)
		return async_end_unknown(number, outcome, now_ns);
	async_count_paired(slot->async.method, !slot->async.box);
	if (slot->async.box)
		async_forget(slot->async.box, slot->async.epoch, slot->async.id);
	return async_tell(slot->async.parent ? slot->async.parent : number, slot->async.id,
			  now_ns - slot->async.started_ns, outcome, slot->async.fault);
}

enum async_next {
	ASYNC_NO_NEXT,
	ASYNC_HAS_NEXT,
	ASYNC_NEXT_UNKNOWN,
};

/*
 * Has another step of the same object begun meanwhile? Asked when its state has been read: what
 * such a step makes of that it does after it was counted. The object was @had when this one began,
 * and is @box by now; 0: not known.
 */
static __noinline enum async_next async_next(struct watch_slot *slot, __u64 had, __u64 box)
{
	__u32 epoch = *(volatile __u32 *)&async_epoch, since = epoch - slot->async.epoch;
	struct async_box *found;

	found = box && (since || !had) ? async_find(box, epoch, async_table_of(box)) : NULL;
	if (found && found->steps)
		return ASYNC_HAS_NEXT;
	if (!had)
		return ASYNC_NO_NEXT;
	if (!slot->async.turn || since > 1)
		return ASYNC_NEXT_UNKNOWN;
	found = async_find(had, slot->async.epoch, slot->async.fresh.table);
	/* Only one that ends the call takes it away so early. */
	return !found || found->steps != slot->async.turn ? ASYNC_HAS_NEXT : ASYNC_NO_NEXT;
}

/* What the state machine says of its call; false: there is none, or it cannot be read. */
static __always_inline bool async_read(__u64 machine, const struct async_site *about, __u32 *state,
				       __u64 *task)
{
	return machine &&
	       !bpf_probe_read_user(state, sizeof(*state), (void *)(machine + about->state_at)) &&
	       !bpf_probe_read_user(task, sizeof(*task), (void *)(machine + about->task_at));
}

/* Is the call over whose state machine is that? The runtime may have cleared it. */
static __always_inline bool async_is_over(__u32 state, __u64 had, __u64 task)
{
	return (__s32)state == ASYNC_STATE_OVER || (had && !task);
}

/* @kept: what the caller has kept has been read. A function that is looked at once. */
__noinline int async_returned(__u64 number, bool kept, bool jumps)
{
	struct watch_slot *slot = watch_slot_of(number);
	const struct async_site *about;
	enum async_next next = ASYNC_NO_NEXT;
	__u64 task = 0, had;
	__u32 site, state = 0;
	bool known, over;

	if (!slot || slot->async.kind != ASYNC_STEP)
		return 0;
	site = slot->site;
	about = bpf_map_lookup_elem(&async_sites, &site);
	if (!about)
		return 0;
	had = slot->async.box;
	known = async_read(async_machine(slot, about, number, kept), about, &state, &task);
	/* Of the first one this is its own copy, unless that is an object. */
	if (had || about->by_object)
		next = async_next(slot, had, !known ? 0 : had ? slot->async.box : task);
	if (next == ASYNC_HAS_NEXT && !known)
		return 0;
	if (!known || next == ASYNC_NEXT_UNKNOWN ||
	    ((__s32)state == ASYNC_STATE_RUNS && next == ASYNC_NO_NEXT))
		return async_count_unknown(slot->async.method);
	over = next == ASYNC_NO_NEXT && async_is_over(state, had, task);
	if (had)
		task = slot->async.box;
	if (over) {
		__u32 outcome = jumps ? ASYNC_COMPLETED : async_outcome(task, about);

		slot->async.fault = outcome == ASYNC_FAULTED ? async_fault_of(task) : 0;
		return async_end(number, outcome);
	}
	/* What goes on as another object is kept anew. */
	return !had || (slot->async.id && had != slot->async.box) ? async_keep(number, task) : 0;
}

/* A step has returned; one that @jumps has yet to set its result, and has no exception. */
static __noinline int async_exit(__u64 number, const bpf_user_pt_regs_t *ctx, bool jumps)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (!slot || slot->async.kind != ASYNC_STEP)
		return 0;
	return async_returned(number, !async_read_kept(slot, ctx), jumps);
}

/* A step has not been seen to return. */
__noinline int async_left(__u64 number)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (slot && slot->async.kind == ASYNC_STEP)
		async_count_unknown(slot->async.method);
	return 0;
}

/*
 * In the target, where the collector says that it has done, or that it begins. Threads that run
 * managed code stand still.
 */
SEC("uprobe")
int note_collected(bpf_user_pt_regs_t *ctx)
{
	if (is_target_process() && !(__u32)argument_of(ctx, 2))
		__sync_fetch_and_add(&async_epoch, 1);
	return 0;
}

#endif
