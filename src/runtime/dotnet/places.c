// SPDX-License-Identifier: GPL-2.0-or-later
/* From types to registers and stack slots, for arguments.c. */
#include "runtime/dotnet/places.h"

#include <string.h>

enum {
	EIGHTBYTE = 8,
	INTEGERS = 6,
	FLOATS = 8,
	NESTING_MAX = 16,
	RETURN_ADDRESS_BYTES = 8,
};

enum eightbyte { EIGHTBYTE_NONE, EIGHTBYTE_FLOAT, EIGHTBYTE_INTEGER };

struct classes {
	enum eightbyte of[VALUE_PARTS];
	size_t count;
	bool in_memory;
	bool unknown;
};

static uint32_t rounded(uint32_t size)
{
	return (size + EIGHTBYTE - 1) / EIGHTBYTE * EIGHTBYTE;
}

static void classify_scalar(struct classes *classes, const struct value_type *type, uint32_t offset)
{
	uint32_t size = type->size ? type->size : 1;
	enum eightbyte class = type->kind == VALUE_FLOAT ? EIGHTBYTE_FLOAT : EIGHTBYTE_INTEGER;

	/* Those that lie across go by the stack. */
	if (size <= EIGHTBYTE && offset % size)
		classes->in_memory = true;
	for (uint32_t i = offset / EIGHTBYTE; i <= (offset + size - 1) / EIGHTBYTE; i++) {
		if (i<VALUE_PARTS &&class> classes->of[i])
			classes->of[i] = class;
	}
}

static void classify_fields(struct classes *classes, const struct value_type *type, uint32_t offset,
			    unsigned int nesting)
{
	if (type->kind == VALUE_UNKNOWN || nesting == 0) {
		classes->unknown = true;
		return;
	}
	/* Without fields: those whose content is known, and is numbers. */
	if (type->kind != VALUE_STRUCT || type->field_count == 0) {
		classify_scalar(classes, type, offset);
		return;
	}
	for (size_t i = 0; i < type->field_count; i++)
		classify_fields(classes, type->fields[i].type, offset + type->fields[i].offset,
				nesting - 1);
}

/* Those of the CPU's vectors are passed in memory, whatever their size. */
static bool is_vector(const struct value_type *type)
{
	static const char *const names[] = {
		"System.Runtime.Intrinsics.Vector128<",
		"System.Runtime.Intrinsics.Vector256<",
		"System.Runtime.Intrinsics.Vector512<",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(type->name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* Of which it was not measured where they are. */
static bool is_strange(const struct value_type *type)
{
	return strncmp(type->name, "System.Runtime.Intrinsics.Vector64<", 35) == 0 ||
	       strncmp(type->name, "System.Numerics.Vector", 22) == 0;
}

static bool is_empty(const struct value_type *type)
{
	return type->kind == VALUE_STRUCT && type->field_count == 0 && !type->well_known;
}

static struct classes classify(const struct places *places, const struct value_type *type)
{
	struct classes classes = { .count = (type->size + EIGHTBYTE - 1) / EIGHTBYTE };

	if (type->kind == VALUE_UNKNOWN || (type->kind == VALUE_STRUCT && is_strange(type)))
		classes.unknown = true;
	else if (type->size > VALUE_PARTS * EIGHTBYTE ||
		 (type->kind == VALUE_STRUCT && is_vector(type)) ||
		 (is_empty(type) && places->empty_on_stack))
		classes.in_memory = true;
	else if (type->kind == VALUE_SPAN)
		classes.of[0] = classes.of[1] = EIGHTBYTE_INTEGER;
	else
		classify_fields(&classes, type, 0, NESTING_MAX);
	/* Padding alone goes the way of what stands before it. */
	if (classes.count == VALUE_PARTS && classes.of[1] == EIGHTBYTE_NONE)
		classes.of[1] = classes.of[0];
	return classes;
}

void places_skip_hidden(struct places *places)
{
	places->integers++;
}

static uint32_t part_size(const struct value_type *type, size_t i)
{
	uint32_t left = type->size - (uint32_t)i * EIGHTBYTE;

	return left < EIGHTBYTE ? left : EIGHTBYTE;
}

/* Parts in registers, of which each kind is counted by itself. */
static void set_parts(struct value_slot *slot, const struct classes *classes, uint32_t *integers,
		      uint32_t *floats)
{
	slot->part_count = classes->count;
	for (size_t i = 0; i < classes->count; i++) {
		bool is_float = classes->of[i] == EIGHTBYTE_FLOAT;

		slot->parts[i].where = is_float ? VALUE_IN_FLOAT : VALUE_IN_REGISTER;
		slot->parts[i].number = is_float ? (*floats)++ : (*integers)++;
		slot->parts[i].offset = (uint32_t)i * EIGHTBYTE;
		slot->parts[i].size = part_size(slot->type, i);
	}
}

static bool fits(const struct places *places, const struct classes *classes)
{
	uint32_t integers = places->integers, floats = places->floats;

	if (classes->in_memory)
		return false;
	for (size_t i = 0; i < classes->count; i++)
		*(classes->of[i] == EIGHTBYTE_FLOAT ? &floats : &integers) += 1;
	return (integers <= INTEGERS || integers == places->integers) &&
	       (floats <= FLOATS || floats == places->floats);
}

bool places_take(struct places *places, struct value_slot *slot)
{
	struct classes classes = classify(places, slot->type);

	slot->part_count = 0;
	places->lost |= classes.unknown;
	if (places->lost)
		return false;
	if (fits(places, &classes)) {
		set_parts(slot, &classes, &places->integers, &places->floats);
		return true;
	}
	slot->part_count = 1;
	slot->parts[0].where = VALUE_ON_STACK;
	slot->parts[0].number = RETURN_ADDRESS_BYTES + places->stack;
	slot->parts[0].offset = 0;
	slot->parts[0].size = slot->type->size;
	places->stack += rounded(slot->type->size);
	return true;
}

bool places_in_buffer(const struct places *places, const struct value_type *type)
{
	return type->kind != VALUE_VOID && classify(places, type).in_memory;
}

bool places_of_result(const struct places *places, struct value_slot *slot)
{
	struct classes classes = classify(places, slot->type);
	uint32_t integers = 0, floats = 0;

	slot->part_count = 0;
	if (slot->type->kind == VALUE_VOID || classes.unknown)
		return slot->type->kind == VALUE_VOID;
	if (!classes.in_memory) {
		set_parts(slot, &classes, &integers, &floats);
		return true;
	}
	slot->part_count = 1;
	slot->parts[0].where = VALUE_IN_BUFFER;
	slot->parts[0].number = 0;
	slot->parts[0].offset = 0;
	slot->parts[0].size = slot->type->size;
	return true;
}
