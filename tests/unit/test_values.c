// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a signature to programs, what those capture of a target's registers and memory, and what is
 * printed of it. The programs are run by an interpreter of their own (value_fixture.h).
 */
#include <uchar.h>

#include "tests/unit/value_fixture.h"

/* Objects as .NET has them. */
struct string_object {
	uint64_t table;
	uint32_t length;
	char16_t chars[64];
};

struct array_object {
	uint64_t table;
	uint32_t length;
	uint32_t pad;
	uint64_t first[12];
};

enum { TABLE = 0x5000, STRING_TABLE = 0x5100, OTHER_TABLE = 0x5200 };

/* Flags and base size of a MethodTable. */
static const uint32_t table_of_40[2] = { 0, 8 + 40 };
static const uint32_t table_of_strings[2] = { 0x80000002, 22 };

static struct string_object string_of(const char16_t *chars, uint32_t length)
{
	struct string_object object = { .table = STRING_TABLE, .length = length };

	memcpy(object.chars, chars, (length < 64 ? length : 64) * sizeof(*chars));
	return object;
}

static void expect(struct scene *scene, const char *text)
{
	assert_string_equal(scene_show(scene, VALUE_TEXT, true), text);
}

UNIT_TEST(what_is_beyond_a_number_is_not_looked_at)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	uint64_t *arguments = scene->machine.arguments;

	add_slot(scene, "a", type_of(scene, VALUE_SIGNED, "int", 4), VALUE_IN_REGISTER, 0);
	add_slot(scene, "b", type_of(scene, VALUE_SIGNED, "sbyte", 1), VALUE_IN_REGISTER, 1);
	add_slot(scene, "c", type_of(scene, VALUE_UNSIGNED, "ushort", 2), VALUE_IN_REGISTER, 2);
	add_slot(scene, "d", type_of(scene, VALUE_BOOL, "bool", 1), VALUE_IN_REGISTER, 3);
	add_slot(scene, "e", type_of(scene, VALUE_CHAR, "char", 2), VALUE_IN_REGISTER, 4);
	add_slot(scene, "f", type_of(scene, VALUE_SIGNED, "long", 8), VALUE_IN_REGISTER, 5);
	arguments[0] = 0xdeadbeefffffffd6;
	arguments[1] = 0x11111111111111fd;
	arguments[2] = 0x2222222222228001;
	arguments[3] = 0x3333333333333300;
	arguments[4] = 0x4444444444440027;
	arguments[5] = 1ULL << 63;
	expect(scene, "a: -42, b: -3, c: 32769, d: false, e: ''', f: -9223372036854775808");
	assert_string_equal(scene_show(scene, VALUE_JSON, true),
			    "[{\"name\":\"a\",\"type\":\"int\",\"value\":-42},"
			    "{\"name\":\"b\",\"type\":\"sbyte\",\"value\":-3},"
			    "{\"name\":\"c\",\"type\":\"ushort\",\"value\":32769},"
			    "{\"name\":\"d\",\"type\":\"bool\",\"value\":false},"
			    "{\"name\":\"e\",\"type\":\"char\",\"value\":\"'\"},"
			    "{\"name\":\"f\",\"type\":\"long\",\"value\":-9223372036854775808}]");
}

UNIT_TEST(enums_have_names)
{
	static const struct value_member members[] = {
		{ "None", 0 }, { "Read", 1 }, { "Write", 2 }, { "Below", 0xfe }
	};
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_type *plain = type_of(scene, VALUE_ENUM, "E", 1);
	struct value_type *flags = type_of(scene, VALUE_ENUM, "F", 1);

	plain->members = flags->members = members;
	plain->member_count = flags->member_count = 4;
	plain->is_signed = flags->flags = true;
	for (uint32_t i = 0; i < 3; i++)
		add_slot(scene, "p", plain, VALUE_IN_REGISTER, i);
	for (uint32_t i = 3; i < 6; i++)
		add_slot(scene, "f", flags, VALUE_IN_REGISTER, i);
	scene->machine.arguments[0] = 0x7702;
	scene->machine.arguments[1] = 0xfe;
	scene->machine.arguments[2] = 0xff;
	scene->machine.arguments[3] = 3;
	scene->machine.arguments[4] = 5;
	scene->machine.arguments[5] = 0;
	expect(scene, "p: Write, p: Below, p: -1, f: Read, Write, f: 5, f: None");
}

