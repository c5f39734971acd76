/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and place-probe say to each other: the records of the ring
 * buffer and the per-site counters. Compiled by both sides.
 */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

#include <linux/types.h>

#include "bpf/latency.h"
#include "bpf/unwind.h"

enum {
	EVENT_MAX_FRAMES = 512,
	EVENT_COMM_BYTES = 16,
};

/* Why a stack ends where it does. */
enum stack_end {
	STACK_WHOLE,	   /* the thread's start */
	STACK_TRUNCATED,   /* as many frames as were asked for */
	STACK_UNREADABLE,  /* the next frame's memory could not be read */
	STACK_BROKEN,	   /* what should be the next frame is not further up the stack */
	STACK_UNSUPPORTED, /* the frame is left in a way that rows cannot express */
	STACK_UNSURE,	   /* the tables changed during the walk */
	STACK_BUSY,	   /* there was no scratch for the walk, so there are no frames */
	STACK_ENDS,
};

enum event_frame_flags {
	/*
	 * Found by its callee's frame pointer, for want of anything better: right if that code
	 * keeps one.
	 */
	EVENT_FRAME_GUESSED = 1,
	EVENT_FRAME_STUB = 2,	 /* in a code heap of the runtime's, and no method */
	EVENT_FRAME_FUNCLET = 4, /* a handler of the method, which it finds by its frame pointer */
};

struct event_frame {
	__u64 pc;
	__u64 method; /* the MethodDesc of code that the runtime has compiled; 0: it is none */
	__u32 offset; /* of pc, from the beginning of that code */
	__u32 flags : 8;
	/* Of the frame pointer, in units of 8 bytes, what tells the frames of one stack apart. */
	__u32 frame_pointer : 24;
};

/* One hit of a probe. frames[0] is the probed address, frames[1] its caller. */
struct hit_event {
	__u64 time_ns;	   /* CLOCK_MONOTONIC */
	__u64 duration_ns; /* of a call that has ended, 0 of one that begins */
	__u32 tgid;	   /* as the target's PID namespace has it, see process.h */
	__u32 tid;
	__u32 site; /* index: a uprobe's cookie, or found by a breakpoint's address */
	__u16 frame_count;
	__u16 stack_end; /* enum stack_end */
	char comm[EVENT_COMM_BYTES];
	struct event_frame frames[EVENT_MAX_FRAMES];
};

/* A hit without a stack ends where the frames would begin. */
#define HIT_EVENT_HEADER_BYTES __builtin_offsetof(struct hit_event, frames)

/* Per site and CPU; the program adds atomically, since it can be preempted. */
struct site_counters {
	__u64 hits; /* calls of the target, seen or lost */
	__u64 lost; /* of those: no room in the ring buffer */
	/*
	 * Of a breakpoint: what the program ran for, whoever's hit it was and whatever `active`
	 * says. The kernel counts as well how often breakpoints fire; where it leaves out the
	 * program, the two differ.
	 */
	__u64 runs;
};

_Static_assert(sizeof(struct hit_event) == 48 + 24 * EVENT_MAX_FRAMES, "layout is shared");
_Static_assert(sizeof(struct site_counters) == 24, "layout is shared");

#endif
