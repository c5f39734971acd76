// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types of values: what C# calls them, from metadata, and how they lie in memory, from the runtime
 * that has loaded them. For arguments.c, and for objects when they are printed.
 */
#include "runtime/dotnet/value_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "runtime/dotnet/clr_fields.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/type_index.h"
#include "runtime/dotnet/type_spelling.h"

enum {
	DEPTH_MAX = 24, /* of types within types */
	NAME_MAX_BYTES = 4096,
	POINTER_SIZE = 8,
	MEMBERS_MAX = 1024,
	FIELD_IS_LITERAL = 0x40,
	FIELD_IS_STATIC = 0x10,
	REFERENCES_MAX = 3,
};

static const struct {
	const char *name;
	enum value_kind kind;
	uint32_t size;
} primitives[] = {
	{ "System.Void", VALUE_VOID, 0 },	 { "System.Boolean", VALUE_BOOL, 1 },
	{ "System.Char", VALUE_CHAR, 2 },	 { "System.SByte", VALUE_SIGNED, 1 },
	{ "System.Byte", VALUE_UNSIGNED, 1 },	 { "System.Int16", VALUE_SIGNED, 2 },
	{ "System.UInt16", VALUE_UNSIGNED, 2 },	 { "System.Int32", VALUE_SIGNED, 4 },
	{ "System.UInt32", VALUE_UNSIGNED, 4 },	 { "System.Int64", VALUE_SIGNED, 8 },
	{ "System.UInt64", VALUE_UNSIGNED, 8 },	 { "System.Single", VALUE_FLOAT, 4 },
	{ "System.Double", VALUE_FLOAT, 8 },	 { "System.IntPtr", VALUE_SIGNED, 8 },
	{ "System.UIntPtr", VALUE_UNSIGNED, 8 }, { "System.String", VALUE_STRING, 8 },
	{ "System.Object", VALUE_OBJECT, 8 },	 { "System.__Canon", VALUE_OBJECT, 8 },
};

/* Those that are printed in a way of their own: their sizes and what they are made of are fixed. */
static const struct {
	const char *name;
	enum value_well_known which;
	uint32_t size;
} well_known[] = {
	{ "System.Decimal", VALUE_DECIMAL, 16 },
	{ "System.DateTime", VALUE_DATE_TIME, 8 },
	{ "System.DateTimeOffset", VALUE_DATE_TIME_OFFSET, 16 },
	{ "System.TimeSpan", VALUE_TIME_SPAN, 8 },
	{ "System.Guid", VALUE_GUID, 16 },
	{ "System.Int128", VALUE_INT128, 16 },
	{ "System.UInt128", VALUE_UINT128, 16 },
};

/* A type that has a definition, on its way to a struct value_type. */
struct subject {
	const char *name; /* whole */
	struct spelled_type spelled;
	struct type_place place;
	uint64_t handle; /* 0: not loaded */
	uint64_t key;
};

/* As C# spells it. */
static struct value_type *add_type(struct type_maker *maker, enum value_kind kind, const char *name,
				   uint32_t size)
{
	_cleanup_(text_deinit) struct text spelled = { 0 };
	struct value_type *type;

	spelled_type_add_csharp(&spelled, name, strnlen(name, NAME_MAX_BYTES));
	type = value_types_add(maker->types, kind, text_chars(&spelled), size);
	maker->no_memory |= !type;
	return type;
}

static const struct value_type *unknown(struct type_maker *maker, const char *name, const char *why)
{
	struct value_type *type = add_type(maker, VALUE_UNKNOWN, name, 0);

	if (type)
		type->why = why;
	return type;
}

static bool is(const char *name, size_t length, const char *what)
{
	return strlen(what) == length && memcmp(name, what, length) == 0;
}

static const struct value_type *named_part(struct type_maker *maker, const char *name,
					   size_t length)
{
	_cleanup_free_ char *part = strndup(name, length);

	maker->no_memory |= !part;
	return part ? type_maker_named(maker, part) : NULL;
}

