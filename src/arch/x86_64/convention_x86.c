// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The calling convention of x86-64 Linux: System V ABI, AMD64 supplement, 3.2.3. Integers and
 * addresses are in registers that are numbered apart from those of floats; a struct of up to two
 * words is in those of its words, and if there are not enough of both for all of it, on the stack.
 */
#include "value/convention.h"

enum {
	INTEGERS = 6, /* rdi, rsi, rdx, rcx, r8, r9 */
	FLOATS = 8,   /* xmm0 to xmm7 */
	RESULTS = 2,  /* of each kind: rax and rdx, xmm0 and xmm1 */
	RETURN_ADDRESS_BYTES = 8,
};

const char convention_float_register[] = "xmm";

bool convention_is_large(uint32_t size)
{
	return size > VALUE_PARTS * CONVENTION_WORD;
}

void convention_add_scalar(struct convention_value *value, uint32_t offset, uint32_t size,
			   bool is_float)
{
	enum word_class class = is_float ? WORD_FLOAT : WORD_INTEGER;
	uint32_t bytes = size ? size : 1;

	/* Those that lie across go by the stack. */
	if (bytes <= CONVENTION_WORD && offset % bytes)
		value->in_memory = true;
	for (uint32_t i = offset / CONVENTION_WORD;
	     i < VALUE_PARTS && i <= (offset + bytes - 1) / CONVENTION_WORD; i++) {
		if (class > value->words[i])
			value->words[i] = class;
	}
}

struct convention convention_begin(void)
{
	return (struct convention){ .stack = RETURN_ADDRESS_BYTES };
}

void convention_skip(struct convention *taken)
{
	taken->integers++;
}

static void add_part(struct value_slot *slot, enum value_where where, uint32_t number,
		     uint32_t offset, uint32_t size)
{
	slot->parts[slot->part_count].where = where;
	slot->parts[slot->part_count].number = number;
	slot->parts[slot->part_count].offset = offset;
	slot->parts[slot->part_count].size = size;
	slot->part_count++;
}

/* Each kind is counted by itself; false, and nothing is taken, if there are not enough. */
static bool take_registers(struct convention *taken, const struct convention_value *value,
			   struct value_slot *slot, uint32_t integers_max, uint32_t floats_max)
{
	uint32_t size = slot->type->size, integers = taken->integers, floats = taken->floats;

	if (value->in_memory || convention_is_large(size))
		return false;
	for (uint32_t i = 0; i * CONVENTION_WORD < size; i++) {
		integers += value->words[i] == WORD_INTEGER;
		floats += value->words[i] == WORD_FLOAT;
		if (value->words[i] == WORD_NONE)
			return false;
	}
	if (integers > integers_max || floats > floats_max)
		return false;
	for (uint32_t i = 0, offset = 0; offset < size; i++, offset += CONVENTION_WORD) {
		bool is_float = value->words[i] == WORD_FLOAT;

		add_part(slot, is_float ? VALUE_IN_FLOAT : VALUE_IN_REGISTER,
			 is_float ? taken->floats++ : taken->integers++, offset,
			 size - offset < CONVENTION_WORD ? size - offset : CONVENTION_WORD);
	}
	return true;
}

void convention_take(struct convention *taken, const struct convention_value *value,
		     struct value_slot *slot)
{
	uint32_t size = slot->type->size;

	slot->part_count = 0;
	if (take_registers(taken, value, slot, INTEGERS, FLOATS))
		return;
	add_part(slot, VALUE_ON_STACK, taken->stack, 0, size);
	taken->stack += (size + CONVENTION_WORD - 1) / CONVENTION_WORD * CONVENTION_WORD;
}

bool convention_in_buffer(const struct convention_value *value, uint32_t size)
{
	return value->in_memory || convention_is_large(size) || value->words[0] == WORD_NONE ||
	       (size > CONVENTION_WORD && value->words[1] == WORD_NONE);
}

void convention_of_result(const struct convention_value *value, struct value_slot *slot)
{
	struct convention taken = { 0 };

	slot->part_count = 0;
	if (!take_registers(&taken, value, slot, RESULTS, RESULTS))
		add_part(slot, VALUE_IN_BUFFER, 0, 0, slot->type->size);
}
