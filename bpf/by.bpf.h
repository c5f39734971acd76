/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --by=EXPR: the number of the value that a call has, see by.h. */
#ifndef BPF_BY_BPF_H
#define BPF_BY_BPF_H

#include "bpf/by.h"

/* Set before loading. */
const volatile __u32 by_when;  /* enum by_when */
const volatile __u32 by_words; /* of a value, in a key */

__u64 by_numbers; /* that have been given */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);			 /* set to BY_VALUES */
	__uint(key_size, sizeof(struct by_key)); /* set to what is used of it */
	__uint(value_size, sizeof(__u64));
} by_values SEC(".maps");

/* Where a key is made, behind the one item of a program that takes a value. */
#define BY_KEY_AT WATCH_BYTES

_Static_assert(BY_KEY_AT % 8 == 0, "it has words");
_Static_assert(BY_KEY_AT + sizeof(struct by_key) <= WATCH_SLOT_BYTES, "there is room for it");

/* False: the program has brought nothing. */
static __always_inline bool by_fill(struct watch_slot *slot, struct by_key *key)
{
	const struct watch_item *item = (const void *)slot->bytes;
	const __u64 *words = (const void *)(slot->bytes + sizeof(*item));

	if (!slot->used || item->status != WATCH_OK)
		return false;
	key->program = slot->program.first;
	key->bytes = item->bytes;
	key->kind = item->slot;
	key->cut = item->whole > item->bytes;
	for (__u32 i = 0; i < BY_VALUE_BYTES / 8; i++) {
		/* Read anew, or the verifier keeps what each word says of it apart. */
		__u32 bytes = *(const volatile __u16 *)&item->bytes;
		__u64 word = words[i];

		if (i >= by_words)
			break;
		if (bytes <= 8 * i)
			word = 0;
		else if (bytes < 8 * i + 8)
			word &= (1ULL << 8 * (bytes & 7)) - 1;
		key->words[i] = word;
	}
	return true;
}

static __always_inline __u64 by_number(const struct by_key *key)
{
	__u64 *number = bpf_map_lookup_elem(&by_values, key), next;

	if (number)
		return *number;
	next = __sync_fetch_and_add(&by_numbers, 1) + BY_FIRST;
	/* Another CPU may have been first. */
	bpf_map_update_elem(&by_values, key, &next, BPF_NOEXIST);
	number = bpf_map_lookup_elem(&by_values, key);
	return number ? *number : BY_OTHER;
}

/* Of a call of @site that begins at @stack_pointer, or, with BY_END, began there and ends now. */
static __noinline __u64 by_value_of(const bpf_user_pt_regs_t *ctx, __u32 site, __u64 stack_pointer)
{
	struct watch_slot *slot = filter_claim();
	__u64 number = BY_UNKNOWN;
	struct by_key *key;
	__u32 first;

	if (!slot)
		return BY_UNKNOWN;
	watch_begin(slot, ctx, site);
	first = slot->program.first + slot->program.filter_count;
	if (by_when == BY_END) {
		filter_fill(slot, ctx, 0, 0);
		slot->words[WATCH_STACK] = stack_pointer;
		first += slot->program.entry_count;
	}
	watch_prepare(slot, first,
		      by_when == BY_END ? slot->program.exit_count : slot->program.entry_count);
	watch_run(slot);
	key = (void *)(slot->bytes + BY_KEY_AT);
	if (by_fill(slot, key))
		number = by_number(key);
	filter_release(slot);
	return number;
}

#endif
