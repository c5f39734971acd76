// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as what programs have captured of a call whose parameters are of all kinds: the first
 * says how it is printed, the second how much of the rest is of the entry, in units of 16 bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "value/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 16, TYPES = 16, PRINTED_MAX = 4 << 20 };

static struct value_types *types;
static const struct value_type *all[TYPES];
static struct value_slot slots[SLOTS];
static struct value_seen seen;
static struct value_signature signature = { .arguments = slots, .seen = &seen };
static struct value_watch *watch;

static void check(bool right)
{
	if (!right)
		__builtin_trap();
}

static struct value_type *add(enum value_kind kind, const char *name, uint32_t size)
{
	struct value_type *type = value_types_add(types, kind, name, size);

	check(type != NULL);
	return type;
}

static struct value_type *task, *value_task, *delegate;

static void make_framework_types(const struct value_type *object, const struct value_type *integer)
{
	static const struct value_member states[] = { { "Faulted", 2 },
						      { VALUE_TASK_DONE, 4 },
						      { "Created", 0 } };
	static struct value_field of_task[2], of_value_task[2], of_delegate[VALUE_DELEGATE_FIELDS];
	struct value_type *state = add(VALUE_STATE, "TaskStatus", 4);

	task = add(VALUE_OBJECT, "Task<long>", 8);
	value_task = add(VALUE_STRUCT, "ValueTask<long>", 16);
	delegate = add(VALUE_OBJECT, "Action", 8);
	state->members = states;
	state->member_count = 3;
	of_task[0] = (struct value_field){ "state", state, 8 };
	of_task[1] = (struct value_field){ "result", integer, 16 };
	of_value_task[0] = (struct value_field){ "_obj", object, 0 };
	of_value_task[1] = (struct value_field){ "_result", integer, 8 };
	of_delegate[VALUE_DELEGATE_TARGET] = (struct value_field){ "_target", object, 0 };
	for (uint32_t i = VALUE_DELEGATE_CODE; i < VALUE_DELEGATE_FIELDS; i++)
		of_delegate[i] = (struct value_field){ "code", integer, 8 * i };
	task->fields = of_task;
	value_task->fields = of_value_task;
	delegate->fields = of_delegate;
	task->field_count = value_task->field_count = 2;
	delegate->field_count = VALUE_DELEGATE_FIELDS;
	task->well_known = VALUE_TASK;
	value_task->well_known = VALUE_VALUE_TASK;
	delegate->well_known = VALUE_DELEGATE;
}

static struct value_type *add_struct(const char *name, uint32_t size, enum value_well_known which)
{
	struct value_type *type = add(VALUE_STRUCT, name, size);

	type->well_known = which;
	return type;
}

static struct value_type *add_enum(const char *name, bool flags)
{
	static const struct value_member members[] = { { "One", 1 }, { "Two", 2 }, { "None", 0 } };
	struct value_type *type = add(VALUE_ENUM, name, 4);

	type->members = members;
	type->member_count = sizeof(members) / sizeof(members[0]);
	type->flags = flags;
	type->is_signed = !flags;
	return type;
}

/* One of all that is printed as it is in memory, one behind the other. */
static const struct value_type *make_kinds(void)
{
	static struct value_field fields[16];
	const struct value_type *const of[] = {
		add_struct("DateTime", 8, VALUE_DATE_TIME),
		add_struct("TimeSpan", 8, VALUE_TIME_SPAN),
		add_struct("Guid", 16, VALUE_GUID),
		add_struct("Int128", 16, VALUE_INT128),
		add_struct("UInt128", 16, VALUE_UINT128),
		add(VALUE_FLOAT, "float", 4),
		add_enum("Color", false),
		add(VALUE_FLOAT, "double", 8),
		add_enum("Options", true),
		add(VALUE_UNSIGNED, "uint", 4),
		add(VALUE_POINTER, "void*", 8),
		add(VALUE_UNKNOWN, "Vector", 8),
		add(VALUE_CHAR, "char", 2),
	};
	struct value_type *kinds = add(VALUE_STRUCT, "Kinds", 0);

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		fields[i] = (struct value_field){ "f", of[i], kinds->size };
		kinds->size += of[i]->size;
	}
	kinds->fields = fields;
	kinds->field_count = sizeof(of) / sizeof(of[0]);
	return kinds;
}

/* What the first argument, an object, has turned out to be of. */
static void make_seen(void)
{
	static const size_t of[] = { 1, 2, 12, 13 };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		seen.list[i].handle = of[i] << 3;
		seen.list[i].type = all[of[i]];
	}
	seen.count = sizeof(of) / sizeof(of[0]);
}

