/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files that find exits in x86-64 code share:
 *   exits_x86.c         the body: its parts, the search, the verdict
 *   exits_insn_x86.c    what one instruction does, from what Zydis says
 *   exits_table_x86.c   where jumps through tables go
 *   exits_flow_x86.c    the stack and the registers, followed through the body; the frame, as it is
 *                       taken down before an exit
 */
#ifndef ARCH_X86_64_EXITS_X86_H
#define ARCH_X86_64_EXITS_X86_H

#include "base/vector.h"
#include "code/exits.h"

enum {
	GPRS = 16,
	GPR_NONE = GPRS,
	GPR_RAX = 0,
	GPR_RSP = 4,
	GPR_RBP = 5,
	STACK_WORD = 8,
	STACK_DEPTH_MAX = 1 << 24, /* of a frame that makes sense */
};

enum insn_flow {
	INSN_NEXT,
	INSN_CALL, /* which may not come back */
	INSN_JUMP,
	INSN_BRANCH, /* or on to the next */
	INSN_JUMP_MEMORY,
	INSN_JUMP_REGISTER,
	INSN_RETURN,
	INSN_TRAP,
	INSN_FAR,
};

enum insn_stack {
	INSN_STACK_MOVES,      /* down by .amount */
	INSN_STACK_FROM_FRAME, /* rsp = rbp + .amount */
	INSN_FRAME_FROM_STACK, /* rbp = rsp + .amount */
	INSN_STACK_LEAVES,     /* rsp = rbp, and rbp popped */
	INSN_STACK_LOST,
};

/*
 * What becomes of values that a jump through a table would go by. A register is "scaled" if it may
 * be an address in a table (something times an element's size was added), and "tabled" if it may be
 * what stands there, or a place in this body.
 */
enum insn_value {
	INSN_CLEAN,   /* of what is written: neither */
	INSN_SCALES,  /* an address that was computed with a scaled index */
	INSN_TABLED,  /* loaded by a scaled index, or a place in this body */
	INSN_LOADS,   /* from memory: tabled if its address was scaled */
	INSN_DERIVES, /* from the registers that are read */
};

/* A register that decides where memory is, and by how much it is multiplied. */
struct insn_memory {
	int64_t displacement;
	uint8_t base;
	uint8_t index;
	uint8_t scale;
};

struct insn_state {
	int32_t stack;	 /* how far rsp is below where it was at the entry, or EXIT_DEPTH_UNKNOWN */
	int32_t frame;	 /* and rbp */
	uint16_t scaled; /* registers, a bit each */
	uint16_t tabled;
};

struct insn {
	uint64_t target; /* of a jump or call; of lea (see .lea) the address */
	uint32_t offset; /* in its part */
	int32_t amount;
	uint16_t part;
	uint16_t reads; /* registers, also to compute addresses */
	uint16_t writes;
	uint8_t length;
	uint8_t flow;  /* enum insn_flow */
	uint8_t stack; /* enum insn_stack */
	uint8_t value; /* enum insn_value */
	uint8_t lea;   /* the register that gets .target, a place known by the instruction alone */
	uint8_t jump;  /* the register of INSN_JUMP_REGISTER */
	uint8_t condition; /* of INSN_BRANCH, as struct exit_site has it */
	bool scaled_jump;  /* INSN_JUMP_MEMORY with a scaled index */
	bool loses_frame;
	bool is_relative; /* it jumps or calls to .target */

	/* What is known before it runs, and how it came to be known; see exits_flow_x86.c. */
	bool is_target; /* of a jump */
	bool reached;	/* on .way, the number of an entry */
	bool queued;
	bool waits;	 /* a call before what is jumped to */
	bool comes_back; /* nothing else leads there */
	uint32_t way;
	struct insn_state before;
};

/* The targets of one indirect jump. */
struct insn_table {
	uint32_t jump; /* its instruction's index */
	uint32_t first;
	uint32_t count;
	bool checked; /* all of it, and each leads to an instruction of this body */
	bool leaves;  /* it begins with what is outside this body */
};

struct exit_scratch {
	const struct exit_body *body;
	struct insn *insns;
	size_t count;
	size_t capacity;
	/* By byte of all parts: the number, from 1 on, of the instruction that begins there. */
	uint32_t *at;
	size_t at_capacity;
	uint32_t first_byte[EXITS_PARTS_MAX]; /* of each part, in .at */

	struct insn_table *tables; /* in the order of their jumps */
	size_t table_count;
	size_t table_capacity;
	size_t searched; /* instructions, for what tables need */
	uint32_t *edges; /* that tables lead to */
	size_t edge_count;
	size_t edge_capacity;

	/* Instructions to be followed, calls that wait, and the number of the entry in use. */
	uint32_t *queue;
	size_t queued;
	size_t queue_capacity;
	uint32_t *waiting;
	size_t waiting_count;
	size_t waiting_capacity;
	uint32_t way;
	bool no_memory;
};

enum { INSN_NONE = UINT32_MAX };

/* See vector_reserve(). Where there is no room .no_memory says so, too. */
#define exit_scratch_room(scratch, items, capacity, count)                     \
	({                                                                     \
		bool has_room_ = vector_reserve((items), (capacity), (count)); \
		(scratch)->no_memory |= !has_room_;                            \
		has_room_;                                                     \
	})

/* The part that holds @address; NULL if none does. */
const struct exit_part *exit_body_part(const struct exit_body *body, uint64_t address);

/* The number of the instruction that begins at @address, or INSN_NONE. */
uint32_t exit_scratch_find(const struct exit_scratch *scratch, uint64_t address);

/* The instruction's address. */
uint64_t exit_insn_address(const struct exit_scratch *scratch, const struct insn *insn);

/* The code from the instruction on to the end of its part. */
struct span exit_insn_code(const struct exit_scratch *scratch, const struct insn *insn);

/* Decode the instruction at the beginning of @code, at @address. False if there is none. */
bool exit_insn_read(struct insn *insn, struct span code, uint64_t address);

/* More of what one says, which few are asked for. */
bool exit_insn_memory(struct span code, struct insn_memory *memory);
bool exit_insn_is_add(struct span code, uint8_t *to, uint8_t *from);

/* If it is a load into a register: how many bytes, and whether they are sign-extended. */
bool exit_insn_is_load(struct span code, unsigned int *bytes, bool *is_signed);

enum insn_bound {
	BOUND_NONE,
	BOUND_FOUND,
	BOUND_ELSEWHERE,
};

/*
 * Does it say how large register *@reg is? With BOUND_FOUND it compares it with @bound, with
 * BOUND_ELSEWHERE it is a copy of what is now *@reg.
 */
enum insn_bound exit_insn_bound(struct span code, uint8_t *reg, uint64_t *bound);

/* Find the tables of all indirect jumps; false if there is no memory for it. */
bool exit_tables_find(struct exit_scratch *scratch);

/* The table of jump @index, or NULL. */
const struct insn_table *exit_table_of(const struct exit_scratch *scratch, uint32_t index);

/* Follow the stack and the registers through the body, from its entry on. */
bool exit_flow(struct exit_scratch *scratch);

/*
 * @site, an exit at @insn, gets the place for its probe where taking down the frame begins. If that
 * is not known, or some come by otherwise, there is none for a uprobe (INSN_REFUSED).
 */
void exit_place_probe(const struct exit_scratch *scratch, struct exit_site *site,
		      const struct insn *insn);

#endif
