/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --watch --async: what a step has come to when it returns; the second part of async.bpf.h. */
#ifndef BPF_ASYNC_END_BPF_H
#define BPF_ASYNC_END_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set to ASYNC_METHODS */
	__type(key, __u64);
	__type(value, __u32);
} async_holders SEC(".maps");

/* At places of the caller's that are @proved to be kept right, where is the object by now? */
static __noinline __u64 async_moved_by(struct watch_slot *slot, __u32 proved)
{
	__u32 holders = slot->async.holders & proved;

	for (int i = 0; i < KEPT_REGISTERS + ASYNC_WORDS; i++) {
		if (holders & 1U << i)
			return slot->async.kept[i];
	}
	return 0;
}

/* Where the object is, after a collection; 0: not known. */
static __noinline __u64 async_moved(struct watch_slot *slot, __u64 number)
{
	__u64 key = slot->async.return_address, box;
	__u32 changed, *proved;

	/* Only the collector can have changed them. */
	changed = slot->async.holders & ~async_held(number);
	proved = bpf_map_lookup_elem(&async_holders, &key);
	if (changed && !proved)
		bpf_map_update_elem(&async_holders, &key, &changed, BPF_NOEXIST);
	else if (changed)
		__sync_fetch_and_or(proved, changed);
	box = async_moved_by(slot, proved ? *proved | changed : changed);
	return box && async_table_of(box) == slot->async.fresh.table ? box : 0;
}

/* What the collector has left where an object was refers to where that is by now. */
static __always_inline bool async_is_itself(__u64 box, __u64 machine,
					    const struct async_site *about)
{
	return async_word(machine + about->task_at) == box;
}

/* Where the state machine is now; 0: not known. Its object may be another one by now, too. */
static __noinline __u64 async_machine(struct watch_slot *slot, const struct async_site *about,
				      __u64 number, bool kept)
{
	__u64 box, machine, offset = slot->async.this - slot->async.box;

	/* On a stack nothing moves. */
	if (!async_has_moved(slot) || (!slot->async.box && !about->by_object))
		return slot->async.this;
	box = slot->async.box && async_counts && kept && !about->by_object ?
		      async_moved(slot, number) :
		      0;
	if (!box)
		return 0;
	machine = box + offset;
	if (!async_is_itself(box, machine, about))
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
				   found->ended_ns - slot->async.started_ns, found->outcome);
			bpf_map_delete_elem(&async_boxes, &key);
		}
		return 0;
	}
	return async_count_no_room(slot->async.method);
}

/* What was kept of it by its address has done. */
__noinline int async_forget(__u64 key, __u64 id)
{
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
	key = slot->async.box;
	found = async_find(key, slot->async.epoch, slot->async.fresh.table);
	if (!found)
		return 0;
	found->ended_ns = now_ns;
	found->outcome = outcome;
	had = __sync_fetch_and_or(&found->news, ASYNC_ENDED);
	if (!(had & ASYNC_BEGUN))
		return 0;
	async_count_paired(slot->async.method, false);
	async_tell(number, found->id, now_ns - found->started_ns, outcome);
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
		async_forget(slot->async.box, slot->async.id);
	return async_tell(slot->async.parent ? slot->async.parent : number, slot->async.id,
			  now_ns - slot->async.started_ns, outcome);
}

/* @kept: what the caller has kept has been read. A function that is looked at once. */
__noinline int async_returned(__u64 number, bool kept, bool jumps)
{
	struct watch_slot *slot = watch_slot_of(number);
	const struct async_site *about;
	__u64 machine, task, had;
	__u32 site, state = 0;

	if (!slot || slot->async.kind != ASYNC_STEP)
		return 0;
	site = slot->site;
	about = bpf_map_lookup_elem(&async_sites, &site);
	if (!about)
		return 0;
	had = slot->async.box;
	machine = async_machine(slot, about, number, kept);
	if (!machine ||
	    bpf_probe_read_user(&state, sizeof(state), (void *)(machine + about->state_at)) ||
	    (__s32)state == ASYNC_STATE_RUNS)
		return async_count_unknown(slot->async.method);
	task = async_word(machine + about->task_at);
	if ((__s32)state == ASYNC_STATE_OVER)
		return async_end(number, jumps ? ASYNC_COMPLETED : async_outcome(task, about));
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

/* Is there anything to be told of a call that is one of these? */
static __always_inline bool async_has_news(struct watch_slot *slot)
{
	if (slow_ns && slot->values.async_ns < slow_ns)
		slot->values.async_news &= ~ASYNC_ENDED;
	return slot->values.async_news;
}

/*
 * In the target, where the collector says that it has done, or that it begins. Threads that run
 * managed code stand still.
 */
SEC("uprobe")
int note_collected(bpf_user_pt_regs_t *ctx)
{
	__u32 tgid, tid;

	if (is_target_process(&tgid, &tid) && !(__u32)argument_of(ctx, 2))
		__sync_fetch_and_add(&async_epoch, 1);
	return 0;
}

#endif
