/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cookie of a probe: its site, and above that what its hits mean. All bits are here, so that
 * none means two things.
 */
#ifndef BPF_COOKIE_H
#define BPF_COOKIE_H

/*
 * Calls are left here: instead of being entered, or at once after that. An exit whose instruction
 * the kernel emulates costs the target less than others. One that jumps to another function has no
 * result yet.
 */
#define LATENCY_EXIT	       (1ULL << 32)
#define LATENCY_ENTRY_AND_EXIT (1ULL << 33)
#define LATENCY_EXIT_EMULATED  (1ULL << 34)
#define LATENCY_EXIT_JUMPS     (1ULL << 35)

/* A breakpoint at a stub, so the site is to be found by the method. */
#define BREAKPOINT_STUB (1ULL << 36)

/* How much the stack pointer will be as the body is left is counted from the frame pointer. */
#define LATENCY_EXIT_FROM_FRAME (1ULL << 37)

enum {
	/* The condition + 1 of an exit that is a branch. */
	LATENCY_CONDITION_SHIFT = 40,
	LATENCY_CONDITION_MASK = (1 << 5) - 1,

	/*
	 * From here on how much more the stack pointer will be as the body is left, in words: of an
	 * exit at which the frame has still to be taken down.
	 */
	LATENCY_TAKEN_DOWN_SHIFT = 45,
	LATENCY_TAKEN_DOWN_UNIT = 8,
};

#endif
