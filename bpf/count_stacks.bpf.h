/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counting itself, of merge.bpf.h: what a stack is known by, and then where it is counted. */
#ifndef BPF_COUNT_STACKS_BPF_H
#define BPF_COUNT_STACKS_BPF_H

#include "bpf/merge.bpf.h"
#include "bpf/walk.bpf.h"

/* Any odd numbers with many bits. */
#define STACK_KEY_BY_0 0x9e3779b97f4a7c15ULL
#define STACK_KEY_BY_1 0xbf58476d1ce4e5b9ULL

/* @number into walk->key, both hashes of which are one-to-one in what was before and in @number. */
static __always_inline void merge_mix(struct walk *walk, __u64 number)
{
	volatile struct stack_key *key = &walk->key;
	__u64 a = (key->a ^ number) * STACK_KEY_BY_0, b = (key->b + number) * STACK_KEY_BY_1;

	key->a = a ^ a >> 32;
	key->b = b ^ b >> 29;
}

/*
 * A frame into walk->key; 0: such stacks are not counted. A function of its own, which is verified
 * once, as in unwind.bpf.h.
 */
__noinline int merge_frame(struct walk *walk, __u32 number)
{
	struct event_frame *frame;
	__u64 start, at;
	__u32 flags, version;

	if (!walk || number >= EVENT_SLOTS)
		return 0;
	frame = &walk->event.frames[number];
	flags = frame->flags;
	if (flags & (EVENT_FRAME_GUESSED | EVENT_FRAME_STUB | EVENT_FRAME_V8))
		return 0;
	merge_mix(walk, frame->pc);
	if (merge_frame_pointers) {
		/* As far as it can be one; a handler and its method have the same. */
		start = walk->start >> 3;
		at = (frame->frame_pointer - start) & 0xffffff;
		if (at <= (walk->sp - walk->start) >> 3)
			merge_mix(walk, at);
	}
	if (!frame->method)
		return 1;
	if (!follow.compiler_watched)
		return 0;
	merge_mix(walk, frame->method);
	merge_mix(walk, (__u64)frame->offset << 32 | flags);
	version = *(volatile __u32 *)&code_versions[merge_code(frame->pc - frame->offset)];
	walk->event.codes += version;
	merge_mix(walk, version);
	return 1;
}

/* The frame that was just walked into walk->key, if those before are in it. */
__noinline int merge_note(struct walk *walk)
{
	__u32 at;

	if (!walk)
		return 0;
	at = walk->hashed;
	walk->hashed =
		at + 1 == walk->event.frame_count && merge_frame(walk, at) ? at + 1 : HASHED_NEVER;
	return 0;
}

/* 1: the stack may be counted, and walk->key is what it is known by. */
__noinline int merge_key(struct walk *walk)
{
	__u32 count;

	if (!walk)
		return 0;
	count = walk->event.frame_count;
	if (walk->event.stack_end != STACK_WHOLE && walk->event.stack_end != STACK_TRUNCATED)
		return 0;
	for (int i = 0; i < EVENT_MAX_FRAMES && walk->hashed < count; i++) {
		if (!merge_frame(walk, walk->hashed))
			return 0;
		walk->hashed++;
	}
	if (walk->hashed != count)
		return 0;
	merge_mix(walk, *(__u64 *)walk->event.comm);
	merge_mix(walk, *(__u64 *)(walk->event.comm + sizeof(__u64)));
	merge_mix(walk, (__u64)walk->event.site << 32 | walk->event.stack_end << 16 | count);
	merge_mix(walk, (__u64)merge.mapped << 32 | (merge_by_tid ? walk->event.tid : 0));
	return 1;
}

/* Say that a table is in use, so that it is not emptied; which; MERGE_TABLES: try no longer. */
static __always_inline __u32 merge_enter(void)
{
	for (int i = 0; i < MERGE_TABLES; i++) {
		__u32 table = *(volatile __u32 *)&merge.table & (MERGE_TABLES - 1);

		__sync_fetch_and_add(&merge.users[table], 1);
		if ((*(volatile __u32 *)&merge.table & (MERGE_TABLES - 1)) == table)
			return table;
		__sync_fetch_and_sub(&merge.users[table], 1);
	}
	return MERGE_TABLES;
}

/* The slot is free, and becomes this stack's; false: somebody was faster. */
static __always_inline bool merge_claim(struct walk *walk, struct merge_slot *slot, __u32 table)
{
	if (__sync_val_compare_and_swap(&slot->state, MERGE_FREE, MERGE_CLAIMED) != MERGE_FREE)
		return false;
	slot->key[0] = walk->key.a;
	slot->key[1] = walk->key.b;
	__sync_fetch_and_add(&merge.used[table], 1);
	__sync_lock_test_and_set(&slot->state, MERGE_COUNTS);
	return true;
}

/* The slot of this stack, a new one if need be: its number from 1 on, with walk->slot; 0: none. */
static __always_inline __u32 merge_find(struct walk *walk, __u32 table, struct merge_slot **found)
{
	for (__u32 i = 0; i < MERGE_TRIES; i++) {
		__u32 key = table * MERGE_SLOTS + ((walk->key.a + i) & (MERGE_SLOTS - 1));
		struct merge_slot *slot = bpf_map_lookup_elem(&merged, &key);
		__u32 state;

		if (!slot)
			return 0;
		*found = slot;
		state = *(volatile __u32 *)&slot->state;
		if (state == MERGE_FREE && merge_claim(walk, slot, table))
			return key + 1;
		if (state == MERGE_COUNTS && slot->key[0] == walk->key.a &&
		    slot->key[1] == walk->key.b)
			return key + 1;
	}
	return 0;
}

/*
 * Count the stack. 0: it is to be sent, as a hit of its own. 1: there is nothing more to do. 2: it
 * is to be sent so that it is known what is counted, with walk->event.merged.
 */
__noinline int merge_count(struct walk *walk)
{
	struct merge_slot *slot = NULL;
	__u32 table, number;
	int told = 1;

	if (!walk)
		return 0;
	table = merge_enter();
	if (table >= MERGE_TABLES)
		return 0;
	number = merge_find(walk, table, &slot);
	if (number && slot) {
		__sync_fetch_and_add(&slot->count, 1);
		walk->event.merged = number;
		if (!*(volatile __u32 *)&slot->told)
			told = __sync_val_compare_and_swap(&slot->told, 0, 1) ? 1 : 2;
	} else {
		__sync_fetch_and_add(&merge.full, 1);
		told = 0;
	}
	if (told != 2)
		__sync_fetch_and_sub(&merge.users[table], 1);
	return told;
}

/* After merge_count() has returned 2. @sent: else somebody has to try again. */
__noinline int merge_told(struct walk *walk, __u32 sent)
{
	struct merge_slot *slot;
	__u32 key;

	if (!walk)
		return 0;
	key = walk->event.merged - 1;
	slot = bpf_map_lookup_elem(&merged, &key);
	if (slot && !sent)
		__sync_lock_test_and_set(&slot->told, 0);
	__sync_fetch_and_sub(&merge.users[key / MERGE_SLOTS & (MERGE_TABLES - 1)], 1);
	return 0;
}

#endif