UNIT_TEST(strings)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *string = type_of(scene, VALUE_STRING, "string", 8);
	struct string_object objects[] = {
		string_of(u"Ada", 3),
		string_of(u"", 0),
		string_of(u"\x1b[31m\"\\\n\x9b\u202e", 10),
		string_of(u"\xd83c\xdf89 \xd800x", 5),
		string_of(u"12345678\xd83c\xdf89", 10),
	};

	for (uint32_t i = 0; i < 5; i++) {
		add_slot(scene, "s", string, VALUE_IN_REGISTER, i);
		scene->machine.arguments[i] = 0x10000 + i * 0x1000;
		add_memory(scene, 0x10000 + i * 0x1000, &objects[i], sizeof(objects[i]));
	}
	add_slot(scene, "n", string, VALUE_IN_REGISTER, 5);
	scene->options.string_bytes = 22;
	expect(scene,
	       "s: \"Ada\", s: \"\", s: \"\\u001b[31m\\\"\\\\\\n\\u009b\\u202e\", s: \"🎉 \\ud800x\", "
	       "s: \"12345678🎉\", n: null");
	/* Not the first half of a character alone. */
	scene->options.string_bytes = 18;
	scene->signature.argument_count = 5;
	assert_non_null(strstr(scene_show(scene, VALUE_TEXT, true), "s: \"12345678\"…"));
	assert_non_null(strstr(scene_show(scene, VALUE_JSON, true),
			       "\"value\":\"12345678\",\"length\":10,\"cut\":true}"));
	/* Its length is where there is nothing. */
	scene->machine.arguments[0] = 0xdead0000;
	assert_ptr_equal(strstr(scene_show(scene, VALUE_TEXT, true), "s: <not in memory>, s: \"\""),
			 text_chars(&scene->out));
}

UNIT_TEST(a_string_of_two_gigabytes_is_read_as_far_as_is_asked)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct string_object object = string_of(u"xxxxxxxx", 8);

	object.length = 0x7fffffff;
	add_slot(scene, "s", type_of(scene, VALUE_STRING, "string", 8), VALUE_IN_REGISTER, 0);
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x10000, &object, sizeof(object));
	scene->options.string_bytes = 8;
	assert_string_equal(
		scene_show(scene, VALUE_JSON, true),
		"[{\"name\":\"s\",\"type\":\"string\",\"value\":\"xxxx\",\"length\":2147483647,"
		"\"cut\":true}]");
}

/* Objects ------------------------------------------------------------------------------------- */

struct order_object {
	uint64_t table;
	uint64_t customer;
	uint64_t next;
	int32_t id;
	int32_t extra;
	uint64_t rest;
};

static struct value_type *order_type(struct scene *scene, const char *name)
{
	struct value_type *order = type_of(scene, VALUE_OBJECT, name, 8);

	add_field(scene, order, "Id", type_of(scene, VALUE_SIGNED, "int", 4), 16);
	add_field(scene, order, "Customer", type_of(scene, VALUE_STRING, "string", 8), 0);
	add_field(scene, order, "Next", order, 8);
	return order;
}

static const struct value_type *as_other(void *ctx, uint64_t handle)
{
	return handle == OTHER_TABLE ? ctx : NULL;
}

/* What is passed first: an order with a customer and a next one, of types that are as large. */
static void add_order(struct scene *scene, const struct order_object *order,
		      const struct string_object *customer, const struct order_object *next)
{
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x10000, order, sizeof(*order));
	add_memory(scene, 0x20000, customer, sizeof(*customer));
	add_memory(scene, 0x30000, next, sizeof(*next));
	add_memory(scene, TABLE, table_of_40, sizeof(table_of_40));
	add_memory(scene, OTHER_TABLE, table_of_40, sizeof(table_of_40));
}