/* Its element is called @part, of @length bytes. */
static const struct value_type *make_with_element(struct type_maker *maker, enum value_kind kind,
						  const char *name, uint32_t size, const char *part,
						  size_t length)
{
	const struct value_type *element = named_part(maker, part, length);
	struct value_type *type = element ? add_type(maker, kind, name, size) : NULL;

	if (type)
		type->element = element;
	return type;
}

/* Enums --------------------------------------------------------------------------------------- */

static uint32_t enum_size(const struct metadata *metadata, uint32_t rid, bool *is_signed)
{
	struct span signature = metadata_field_signature(metadata, rid);
	/* The second byte is the element type: int8, uint8 and so on up to uint64. */
	uint8_t element = signature.size >= 2 ? signature.start[1] : 0;

	*is_signed = element % 2 == 0;
	if (element == 0x02 || element == 0x03) { /* bool, char */
		*is_signed = false;
		return element - 1U;
	}
	return element >= 0x04 && element <= 0x0b ? 1U << (element - 4) / 2 : 0;
}

static void read_members(struct type_maker *maker, struct value_type *type,
			 const struct type_place *place, uint32_t first, uint32_t end)
{
	uint32_t count = end - first < MEMBERS_MAX ? end - first : MEMBERS_MAX;
	struct value_member *members =
		value_types_take(maker->types, count * sizeof(struct value_member));

	for (uint32_t rid = first; members && rid < first + count; rid++) {
		uint16_t flags = metadata_field_flags(place->metadata, rid);
		struct value_member *member = &members[type->member_count];

		if (!(flags & FIELD_IS_STATIC)) {
			type->size = enum_size(place->metadata, rid, &type->is_signed);
		} else if (flags & FIELD_IS_LITERAL &&
			   metadata_field_constant(place->metadata, rid, &member->value)) {
			member->name = value_types_name(maker->types,
							metadata_field_name(place->metadata, rid));
			type->member_count += member->name != NULL;
		}
	}
	type->members = members;
	maker->no_memory |= !members;
}

static const struct value_type *make_enum(struct type_maker *maker, const struct subject *subject)
{
	struct value_type *type = add_type(maker, VALUE_ENUM, subject->name, 0);
	uint32_t first, end;

	if (!type)
		return NULL;
	metadata_type_fields(subject->place.metadata, subject->place.rid, &first, &end);
	if (first)
		read_members(maker, type, &subject->place, first, end);
	type->flags = metadata_type_has_attribute(subject->place.metadata, subject->place.rid,
						  "FlagsAttribute");
	return type->size ? type : unknown(maker, subject->name, "an enum without a size");
}

bool type_maker_is_far(const struct type_maker *maker)
{
	return maker->references >= REFERENCES_MAX;
}

/* Structs and classes ------------------------------------------------------------------------- */

static bool is_tuple(const struct subject *subject)
{
	static const char tuple[] = "System.ValueTuple`";

	return subject->spelled.length > sizeof(tuple) - 1 &&
	       memcmp(subject->name, tuple, sizeof(tuple) - 1) == 0;
}

static const struct value_type *make_struct(struct type_maker *maker, const struct subject *subject)
{
	struct clr_shape shape;
	struct value_type *type;

	maker->incomplete |= !subject->handle;
	if (!subject->handle || !maker->jit ||
	    !clr_shape_read(&maker->jit->clr, subject->handle, &shape))
		return unknown(maker, subject->name,
			       "a struct that the runtime has not loaded yet");
	type = add_type(maker, VALUE_STRUCT, subject->name, shape.size);
	if (!type)
		return NULL;
	type->handle = subject->handle;
	if (is_tuple(subject))
		type->well_known = VALUE_TUPLE;
	if (!value_fields_read(maker, type, subject->handle))
		return unknown(maker, subject->name, "a struct whose fields cannot be read");
	value_fields_repeat(maker, type, &subject->place);
	framework_type_of_struct(type, subject->name, subject->spelled.length);
	return type;
}

static const struct value_type *make_class(struct type_maker *maker, const struct subject *subject)
{
	struct value_type *type = add_type(maker, VALUE_OBJECT, subject->name, POINTER_SIZE);

	if (!type)
		return NULL;
	type->handle = subject->handle;
	maker->incomplete |= !subject->handle && maker->references == 0;
	if (!type_maker_is_far(maker) && subject->handle)
		/* Before its fields, which may be of it. */
		value_types_keep(maker->types, subject->key, type);
	if (subject->handle && maker->jit && value_fields_read(maker, type, subject->handle))
		framework_type_of_object(maker, type, subject->handle);
	return type;
}

