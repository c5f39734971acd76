/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tests/apps/native/stacks.cpp and tests/unit/test_unwind.c share, in memory that both have mapped:
 * for each call of the probed function the stack as libgcc's unwinder has walked it in the same call.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdint.h>

enum {
	TAKEN_FRAMES_MAX = 128,
	TAKEN_STACKS_MAX = 24576,
	TAKEN_WAY_BYTES = 48,
};

struct taken_stack {
	uint64_t frames
		[TAKEN_FRAMES_MAX]; /* innermost first, from the probed function's caller on */
	int32_t count;
	int32_t tid;
	char way[TAKEN_WAY_BYTES]; /* how it got there, for people */
};

/* Numbers are read and written atomically. */
struct taken_stacks {
	uint64_t probed; /* the function's address; 0: the program is not there yet */
	int32_t go;	 /* set by the test, once its probe is there */
	int32_t count;
	struct taken_stack stacks[TAKEN_STACKS_MAX];
};

#endif