UNIT_TEST(objects_are_shown_as_what_they_are)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_type *order = order_type(scene, "App.Order");
	struct value_type *special = order_type(scene, "App.Special");
	struct string_object ada = string_of(u"Ada", 3);
	/* The collector has marked it. */
	struct order_object object = { TABLE | 1, 0x20000, 0x30000, 7, 9, 0 };
	struct order_object next = { .table = OTHER_TABLE };

	add_slot(scene, "order", order, VALUE_IN_REGISTER, 0);
	add_order(scene, &object, &ada, &next);
	add_field(scene, special, "Extra", type_of(scene, VALUE_SIGNED, "int", 4), 20);
	scene->lookup = (struct value_lookup){ .object_type = as_other, .ctx = special };
	expect(scene, "order: App.Order{Id: 7, Customer: \"Ada\", Next: App.Special{...}}");
	assert_string_equal(scene_show(scene, VALUE_JSON, true),
			    "[{\"name\":\"order\",\"type\":\"App.Order\",\"fields\":["
			    "{\"name\":\"Id\",\"type\":\"int\",\"value\":7},"
			    "{\"name\":\"Customer\",\"type\":\"string\",\"value\":\"Ada\"},"
			    "{\"name\":\"Next\",\"type\":\"App.Special\",\"cut\":true}]}]");
	object.table = OTHER_TABLE;
	object.next = 0;
	expect(scene, "order: App.Special{Id: 7, Customer: \"Ada\", Next: null, Extra: 9}");
	scene->options.depth = 0;
	expect(scene, "order: App.Special{...}");
	scene->machine.arguments[0] = 0;
	expect(scene, "order: null");
	scene->machine.arguments[0] = 0x66660000;
	expect(scene, "order: <not in memory>");
}

UNIT_TEST(an_object_that_leads_back_to_itself_ends)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct order_object object = { TABLE, 0, 0x10000, 7, 0, 0 };

	add_slot(scene, "o", order_type(scene, "O"), VALUE_IN_REGISTER, 0);
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x10000, &object, sizeof(object));
	add_memory(scene, TABLE, table_of_40, sizeof(table_of_40));
	scene->options.depth = 2;
	expect(scene, "o: O{Id: 7, Customer: null, Next: O{Id: 7, Customer: null, Next: O{...}}}");
	scene->options.depth = 1000;
	scene_show(scene, VALUE_TEXT, true);
}

UNIT_TEST(an_object_that_is_a_string_or_a_number)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *object = type_of(scene, VALUE_OBJECT, "object", 8);
	struct string_object ada = string_of(u"Ada", 3);
	uint64_t boxed[8] = { OTHER_TABLE, 0xffffffffffffffd6 };

	add_slot(scene, "a", object, VALUE_IN_REGISTER, 0);
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x20000, boxed, sizeof(boxed));
	add_memory(scene, STRING_TABLE, table_of_strings, sizeof(table_of_strings));
	add_memory(scene, OTHER_TABLE, table_of_40, sizeof(table_of_40));
	ada.table = OTHER_TABLE;
	add_memory(scene, 0x10000, &ada, sizeof(ada));
	/* One that says of itself that it is a string, but was not captured as one. */
	scene->lookup = (struct value_lookup){ .object_type = as_other,
					       .ctx = type_of(scene, VALUE_STRING, "string", 8) };
	expect(scene, "a: ...");
	scene->machine.pieces[2].bytes = table_of_strings;
	expect(scene, "a: \"Ada\"");
	scene->machine.pieces[2].bytes = table_of_40;
	scene->machine.arguments[0] = 0x20000;
	scene->lookup.ctx = type_of(scene, VALUE_SIGNED, "int", 4);
	expect(scene, "a: -42");
}

