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
	UNWIND_PLT,	    /* rsp + 8, and 8 more where the address, modulo 16, is >= offset */
	UNWIND_SIGNAL,	    /* a signal frame: all registers are on the stack */
	UNWIND_OUTERMOST,   /* there is no caller */
	UNWIND_UNSUPPORTED, /* there is information, of a kind that rows cannot express */
};

enum {
	UNWIND_RBP_SAME = 127, /* the frame has left rbp alone */
	UNWIND_RBP_LOST = 126, /* it is somewhere that rows cannot express */

	UNWIND_UNIT = 8, /* of offsets, in bytes */
};

/* From @begin to the next row's. */
struct unwind_row {
	__u32 begin;  /* relative to where the image is linked to, or to where code begins */
	__u8 rule;    /* enum unwind_rule */
	__s8 rbp;     /* where the caller's is, from the CFA in units; or one of the two above */
	__s16 offset; /* in units, but for UNWIND_PLT */
};

_Static_assert(sizeof(struct unwind_row) == 8, "layout is shared");

#endif
