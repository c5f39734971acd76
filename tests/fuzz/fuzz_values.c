// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as what programs have captured of a call: of methods with a parameter and a result of
 * each kind, as an exception, and as a value that calls are told apart by. The first byte says how
 * it is printed, and whether the rest is items as they are or what items that the method's programs
 * could have made are filled with; the second says of what; the third how much of the rest is of
 * the entry, in units of 16 bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "base/text.h"
#include "bpf/thrown.h"
#include "value/by.h"
#include "value/value.h"

enum {
	TYPES_MAX = 48,
	ARGUMENTS = 3,
	FIELDS = 30,
	PRINTED_MAX = 4 << 20,
	HEADER = 3,
	MADE_MAX = 2 * WATCH_BYTES, /* of one program */
	OF_THROWN = 254,
	OF_KEY = 255,
};

enum way {
	WAY_JSON = 1,
	WAY_EXITED = 2,
	WAY_MADE = 4,
	WAY_NO_LOOKUP = 8,
};

static struct value_types *types;
static const struct value_type *all[TYPES_MAX];
static size_t type_count;
static struct value_type *integer, *string, *object;

/*
 * Of each type a method, with a parameter and a result of it; and one with more of them than there
 * is room for.
 */
static struct method {
	struct value_signature signature;
	struct value_slot arguments[ARGUMENTS];
	struct value_seen seen;
	struct value_watch *watch;
} methods[TYPES_MAX + 1];

/* Types ------------------------------------------------------------------------------------- */

static struct value_type *add(enum value_kind kind, const char *name, uint32_t size)
{
	struct value_type *type = value_types_add(types, kind, name, size);

	check(type_count < TYPES_MAX);
	if (!type)
		__builtin_trap();
	all[type_count++] = type;
	type->handle = (uint64_t)type_count << 3;
	return type;
}

static struct value_type *add_pointing(enum value_kind kind, const char *name, uint32_t size,
				       const struct value_type *element)
{
	struct value_type *type = add(kind, name, size);

	type->element = element;
	return type;
}

static struct value_type *add_struct(const char *name, uint32_t size, enum value_well_known which)
{
	struct value_type *type = add(VALUE_STRUCT, name, size);

	type->well_known = which;
	return type;
}

static const struct value_type *add_enum(const char *name, bool flags)
{
	static const struct value_member members[] = { { "One", 1 }, { "Two", 2 }, { "None", 0 } };
	struct value_type *type = add(VALUE_ENUM, name, 4);

	type->members = members;
	type->member_count = sizeof(members) / sizeof(members[0]);
	type->flags = flags;
	type->is_signed = !flags;
	return type;
}

/* One behind the other, in what they are @of. */
static void add_fields(struct value_type *of, const struct value_type *const *list, size_t count)
{
	struct value_field *fields = value_types_take(types, count * sizeof(*fields));
	uint32_t at = 0;

	check(fields != NULL);
	for (size_t i = 0; i < count; i++) {
		fields[i] = (struct value_field){ i == 2 ? "secret" : "f", list[i], at };
		at += list[i]->size;
	}
	of->fields = fields;
	of->field_count = count;
	if (of->kind == VALUE_STRUCT)
		of->size = at;
}

#define ADD_FIELDS(of, ...)                                                    \
	add_fields(of, (const struct value_type *const[]){ __VA_ARGS__ },      \
		   sizeof((const struct value_type *const[]){ __VA_ARGS__ }) / \
			   sizeof(const struct value_type *))

