/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a frame is left: the rows that user space makes of what compilers and linkers wrote down, and that
 * the BPF unwinder goes by. Compiled by both sides.
 */
#ifndef BPF_UNWIND_H
#define BPF_UNWIND_H

#include <linux/types.h>

/* Where the CFA is: what the stack pointer was before the return address was pushed. */
enum unwind_rule {
	UNWIND_UNKNOWN,	    /* there is no information on this code */
	UNWIND_RSP,	    /* rsp + offset */
	UNWIND_RBP,	    /* rbp + offset */
	UNWIND_AT_RSP,	    /* 8 + what is at rsp + offset */
	UNWIND_AT_RBP,	    /* what is at rbp + offset */
	UNWIND_R10,	    /* r10 + offset; r10 is known of code that a signal has interrupted */
	UNWIND_PLT,	    /* rsp + 8, and 8 more where the address, modulo 16, is >= offset */
	UNWIND_SIGNAL,	    /* a signal frame: all registers are on the stack */
	UNWIND_OUTERMOST,   /* there is no caller */
	UNWIND_UNSUPPORTED, /* there is information, of a kind that rows cannot express */
};

enum {
	UNWIND_RBP_SAME = 127,	 /* the frame has left rbp alone */
	UNWIND_RBP_LOST = 126,	 /* it is somewhere that rows cannot express */
	UNWIND_RBP_AT_RBP = 125, /* it is what rbp points to */

	UNWIND_UNIT = 8, /* of offsets, in bytes */
};

/* From @begin to the next row's. */
struct unwind_row {
	__u32 begin;  /* relative to where the image is linked to, or to where code begins */
	__u8 rule;    /* enum unwind_rule */
	__s8 rbp;     /* where the caller's is, from the CFA in units; or one of the two above */
	__s16 offset; /* in units, but for UNWIND_PLT */
};

/* Code that rows are known for. */
struct unwind_range {
	__u64 begin;
	__u64 end;
	__u64 base; /* what rows are relative to */
	__u32 first_row;
	__u32 row_count;
};

enum {
	UNWIND_RANGES_MAX = 4096,
	UNWIND_RANGE_STEPS = 13, /* halvings that find one of so many */
	UNWIND_ROW_STEPS = 24,	 /* one of 16 million rows */

	WALK_SCRATCHES = 4, /* of each CPU: so many walks can be under way there */
};

/*
 * The ranges are there twice: those in use, and those that are being written. Which are in use, and
 * how many there are; a walk whose ranges are no longer whole knows it by the version that is written.
 */
struct unwind_table {
	__u64 version; /* its lowest bit says which half is in use */
	__u64 written; /* the version whose half was written to last: .version, or the next while that is made */
	__u32 counts[2];
};

#define UNWIND_NO_FIELD 0xffffffffU

/*
 * Where the runtime keeps what it knows of code that it has compiled: its map of code ranges, and at
 * which offsets the fields of its structures are. No map: there is no such runtime.
 */
struct unwind_runtime {
	__u64 range_map; /* the address of its top level */
	__u32 fragment_next_at;
	__u32 fragment_section_at;
	__u32 section_begin_at;
	__u32 section_end_at;
	__u32 section_heap_at;
	__u32 heap_map_base_at;
	__u32 heap_nibbles_at;
	__u32 heap_unwind_base_at; /* UNWIND_NO_FIELD: it is the map's base */
	__u32 code_method_at;
	__u32 code_unwind_count_at;
	__u32 code_unwinds_at;
	__u32 nibble_map; /* the version of its encoding */
	__u32 last_stub_kind;
};

_Static_assert(sizeof(struct unwind_row) == 8, "layout is shared");
_Static_assert(sizeof(struct unwind_range) == 32, "layout is shared");

#endif
