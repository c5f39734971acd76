// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where jumps through tables go. Compilers write them in three ways:
 *
 *   lea TABLE(%rip),r; mov (r,i,4),o; lea BASE(%rip),b; add b,o; jmp *o   RyuJIT: unsigned offsets
 *   lea TABLE(%rip),b; movslq (b,i,4),o; add b,o; jmp *o                  gcc, clang: signed ones
 *   jmp *TABLE(,i,8), or mov TABLE(,i,8),r; jmp *r				addresses
 *
 * The parts may stand apart, so they are looked for from the jump backwards without regard to what
 * comes by where. What makes a table one is what stands in it: places in this body at which
 * instructions begin, each of as many as the check before the jump lets through.
 */
#include <stdlib.h>

#include "arch/x86_64/exits_x86.h"

enum {
	NEAR_MAX = 64,	   /* instructions between the parts, but for the table's address */
	FAR_MAX = 1 << 14, /* which loops load before they begin */
	BOUND_NEAR_MAX = 24,
	BRANCH_NEAR_MAX = 4,
	ENTRIES_MAX = 1 << 12, /* of one table */
	ENTRIES_MIN = 2,       /* where nothing says how many there are */
	EDGES_MAX = 1 << 18,   /* of all tables, and how many of those */
	TABLES_MAX = 1 << 12,
	SEARCHED_MAX = 1 << 23, /* instructions of a body, for what tables need: some 0.2 s */

	/* Conditions, as Jcc's opcodes have them. */
	CONDITION_NEGATED = 1,
	CONDITION_BELOW = 2,
	CONDITION_LESS = 12,
	OFFSET_BYTES = 4,
};

/* A table as its jump's instructions describe it. */
struct shape {
	uint64_t at;
	uint64_t base;		 /* what is added to each entry */
	unsigned int entry_size; /* 0: not understood */
	bool is_signed;
	const struct insn *load; /* or jump */
	uint8_t index;		 /* the register */
};

static const struct insn *in_same_part(const struct exit_scratch *scratch, uint32_t index,
				       uint32_t steps)
{
	const struct insn *insn = &scratch->insns[index];

	return steps <= index && insn[-(int64_t)steps].part == insn->part ? insn - steps : NULL;
}

/* The nearest instruction before @index that writes register @reg, not as a call may. */
static const struct insn *last_write(const struct exit_scratch *scratch, uint32_t index,
				     uint8_t reg)
{
	if (reg >= GPRS)
		return NULL;
	for (uint32_t steps = 1; steps <= NEAR_MAX; steps++) {
		const struct insn *insn = in_same_part(scratch, index, steps);

		if (!insn)
			return NULL;
		if (insn->writes & 1u << reg && insn->flow != INSN_CALL)
			return insn;
	}
	return NULL;
}

/* Is a place put into @reg by instruction @index? */
static bool is_place(struct exit_scratch *scratch, uint32_t index, uint8_t reg, uint64_t *place)
{
	scratch->searched++;
	*place = scratch->insns[index].target;
	return scratch->insns[index].lea == reg;
}

/* The nearest place before @index that is put into @reg, or else the nearest after it. */
static bool find_place(struct exit_scratch *scratch, uint32_t index, uint8_t reg, uint64_t *place)
{
	uint32_t low = index > FAR_MAX ? index - FAR_MAX : 0;
	uint32_t high =
		scratch->count - index > FAR_MAX ? index + FAR_MAX : (uint32_t)scratch->count;

	if (reg >= GPRS || scratch->searched > SEARCHED_MAX)
		return false;
	for (uint32_t i = index; i-- > low;) {
		if (is_place(scratch, i, reg, place))
			return true;
	}
	for (uint32_t i = index; i < high; i++) {
		if (is_place(scratch, i, reg, place))
			return true;
	}
	return false;
}

static uint32_t index_of(const struct exit_scratch *scratch, const struct insn *insn)
{
	return (uint32_t)(insn - scratch->insns);
}

/* The address of the table that @insn loads from or jumps through. */
static bool find_table(struct exit_scratch *scratch, const struct insn *insn,
		       unsigned int entry_size, struct shape *shape)
{
	struct insn_memory memory;

	if (!exit_insn_memory(exit_insn_code(scratch, insn), &memory) || memory.index == GPR_NONE ||
	    memory.scale != entry_size)
		return false;
	if (memory.base != GPR_NONE &&
	    !find_place(scratch, index_of(scratch, insn), memory.base, &shape->at))
		return false;
	shape->at += (uint64_t)memory.displacement;
	shape->load = insn;
	shape->index = memory.index;
	return true;
}

static void shape_of_addresses(struct exit_scratch *scratch, const struct insn *load,
			       struct shape *shape)
{
	if (find_table(scratch, load, sizeof(uint64_t), shape))
		shape->entry_size = sizeof(uint64_t);
}

/* @add makes a target of an offset, which one of its registers has from a table, and a base. */
static bool shape_of_offsets(struct exit_scratch *scratch, const struct insn *add, uint8_t offset,
			     uint8_t base, struct shape *shape)
{
	uint32_t index = index_of(scratch, add);
	const struct insn *load = last_write(scratch, index, offset);
	unsigned int bytes;

	if (!load || !exit_insn_is_load(exit_insn_code(scratch, load), &bytes, &shape->is_signed) ||
	    bytes != OFFSET_BYTES || !find_table(scratch, load, bytes, shape) ||
	    !find_place(scratch, index, base, &shape->base))
		return false;
	shape->entry_size = bytes;
	return true;
}

/*
 * How many values a comparison with @bound lets through: those up to it, or those below it. The
 * jump that asks is a few instructions after it at the most.
 */