static void add_framework_types(void)
{
	static const struct value_member states[] = { { "Faulted", 2 },
						      { VALUE_TASK_DONE, 4 },
						      { "Created", 0 } };
	struct value_type *state = add(VALUE_STATE, "TaskStatus", 4);
	struct value_type *task = add(VALUE_OBJECT, "Task<long>", 8);
	struct value_type *value_task = add_struct("ValueTask<long>", 16, VALUE_VALUE_TASK);
	struct value_type *delegate = add(VALUE_OBJECT, "Action", 8);
	struct value_type *newer = add(VALUE_OBJECT, "Func<int>", 8);
	struct value_type *nullable = add_struct("long?", 16, VALUE_NULLABLE);
	struct value_type *tuple = add_struct("(long, string)", 16, VALUE_TUPLE);
	static struct value_field of_task[2], of_value_task[2];
	static struct value_field of_delegate[2][VALUE_DELEGATE_FIELDS];

	state->members = states;
	state->member_count = 3;
	of_task[0] = (struct value_field){ "state", state, 8 };
	of_task[1] = (struct value_field){ "result", integer, 16 };
	of_value_task[0] = (struct value_field){ "_obj", object, 0 };
	of_value_task[1] = (struct value_field){ "_result", integer, 8 };
	for (size_t which = 0; which < 2; which++) {
		struct value_field *of = of_delegate[which];

		of[VALUE_DELEGATE_TARGET] = (struct value_field){ "_target", object, 0 };
		for (uint32_t i = VALUE_DELEGATE_CODE; i < VALUE_DELEGATE_FIELDS; i++)
			of[i] = (struct value_field){ "code", integer, 8 * i };
	}
	of_delegate[1][VALUE_DELEGATE_OTHERS].name = VALUE_DELEGATE_EXTRA;
	task->fields = of_task;
	value_task->fields = of_value_task;
	delegate->fields = of_delegate[0];
	newer->fields = of_delegate[1];
	task->field_count = value_task->field_count = 2;
	delegate->field_count = newer->field_count = VALUE_DELEGATE_FIELDS;
	task->well_known = VALUE_TASK;
	delegate->well_known = newer->well_known = VALUE_DELEGATE;
	ADD_FIELDS(nullable, add(VALUE_BOOL, "bool", 8), integer);
	ADD_FIELDS(tuple, integer, string);
}

static void add_numbers(void)
{
	struct value_type *unknown = add(VALUE_UNKNOWN, "Vector", 8);

	unknown->why = "a vector";
	add_struct("DateTime", 8, VALUE_DATE_TIME);
	add_struct("TimeSpan", 8, VALUE_TIME_SPAN);
	add_struct("DateTimeOffset", 16, VALUE_DATE_TIME_OFFSET);
	add_struct("decimal", 16, VALUE_DECIMAL);
	add_struct("Guid", 16, VALUE_GUID);
	add_struct("Int128", 16, VALUE_INT128);
	add_struct("UInt128", 16, VALUE_UINT128);
	add(VALUE_FLOAT, "float", 4);
	add(VALUE_FLOAT, "double", 8);
	add(VALUE_UNSIGNED, "uint", 4);
	add(VALUE_POINTER, "void*", 8);
	add(VALUE_CHAR, "char", 2);
	add(VALUE_CSTRING, "char *", 8);
	add(VALUE_BOOL, "bool", 1);
	add(VALUE_VOID, "void", 0);
	add_enum("Color", false);
	add_enum("Options", true);
}

static void make_types(void)
{
	const struct value_type *many[FIELDS];
	struct value_type *node, *pair, *box, *wide, *big;

	integer = add(VALUE_SIGNED, "long", 8);
	string = add(VALUE_STRING, "string", 8);
	object = add(VALUE_OBJECT, "object", 8);
	add_numbers();
	add_framework_types();
	node = add(VALUE_OBJECT, "Node", 8);
	pair = add(VALUE_STRUCT, "Pair", 0);
	box = add(VALUE_OBJECT, "Box", 8);
	wide = add(VALUE_OBJECT, "Wide", 8);
	big = add(VALUE_STRUCT, "Big", 0);
	ADD_FIELDS(pair, string, object);
	ADD_FIELDS(node, string, node, string, add_pointing(VALUE_ARRAY, "Node[]", 8, node));
	ADD_FIELDS(box, pair, integer, object, add_pointing(VALUE_ARRAY, "Pair[]", 8, pair));
	ADD_FIELDS(big, integer, pair, string, string);
	for (size_t i = 0; i < FIELDS; i++)
		many[i] = i % 2 ? string : integer;
	add_fields(wide, many, FIELDS);
	add_pointing(VALUE_ARRAY, "string[]", 8, string);
	add_pointing(VALUE_ARRAY, "long[]", 8, integer);
	add_pointing(VALUE_ARRAY, "none[]", 8, NULL);
	add_pointing(VALUE_SPAN, "Span<char>", 16, add(VALUE_CHAR, "char", 2));
	add_pointing(VALUE_SPAN, "Span<Pair>", 16, pair);
	add_pointing(VALUE_REFERENCE, "Pair&", 8, pair);
	add_pointing(VALUE_REFERENCE, "string&", 8, string);
	add_pointing(VALUE_REFERENCE, "long&", 8, integer);
}