/* An enum, struct or object, by what the type of that name derives from. */
static enum value_kind kind_of(const struct type_place *place, const char *name, size_t length)
{
	_cleanup_(text_deinit) struct text base = { 0 };

	metadata_type_base(place->metadata, place->rid, &base);
	if (strcmp(text_chars(&base), "System.Enum") == 0)
		return VALUE_ENUM;
	return strcmp(text_chars(&base), "System.ValueType") == 0 &&
			       !is(name, length, "System.Enum") ?
		       VALUE_STRUCT :
		       VALUE_OBJECT;
}

static const struct value_type *make_defined(struct type_maker *maker,
					     const struct subject *subject)
{
	switch (kind_of(&subject->place, subject->name, strlen(subject->name))) {
	case VALUE_ENUM:
		return make_enum(maker, subject);
	case VALUE_STRUCT:
		return make_struct(maker, subject);
	default:
		return make_class(maker, subject);
	}
}

/* By name ------------------------------------------------------------------------------------- */

static const struct value_type *make_fixed(struct type_maker *maker, const char *name)
{
	for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++) {
		if (strcmp(primitives[i].name, name) == 0)
			return add_type(maker, primitives[i].kind, name, primitives[i].size);
	}
	for (size_t i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++) {
		struct value_type *type;

		if (strcmp(well_known[i].name, name) != 0)
			continue;
		type = add_type(maker, VALUE_STRUCT, name, well_known[i].size);
		if (type)
			type->well_known = well_known[i].which;
		return type;
	}
	return NULL;
}

/* Whether there is a value, then the value at its alignment. */
static const struct value_type *make_nullable(struct type_maker *maker, const char *name,
					      const struct spelled_type *spelled)
{
	const struct value_type *value = named_part(maker, spelled->args, spelled->args_length);
	struct value_field *fields = value_types_take(maker->types, 2 * sizeof(struct value_field));
	struct value_type *type;
	uint32_t alignment;

	if (!value || !fields)
		return NULL;
	if (value->kind == VALUE_UNKNOWN)
		return unknown(maker, name, value->why);
	type = add_type(maker, VALUE_STRUCT, name, 0);
	if (!type)
		return NULL;
	alignment = value_fields_alignment(value);
	fields[0] =
		(struct value_field){ "hasValue", type_maker_named(maker, "System.Boolean"), 0 };
	fields[1] = (struct value_field){ "value", value, alignment };
	type->size = (alignment + value->size + alignment - 1) / alignment * alignment;
	type->well_known = VALUE_NULLABLE;
	type->fields = fields;
	type->field_count = 2;
	return fields[0].type ? type : NULL;
}

static const struct value_type *make_named(struct type_maker *maker, const char *name,
					   const struct spelled_type *spelled, uint64_t key)
{
	struct subject subject = { .name = name, .spelled = *spelled, .key = key };
	const struct value_type *type = spelled->args ? NULL : make_fixed(maker, name);

	if (type || maker->no_memory)
		return type;
	if (spelled->args && is(name, spelled->length, "System.Nullable`1"))
		return make_nullable(maker, name, spelled);
	if (spelled->args && (is(name, spelled->length, "System.Span`1") ||
			      is(name, spelled->length, "System.ReadOnlySpan`1")))
		return make_with_element(maker, VALUE_SPAN, name, 2 * POINTER_SIZE, spelled->args,
					 spelled->args_length);
	if (*name == '!')
		return unknown(maker, name, "a type parameter of which it is not known what it is");
	if (!type_index_define(maker->index, name, spelled->length, maker->near, &subject.place))
		return unknown(maker, name, "a type of which no metadata is at hand");
	if (subject.place.ambiguous)
		return unknown(maker, name, "a type of a name that several assemblies have");
	subject.handle = spelled->args ? type_index_instantiation(maker->index, name) :
					 type_index_table(maker->index, &subject.place);
	return make_defined(maker, &subject);
}

