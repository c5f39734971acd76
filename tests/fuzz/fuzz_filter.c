// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An expression of --if, or of --by if it begins with '=': what is parsed is compiled for a method
 * with parameters of all kinds. Jumps of what comes of it go ahead and stay within it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "base/error.h"
#include "filter/filter.h"
#include "value/by.h"
#include "value/filter.h"

enum { SLOTS = 8 };

static struct value_types *types;
static struct value_slot slots[SLOTS];
static struct value_signature signature = { .arguments = slots };

static struct value_type *add(const char *name, enum value_kind kind, uint32_t size)
{
	struct value_type *type = value_types_add(types, kind, name, size);
	struct value_slot *slot = &slots[signature.argument_count++];

	check(type && signature.argument_count <= SLOTS);
	*slot = (struct value_slot){ .name = name, .type = type, .part_count = 1 };
	slot->parts[0].where = kind == VALUE_FLOAT ? VALUE_IN_FLOAT :
			       size > 8		   ? VALUE_ON_STACK :
						     VALUE_IN_REGISTER;
	slot->parts[0].number = (uint32_t)signature.argument_count - 1;
	slot->parts[0].size = size;
	return type;
}

static void make_signature(void)
{
	static struct value_field fields[5];
	static const struct value_member members[] = { { "Open", 0 }, { "Paid", 7 } };
	struct value_type *state, *object, *reference;
	const struct value_type *number, *text;

	types = value_types_create();
	check(types != NULL);
	number = add("i", VALUE_SIGNED, 4);
	text = add("s", VALUE_STRING, 8);
	state = add("e", VALUE_ENUM, 2);
	object = add("o", VALUE_OBJECT, 8);
	reference = add("r", VALUE_REFERENCE, 8);
	add("b", VALUE_BOOL, 1);
	add("v", VALUE_STRUCT, 24)->fields = fields;
	add("x", VALUE_FLOAT, 8);
	state->members = members;
	state->member_count = 2;
	reference->element = object;
	fields[0] = (struct value_field){ "i", number, 0 };
	fields[1] = (struct value_field){ "s", text, 8 };
	fields[2] = (struct value_field){ "o", object, 16 };
	fields[3] = (struct value_field){ "e", state, 24 };
	object->fields = fields;
	object->field_count = 4;
	((struct value_type *)slots[6].type)->field_count = 2;
	signature.result = slots[3];
}

/* An op may go on at those before @end. */
static void check_ops(const struct watch_op *ops, size_t count, size_t end, size_t constants)
{
	check(count <= WATCH_OPS);
	for (size_t i = 0; i < count; i++) {
		check(ops[i].code < WATCH_CODES && ops[i].dst < WATCH_CELLS &&
		      ops[i].src < WATCH_CELLS);
		check(!ops[i].otherwise || (ops[i].otherwise > i && ops[i].otherwise < end));
		check(ops[i].code != WATCH_IF_SAME_BYTES || ops[i].immediate < constants);
	}
}

static void try_filter(const char *text)
{
	static struct value_filter compiled;
	struct error err = { .text = "" };
	struct filter filter;

	if (filter_parse(&filter, text, &err)) {
		check(err.text[0]);
		return;
	}
	check(filter.count && filter.root < filter.count);
	if (value_filter_compile(&compiled, &filter, "A::B", &signature, &err) == 0) {
		check_ops(compiled.ops, compiled.count, compiled.count, compiled.constant_count);
		check_ops(compiled.exit_ops, compiled.exit_count, compiled.exit_count,
			  compiled.constant_count);
		check(!compiled.exit_count == !filter_is_of_end(&filter, filter.root));
	} else {
		check(strstr(err.text, "at character ") != NULL);
	}
	filter_deinit(&filter);
}

static void try_value(const char *text)
{
	static struct value_by by;
	const struct value_options options = { .string_bytes = 64 };
	struct error err = { .text = "" };
	struct filter filter;

	if (filter_parse_operand(&filter, text, &err))
		return;
	if (value_by_compile(&by, &filter, "A::B", &signature, &options, &err) == 0) {
		check(by.type != NULL);
		/* Behind its last op it ends. */
		check_ops(by.ops, by.count, by.count + 1, 0);
	}
	filter_deinit(&filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (!types)
		make_signature();
	memcpy(text, data, size);
	text[size] = '\0';
	if (*text == '=')
		try_value(text + 1);
	else
		try_filter(text);
	free(text);
	return 0;
}