static uint64_t values_within(const struct exit_scratch *scratch, const struct insn *compare,
			      uint64_t bound)
{
	const struct insn *end = scratch->insns + scratch->count;

	for (uint32_t steps = 1; steps <= BRANCH_NEAR_MAX && compare + steps < end; steps++) {
		const struct insn *insn = compare + steps;

		if (insn->flow != INSN_BRANCH)
			continue;
		switch (insn->condition & ~CONDITION_NEGATED) {
		case CONDITION_BELOW:
		case CONDITION_LESS:
			return bound;
		default:
			return bound + 1;
		}
	}
	return 0;
}

/* How many entries the check of the index lets through; 0: not known. */
static uint64_t find_bound(const struct exit_scratch *scratch, const struct shape *shape)
{
	uint8_t reg = shape->index;
	uint64_t bound;

	for (uint32_t steps = 1; steps <= BOUND_NEAR_MAX; steps++) {
		const struct insn *insn =
			in_same_part(scratch, index_of(scratch, shape->load), steps);

		if (!insn || reg >= GPRS)
			return 0;
		if (!((insn->reads | insn->writes) & 1u << reg))
			continue;
		switch (exit_insn_bound(exit_insn_code(scratch, insn), &reg, &bound)) {
		case BOUND_FOUND:
			return values_within(scratch, insn, bound);
		case BOUND_NONE:
			if (insn->writes & 1u << reg)
				return 0;
			break;
		case BOUND_ELSEWHERE:
			break;
		}
	}
	return 0;
}

static struct shape shape_of(struct exit_scratch *scratch, uint32_t jump)
{
	const struct insn *insn = &scratch->insns[jump], *last;
	struct shape shape = { 0 };
	unsigned int bytes;
	bool is_signed;
	uint8_t to, from;

	if (insn->flow == INSN_JUMP_MEMORY) {
		shape_of_addresses(scratch, insn, &shape);
	} else {
		last = last_write(scratch, jump, insn->jump);
		if (last && exit_insn_is_add(exit_insn_code(scratch, last), &to, &from)) {
			if (!shape_of_offsets(scratch, last, to, from, &shape))
				(void)shape_of_offsets(scratch, last, from, to, &shape);
		} else if (last &&
			   exit_insn_is_load(exit_insn_code(scratch, last), &bytes, &is_signed)) {
			shape_of_addresses(scratch, last, &shape);
		}
	}
	return shape;
}

/* Where entry @index leads; false if it cannot be read. */
static bool read_entry(const struct exit_scratch *scratch, const struct shape *shape,
		       uint32_t index, uint64_t *target)
{
	const struct exit_body *body = scratch->body;
	uint8_t bytes[sizeof(uint64_t)] = { 0 };
	struct cursor c = cursor_over((struct span){ bytes, sizeof(bytes) });
	uint64_t value;

	if (!body->read(body->ctx, shape->at + (uint64_t)index * shape->entry_size, bytes,
			shape->entry_size))
		return false;
	value = cursor_u64(&c);
	if (shape->is_signed)
		value = (uint64_t)(int64_t)(int32_t)value;
	*target = shape->base + value;
	return true;
}

static void read_table(struct exit_scratch *scratch, const struct shape *shape,
		       struct insn_table *table)
{
	const uint64_t bound = find_bound(scratch, shape);
	const uint64_t limit = bound && bound < ENTRIES_MAX ? bound : ENTRIES_MAX;
	uint64_t target;

	while (table->count < limit && read_entry(scratch, shape, table->count, &target)) {
		uint32_t to = exit_scratch_find(scratch, target);

		if (to == INSN_NONE) {
			table->leaves = table->count == 0 && !exit_body_part(scratch->body, target);
			break;
		}
		if (scratch->edge_count == EDGES_MAX ||
		    !exit_scratch_room(scratch, &scratch->edges, &scratch->edge_capacity,
				       scratch->edge_count + 1))
			break;
		scratch->edges[scratch->edge_count++] = to;
		scratch->insns[to].is_target = true;
		table->count++;
	}
	table->checked = bound ? table->count == bound : table->count >= ENTRIES_MIN;
}

static bool find_one(struct exit_scratch *scratch, uint32_t jump)
{
	struct shape shape = shape_of(scratch, jump);
	struct insn_table table = { .jump = jump, .first = (uint32_t)scratch->edge_count };

	if (!shape.entry_size)
		return true;
	if (!exit_scratch_room(scratch, &scratch->tables, &scratch->table_capacity,
			       scratch->table_count + 1))
		return false;
	read_table(scratch, &shape, &table);
	scratch->tables[scratch->table_count++] = table;
	return !scratch->no_memory;
}

bool exit_tables_find(struct exit_scratch *scratch)
{
	if (!scratch->body->read)
		return true;
	for (uint32_t i = 0; i < scratch->count && scratch->table_count < TABLES_MAX; i++) {
		const struct insn *insn = &scratch->insns[i];

		if ((insn->flow == INSN_JUMP_REGISTER ||
		     (insn->flow == INSN_JUMP_MEMORY && insn->scaled_jump)) &&
		    !find_one(scratch, i))
			return false;
	}
	return true;
}

static int by_jump(const void *a, const void *b)
{
	uint32_t first = ((const struct insn_table *)a)->jump;
	uint32_t second = ((const struct insn_table *)b)->jump;

	return first < second ? -1 : first > second;
}

const struct insn_table *exit_table_of(const struct exit_scratch *scratch, uint32_t index)
{
	const struct insn_table wanted = { .jump = index };

	return scratch->table_count ? bsearch(&wanted, scratch->tables, scratch->table_count,
					      sizeof(wanted), by_jump) :
				      NULL;
}