UNIT_TEST(what_an_object_of_an_unknown_type_refers_to)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct string_object ada = string_of(u"Ada", 3);
	struct order_object object = { OTHER_TABLE, 0x20000, 0x30000, 7, 9, 0 };
	struct order_object next = { .table = TABLE };

	add_slot(scene, "o", type_of(scene, VALUE_OBJECT, "IOrder", 8), VALUE_IN_REGISTER, 0);
	add_order(scene, &object, &ada, &next);
	add_memory(scene, STRING_TABLE, table_of_strings, sizeof(table_of_strings));
	scene->lookup = (struct value_lookup){ .object_type = as_other,
					       .ctx = order_type(scene, "App.Order") };
	expect(scene, "o: App.Order{Id: 7, Customer: \"Ada\", Next: App.Order{...}}");
	/* What is no reference leads nowhere. */
	object.customer = 0x1234567812345678;
	expect(scene, "o: App.Order{Id: 7, Customer: ..., Next: App.Order{...}}");
}

/* Arrays and spans ---------------------------------------------------------------------------- */

UNIT_TEST(arrays_show_their_first_elements)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *of_long =
		type_over(scene, VALUE_ARRAY, "long[]", type_of(scene, VALUE_SIGNED, "long", 8));
	struct array_object object = { TABLE, 3, 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } };

	add_slot(scene, "a", of_long, VALUE_IN_REGISTER, 0);
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x10000, &object, sizeof(object));
	expect(scene, "a: long[3]{1, 2, 3}");
	object.length = 10;
	expect(scene, "a: long[10]{1, 2, 3, 4, 5, 6, 7, 8, …}");
	scene->options.elements = 2;
	assert_string_equal(
		scene_show(scene, VALUE_JSON, true),
		"[{\"name\":\"a\",\"type\":\"long[]\",\"length\":10,\"cut\":true,\"elements\":["
		"{\"type\":\"long\",\"value\":1},{\"type\":\"long\",\"value\":2}]}]");
	object.length = 0;
	expect(scene, "a: long[0]{}");
	object.length = 0xffffffff;
	expect(scene, "a: long[4294967295]{1, 2, …}");
	scene->options.elements = 0;
	expect(scene, "a: long[4294967295]{…}");
}

UNIT_TEST(no_element_behind_the_last_is_followed)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *string = type_of(scene, VALUE_STRING, "string", 8);
	struct string_object ada = string_of(u"Ada", 3);
	struct array_object object = { TABLE, 2, 0, { 0x20000, 0, 0x20000, 0x20000, 0x20000 } };
	size_t reads;

	add_slot(scene, "a", type_over(scene, VALUE_ARRAY, "string[]", string), VALUE_IN_REGISTER,
		 0);
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x10000, &object, sizeof(object));
	add_memory(scene, 0x20000, &ada, sizeof(ada));
	expect(scene, "a: string[2]{\"Ada\", null}");
	reads = scene->machine.reads;
	object.length = 1;
	expect(scene, "a: string[1]{\"Ada\"}");
	assert_in_range(scene->machine.reads - reads, 1, reads - 1);
	object.length = 5;
	object.first[1] = 0x777777;
	expect(scene, "a: string[5]{\"Ada\", <not in memory>, \"Ada\", \"Ada\", ...}");
}

UNIT_TEST(spans)
{
	static const uint8_t bytes[] = { 1, 2, 3, 255 };
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *of_bytes = type_over(scene, VALUE_SPAN, "System.Span<byte>",
						      type_of(scene, VALUE_UNSIGNED, "byte", 1));
	const struct value_type *of_chars = type_over(scene, VALUE_SPAN, "System.Span<char>",
						      type_of(scene, VALUE_CHAR, "char", 2));

	add_part(add_slot(scene, "b", of_bytes, VALUE_IN_REGISTER, 0), VALUE_IN_REGISTER, 1);
	add_part(add_slot(scene, "c", of_chars, VALUE_IN_REGISTER, 2), VALUE_IN_REGISTER, 3);
	add_part(add_slot(scene, "d", of_chars, VALUE_IN_REGISTER, 4), VALUE_IN_REGISTER, 5);
	scene->machine.arguments[0] = 0x10000;
	scene->machine.arguments[1] = 0x1234567800000004;
	scene->machine.arguments[2] = 0x20000;
	scene->machine.arguments[3] = 3;
	add_memory(scene, 0x10000, bytes, sizeof(bytes));
	add_memory(scene, 0x20000, u"Ada", 6);
	expect(scene, "b: System.Span<byte>[4]{1, 2, 3, 255}, c: \"Ada\", d: \"\"");
}