static void make_types(void)
{
	static struct value_field fields[4], pair[2];
	struct value_type *object = add(VALUE_OBJECT, "O", 8);
	struct value_type *plain = add(VALUE_STRUCT, "S", 16), *array = add(VALUE_ARRAY, "O[]", 8);
	struct value_type *texts = add(VALUE_ARRAY, "string[]", 8);
	struct value_type *nullable = add(VALUE_STRUCT, "long?", 16);
	struct value_type *date = add(VALUE_STRUCT, "DateTimeOffset", 16);
	struct value_type *number = add(VALUE_STRUCT, "decimal", 16);
	struct value_type *span = add(VALUE_SPAN, "Span<char>", 16);
	struct value_type *reference = add(VALUE_REFERENCE, "S&", 8);
	const struct value_type *string = add(VALUE_STRING, "string", 8);
	const struct value_type *integer = add(VALUE_SIGNED, "long", 8);

	fields[0] = (struct value_field){ "text", string, 0 };
	fields[1] = (struct value_field){ "next", object, 8 };
	fields[2] = (struct value_field){ "list", array, 16 };
	fields[3] = (struct value_field){ "far", integer, 200 };
	pair[0] = (struct value_field){ "has", add(VALUE_BOOL, "bool", 1), 0 };
	pair[1] = (struct value_field){ "value", integer, 8 };
	object->fields = plain->fields = fields;
	object->field_count = 4;
	plain->field_count = 2;
	array->element = object;
	texts->element = string;
	nullable->fields = pair;
	nullable->field_count = 2;
	nullable->well_known = VALUE_NULLABLE;
	date->well_known = VALUE_DATE_TIME_OFFSET;
	number->well_known = VALUE_DECIMAL;
	span->element = add(VALUE_CHAR, "char", 2);
	reference->element = plain;
	make_framework_types(object, integer);
	memcpy(all,
	       ((const struct value_type *[]){ object, plain, array, texts, nullable, date, number,
					       span, reference, string, integer,
					       add(VALUE_OBJECT, "object", 8), task, value_task,
					       delegate, make_kinds() }),
	       sizeof(all));
}

static void make_slots(void)
{
	for (size_t i = 0; i < TYPES; i++) {
		struct value_slot *slot = &slots[i];

		*slot = (struct value_slot){ .name = "p", .type = all[i], .part_count = 1 };
		slot->parts[0].where = i % 3 ? VALUE_IN_REGISTER : VALUE_ON_STACK;
		slot->parts[0].number = (uint32_t)i % 6;
		slot->parts[0].size = i % 3 ? 8 : all[i]->size;
		if (all[i]->size > 8 && i % 3) {
			slot->part_count = 2;
			slot->parts[1].where = VALUE_IN_REGISTER;
			slot->parts[1].offset = slot->parts[1].size = 8;
		}
	}
	slots[8].out = true;
	signature.argument_count = TYPES;
	signature.result = slots[0];
	signature.result.parts[0].where = VALUE_IN_REGISTER;
}

static void start(void)
{
	const struct value_options options = { 64, 8, 2, NULL, NULL };

	types = value_types_create();
	check(types != NULL);
	make_types();
	make_slots();
	make_seen();
	check(value_watch_create(&watch, &signature, &options, NULL) == 0);
}

/* Objects are of any type, whatever they were captured as. */
static const struct value_type *object_type(void *ctx, uint64_t handle)
{
	(void)ctx;
	return handle >> 3 < TYPES ? all[handle >> 3] : NULL;
}

static void check_text(const struct text *out)
{
	const char *chars = text_chars(out);

	check(out->length <= PRINTED_MAX && text_utf8_prefix(chars) == out->length);
	for (size_t i = 0; i < out->length; i++)
		check((unsigned char)chars[i] >= ' ' && chars[i] != 0x7f);
}

/* @bytes are aligned as items are. */
static void print(uint8_t way, const uint8_t *bytes, size_t size, size_t entry)
{
	static const struct value_lookup lookup = { .object_type = object_type };
	const struct value_call call = {
		.entry = { bytes, entry },
		.exit = { bytes + entry, size - entry },
		.exited = way & 2,
	};
	struct text out = { 0 };

	value_add_arguments(watch, &call, &lookup, way & 1 ? VALUE_JSON : VALUE_TEXT, &out);
	value_add_result(watch, &call, &lookup, way & 1 ? VALUE_JSON : VALUE_TEXT, &out);
	check_text(&out);
	text_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;
	size_t entry;

	if (!watch)
		start();
	if (size < 3)
		return 0;
	bytes = malloc(size - 2);
	if (!bytes)
		return 0;
	memcpy(bytes, data + 2, size - 2);
	entry = (size_t)data[1] * 16 < size - 2 ? (size_t)data[1] * 16 : size - 2;
	print(data[0], bytes, size - 2, entry);
	free(bytes);
	return 0;
}