static const struct value_type *make(struct type_maker *maker, const char *name, uint64_t key)
{
	struct spelled_type spelled;

	spelled_type_read(&spelled, name, strlen(name));
	switch (spelled.kind) {
	case SPELLED_POINTER:
	case SPELLED_FUNCTION:
		return add_type(maker, VALUE_POINTER, name, POINTER_SIZE);
	case SPELLED_REFERENCE:
		return make_with_element(maker, VALUE_REFERENCE, name, POINTER_SIZE, name,
					 spelled.length);
	case SPELLED_VECTOR:
		return make_with_element(maker, VALUE_ARRAY, name, POINTER_SIZE, name,
					 spelled.length);
	case SPELLED_ARRAY:
		return add_type(maker, VALUE_OBJECT, name, POINTER_SIZE);
	default:
		return make_named(maker, name, &spelled, key);
	}
}

/* What is deep within others is known by its name only. */
static uint64_t key_of(const struct type_maker *maker, const char *name)
{
	uint64_t hash = hash_bytes(HASH_START, name, strlen(name));

	return hash_number(hash, maker->near ? metadata_module(maker->near) : 0);
}

/* Does all that it is made of stay as it is, whatever is loaded? */
static bool is_lasting(const struct value_type *type)
{
	bool open =
		type->kind == VALUE_OBJECT && !type->handle && strcmp(type->name, "object") != 0;

	return type->kind != VALUE_UNKNOWN && !open &&
	       (!type->element || is_lasting(type->element));
}

const struct value_type *type_maker_named(struct type_maker *maker, const char *name)
{
	uint64_t key = key_of(maker, name);
	const struct value_type *type = value_types_find(maker->types, key);

	if (type)
		return type;
	if (maker->depth == DEPTH_MAX || strlen(name) > NAME_MAX_BYTES)
		return unknown(maker, "?", "a type within too many others");
	maker->depth++;
	type = make(maker, name, key);
	maker->depth--;
	/* What may be known better another time is made again then. */
	if (type && !(type->kind == VALUE_OBJECT && type_maker_is_far(maker)) && is_lasting(type))
		value_types_keep(maker->types, key, type);
	maker->no_memory |= !type;
	return type;
}

/* By handle ----------------------------------------------------------------------------------- */

static const struct value_type *make_object(struct type_maker *maker, uint64_t handle)
{
	const struct clr_type *clr_type = clr_type_find(&maker->jit->types, handle);
	_cleanup_(text_deinit) struct text name = { 0 };
	struct subject subject = { .handle = handle, .key = handle };
	const struct value_type *fixed;

	if (!clr_type)
		return NULL;
	clr_type_add_name(&maker->jit->types, handle, &name);
	maker->near = clr_module_metadata(clr_type->module);
	spelled_type_read(&subject.spelled, text_chars(&name), name.length);
	if (subject.spelled.kind != SPELLED_NAMED ||
	    (!subject.spelled.args && spelled_keyword(text_chars(&name), name.length)))
		return type_maker_named(maker, text_chars(&name));
	subject.name = text_chars(&name);
	subject.place.metadata = maker->near;
	subject.place.rid = clr_type->rid;
	if (!maker->near)
		return NULL;
	if (!clr_type->rid && !type_index_define(maker->index, subject.name, subject.spelled.length,
						 maker->near, &subject.place))
		return NULL;
	if (!subject.spelled.args && (fixed = make_fixed(maker, subject.name)))
		return fixed;
	return make_defined(maker, &subject);
}

const struct value_type *type_maker_object(struct type_maker *maker, uint64_t handle)
{
	const struct value_type *type = value_types_find(maker->types, handle);

	if (type || !maker->jit || handle == 0)
		return type;
	type = make_object(maker, handle);
	if (type)
		value_types_keep(maker->types, handle, type);
	return type;
}

bool type_maker_is_value(struct type_maker *maker, const char *name, size_t length)
{
	struct type_place place;

	return type_index_define(maker->index, name, length, maker->near, &place) &&
	       kind_of(&place, name, length) != VALUE_OBJECT;
}
