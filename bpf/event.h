/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and place-probe say to each other: the records of the ring
 * buffer and the per-site counters. Compiled by both sides.
 */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

#include <linux/types.h>

#include "bpf/latency.h"
#include "bpf/merge.h"
#include "bpf/unwind.h"
#include "bpf/watch.h"

enum {
	EVENT_MAX_FRAMES = 768,
	EVENT_V8_SLOTS = 2, /* beside the one of the frame, where it has a struct event_v8 */
	EVENT_SLOTS = (1 + EVENT_V8_SLOTS) * EVENT_MAX_FRAMES,
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
	EVENT_FRAME_V8 = 8,	 /* .offset and .method are as V8 has them, see struct event_v8 */
	EVENT_FRAME_MARKED = 16, /* with V8: it has a marker, which says what kind of frame it is */
	EVENT_FRAME_FUNCTION = 32, /* with V8: a struct event_v8 is in the next slots */
};

struct event_frame {
	__u64 pc;
	__u64 method; /* the MethodDesc of code that the runtime has compiled; 0: it is none */
	__u32 offset; /* of pc, from the beginning of that code */
	__u32 flags : 8;
	/* Of the frame pointer, in units of 8 bytes, what tells the frames of one stack apart. */
	__u32 frame_pointer : 24;
};

/* What begins or ends at a function of V8's that is probed for that. */
enum v8_move {
	V8_MOVE_ANY,
	V8_MOVE_OLD, /* of old objects as well */
	V8_MOVE_END, /* the second argument says of which: not 0, so of old ones as well */
	V8_MOVES,
};

#define EVENT_V8_NO_OFFSET 0xffffffffU

/*
 * What tells whether code is where it was: of the two words that end at a frame's pc. A call ends
 * there, which says how far away its target is.
 */
enum { EVENT_V8_CODE_WORDS = 2 };

static inline __u64 event_v8_code(const __u64 words[EVENT_V8_CODE_WORDS])
{
	__u64 code = (words[0] * 0x9e3779b97f4a7c15ULL ^ words[1]) * 0xbf58476d1ce4e5b9ULL;

	return code ? code : 1;
}

/*
 * The function of a frame of V8's. Its .method is the JSFunction then; its .offset the marker, of a
 * frame that has one, else where in the bytecode it is, if it is interpreted. Objects move, and
 * others come in their place: but script id and literal id say for ever which function it is.
 */
struct event_v8 {
	__u64 shared;	    /* SharedFunctionInfo */
	__u64 bytecodes;    /* BytecodeArray, of a frame that has one */
	__u64 receiver;	    /* what the function was called on */
	__u64 receiver_map; /* its Map; 0: it is no object */
	__u64 code;	    /* event_v8_code() of what is before the frame's pc; 0: not read */
	__s32 script_id;    /* 0: it is in none, or not known */
	__s32 literal_id;
};

/*
 * How often the collector has begun or ended to move objects in the target, all in all and of old
 * ones: what was seen at one count is where it was as long as that is the count. 0: it is not
 * counted.
 */
struct event_moves {
	__u32 all;
	__u32 old;
};

/* The same by now, and whether it goes on: how many collections have begun and not ended. */
struct moves_now {
	struct event_moves count;
	__u32 running;
};

/* How many slots a frame takes. */
static inline __u32 event_frame_slots(const struct event_frame *frame)
{
	return frame->flags & EVENT_FRAME_FUNCTION ? 1 + EVENT_V8_SLOTS : 1;
}

/* --trace: of a call that has ended, which has no frames. */
struct event_traced {
	__u8 depth;   /* 0: of the root, so the trace is over */
	__u8 fate;    /* enum watch_fate */
	__u16 missed; /* with depth 0: calls that were not followed; this many at least */
};

/* One hit of a probe. frames[0] is the probed address, frames[1] its caller. */
struct hit_event {
	__u64 time_ns;	   /* CLOCK_MONOTONIC */
	__u64 duration_ns; /* of a call that has ended, 0 of one that begins */
	__u32 tgid;	   /* as the target's PID namespace has it, see process.h */
	__u32 tid;
	__u32 site;	   /* index: a uprobe's cookie, or found by a breakpoint's address */
	__u16 frame_count; /* in .frames, with the slots of struct event_v8 */
	__u16 stack_end;   /* enum stack_end */
	union {
		struct event_moves moves;
		struct {
			__u32 trace; /* of a traced call: struct trace_counts has it */
			__u32 ended; /* of a root: the calls of its trace, this one, too */
		};
	};
	union {
		__u64 isolate;	  /* V8's, that the thread is in; 0: none, or it is not known */
		__u64 entered_ns; /* of a traced call */
	};
	/*
	 * 0: it is one hit. Else the number, from 1 on, of the slot that hits with this stack are
	 * counted in, this one, too: see merge.h.
	 */
	__u32 merged;
	union {
		__u32 codes; /* with that: the sum of its frames' code_versions, see merge.bpf.h */
		__u32 watched; /* of a watched call: bytes of values behind the frames */
		struct event_traced traced;
	};
	char comm[EVENT_COMM_BYTES];
	struct event_frame frames[EVENT_SLOTS];
};

/* A hit without a stack ends where the frames would begin. */
#define HIT_EVENT_HEADER_BYTES __builtin_offsetof(struct hit_event, frames)

/* Of a watched call: what is behind its frames. */
static inline const struct watch_values *hit_event_values(const struct hit_event *event)
{
	return (const struct watch_values *)&event->frames[event->frame_count];
}

/* Per site and CPU; programs add atomically, since they can be preempted. */
struct site_counters {
	__u64 hits; /* calls of the target, seen or lost */
	__u64 lost; /* of those: no room in the ring buffer */
	/*
	 * Of a breakpoint: what the program ran for, whoever's hit it was and whatever `active`
	 * says. The kernel counts as well how often breakpoints fire; where it leaves out the
	 * program, the two differ.
	 */
	__u64 runs;
	/* Of the hits, those that were counted and no more: all but one in so many, or too many. */
	__u64 sampled_out;
	__u64 shed;
	/* Of --if, and no hits: what it does not ask for, and what could not be told. */
	__u64 filtered;
	__u64 undecided;
};

/* By site, which of its hits are reported: see bpf/send.bpf.h. */
struct shed_site {
	__u64 hits;
	__u64 second; /* of a method's first site: above, and below how many were reported in it */
	__u32 first_site; /* of its method */
	__u32 reserved;
};

_Static_assert(sizeof(struct event_v8) == EVENT_V8_SLOTS * sizeof(struct event_frame),
	       "it is in slots");
_Static_assert(sizeof(struct hit_event) == 72 + 24 * EVENT_SLOTS, "layout is shared");
_Static_assert(HIT_EVENT_HEADER_BYTES == WATCH_HIT_WORDS * 8, "a watched call begins with it");
_Static_assert(sizeof(struct shed_site) == 24, "layout is shared");
_Static_assert(sizeof(struct site_counters) == 56, "layout is shared");

#endif