/* Structs ------------------------------------------------------------------------------------- */

UNIT_TEST(structs_in_registers_and_on_the_stack)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_type *in_two = type_of(scene, VALUE_STRUCT, "S", 16);
	struct value_type *large = type_of(scene, VALUE_STRUCT, "L", 24);
	const struct value_type *string = type_of(scene, VALUE_STRING, "string", 8);
	struct string_object ada = string_of(u"Ada", 3);
	uint64_t stack[8] = { 0xabcdef, 5, 0x20000, 0xffffffff00000006 };

	add_field(scene, in_two, "D", type_of(scene, VALUE_FLOAT, "double", 8), 0);
	add_field(scene, in_two, "I", type_of(scene, VALUE_SIGNED, "int", 4), 8);
	add_field(scene, in_two, "F", type_of(scene, VALUE_FLOAT, "float", 4), 12);
	add_field(scene, large, "A", type_of(scene, VALUE_SIGNED, "long", 8), 0);
	add_field(scene, large, "T", string, 8);
	add_field(scene, large, "C", type_of(scene, VALUE_UNSIGNED, "uint", 4), 16);
	add_part(add_slot(scene, "s", in_two, VALUE_IN_FLOAT, 3), VALUE_IN_REGISTER, 0);
	add_slot(scene, "l", large, VALUE_ON_STACK, 8);
	scene->machine.arguments[0] = 0x3fc00000ffffffff;
	add_memory(scene, scene->machine.sp, stack, sizeof(stack));
	add_memory(scene, 0x20000, &ada, sizeof(ada));
	expect(scene, "s: S{D: <in xmm3>, I: -1, F: 1.5}, l: L{A: 5, T: \"Ada\", C: 6}");
}

UNIT_TEST(results)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_type *large = type_of(scene, VALUE_STRUCT, "L", 24);
	uint64_t buffer[3] = { 1, 2, 3 };

	scene->signature.result = (struct value_slot){
		.type = type_of(scene, VALUE_SIGNED, "short", 2),
		.part_count = 1,
		.parts = { { VALUE_IN_REGISTER, 0, 0, 2 } },
	};
	scene->machine.results[0] = 0xfffffffe;
	expect(scene, " = -2");
	add_field(scene, large, "A", type_of(scene, VALUE_SIGNED, "long", 8), 16);
	scene->signature.result.type = large;
	scene->signature.result.parts[0].where = VALUE_IN_BUFFER;
	scene->signature.result.parts[0].size = 24;
	scene->machine.results[0] = 0x40000;
	add_memory(scene, 0x40000, buffer, sizeof(buffer));
	expect(scene, " = L{A: 3}");
}

UNIT_TEST(references_are_followed_at_the_entry_and_outs_at_the_exit)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *number = type_of(scene, VALUE_SIGNED, "long", 8);
	const struct value_type *reference = type_over(scene, VALUE_REFERENCE, "long&", number);
	uint64_t frame[2] = { 5, 6 }, heap[1] = { 7 };

	add_slot(scene, "r", reference, VALUE_IN_REGISTER, 0);
	add_slot(scene, "o", reference, VALUE_IN_REGISTER, 1)->out = true;
	add_slot(scene, "h", reference, VALUE_IN_REGISTER, 2)->out = true;
	scene->machine.arguments[0] = scene->machine.sp + 0x100;
	scene->machine.arguments[1] = scene->machine.sp + 0x108;
	scene->machine.arguments[2] = 0x40000;
	add_memory(scene, scene->machine.sp + 0x100, frame, sizeof(frame));
	add_memory(scene, 0x40000, heap, sizeof(heap));
	expect(scene, "r: 5, o: 6, h: <not on the stack, so it may have been moved>");
	assert_string_equal(scene_show(scene, VALUE_TEXT, false),
			    "r: 5, o: <set when it returns>, h: <set when it returns>");
}

