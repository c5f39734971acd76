/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a call of a method ends: every instruction of its body that gives control back to the
 * caller, or hands it on to another function that will (a tail call). Each architecture answers in
 * files that carry its name (exits_x86.c and others).
 *
 * What pairing entries with exits rests on: at an exit, before its instruction has run, the stack
 * pointer is what it was at the entry. The stack is followed through the body to prove that; where
 * it cannot be, the exit says so (EXIT_DEPTH_UNKNOWN). For a `ret` it then holds all the same, or
 * the caller would not get on; for a tail jump the calling convention asks for it.
 *
 * Probes of exits may have to be before that, see exit_body.unwound_by_code.
 */
#ifndef CODE_EXITS_H
#define CODE_EXITS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/insn.h"

struct error;

enum {
	EXITS_PARTS_MAX = 256,
	EXITS_BODY_MAX_BYTES = 1 << 20, /* all parts together */
	EXITS_MAX = 1024,
	EXIT_DEPTH_UNKNOWN = INT32_MIN,
	EXIT_INSTRUCTION_MAX = 15,
	EXIT_TAKEN_DOWN_UNIT = 8,
	EXIT_TAKEN_DOWN_MAX = 1 << 20, /* exclusive */
};

enum exit_part_kind {
	EXIT_PART_HOT,	   /* the first part is, and begins with the entry */
	EXIT_PART_COLD,	   /* reached by jumps */
	EXIT_PART_HANDLER, /* called by the runtime: what it returns from is not the method */
};

/* One contiguous run of a body's code. Addresses of all are in one space, whichever it is. */
struct exit_part {
	struct span code;
	uint64_t begin;
	enum exit_part_kind kind;
};

/*
 * One body. Its code refers to jump tables, which @read gives: @size bytes at @at, in the parts'
 * space of addresses (false: there are none). Without @read, no jump through a table is understood.
 */
struct exit_body {
	const struct exit_part *parts;
	size_t part_count;
	/* OSR: it takes over the frame of another body, so calls do not enter here. */
	bool entered_midway;
	/*
	 * Tier 0: its loops may go on in such a body, from .NET 11 on by a jump to where a call of
	 * the runtime has said, with the frame as it is. That is no exit.
	 */
	bool left_midway;
	/*
	 * Its runtime unwinds a thread that was interrupted by a look at the code: .NET knows a
	 * frame that is being taken down by `add rsp`, `pop` and `ret` ahead. Where a probe has
	 * taken the place of the `ret` it finds the wrong return address, and overwrites that to
	 * catch the thread for a collection. So probes go where taking down begins, and the frame
	 * is still whole (src/coreclr/unwinder/amd64/unwinder.cpp, VirtualUnwind()).
	 */
	bool unwound_by_code;
	bool (*read)(void *ctx, uint64_t at, void *to, size_t size);
	void *ctx;
};

enum exit_kind {
	EXIT_RETURN,
	EXIT_JUMP,	    /* to what .target says */
	EXIT_JUMP_MEMORY,   /* to where a word in memory says */
	EXIT_JUMP_REGISTER, /* to where a register says */
	/*
	 * A conditional jump to .target: an exit only if it is taken, which the flags (and
	 * .condition) tell before it runs.
	 */
	EXIT_BRANCH,
};

/*
 * Where the probe of one is: at its instruction, or where taking down the frame for it begins. The
 * stack pointer will be @taken_down more by then, or that more than the frame pointer is.
 */
struct exit_site {
	uint64_t at;
	uint64_t target; /* of EXIT_JUMP and EXIT_BRANCH */
	uint32_t offset; /* in its part */
	uint32_t taken_down;
	bool from_frame;
	/*
	 * How many bytes the stack pointer is below where it was at the entry, as the body is left:
	 * 0 if it is known, but for bodies entered midway, where it is alike at all exits. Or
	 * EXIT_DEPTH_UNKNOWN.
	 */
	int32_t depth;
	uint16_t part;
	uint8_t length;
	uint8_t kind;	   /* enum exit_kind */
	uint8_t condition; /* of EXIT_BRANCH: the low 4 bits of Jcc's opcode, or EXIT_BY_COUNTER */
	/* enum insn_probe: of a uprobe there, and whether it can be placed, and may be. */
	uint8_t cost;
};

enum {
	EXIT_BY_COUNTER = 16, /* no flags: loop and jrcxz look at rcx, xbegin at the processor */
};

/* Why the exits of a body are not known, or not all of them. */
enum exits_refusal {
	EXITS_KNOWN,
	EXITS_UNREADABLE,
	EXITS_TOO_LARGE,
	EXITS_TOO_MANY,
	EXITS_UNDECODABLE,
	EXITS_INTO_INSTRUCTION,
	EXITS_AMBIGUOUS_JUMP,
	EXITS_UNBALANCED,
	EXITS_LEAVES_FRAME,
	EXITS_RUNS_ON,
	EXITS_CALLS_INSIDE,
	EXITS_FAR,
	EXITS_HANDLER_LEAVES,
	EXITS_REFUSALS,
};

/* What was found. To begin with all zeros; may be used for one body after another. */
struct exits {
	struct exit_site *sites; /* by part, and in it by address */
	size_t count;		 /* 0 of a body that never returns */
	size_t capacity;

	enum exits_refusal refusal; /* then there are no sites */
	uint64_t refused_at;	    /* the instruction that it is about */
	/*
	 * Where that goes, with EXITS_LEAVES_FRAME: to code that belongs to the body though it is
	 * in none of its parts. With that as a part, the body may be understood.
	 */
	uint64_t refused_target;

	size_t instructions;
	size_t tables; /* jumps through tables that were found and checked */

	struct exit_scratch *scratch;
};

/*
 * Find the exits of @body by decoding every one of its instructions. 0 with @exits filled, which
 * may be a refusal; -ENOMEM with @err set.
 */
int exits_find(struct exits *exits, const struct exit_body *body, struct error *err);

/* Add those of @more, code that calls of the body may end in. Refused if @more is. -ENOMEM. */
int exits_add(struct exits *exits, const struct exits *more, struct error *err);
void exits_deinit(struct exits *exits);

/* The refusal's code, as in JSON, and the sentence that explains it. NULL for EXITS_KNOWN. */
const char *exits_refusal_code(enum exits_refusal refusal);
const char *exits_refusal_text(enum exits_refusal refusal);
const char *exit_kind_name(enum exit_kind kind);

#endif
