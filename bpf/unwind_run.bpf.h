/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several frames at a time, if they are as most are: of code in files, known, left by the stack
 * pointer or the frame pointer, with all that is read of them in the window. The state of the walk
 * is in registers meanwhile. Any other frame is left to leave_frame(), in unwind.bpf.h.
 */
#ifndef BPF_UNWIND_RUN_BPF_H
#define BPF_UNWIND_RUN_BPF_H

enum {
	WALK_AT_ONCE = 32,
	WALK_FEW_AT_ONCE = 8, /* where there is no room for so many */

	/* What walk_run() comes to. */
	RUN_STEP = 0, /* the next frame is another kind of frame */
	RUN_ON,
	RUN_END,
};

/* What the walk has, read anew: less of a frame then. */
#define NOW(member) (*(volatile typeof(member) *)&(member))

/* What was found of the code at @pc, if it is still true; UNWIND_UNKNOWN: it is not known. */
static __always_inline struct unwind_frame known_frame_of(__u64 pc, __u64 tag)
{
	const struct known_frame *known = &known_frames[known_key(pc)];
	struct known_frame found = { .bits = *(const volatile __u64 *)&known->bits };

	if (*(const volatile __u64 *)&known->tag != (pc ^ found.bits ^ tag))
		found.bits = 0;
	return found.frame;
}

/* Can it be left here, but for what the window has? */
static __always_inline bool is_plain(struct unwind_frame frame)
{
	return frame.rule == UNWIND_REGISTER && frame.base <= UNWIND_FP &&
	       frame.return_address < UNWIND_PLACES &&
	       (frame.frame_pointer < UNWIND_PLACES || frame.frame_pointer == UNWIND_SAME);
}

/* A word that is @units from the CFA; false if it is not in the window. */
static __always_inline bool read_window(const struct walk *walk, __u64 cfa, __s8 units,
					__u64 *value)
{
	__u64 offset = cfa + (__s64)units * UNWIND_UNIT - NOW(walk->window_at);

	if (offset > walk->window_last)
		return false;
	*value = *(const __u64 *)(walk->window + (offset & WALK_WINDOW_MASK));
	return true;
}

/* How many frames there is room for behind @slots that are used, of @frames in all: few or many. */
static __always_inline __u32 run_at_most(__u32 frames, __u32 slots)
{
	if (frames + WALK_AT_ONCE <= max_frames &&
	    slots <= EVENT_SLOTS - EVENT_V8_SLOTS - WALK_AT_ONCE)
		return WALK_AT_ONCE;
	if (frames + WALK_FEW_AT_ONCE <= max_frames &&
	    slots <= EVENT_SLOTS - EVENT_V8_SLOTS - WALK_FEW_AT_ONCE)
		return WALK_FEW_AT_ONCE;
	return 0;
}

/*
 * The next frames, as long as they are such. What changes with each of them is in registers, or in
 * the program's frame, which has to be small (tests/unit/test_bpf.c).
 */
__noinline int walk_run(struct walk *walk)
{
	__u64 pc, sp, fp, cfa, next, caller_fp;
	struct unwind_frame frame;
	__u32 count, most, done;

	if (!walk || walk->exact || walk->guessed || walk->fp_lost || !walk->window_at)
		return RUN_STEP;
	count = walk->event.frame_count;
	most = run_at_most(walk->frame_count, count);
	if (!most)
		return RUN_STEP;
	pc = walk->pc;
	sp = walk->sp;
	fp = walk->fp;
	for (done = 0; done < most && pc; done++) {
		frame = known_frame_of(pc - 1, NOW(walk->tag));
		if (!is_plain(frame))
			break;
		cfa = (frame.base == UNWIND_FP ? fp : sp) + (__s64)frame.offset * UNWIND_UNIT;
		caller_fp = fp;
		if (cfa <= sp || cfa & 7 || !read_window(walk, cfa, frame.return_address, &next) ||
		    (frame.frame_pointer != UNWIND_SAME &&
		     !read_window(walk, cfa, frame.frame_pointer, &caller_fp)))
			break;
		if (frame.saved != UNWIND_SAME)
			walk->saved_at = frame.saved < UNWIND_PLACES ?
						 cfa + (__s64)frame.saved * UNWIND_UNIT :
						 SAVED_LOST;
		walk->event.frames[count + done] = (struct event_frame){
			.pc = pc,
			.frame_pointer = fp >> 3,
		};
		if (merges_as_it_goes())
			merge_mix(walk, pc);
		pc = next;
		sp = cfa;
		fp = caller_fp;
	}
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	NOW(walk->hashed) += walk->hashed == HASHED_NEVER ? 0 : done;
	NOW(walk->frame_count) += done;
	NOW(walk->event.frame_count) += done;
	if (!pc) {
		walk_end(walk, STACK_WHOLE);
		return RUN_END;
	}
	return done == most ? RUN_ON : RUN_STEP;
}

#endif
