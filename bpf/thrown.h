/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exception that has left a call which --watch is to show, as bpf/thrown.bpf.h has read it. It
 * is the one item behind those of the entry, where an exit's would be.
 */
#ifndef BPF_THROWN_H
#define BPF_THROWN_H

#include <linux/types.h>

enum {
	THROWN_SLOT = 0xfff0,	    /* of the item: none that a program has */
	THROWN_MESSAGE_BYTES = 480, /* of a message, at most: UTF-16 */
	THROWN_DEPTH = 16,	    /* exceptions under way in a thread, one within the other */
	THROWN_READINGS = 2,
};

/*
 * The cookie of the probe: where in an exception its message is, and where in what the runtime has
 * of an exception that is under way the link to the one around it is.
 */
enum { THROWN_PREVIOUS_SHIFT = 16 };

enum thrown_status {
	THROWN_NOT_READ,
	THROWN_NO_MESSAGE, /* no field has it */
	THROWN_MESSAGE,
	THROWN_FAULT, /* there is one, and it is not in memory */
};

/* What an object was like at one moment. */
struct thrown_reading {
	__u64 type; /* its MethodTable */
	__u32 chars;
	__u32 status; /* enum thrown_status */
	__u8 message[THROWN_MESSAGE_BYTES];
};

/*
 * The probe is where the collector may be moving objects, and what is read then is anything. So
 * the object is read at each frame; the collector is waited for in between. Two equal readings are
 * right.
 */
struct thrown {
	struct thrown_reading readings[THROWN_READINGS];
};

_Static_assert(sizeof(struct thrown_reading) == 496, "layout is shared");
_Static_assert(sizeof(struct thrown) == 992, "layout is shared");

#endif
