/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch --async: asynchronous calls of .NET as a whole. A state machine's first step runs within
 * the method that begins the call, in the same thread; from the first wait on it lies in an object,
 * the box, by the address of which its other steps are known to be of the same call. Only as long
 * as that is true:
 *   - The collector moves objects, and puts others in their place, while all threads that run
 *     managed code stand still. Before they go on it says so to itself (note_collected() is there),
 *     which makes another epoch. These programs run in such threads, so an epoch is the same all
 *     the time that one of them runs.
 *   - Within an epoch no object moves, and no address is given out twice: new objects are only put
 *     where nothing was at its beginning. So two steps with the same address in the same epoch are
 *     of the same call, whatever threads run them.
 * What is of different epochs is not paired, whatever it looks like.
 *
 * A step may find nothing by its address and be right: the next step can run in another thread
 * before the first one has returned. So whichever comes first leaves what it knows, and the other
 * one puts both together.
 *
 * When a step has returned, the object says whether it was the last. If the collector came in
 * between, it may be elsewhere: callers of the step have its address in registers or on the stack,
 * which the collector keeps right where it is still needed. That it is, is proved where one was
 * seen to change while the step ran (async_moved()).
 */
#ifndef BPF_ASYNC_BPF_H
#define BPF_ASYNC_BPF_H

#include "bpf/async.h"

/* Set before loading. */
const volatile bool watch_async;

/* Set once collections are counted. */
__u32 async_counts;
__u32 async_epoch;
__u64 async_ids;
/* All 0: not known. */
__u64 async_fault_at[ASYNC_HOPS];

SHARED_ARRAY(async_sites, 1 /* set to the number of sites */, struct async_site);
SHARED_ARRAY(async_totals, 1 /* set to ASYNC_METHODS */, struct async_totals);
MAP(async_boxes, HASH, 1 /* set to ASYNC_BOXES */, __u64, struct async_box);

static __always_inline struct async_totals *async_totals_of(__u32 method)
{
	return bpf_map_lookup_elem(&async_totals, &method);
}

static __always_inline __u64 async_word(__u64 at)
{
	__u64 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (void *)at) ? 0 : word;
}

/* The lowest bits are the collector's. */
static __always_inline __u64 async_table_of(__u64 object)
{
	return async_word(object) & ~7ULL;
}

static __always_inline bool async_has_moved(const struct watch_slot *slot)
{
	return !async_counts || slot->async.epoch != *(volatile __u32 *)&async_epoch;
}

/* Nobody writes over what another epoch has left, while others do the same. */
static __always_inline __u64 async_key(__u64 box, __u32 epoch)
{
	return box ^ (__u64)epoch << ASYNC_ADDRESS_BITS;
}

/* What is kept of the object @box, if it is of this epoch and the same type; or NULL. */
static __always_inline struct async_box *async_find(__u64 box, __u32 epoch, __u64 table)
{
	__u64 key = async_key(box, epoch);
	struct async_box *found = bpf_map_lookup_elem(&async_boxes, &key);

	return found && found->epoch == epoch && found->table == table ? found : NULL;
}

/* The event of slot @number tells the end of call @id. */
__noinline int async_tell(__u64 number, __u64 id, __u64 took_ns, __u32 outcome, __u64 fault)
{
	struct watch_slot *slot = watch_slot_of(number);

	if (!slot)
		return 0;
	slot->values.async_news |= ASYNC_ENDED;
	slot->values.async_id = id;
	slot->values.async_ns = took_ns ? took_ns : 1;
	slot->values.async_outcome = outcome;
	slot->values.async_fault = fault;
	return 0;
}

/* Beginnings --------------------------------------------------------------------------------- */

/* The slot of the call that begins what is @method's, if that is the innermost one. */
static __always_inline __u32 async_parent(struct timed_thread *thread, __u32 method,
					  __u64 *started_ns)
{
	struct timed_call *call = thread ? innermost(thread) : NULL;
	const struct async_site *about;
	__u32 site;

	if (!call || !call->by)
		return 0;
	site = call->site;
	about = bpf_map_lookup_elem(&async_sites, &site);
	if (!about || about->kind != ASYNC_START || about->method != method)
		return 0;
	*started_ns = call->entered_ns;
	return (__u32)call->by;
}

static __noinline int async_begin(__u32 number, struct timed_thread *thread)
{
	struct watch_slot *slot = watch_slot_of(number), *parent;
	struct async_totals *totals;
	__u64 started_ns = bpf_ktime_get_ns();

	if (!slot)
		return 0;
	slot->async.parent = async_parent(thread, slot->async.method, &started_ns);
	slot->async.started_ns = started_ns;
	slot->async.id = __sync_fetch_and_add(&async_ids, 1) + 1;
	totals = async_totals_of(slot->async.method);
	if (totals) {
		__sync_fetch_and_add(&totals->started, 1);
		__sync_fetch_and_add(&totals->sum_ns, -started_ns);
	}
	parent = slot->async.parent ? watch_slot_of(slot->async.parent) : slot;
	if (!parent)
		return 0;
	parent->values.async_news |= ASYNC_BEGUN;
	parent->values.async_id = slot->async.id;
	return 0;
}