UNIT_TEST(spelled_structs)
{
	static const struct {
		enum value_well_known which;
		uint32_t size;
		uint64_t words[2];
		const char *text;
	} cases[] = {
		{ VALUE_DATE_TIME, 8, { 638448479991234567 }, "2024-02-29T23:59:59.1234567" },
		{ VALUE_DATE_TIME, 8, { 0x4000000000000000 }, "0001-01-01T00:00:00Z" },
		{ VALUE_DATE_TIME, 8, { 3155378112000000000 }, "9999-12-31T00:00:00" },
		{ VALUE_TIME_SPAN, 8, { (uint64_t)-900000000001 }, "-1.01:00:00.0000001" },
		{ VALUE_TIME_SPAN, 8, { 1ULL << 63 }, "-10675199.02:48:05.4775808" },
		{ VALUE_DATE_TIME_OFFSET,
		  16,
		  { 0x7777ff10, 621355968000000000 },
		  "1969-12-31T20:00:00-04:00" },
		{ VALUE_GUID,
		  16,
		  { 0x6677445500112233, 0xffeeddccbbaa9988 },
		  "00112233-4455-6677-8899-aabbccddeeff" },
		{ VALUE_DECIMAL, 16, { 0x80030000, 5 }, "-0.005" },
		{ VALUE_DECIMAL,
		  16,
		  { 0xffffffff00000000, UINT64_MAX },
		  "79228162514264337593543950335" },
		{ VALUE_INT128, 16, { 0, 1ULL << 63 }, "-170141183460469231731687303715884105728" },
		{ VALUE_UINT128,
		  16,
		  { UINT64_MAX, UINT64_MAX },
		  "340282366920938463463374607431768211455" },
		/* None that there is. */
		{ VALUE_DATE_TIME, 8, { 3155378976000000000 }, "X{}" },
		{ VALUE_DECIMAL, 16, { 0x001d0000, 5 }, "X{}" },
		{ VALUE_DATE_TIME_OFFSET, 16, { 0x7fff, 0 }, "X{}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(scene_free_at) struct scene *scene = scene_new();
		struct value_type *type = type_of(scene, VALUE_STRUCT, "X", cases[i].size);
		struct value_slot *slot = add_slot(scene, "x", type, VALUE_IN_REGISTER, 0);

		type->well_known = cases[i].which;
		if (cases[i].size > 8)
			add_part(slot, VALUE_IN_REGISTER, 1);
		memcpy(scene->machine.arguments, cases[i].words, sizeof(cases[i].words));
		assert_string_equal(scene_show(scene, VALUE_TEXT, true) + strlen("x: "),
				    cases[i].text);
	}
}

UNIT_TEST(nullables_and_tuples)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *number = type_of(scene, VALUE_SIGNED, "int", 4);
	struct value_type *nullable = type_of(scene, VALUE_STRUCT, "int?", 8);
	struct value_type *tuple = type_of(scene, VALUE_STRUCT, "(int, int)", 8);

	nullable->well_known = VALUE_NULLABLE;
	add_field(scene, nullable, "hasValue", type_of(scene, VALUE_BOOL, "bool", 1), 0);
	add_field(scene, nullable, "value", number, 4);
	tuple->well_known = VALUE_TUPLE;
	add_field(scene, tuple, "Item1", number, 4);
	add_field(scene, tuple, "Item2", number, 0);
	add_slot(scene, "a", nullable, VALUE_IN_REGISTER, 0);
	add_slot(scene, "b", nullable, VALUE_IN_REGISTER, 1);
	add_slot(scene, "c", tuple, VALUE_IN_REGISTER, 2);
	scene->machine.arguments[0] = 0x0000000587551e01;
	scene->machine.arguments[1] = 0x0000000087551e00;
	scene->machine.arguments[2] = 0x0000000200000001;
	expect(scene, "a: 5, b: null, c: (2, 1)");
	assert_string_equal(strchr(scene_show(scene, VALUE_JSON, true), '}'),
			    "},{\"name\":\"b\",\"type\":\"int?\",\"value\":null},"
			    "{\"name\":\"c\",\"type\":\"(int, int)\",\"fields\":["
			    "{\"name\":\"Item1\",\"type\":\"int\",\"value\":2},"
			    "{\"name\":\"Item2\",\"type\":\"int\",\"value\":1}]}]");
}

UNIT_MAIN(NULL, NULL)