/* Methods ----------------------------------------------------------------------------------- */

static struct value_slot slot_of(const char *name, const struct value_type *type, bool on_stack)
{
	struct value_slot slot = { .name = name, .type = type, .part_count = type->size != 0 };

	slot.parts[0].size = type->size;
	if (on_stack || type->size > 16) {
		slot.parts[0].where = name ? VALUE_ON_STACK : VALUE_IN_BUFFER;
		slot.parts[0].number = 8;
	} else if (type->kind == VALUE_FLOAT && type->size == 4) {
		slot.parts[0].where = VALUE_IN_FLOAT;
	} else if (type->size > 8) {
		slot.part_count = 2;
		slot.parts[0].size = 8;
		slot.parts[1].where = VALUE_IN_REGISTER;
		slot.parts[1].number = 1;
		slot.parts[1].offset = 8;
		slot.parts[1].size = type->size - 8;
	}
	return slot;
}

/* What an object has turned out to be of. */
static void add_seen(struct value_seen *seen, size_t number)
{
	for (size_t i = 0; i < type_count && seen->count < VALUE_SEEN_MAX; i++) {
		if (all[i]->kind != VALUE_ARRAY && all[i]->kind != VALUE_STRUCT &&
		    (all[i]->kind != VALUE_OBJECT || all[i] == object))
			continue;
		/* Those that lead on, the latest ones first. */
		if (i % 3 != number % 3)
			continue;
		seen->list[seen->count].number = number;
		seen->list[seen->count].handle = all[i]->handle;
		seen->list[seen->count++].type = all[i];
	}
}

static bool redacts(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "secret") == 0;
}

static void make_method(size_t i)
{
	const struct value_options options = { 64, 8, i % 3, redacts, NULL };
	struct method *method = &methods[i];
	const struct value_type *type = all[i];

	method->arguments[0] = slot_of("p", type, i % 4 == 3);
	method->arguments[1] = slot_of("secret", integer, false);
	method->arguments[2] = slot_of("o", all[type_count - 1 - i % 3], false);
	method->arguments[2].parts[0].number = 3;
	method->arguments[2].out = true;
	method->signature = (struct value_signature){
		.arguments = method->arguments,
		.argument_count = ARGUMENTS,
		.result = slot_of(NULL, type, false),
		.seen = &method->seen,
	};
	if (type->kind == VALUE_REFERENCE || type->kind == VALUE_STRUCT) {
		method->signature.context = slot_of("context", integer, false);
		method->signature.context.parts[0].number = 4;
		method->signature.context_is = VALUE_CONTEXT_TYPE;
	}
	if (type->kind == VALUE_OBJECT) {
		add_seen(&method->seen, 0);
		add_seen(&method->seen, ARGUMENTS);
	}
	check(value_watch_create(&method->watch, &method->signature, &options, NULL) == 0);
}

/* Of all kinds, and of each more than options should ask for. */
static void make_crowded_method(void)
{
	const struct value_options options = { 1 << 20, 1 << 20, 9, NULL, NULL };
	struct method *method = &methods[type_count];
	struct value_slot *arguments = value_types_take(types, type_count * sizeof(*arguments));

	check(arguments != NULL);
	for (size_t i = 0; i < type_count; i++) {
		arguments[i] = slot_of("p", all[type_count - 1 - i], i % 2);
		arguments[i].out = all[type_count - 1 - i]->kind == VALUE_REFERENCE;
	}
	method->signature = (struct value_signature){
		.arguments = arguments,
		.argument_count = type_count,
		.result = slot_of(NULL, string, false),
		.seen = &method->seen,
	};
	check(value_watch_create(&method->watch, &method->signature, &options, NULL) == 0);
}

