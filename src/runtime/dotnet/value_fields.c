// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which fields values have and where, for value_types.c. Tasks and delegates have those that the
 * framework has given them, which are looked up by name.
 *
 * Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/Tasks/{Task,
 * Future,ValueTask}.cs, and src/coreclr/System.Private.CoreLib/src/System/Delegate.CoreCLR.cs; the
 * same in .NET 8 to 11, but for a name.
 */
#include "runtime/dotnet/value_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/dotnet/clr_fields.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/type_index.h"
#include "runtime/dotnet/type_spelling.h"

enum {
	LEVELS_MAX = 32, /* of classes that derive from each other */
	FIELDS_MAX = 64, /* of a type, that are of use to anyone */
	SIGNATURE_HEAD = 1,
	ALIGNMENT_MAX = 8,
	NESTING_MAX = 16,
};

struct field_list {
	struct value_field fields[FIELDS_MAX];
	size_t count;
};

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
	list->fields[list->count++] = field;
	return field.type && field.name;
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
	struct field_list list = { .count = 0 };
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

/* m_stateFlags: the first of these that has a bit there is Task.Status. */
static const struct value_member task_states[] = {
	{ "Faulted", 0x200000 },
	{ "Canceled", 0x400000 },
	{ VALUE_TASK_DONE, 0x1000000 },
	{ "WaitingForChildrenToComplete", 0x800000 },
	{ "Running", 0x20000 },
	{ "WaitingToRun", 0x10000 },
	{ "WaitingForActivation", 0x2000000 },
	{ "Created", 0 },
};

/* That one of the types that it derives from which has that open name; NULL: it does not. */
static const struct clr_type *find_base(struct type_maker *maker, uint64_t handle, const char *open)
{
	for (unsigned int level = 0; handle && level < LEVELS_MAX; level++) {
		const struct clr_type *type = clr_type_find(&maker->jit->types, handle);
		struct clr_shape shape;

		if (!type || !clr_shape_read(&maker->jit->clr, handle, &shape))
			return NULL;
		if (strcmp(type->open, open) == 0)
			return type;
		handle = shape.parent;
	}
	return NULL;
}

/* Tasks --------------------------------------------------------------------------------------- */

static void rename_task(struct type_maker *maker, struct value_type *type,
			const struct clr_type *base, bool has_result)
{
	_cleanup_(text_deinit) struct text name = { 0 }, spelled = { 0 };

	text_add(&name, has_result ? base->open : "System.Threading.Tasks.Task");
	if (has_result)
		text_printf(&name, "[%s]", base->args);
	spelled_type_add_csharp(&spelled, text_chars(&name), name.length);
	type->name = value_types_name(maker->types, text_chars(&spelled));
	maker->no_memory |= !type->name;
}

/* Its state, and its result if it has one. */
static void make_task(struct type_maker *maker, struct value_type *type, uint64_t handle,
		      const struct value_field *flags)
{
	const struct clr_type *own = clr_type_find(&maker->jit->types, handle);
	const struct clr_type *base = find_base(maker, handle, "System.Threading.Tasks.Task`1");
	const struct value_field *result = base ? value_type_field(type, "m_result") : NULL;
	struct value_field *fields = value_types_take(maker->types, 2 * sizeof(*fields));
	struct value_type *state =
		value_types_add(maker->types, VALUE_STATE, "System.Threading.Tasks.TaskStatus", 4);

	if (!base)
		base = find_base(maker, handle, "System.Threading.Tasks.Task");
	if (!own || !base || !fields || !state || flags->type->kind != VALUE_SIGNED)
		return;
	if (strcmp(base->args, "System.Threading.Tasks.VoidTaskResult") == 0)
		result = NULL;
	state->members = task_states;
	state->member_count = sizeof(task_states) / sizeof(task_states[0]);
	fields[0] = (struct value_field){ "state", state, flags->offset };
	if (result)
		fields[1] = (struct value_field){ "result", result->type, result->offset };
	if (own->module == base->module)
		rename_task(maker, type, base, result);
	type->fields = fields;
	type->field_count = result ? 2 : 1;
	type->well_known = VALUE_TASK;
}

/* Delegates ----------------------------------------------------------------------------------- */

/* What of it tells what it calls. */
static void make_delegate(struct type_maker *maker, struct value_type *type, uint64_t handle)
{
	static const char *const names[VALUE_DELEGATE_FIELDS] = {
		[VALUE_DELEGATE_TARGET] = "_target",
		[VALUE_DELEGATE_CODE] = "_methodPtr",
		[VALUE_DELEGATE_OTHER_CODE] = "_methodPtrAux",
		[VALUE_DELEGATE_OTHERS] = "_invocationCount",
	};
	struct value_field *fields =
		value_types_take(maker->types, sizeof(names) / sizeof(names[0]) * sizeof(*fields));

	if (!fields || !find_base(maker, handle, "System.MulticastDelegate"))
		return;
	for (size_t i = 0; i < VALUE_DELEGATE_FIELDS; i++) {
		const struct value_field *field = value_type_field(type, names[i]);

		if (!field && i == VALUE_DELEGATE_OTHERS)
			field = value_type_field(type, VALUE_DELEGATE_EXTRA);
		if (!field)
			return;
		fields[i] = *field;
	}
	type->fields = fields;
	type->field_count = VALUE_DELEGATE_FIELDS;
	type->well_known = VALUE_DELEGATE;
}

void framework_type_of_object(struct type_maker *maker, struct value_type *type, uint64_t handle)
{
	const struct value_field *flags = value_type_field(type, "m_stateFlags");

	if (flags)
		make_task(maker, type, handle, flags);
	else if (value_type_field(type, "_methodPtr"))
		make_delegate(maker, type, handle);
}

void framework_type_of_struct(struct value_type *type, const char *name, size_t length)
{
	static const char open[] = "System.Threading.Tasks.ValueTask`1";
	bool has_result = length == sizeof(open) - 1;

	if (memcmp(name, open, length < sizeof(open) ? length : sizeof(open)) == 0 &&
	    (has_result || length == sizeof(open) - 3) && value_type_field(type, "_obj") &&
	    (!has_result || value_type_field(type, "_result")))
		type->well_known = VALUE_VALUE_TASK;
}
