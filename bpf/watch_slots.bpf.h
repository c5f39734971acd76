/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch: the slots that hold what the programs of a call have captured until it ends, from the
 * entry, where one is claimed, to watch_report.bpf.h.
 */
#ifndef BPF_WATCH_SLOTS_BPF_H
#define BPF_WATCH_SLOTS_BPF_H

/* 1 and more, one more than its place in the map; 0: all are taken. */
static __noinline __u32 watch_claim(void)
{
	__u32 number;

	if (bpf_map_pop_elem(&watch_free, &number) == 0)
		return number + 1;
	if (watch_slots_used >= WATCH_CALLS + WATCH_SPARE)
		return 0;
	number = __sync_fetch_and_add(&watch_slots_used, 1);
	return number < WATCH_CALLS + WATCH_SPARE ? number + 1 : 0;
}

static __always_inline struct watch_slot *watch_slot_of(__u64 number)
{
	__u32 key = number - 1;

	return number ? bpf_map_lookup_elem(&watch_slots, &key) : NULL;
}

static __noinline int watch_release(__u64 number)
{
	struct watch_slot *slot = watch_slot_of(number);
	__u32 key = number - 1;

	if (!slot)
		return 0;
	if (slot->use == WATCH_KEPT)
		__sync_fetch_and_add(&watch_kept, -1);
	slot->use = WATCH_FREE;
	return bpf_map_push_elem(&watch_free, &key, 0);
}

static __always_inline void watch_prepare(struct watch_slot *slot, __u32 first, __u32 count)
{
	slot->first = slot->next = first;
	slot->end = first + count;
	slot->limit = slot->used + WATCH_BYTES;
	slot->verdict = WATCH_NONE;
	for (int i = 0; i < WATCH_CELLS; i++)
		slot->cells[i] = 0;
}

static __noinline int watch_begin(struct watch_slot *slot, const bpf_user_pt_regs_t *ctx,
				  __u32 site)
{
	const struct watch_program *program = bpf_map_lookup_elem(&watch_programs, &site);

	slot->use = WATCH_CLAIMED;
	slot->site = site;
	slot->used = 0;
	slot->thrown = 0;
	slot->async.kind = ASYNC_NONE;
	slot->async.box = slot->async.id = 0;
	slot->async.parent = 0;
	slot->stack_pointer = stack_pointer_of(ctx);
	if (program)
		slot->program = *program;
	for (int i = 0; i < 6; i++)
		slot->words[WATCH_ARGUMENT_0 + i] = argument_of(ctx, i + 1);
	slot->words[WATCH_STACK] = slot->stack_pointer;
	return 0;
}

/* At the entry of a call of @site: what is captured there. Its slot, as watch_claim() has it. */
static __noinline __u32 watch_enter(const bpf_user_pt_regs_t *ctx, __u32 site, __u32 tid)
{
	__u32 number = watch_claim();
	struct watch_slot *slot = watch_slot_of(number);

	if (!slot) {
		__sync_fetch_and_add(&watch_losses.slots, 1);
		return 0;
	}
	watch_begin(slot, ctx, site);
	watch_prepare(slot, slot->program.first + slot->program.filter_count,
		      slot->program.entry_count);
	watch_run(slot);
	for (int i = 0; i < WATCH_CELLS; i++)
		slot->words[WATCH_ENTRY_CELL + i] = slot->cells[i];
	fill_all_but_time((struct hit_event *)slot->hit, site, target_tgid, tid);
	((struct hit_event *)slot->hit)->duration_ns = 0;
	slot->values = (struct watch_values){
		.program = slot->program.first,
		.entry_bytes = slot->used,
		.fate = WATCH_ENTERED,
	};
	return number;
}

/*
 * Its values stay until it ends, if they are @followed; false: there is no room for one more.
 * @filter: of a call of which it is open whether it is to be reported.
 */
static __always_inline bool watch_keep(__u32 number, bool followed, bool filter)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (!slot)
		return true;
	if (!followed || watch_kept >= WATCH_CALLS) {
		__sync_fetch_and_add(&watch_losses.not_kept, 1);
		slot->values.fate = WATCH_NOT_KEPT;
		return false;
	}
	__sync_fetch_and_add(&watch_kept, 1);
	slot->use = WATCH_KEPT;
	slot->verdict = filter ? WATCH_LATER : WATCH_NONE;
	return true;
}

/*
 * How long its call took is known, and whether it was @within another; false: nothing is kept of
 * it.
 */
static __always_inline bool watch_took(__u64 number, __u64 took_ns, bool within)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (slot) {
		((struct hit_event *)slot->hit)->duration_ns = took_ns ? took_ns : 1;
		slot->within = within;
	}
	return slot;
}

#endif
