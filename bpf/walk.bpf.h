/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one walk, for unwind.bpf.h and the unwinders of runtimes, and the tables that user
 * space has filled for it (bpf/unwind.h).
 */
#ifndef BPF_WALK_BPF_H
#define BPF_WALK_BPF_H

#define HASHED_NEVER 0xffffffffU /* a stack of a kind that is not counted */

enum {
	WALK_WINDOW_BYTES = 4096, /* of the stack, copied at a time; a power of two */
	WALK_WINDOW_MASK = WALK_WINDOW_BYTES - 8,
	WALK_WINDOW_MIN = 512,
	WALK_WINDOW_BEFORE = 64, /* what a function has saved is before where it returns to */
	WALK_PAGE_BYTES = 4096,	 /* at least: what is on it can be read as a whole */
	KNOWN_FRAMES = 4096,	 /* a power of two */

	SAVED_LOST = 1, /* no address: of where a register is saved */
};

/* What a stack is known by, where equal ones are counted: two hashes, made while it is walked. */
struct stack_key {
	__u64 a;
	__u64 b;
};

/* What is known of code that the runtime has compiled, while a frame of it is left. */
struct walk_jit {
	__u64 begin; /* the range found last, and its heap */
	__u64 size;
	__u64 map_base;
	__u64 nibbles;
	__u64 unwind_base;
	__u64 code; /* the body */
	__u64 header;
	__u64 method;
	__u64 cfa; /* once its prologue is undone */
	__u64 return_at;
	__u64 sp; /* while it is */
	__u64 fp;
	__u64 fp_at; /* where it was saved; 0: it was not */
	__u64 base;  /* what offsets of saved registers are from */
	__u32 slot;  /* the step that is next */
	bool framed; /* fp is this frame's pointer */
	bool stub;
	bool funclet;
	__u32 function_offset; /* in the body, or in one of its handlers */
	__u32 units[64];
	__u8 info[256];
};

/* Which function of V8's was found; see unwind_v8.bpf.h. */
struct known_function {
	__u64 tag;
	__u64 shared;
	__u64 ids; /* the script's, and above it the literal's */
};

/* What is on the stack of a frame of V8's, while it is left. */
struct walk_v8 {
	__u64 words[8]; /* from V8_AT_OFFSET on */
	__u64 function;
	__u64 receiver;
	struct known_function found;
};

struct walk {
	__u32 taken;
	__u32 half; /* of the ranges: the first of it */
	__u32 range_count;
	__u32 range;   /* the one found last */
	__u64 version; /* of the ranges */
	__u64 tag;     /* of that */
	__u64 pc;
	__u64 sp;
	__u64 start; /* the stack pointer where the walk began */
	__u64 fp;
	__u64 saved;	 /* UNWIND_SAVED, if it is where it was when the walk began */
	__u64 saved_at;	 /* where it was saved last, or SAVED_LOST; 0: nowhere */
	__u64 base;	 /* what find_base() has found */
	__u64 signal_at; /* the frame of the signal that has interrupted this code: where .exact */
	__u64 window_at; /* 0: there is none */
	__u64 window_last;   /* the offset of the last word in it */
	__u64 window_wanted; /* so many bytes: as the stacks before took */
	bool exact;	     /* pc is where it goes on, not where a call returns to */
	bool entered;	     /* the function has just been entered */
	bool guessed; /* the frame was found by a frame pointer, for want of anything better */
	bool fp_lost; /* the frame pointer is not known any more */
	bool isolate_known;
	__u32 frame_count;    /* in the event there are slots that are none */
	__u32 hashed;	      /* how many slots are in .key, or HASHED_NEVER */
	__u32 last;	      /* the slot of the frame that is left */
	struct stack_key key; /* see count_stacks.bpf.h */
	struct walk_jit jit;
	struct walk_v8 v8;
	struct hit_event event;
	/* Room for what is sent behind the last frame of a watched call. */
	__u8 values[sizeof(struct watch_values) + WATCH_SLOT_BYTES];
	__u8 window[WALK_WINDOW_BYTES] __attribute__((aligned(8)));
};

SHARED_ARRAY(unwind_rows, 1 /* set to the room for all */, struct unwind_row);
SHARED_ARRAY(unwind_ranges, 2 * UNWIND_RANGES_MAX, struct unwind_range);
ARRAY_MAP(walks, WALK_SCRATCHES /* set to so many for each CPU */, struct walk);

#endif
