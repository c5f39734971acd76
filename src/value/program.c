// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs of struct watch_op while they are put together, for compile.c and content.c. */
#include "value/capture.h"

enum { SLOTS_MAX = 1024 };

struct watch_op *program_append(struct program *program, struct watch_op op)
{
	if (program->count == WATCH_OPS) {
		program->full = true;
		return NULL;
	}
	program->ops[program->count] = op;
	return &program->ops[program->count++];
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
		      unsigned int size, unsigned int dst)
{
	for (size_t i = 0; i < slot->part_count && i < VALUE_PARTS; i++) {
		unsigned int first = program->at_exit ? WATCH_RESULT_0 : WATCH_ARGUMENT_0;

		if (slot->parts[i].where != VALUE_IN_REGISTER || offset < slot->parts[i].offset ||
		    offset + size > slot->parts[i].offset + slot->parts[i].size)
			continue;
		offset -= slot->parts[i].offset;
		return program_add(program, WATCH_TAKE, .dst = (uint8_t)dst,
				   .source = (uint8_t)(first + slot->parts[i].number)) &&
		       (offset == 0 ||
			program_add(program, WATCH_SHIFT, .dst = (uint8_t)dst, .src = (uint8_t)dst,
				    .immediate = 8ULL * offset));
	}
	return false;
}

bool program_load(struct program *program, const struct place *place, unsigned int dst,
		  unsigned int size, uint16_t slot, uint16_t otherwise)
{
	if (place->slot)
		return take_part(program, place->slot, place->offset, size, dst);
	return program_add_item(program, WATCH_LOAD, slot, .dst = (uint8_t)dst, .src = place->cell,
				.offset = (int32_t)place->offset, .size = (uint16_t)size,
				.otherwise = otherwise);
}

bool program_take_address(struct program *program, const struct value_slot *slot, unsigned int dst,
			  struct place *place)
{
	bool on_stack = slot->parts[0].where == VALUE_ON_STACK;

	if (slot->part_count != 1 || (!on_stack && slot->parts[0].where != VALUE_IN_BUFFER) ||
	    !program_add(program, WATCH_TAKE, .dst = (uint8_t)dst,
			 .source = on_stack ? WATCH_STACK : WATCH_RESULT_0))
		return false;
	*place = (struct place){
		.cell = (uint8_t)dst,
		.offset = on_stack ? slot->parts[0].number : 0,
	};
	return true;
}

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

void program_if_zero(struct program *program, unsigned int src, uint16_t otherwise)
{
	program_add(program, WATCH_IF_ZERO, .src = (uint8_t)src, .otherwise = otherwise);
}

void program_load_at(struct program *program, unsigned int dst, unsigned int src, uint32_t offset,
		     unsigned int size, uint16_t slot, unsigned int level)
{
	const struct place place = { .cell = (uint8_t)src, .offset = offset };

	program_load(program, &place, dst, size, slot, program_end_of(level));
}

void program_mask(struct program *program, uint8_t cell, uint64_t mask)
{
	program_add(program, WATCH_MASK, .dst = cell, .src = cell, .immediate = mask);
}

struct watch_op *program_copy(struct program *program, uint16_t slot, unsigned int src,
			      uint32_t offset, uint32_t size)
{
	return program_add_item(program, WATCH_COPY_FIXED, slot, .src = (uint8_t)src,
				.offset = (int32_t)offset,
				.size = (uint16_t)(size < WATCH_COPY ? size : WATCH_COPY));
}

void program_copy_times(struct program *program, uint16_t slot, unsigned int src, uint32_t offset,
			unsigned int shift, uint32_t limit)
{
	program_add_item(program, WATCH_COPY_TIMES, slot, .dst = CELL_SCRATCH, .src = (uint8_t)src,
			 .offset = (int32_t)offset, .immediate = shift,
			 .size = (uint16_t)(limit < WATCH_COPY ? limit : WATCH_COPY));
}