/* What is asked of the runtime --------------------------------------------------------------- */

/* Objects are of any type, whatever they were captured as. */
static const struct value_type *object_type(void *ctx, uint64_t handle)
{
	uint64_t number = handle >> 3;

	(void)ctx;
	return number >= 1 && number <= type_count ? all[number - 1] : NULL;
}

static bool base_type(void *ctx, uint64_t handle, uint64_t *base)
{
	(void)ctx;
	*base = handle & ~UINT64_C(7) & (handle >> 1);
	return handle % 5 != 4;
}

static bool add_method(void *ctx, uint64_t code, struct text *out)
{
	(void)ctx;
	if (code % 3 == 0)
		return false;
	text_add(out, "App.Orders::Pay");
	return true;
}

static const struct value_lookup lookup = {
	.object_type = object_type,
	.base_type = base_type,
	.add_method = add_method,
};

/* Items ------------------------------------------------------------------------------------- */

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t next(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

/* As many as there are; the rest is 0. */
static void fill(struct input *input, uint8_t *to, size_t size)
{
	size_t count = size < input->left ? size : input->left;

	memcpy(to, input->at, count);
	memset(to + count, 0, size - count);
	input->at += count;
	input->left -= count;
}

static size_t made_bytes(const struct watch_op *op, struct input *input)
{
	size_t wanted;

	switch (op->code) {
	case WATCH_PUT:
	case WATCH_COPY_FIXED:
		return op->size;
	case WATCH_COPY_TIMES:
	case WATCH_COPY_CSTRING:
		wanted = next(input);
		return wanted < op->size ? wanted : op->size;
	default:
		return 0;
	}
}

/*
 * An item that @op could have made, of what comes next: whether it is there, whole, and a type that
 * is known in its first word, is said by a byte before its own.
 */
static size_t make_item(const struct watch_op *op, struct input *input, uint8_t *to, size_t room)
{
	uint8_t how = next(input);
	struct watch_item item = { .slot = op->slot };
	size_t bytes = how % 16 > 2 ? made_bytes(op, input) : 0, size;

	size = sizeof(item) + (bytes + 7) / 8 * 8;
	if (how % 16 == 0 || size > room)
		return 0;
	item.status = how % 16 == 1 ? WATCH_FAULT : how % 16 == 2 ? WATCH_NO_ROOM : WATCH_OK;
	item.bytes = (uint16_t)bytes;
	item.whole = bytes + (how % 16 == 3 ? next(input) : 0);
	memset(to, 0, size);
	memcpy(to, &item, sizeof(item));
	fill(input, to + sizeof(item), bytes);
	if (how & 0x80 && bytes >= 8) {
		uint64_t handle = (uint64_t)(1 + next(input) % type_count) << 3;

		memcpy(to + sizeof(item), &handle, sizeof(handle));
	}
	return size;
}

static size_t make_items(const struct watch_op *ops, size_t count, struct input *input, uint8_t *to)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (ops[i].code >= WATCH_PUT && ops[i].code <= WATCH_COPY_CSTRING)
			used += make_item(&ops[i], input, to + used, MADE_MAX - used);
	}
	return used;
}

/* Printing ---------------------------------------------------------------------------------- */

static void check_text(struct text *out)
{
	const char *chars = text_chars(out);

	check(out->length <= PRINTED_MAX && text_utf8_prefix(chars) == out->length);
	for (size_t i = 0; i < out->length; i++)
		check((unsigned char)chars[i] >= ' ' && chars[i] != 0x7f);
	text_deinit(out);
}

static void print_call(const struct method *method, uint8_t way, const struct value_items *entry,
		       const struct value_items *exit)
{
	const struct value_lookup *asked = way & WAY_NO_LOOKUP ? NULL : &lookup;
	enum value_format format = way & WAY_JSON ? VALUE_JSON : VALUE_TEXT;
	const struct value_call call = { *entry, *exit, way & WAY_EXITED };
	struct text out = { 0 };

	(void)value_call_context(method->watch, &call);
	value_add_arguments(method->watch, &call, asked, format, &out);
	if (value_has_result(method->watch))
		value_add_result(method->watch, &call, asked, format, &out);
	check_text(&out);
}

