// SPDX-License-Identifier: GPL-2.0-or-later
/* Which fields values have and where, for value_types.c. */
#include "runtime/dotnet/value_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "runtime/dotnet/clr_fields.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/signature.h"
#include "runtime/dotnet/type_index.h"
#include "runtime/dotnet/type_spelling.h"

enum {
	LEVELS_MAX = 32, /* of classes that derive from each other */
	FIELDS_MAX = 64, /* of a type, that are of use to anyone */
	SIGNATURE_HEAD = 1,
	ALIGNMENT_MAX = 8,
	NESTING_MAX = 16,
	POINTER_SIZE = 8,
};

struct field_list {
	struct value_field *fields;
	size_t count;
	size_t capacity;
};

static void free_list(const struct field_list *list)
{
	free(list->fields);
}

static int compare_row(const void *left, const void *right)
{
	const struct clr_field_row *a = left, *b = right;

	return a->rid < b->rid ? -1 : a->rid > b->rid;
}

/* The name of its type, with what the type parameters stand for. */
static bool spell_type(const struct metadata *metadata, uint32_t rid,
		       const struct signature_args *args, struct text *out)
{
	struct span bytes = metadata_field_signature(metadata, rid);
	struct signature signature;

	if (bytes.size <= SIGNATURE_HEAD)
		return false;
	signature_init(&signature,
		       cursor_over(span_part(bytes, SIGNATURE_HEAD, bytes.size - SIGNATURE_HEAD)),
		       metadata);
	signature.type_args = args;
	signature_add_type(&signature, SIGNATURE_CLR, out);
	return !signature.damaged && text_ok(out);
}

static bool add_field(struct type_maker *maker, struct field_list *list,
		      const struct metadata *metadata, const struct clr_field_row *row,
		      const struct signature_args *args)
{
	_cleanup_(text_deinit) struct text spelled = { 0 }, name = { 0 };
	struct value_field field = { .offset = row->offset };

	if (list->count == FIELDS_MAX)
		return true;
	if (!spell_type(metadata, row->rid, args, &spelled))
		return false;
	spelled_field_add(&name, metadata_field_name(metadata, row->rid));
	field.type = type_maker_named(maker, text_chars(&spelled));
	field.name = value_types_name(maker->types, text_chars(&name));
	return field.type && field.name &&
	       vector_add(&list->fields, &list->count, &list->capacity, field);
}

static bool add_rows(struct type_maker *maker, struct field_list *list,
		     const struct clr_shape *shape, const struct clr_type *type)
{
	_cleanup_free_ struct clr_field_row *rows = calloc(shape->field_count + 1, sizeof(*rows));
	_cleanup_(signature_args_deinit) struct signature_args args = { 0 };
	const struct metadata *near = maker->near;
	bool good = rows != NULL;

	for (uint32_t i = 0; good && i < shape->field_count; i++)
		good = clr_shape_field(&maker->jit->clr, shape, i, &rows[i]);
	if (!rows || !good)
		return false;
	qsort(rows, shape->field_count, sizeof(*rows), compare_row);
	spelled_args_read(&args, type->args, strlen(type->args));
	maker->near = clr_module_metadata(type->module);
	for (uint32_t i = 0; good && i < shape->field_count; i++)
		good = maker->near && add_field(maker, list, maker->near, &rows[i], &args);
	maker->near = near;
	return good;
}

static bool read_levels(struct type_maker *maker, struct field_list *list, uint64_t table)
{
	for (unsigned int level = 0; table && level < LEVELS_MAX; level++) {
		const struct clr_type *type = clr_type_find(&maker->jit->types, table);
		struct clr_shape shape;

		if (!type || !clr_shape_read(&maker->jit->clr, table, &shape) ||
		    !add_rows(maker, list, &shape, type))
			return false;
		table = shape.parent;
	}
	return true;
}

bool value_fields_read(struct type_maker *maker, struct value_type *type, uint64_t handle)
{
	_cleanup_(free_list) struct field_list list = { 0 };
	struct value_field *fields;
	bool good;

	if (type->kind == VALUE_OBJECT && type_maker_is_far(maker))
		return false;
	maker->references += type->kind == VALUE_OBJECT;
	good = read_levels(maker, &list, handle);
	maker->references -= type->kind == VALUE_OBJECT;
	fields = good ? value_types_take(maker->types, (list.count + 1) * sizeof(*fields)) : NULL;
	if (!fields)
		return false;
	if (list.count)
		memcpy(fields, list.fields, list.count * sizeof(*fields));
	type->fields = fields;
	type->field_count = list.count;
	return true;
}

/* ECMA-335 knows none of these: C#'s fixed buffers, and [InlineArray]. */
static bool repeats(const struct value_type *type, const struct type_place *place)
{
	static const char buffer[] = "e__FixedBuffer";
	size_t length = strlen(type->name);

	if (type->field_count != 1 || type->fields[0].offset != 0)
		return false;
	return (length >= sizeof(buffer) &&
		strcmp(type->name + length - (sizeof(buffer) - 1), buffer) == 0) ||
	       metadata_type_has_attribute(place->metadata, place->rid, "InlineArrayAttribute");
}

void value_fields_repeat(struct type_maker *maker, struct value_type *type,
			 const struct type_place *place)
{
	uint32_t size, count;
	struct value_field *fields;
	char name[16];

	if (!repeats(type, place) || type->fields[0].type->size == 0)
		return;
	size = type->fields[0].type->size;
	count = type->size / size < FIELDS_MAX ? type->size / size : FIELDS_MAX;
	fields = value_types_take(maker->types, count * sizeof(*fields));
	for (uint32_t i = 0; fields && i < count; i++) {
		snprintf(name, sizeof(name), "[%u]", i);
		fields[i] = (struct value_field){
			.name = value_types_name(maker->types, name),
			.type = type->fields[0].type,
			.offset = i * size,
		};
		if (!fields[i].name)
			return;
	}
	if (fields) {
		type->fields = fields;
		type->field_count = count;
	}
}

static uint32_t alignment_of(const struct value_type *type, unsigned int nesting)
{
	uint32_t most = 1;

	if (type->kind == VALUE_STRUCT && type->well_known == VALUE_GUID)
		return 4;
	/* The runtime aligns these to 16 as fields. */
	if (type->well_known == VALUE_INT128 || type->well_known == VALUE_UINT128)
		return 16;
	if (type->kind != VALUE_STRUCT || (type->field_count == 0 && type->size > ALIGNMENT_MAX))
		return type->size < ALIGNMENT_MAX && type->size ? type->size : ALIGNMENT_MAX;
	if (type->field_count == 0)
		return type->well_known ? ALIGNMENT_MAX : 1;
	for (size_t i = 0; i < type->field_count && nesting; i++) {
		uint32_t of_field = alignment_of(type->fields[i].type, nesting - 1);

		if (of_field > most)
			most = of_field;
	}
	return most;
}

uint32_t value_fields_alignment(const struct value_type *type)
{
	return alignment_of(type, NESTING_MAX);
}
