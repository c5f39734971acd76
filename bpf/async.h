/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch --async: what is known of an asynchronous call of .NET as a whole, from the method that
 * begins it to the last step of its state machine. Shared by bpf/async.bpf.h and src/.
 */
#ifndef BPF_ASYNC_H
#define BPF_ASYNC_H

#include <linux/types.h>

enum {
	ASYNC_METHODS = 1024, /* that are followed as a whole */
	ASYNC_BOXES = 1 << 16,
	ASYNC_KEPT = 14, /* registers and words of the stack */
	ASYNC_WORDS = 8, /* of the stack above a step, that are looked at for its object */
	ASYNC_HOPS = 6,	 /* from a Task that has faulted to its exception: offsets of references */
};

enum async_kind {
	ASYNC_NONE,
	ASYNC_START, /* the method as it is called */
	ASYNC_STEP,  /* MoveNext of its state machine */
};

/* By site. Offsets are from what is the state machine's `this`, and from a Task's first byte. */
struct async_site {
	__u16 kind; /* enum async_kind; written last */
	__u16 method;
	__u16 by_object; /* the state machine is a class, as in code that is not optimised */
	__u16 state_at;
	__u16 task_at; /* of the builder's Task, which is the object once there is one */
	__u16 flags_at;
	__u32 reserved;
};

/* <>1__state */
enum {
	ASYNC_STATE_RUNS = -1,
	ASYNC_STATE_OVER = -2,
};

/* m_stateFlags of a Task */
enum {
	ASYNC_TASK_FAULTED = 0x200000,
	ASYNC_TASK_CANCELED = 0x400000,
};

/* By what a call is kept: the address of its object, and what an address has no bits for. */
enum { ASYNC_ADDRESS_BITS = 48 };

enum async_outcome {
	ASYNC_COMPLETED,
	ASYNC_FAULTED,
	ASYNC_CANCELED,
	ASYNC_OUTCOMES,
};

/* In an event: what it says of the call .async_id. */
enum async_news {
	ASYNC_BEGUN = 1, /* its arguments are the event's */
	ASYNC_ENDED = 2,
};

/* By method. Sums of clock readings may wrap: only differences are of use. */
struct async_totals {
	__u64 started;
	__u64 synchronous; /* of them, over when the method that begins them returned */
	__u64 ended[ASYNC_OUTCOMES];
	__u64 paired;  /* of those, whose beginning is known */
	__u64 unknown; /* steps of which it is not known whether they were the last */
	__u64 no_room; /* for one more call under way */
	__u64 sum_ns;  /* the clock at all ends, less that at all beginnings */
};

/* What there is of a call that waits, by async_key(). */
struct async_box {
	__u64 table; /* its MethodTable */
	__u64 id;    /* with ASYNC_BEGUN, as is the next one */
	__u64 started_ns;
	__u64 ended_ns; /* with ASYNC_ENDED, as is .outcome */
	__u32 epoch;
	__u32 news; /* enum async_news */
	__u32 outcome;
	__u32 steps; /* that have begun, of this epoch */
	__u64 fault; /* with ASYNC_ENDED: type of the exception; 0: none, or not known */
};

/* Of a step under way, in its struct watch_slot. */
struct async_step {
	__u64 this;
	__u64 box; /* 0: it is the first step, and there is none yet */
	__u64 id;  /* 0: it is not known of which call it is */
	__u64 started_ns;
	__u32 epoch;
	__u32 parent;  /* slot of the call that began it, which is under way as well; 0: none */
	__u32 holders; /* registers and words of the caller's that have .box: see async.bpf.h */
	__u16 kind;    /* enum async_kind */
	__u16 method;
	__u32 turn; /* among the steps of its epoch, from 1 on; 0: not known */
	__u32 reserved;
	__u64 fault; /* as in a box */
	__u64 kept[ASYNC_KEPT];
	struct async_box fresh; /* one that is to be kept */
};

_Static_assert(sizeof(struct async_site) == 16, "an array that is mapped has no gaps");
_Static_assert(sizeof(struct async_totals) == 72, "layout is shared");
_Static_assert(sizeof(struct async_box) == 56, "layout is shared");

#endif
