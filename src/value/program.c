// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs of struct watch_op while they are put together, for compile.c and content.c. */
#include "value/capture.h"

enum { SLOTS_MAX = 1024 };

struct watch_op *program_add(struct program *program, enum watch_code code)
{
	struct watch_op *op;

	if (program->count == WATCH_OPS) {
		program->full = true;
		return NULL;
	}
	op = &program->ops[program->count++];
	*op = (struct watch_op){ .code = (uint8_t)code, .slot = WATCH_NO_SLOT };
	return op;
}

uint16_t program_slot(struct program *program)
{
	if (program->slots == SLOTS_MAX) {
		program->full = true;
		return WATCH_NO_SLOT;
	}
	return program->slots++;
}

static bool take_part(struct program *program, const struct value_slot *slot, uint32_t offset,
		      uint16_t size, uint8_t dst)
{
	for (size_t i = 0; i < slot->part_count && i < VALUE_PARTS; i++) {
		struct watch_op *op;

		if (slot->parts[i].where != VALUE_IN_REGISTER || offset < slot->parts[i].offset ||
		    offset + size > slot->parts[i].offset + slot->parts[i].size)
			continue;
		op = program_add(program, WATCH_TAKE);
		if (!op)
			return false;
		op->dst = dst;
		op->source = (uint8_t)((program->at_exit ? WATCH_RESULT_0 : WATCH_ARGUMENT_0) +
				       slot->parts[i].number);
		if (offset == slot->parts[i].offset)
			return true;
		op = program_add(program, WATCH_SHIFT);
		if (!op)
			return false;
		op->dst = op->src = dst;
		op->immediate = 8 * (uint64_t)(offset - slot->parts[i].offset);
		return true;
	}
	return false;
}

bool program_load(struct program *program, const struct place *place, uint8_t dst, uint16_t size,
		  uint16_t slot, uint16_t otherwise)
{
	struct watch_op *op;

	if (place->slot)
		return take_part(program, place->slot, place->offset, size, dst);
	op = program_add(program, WATCH_LOAD);
	if (!op)
		return false;
	op->dst = dst;
	op->src = place->cell;
	op->offset = (int32_t)place->offset;
	op->size = size;
	op->slot = slot;
	op->otherwise = otherwise;
	return true;
}

bool program_take_address(struct program *program, const struct value_slot *slot, uint8_t dst,
			  struct place *place)
{
	bool in_memory = slot->part_count == 1 && (slot->parts[0].where == VALUE_ON_STACK ||
						   slot->parts[0].where == VALUE_IN_BUFFER);
	struct watch_op *op = in_memory ? program_add(program, WATCH_TAKE) : NULL;

	if (!op)
		return false;
	op->dst = dst;
	op->source = slot->parts[0].where == VALUE_ON_STACK ? WATCH_STACK : WATCH_RESULT_0;
	*place = (struct place){
		.cell = dst,
		.offset = slot->parts[0].where == VALUE_ON_STACK ? slot->parts[0].number : 0,
	};
	return true;
}

/* Jumps to where the content of a level ends, until that is known. */
uint16_t program_end_of(unsigned int level)
{
	return (uint16_t)(WATCH_END - 1 - level);
}

void program_set_ends(struct program *program, size_t from, unsigned int level)
{
	for (size_t i = from; i < program->count; i++) {
		if (program->ops[i].otherwise == program_end_of(level))
			program->ops[i].otherwise = (uint16_t)program->count;
	}
}

void program_if_zero(struct program *program, uint8_t src, uint16_t otherwise)
{
	struct watch_op *op = program_add(program, WATCH_IF_ZERO);

	if (op) {
		op->src = src;
		op->otherwise = otherwise;
	}
}

/* dst = @size bytes at the address in @src. */
void program_load_at(struct program *program, uint8_t dst, uint8_t src, uint32_t offset,
		     uint16_t size, uint16_t slot, unsigned int level)
{
	const struct place place = { .cell = src, .offset = offset };

	program_load(program, &place, dst, size, slot, program_end_of(level));
}

void program_mask(struct program *program, uint8_t cell, uint64_t mask)
{
	struct watch_op *op = program_add(program, WATCH_MASK);

	if (op) {
		op->dst = op->src = cell;
		op->immediate = mask;
	}
}

void program_copy(struct program *program, uint16_t slot, uint8_t src, uint32_t offset,
		  uint32_t size)
{
	struct watch_op *op = program_add(program, WATCH_COPY_FIXED);

	if (op) {
		op->src = src;
		op->offset = (int32_t)offset;
		op->size = (uint16_t)(size < WATCH_COPY ? size : WATCH_COPY);
		op->slot = slot;
	}
}

/* As many bytes as the scratch cell says, each time 1 << @shift. */
void program_copy_times(struct program *program, uint16_t slot, uint8_t src, uint32_t offset,
			unsigned int shift, uint32_t limit)
{
	struct watch_op *op = program_add(program, WATCH_COPY_TIMES);

	if (op) {
		op->dst = CELL_SCRATCH;
		op->src = src;
		op->offset = (int32_t)offset;
		op->immediate = shift;
		op->size = (uint16_t)(limit < WATCH_COPY ? limit : WATCH_COPY);
		op->slot = slot;
	}
}
