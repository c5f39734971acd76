// SPDX-License-Identifier: GPL-2.0-or-later
/* What .NET adds to the calling convention of the machine, for arguments.c. */
#include "runtime/dotnet/places.h"

#include <string.h>

enum { NESTING_MAX = 16 };

struct classified {
	struct convention_value value;
	bool unknown;
};

static void classify_fields(struct classified *out, const struct value_type *type, uint32_t offset,
			    unsigned int nesting)
{
	if (type->kind == VALUE_UNKNOWN || nesting == 0) {
		out->unknown = true;
		return;
	}
	/* Without fields: those whose content is known, and is numbers. */
	if (type->kind != VALUE_STRUCT || type->field_count == 0) {
		convention_add_scalar(&out->value, offset, type->size, type->kind == VALUE_FLOAT);
		return;
	}
	for (size_t i = 0; i < type->field_count; i++)
		classify_fields(out, type->fields[i].type, offset + type->fields[i].offset,
				nesting - 1);
}

static bool begins(const struct value_type *type, const char *name)
{
	return strncmp(type->name, name, strlen(name)) == 0;
}

/* Those of the CPU's vectors are passed in memory, whatever their size. */
static bool is_vector(const struct value_type *type)
{
	return begins(type, "System.Runtime.Intrinsics.Vector128<") ||
	       begins(type, "System.Runtime.Intrinsics.Vector256<") ||
	       begins(type, "System.Runtime.Intrinsics.Vector512<");
}

/* Of which it was not measured where they are. */
static bool is_strange(const struct value_type *type)
{
	return begins(type, "System.Runtime.Intrinsics.Vector64<") ||
	       begins(type, "System.Numerics.Vector");
}

static bool is_empty(const struct value_type *type)
{
	return type->kind == VALUE_STRUCT && type->field_count == 0 && !type->well_known;
}

static struct classified classify(const struct places *places, const struct value_type *type)
{
	struct classified out = { .unknown = false };
	enum word_class *words = out.value.words;

	if (type->kind == VALUE_UNKNOWN || (type->kind == VALUE_STRUCT && is_strange(type)))
		out.unknown = true;
	else if (convention_is_large(type->size) ||
		 (type->kind == VALUE_STRUCT && is_vector(type)) ||
		 (is_empty(type) && places->empty_on_stack))
		out.value.in_memory = true;
	else if (type->kind == VALUE_SPAN)
		words[0] = words[1] = WORD_INTEGER;
	else
		classify_fields(&out, type, 0, NESTING_MAX);
	/* Padding alone goes the way of what stands before it. */
	if (words[0] == WORD_NONE)
		words[0] = WORD_INTEGER;
	if (words[1] == WORD_NONE)
		words[1] = words[0];
	return out;
}

struct places places_begin(bool empty_on_stack)
{
	return (struct places){ .taken = convention_begin(), .empty_on_stack = empty_on_stack };
}

bool places_take(struct places *places, struct value_slot *slot)
{
	struct classified of = classify(places, slot->type);

	slot->part_count = 0;
	places->lost |= of.unknown;
	if (!places->lost)
		convention_take(&places->taken, &of.value, slot);
	return !places->lost;
}

bool places_in_buffer(const struct places *places, const struct value_type *type)
{
	struct classified of = classify(places, type);

	return type->kind != VALUE_VOID && convention_in_buffer(&of.value, type->size);
}

bool places_of_result(const struct places *places, struct value_slot *slot)
{
	struct classified of = classify(places, slot->type);

	slot->part_count = 0;
	if (slot->type->kind == VALUE_VOID || of.unknown)
		return slot->type->kind == VALUE_VOID;
	convention_of_result(&of.value, slot);
	return true;
}