static void print_made(struct method *method, uint8_t way, struct input *input)
{
	uint64_t *entry = malloc(MADE_MAX), *exit = malloc(MADE_MAX);
	struct value_items entry_items = { entry, 0 }, exit_items = { exit, 0 };
	const struct watch_op *ops;
	size_t count;

	if (entry && exit) {
		ops = value_watch_entry(method->watch, &count);
		entry_items.size = make_items(ops, count, input, (uint8_t *)entry);
		ops = value_watch_exit(method->watch, &count);
		exit_items.size = make_items(ops, count, input, (uint8_t *)exit);
		print_call(method, way, &entry_items, &exit_items);
	}
	free(entry);
	free(exit);
}

/* @bytes are aligned as items are. */
static void print_thrown(uint8_t way, const uint8_t *bytes, size_t size, bool twice)
{
	static const char *const names[] = { "long", "Node", "App.Other", "Other" };
	static const struct value_lookup no_bases = { .object_type = object_type };
	const struct value_lookup *asked = way & WAY_NO_LOOKUP ? &no_bases : &lookup;
	const struct value_items as_it_is = { bytes, size };
	struct {
		struct watch_item item;
		struct thrown thrown;
	} made = { { .slot = THROWN_SLOT, .bytes = sizeof(struct thrown) }, { { { 0 } } } };
	struct value_items items = { &made, sizeof(made) };
	struct input input = { bytes, size };
	struct text out = { 0 };
	int is;

	fill(&input, (uint8_t *)&made.thrown.readings[0], sizeof(made.thrown.readings[0]));
	if (twice)
		made.thrown.readings[1] = made.thrown.readings[0];
	else
		fill(&input, (uint8_t *)&made.thrown.readings[1], sizeof(made.thrown.readings[1]));
	if (!(way & WAY_MADE))
		items = as_it_is;
	(void)value_add_thrown(&items, asked, twice ? 64 : 1024,
			       way & WAY_JSON ? VALUE_JSON : VALUE_TEXT, &out);
	is = value_thrown_types(&items, asked, names, sizeof(names) / sizeof(names[0]));
	check(is >= -1 && is < 1 << sizeof(names) / sizeof(names[0]));
	check_text(&out);
}

/* What value_by_compile() takes: numbers and strings. */
static void print_key(uint8_t way, uint8_t which, struct input *input)
{
	const struct value_type *type = all[which % type_count];
	struct by_key *key = calloc(1, sizeof(*key));
	struct text out = { 0 };

	if (key && type->size <= 8 && type->kind != VALUE_STRUCT && type->kind != VALUE_OBJECT &&
	    type->kind != VALUE_ARRAY && type->kind != VALUE_REFERENCE) {
		fill(input, (uint8_t *)key, sizeof(*key));
		value_by_add(type, key, way & WAY_JSON ? VALUE_JSON : VALUE_TEXT, &out);
		check_text(&out);
	}
	free(key);
}

/* ------------------------------------------------------------------------------------------- */

static void start(void)
{
	types = value_types_create();
	check(types != NULL);
	make_types();
	for (size_t i = 0; i < type_count; i++)
		make_method(i);
	make_crowded_method();
}

static void print(const uint8_t *head, const uint8_t *bytes, size_t size)
{
	size_t entry = (size_t)head[2] * 16 < size ? (size_t)head[2] * 16 : size;
	struct method *method = &methods[head[1] % (type_count + 1)];
	struct input input = { bytes, size };

	if (head[1] == OF_THROWN)
		print_thrown(head[0], bytes, size, head[2] & 1);
	else if (head[1] == OF_KEY)
		print_key(head[0], head[2], &input);
	else if (head[0] & WAY_MADE)
		print_made(method, head[0], &input);
	else
		print_call(method, head[0], &(struct value_items){ bytes, entry },
			   &(struct value_items){ bytes + entry, size - entry });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (type_count == 0)
		start();
	if (size < HEADER)
		return 0;
	bytes = malloc(size - HEADER + 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data + HEADER, size - HEADER);
	print(data, bytes, size - HEADER);
	free(bytes);
	return 0;
}
