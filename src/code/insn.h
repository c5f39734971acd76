/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the planner asks of machine code. Each architecture answers in a file that
 * carries its name (insn_x86.c).
 */
#ifndef CODE_INSN_H
#define CODE_INSN_H

#include <stdbool.h>

#include "image/cursor.h"

/* What a uprobe on an instruction costs, and whether the kernel gets it right at all. */
enum insn_probe {
	INSN_EMULATED,	     /* the kernel does the instruction's work itself: about 0.5 us a hit */
	INSN_SINGLE_STEPPED, /* executed out of line with a debug trap: several times that */
	INSN_REFUSED,	     /* the kernel does not take a probe there */
	INSN_CORRUPTED,	     /* mistaken for another instruction: silently changes the target */
	INSN_UNDECODABLE,
};

/* The instruction at the start of @code. */
enum insn_probe insn_probe_cost(struct span code);

/* Is it the nop that Linux 6.18 and newer make a call of for a uprobe? That is cheap. */
bool insn_is_patchable(struct span code);

/*
 * How far into the function that begins with @code there is an instruction that is cheap to probe,
 * with all arguments still in the registers they came in; 0 if there is none before the first jump.
 */
size_t insn_cheap_start(struct span code);

/* The first place in @code where a system call may be given @number; NULL if there is none. */
const uint8_t *insn_find_number(struct span code, uint32_t number);

/*
 * Is @code, a function's, one that makes system call @number with the arguments that it was given,
 * and little else before that?
 */
bool insn_makes_system_call(struct span code, uint32_t number);

/*
 * Does an instruction of @code jump to @code's own first instruction (@from is where @code
 * begins relative to it, 0 for the entry's own part)? A probe there would count each turn
 * of the loop as a call. Calls do not count: they are calls.
 */
bool insn_jumps_to_entry(struct span code, int64_t from);

#endif