/* What the caller has kept: registers, and the words of the stack above its return address. */
static __noinline int async_read_kept(struct watch_slot *slot, const bpf_user_pt_regs_t *ctx)
{
	read_kept_registers(slot->async.kept, ctx);
	return bpf_probe_read_user(&slot->async.kept[KEPT_REGISTERS],
				   ASYNC_WORDS * sizeof(slot->async.kept[0]),
				   (void *)stack_pointer_after(slot->stack_pointer));
}

/* Where it has the address of the object: a bit for each. */
__noinline int async_held(__u64 number)
{
	struct watch_slot *slot = watch_slot_of(number);
	__u32 held = 0;

	if (!slot)
		return 0;
	for (int i = 0; i < KEPT_REGISTERS + ASYNC_WORDS; i++) {
		__u64 differs = slot->async.kept[i] ^ slot->async.box;

		/* Without a branch: they would double what there is to verify. */
		held |= (__u32)(~(differs | -differs) >> 63) << i;
	}
	return held;
}

/* It goes on: of which call? */
__noinline int async_resume(__u64 number)
{
	struct watch_slot *slot = watch_slot_of(number);
	struct async_box *found;
	__u64 key, table;

	if (!slot || !async_counts)
		return 0;
	key = async_key(slot->async.box, slot->async.epoch);
	table = async_table_of(slot->async.box);
	slot->async.fresh.table = table;
	slot->async.fresh.epoch = slot->async.epoch;
	slot->async.fresh.news = 0;
	slot->async.fresh.steps = 0;
	for (int i = 0; i < 3; i++) {
		found = bpf_map_lookup_elem(&async_boxes, &key);
		if (found && found->epoch == slot->async.epoch) {
			if (found->table != table)
				return 0;
			slot->async.turn = __sync_fetch_and_add(&found->steps, 1) + 1;
			if (*(volatile __u32 *)&found->news & ASYNC_BEGUN) {
				slot->async.started_ns = found->started_ns;
				slot->async.id = found->id;
			}
			return 0;
		}
		/* Where there is something, it is of long ago. */
		bpf_map_update_elem(&async_boxes, &key, &slot->async.fresh,
				    found ? BPF_ANY : BPF_NOEXIST);
	}
	return 0;
}

/* Is the step that begins, of the machine @this that has no object, its first one? */
static __always_inline bool async_is_first(__u64 this, const struct async_site *about)
{
	__u32 state = 0;

	return !bpf_probe_read_user(&state, sizeof(state), (void *)(this + about->state_at)) &&
	       (__s32)state == ASYNC_STATE_RUNS;
}

/* A call of @site begins of which nothing is kept, so that it is not known what it comes to. */
static __noinline int async_missed(__u32 site, const bpf_user_pt_regs_t *ctx)
{
	const struct async_site *about = bpf_map_lookup_elem(&async_sites, &site);
	struct async_totals *totals =
		about && about->kind == ASYNC_STEP ? async_totals_of(about->method) : NULL;
	__u64 this = argument_of(ctx, 1);

	if (!totals)
		return 0;
	if (!async_word(this + about->task_at)) {
		if (!async_is_first(this, about))
			return 0;
		__sync_fetch_and_add(&totals->started, 1);
	}
	__sync_fetch_and_add(&totals->unknown, 1);
	return 0;
}

/* A call of @site begins that is kept in slot @number, or in none; @thread has not got it yet. */
static __noinline int async_enter(__u32 number, __u32 site, struct timed_thread *thread,
				  const bpf_user_pt_regs_t *ctx)
{
	struct watch_slot *slot = watch_slot_of(number);
	const struct async_site *about;

	if (!slot)
		return async_missed(site, ctx);
	slot->async.turn = 0;
	about = bpf_map_lookup_elem(&async_sites, &site);
	if (!about || about->kind == ASYNC_NONE)
		return 0;
	slot->async.method = about->method;
	slot->async.epoch = *(volatile __u32 *)&async_epoch;
	slot->async.kind = about->kind;
	if (about->kind == ASYNC_START)
		return 0;
	slot->async.this = argument_of(ctx, 1);
	slot->async.box = async_word(slot->async.this + about->task_at);
	if (slot->async.box) {
		slot->async.holders = async_read_kept(slot, ctx) ? 0 : async_held(number);
		return async_resume(number);
	}
	if (!async_is_first(slot->async.this, about)) {
		slot->async.kind = ASYNC_NONE;
		return 0;
	}
	return async_begin(number, thread);
}

#include "bpf/async_end.bpf.h"

#endif
