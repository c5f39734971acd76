/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Equal stacks that are counted in the kernel (--folded): what the programs and place-probe share.
 * Two tables take turns, so that one can be emptied; both sides have them mapped, since the kernel
 * leaves out breakpoints' programs while a bpf() call on a map is under way.
 */
#ifndef BPF_MERGE_H
#define BPF_MERGE_H

#include <linux/types.h>

enum {
	MERGE_SLOTS = 1 << 15, /* of a table, a power of two */
	MERGE_TABLES = 2,
	MERGE_TRIES = 16,      /* so many slots from its own on may have a stack */
	MERGE_CODES = 1 << 12, /* a power of two */
};

enum merge_state {
	MERGE_FREE,
	MERGE_CLAIMED, /* its key is being written: for all others it is somebody else's */
	MERGE_COUNTS,
};

/* One stack; it may have a second one, if two threads came upon it at once. */
struct merge_slot {
	__u64 key[2];
	__u64 count; /* hits so far */
	__u32 state;
	__u32 told; /* the ring buffer has had it */
};

struct merge_control {
	__u32 table;		   /* that hits are counted in */
	__u32 users[MERGE_TABLES]; /* programs that are about to count in it */
	__u32 used[MERGE_TABLES];  /* slots of it */
	__u32 mapped; /* goes up when files are mapped, or other code may have come otherwise */
	__u64 full;   /* hits that found no slot, and were sent one by one */
};

/* Where it is noted how often code was compiled that begins at @start. */
static inline __u32 merge_code(__u64 start)
{
	return (start >> 4 ^ start >> 16) & (MERGE_CODES - 1);
}

_Static_assert(sizeof(struct merge_slot) == 32, "layout is shared");

#endif
