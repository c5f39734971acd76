// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where .NET's calling convention has arguments, against what was measured with a debugger at the
 * first instruction of methods of .NET 8, 9 and 10; and names of types as C# has them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "runtime/dotnet/places.h"
#include "runtime/dotnet/type_spelling.h"
#include "tests/unit/unit.h"

static struct value_types *types;

static int set_up(void **state)
{
	(void)state;
	types = value_types_create();
	return types ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	value_types_destroy(types);
	return 0;
}

/*
 * A type out of letters: i int, l long, f float, d double, s string, b byte; in braces a struct of
 * them, each at its alignment.
 */
static const struct value_type *type_of(const char **at)
{
	static const struct {
		char letter;
		enum value_kind kind;
		uint32_t size;
	} scalars[] = {
		{ 'i', VALUE_SIGNED, 4 }, { 'l', VALUE_SIGNED, 8 }, { 'f', VALUE_FLOAT, 4 },
		{ 'd', VALUE_FLOAT, 8 },  { 's', VALUE_STRING, 8 }, { 'b', VALUE_UNSIGNED, 1 },
	};
	struct value_field *fields;
	struct value_type *type;
	uint32_t offset = 0, alignment = 1;

	for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
		if (**at == scalars[i].letter) {
			(*at)++;
			return value_types_add(types, scalars[i].kind, "x", scalars[i].size);
		}
	}
	assert_int_equal(*(*at)++, '{');
	fields = value_types_take(types, 16 * sizeof(*fields));
	type = value_types_add(types, VALUE_STRUCT, "S", 0);
	type->fields = fields;
	while (**at != '}') {
		const struct value_type *of = type_of(at);
		uint32_t aligned = of->kind == VALUE_STRUCT ? 8 : of->size;

		alignment = aligned > alignment ? aligned : alignment;
		offset = (offset + aligned - 1) / aligned * aligned;
		fields[type->field_count++] = (struct value_field){ "f", of, offset };
		offset += of->size;
	}
	(*at)++;
	type->size = offset ? (offset + alignment - 1) / alignment * alignment : 1;
	return type;
}

static void add_parts(struct text *out, const struct value_slot *slot)
{
	static const char *const where[] = { "i", "x", "s", "b" };

	for (size_t i = 0; i < slot->part_count; i++)
		text_printf(out, "%s%s%u", i ? "+" : "", where[slot->parts[i].where],
			    slot->parts[i].number);
}

/* The places of arguments: "i0 x0 s8". */
static void expect_places(const char *arguments, const char *expected, bool empty_on_stack)
{
	struct places places = places_begin(empty_on_stack);
	_cleanup_(text_deinit) struct text out = { 0 };

	for (const char *at = arguments; *at;) {
		struct value_slot slot = { .type = type_of(&at) };

		assert_true(places_take(&places, &slot));
		if (out.length)
			text_add_char(&out, ' ');
		add_parts(&out, &slot);
	}
	assert_string_equal(text_chars(&out), expected);
}

UNIT_TEST(arguments)
{
	static const struct {
		const char *arguments;
		const char *places;
	} cases[] = {
		{ "idlfs", "i0 x0 i1 x1 i2" },
		{ "iiiiiiibi", "i0 i1 i2 i3 i4 i5 s8 s16 s24" },
		{ "ddddddddddi", "x0 x1 x2 x3 x4 x5 x6 x7 s8 s16 i0" },
		{ "{ii}{ff}{if}{f}", "i0 x0 i1 x1" },
		{ "{iii}{fff}{ffi}", "i0+i1 x0+x1 x2+i2" },
		{ "{ll}{ld}{dl}{dd}{id}", "i0+i1 i2+x0 x1+i3 x2+x3 i4+x4" },
		{ "i{lll}{llb}i", "i0 s8 s32 i1" },
		{ "{si}{ss}", "i0+i1 i2+i3" },
		/* The registers that it does not take are for what follows. */
		{ "iiiii{ll}ii", "i0 i1 i2 i3 i4 s8 i5 s24" },
		{ "ddddddd{dd}di", "x0 x1 x2 x3 x4 x5 x6 s8 x7 i0" },
		{ "i{{ii}{dd}}i", "i0 s8 i1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_places(cases[i].arguments, cases[i].places, false);
}

UNIT_TEST(a_struct_without_fields)
{
	expect_places("i{}i", "i0 i1 i2", false);
	expect_places("i{}i", "i0 s8 i1", true);
}

UNIT_TEST(results)
{
	static const struct {
		const char *type;
		const char *place;
	} cases[] = {
		{ "i", "i0" },	     { "d", "x0" },	   { "{ff}", "x0" },
		{ "{if}", "i0" },    { "{iii}", "i0+i1" }, { "{ld}", "i0+x0" },
		{ "{dl}", "x0+i0" }, { "{dd}", "x0+x1" },  { "{lll}", "b0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct places places = places_begin(false);
		const char *at = cases[i].type;
		struct value_slot slot = { .type = type_of(&at) };
		_cleanup_(text_deinit) struct text out = { 0 };

		assert_true(places_of_result(&places, &slot));
		add_parts(&out, &slot);
		assert_string_equal(text_chars(&out), cases[i].place);
		assert_int_equal(places_in_buffer(&places, slot.type), cases[i].place[0] == 'b');
	}
}

UNIT_TEST(what_stands_behind_an_unknown_type_is_lost)
{
	struct places places = places_begin(false);
	struct value_slot slot = { .type = value_types_unknown(types, "S", 0, "why") };
	const char *at = "i";

	assert_false(places_take(&places, &slot));
	slot.type = type_of(&at);
	assert_false(places_take(&places, &slot));
	assert_int_equal(slot.part_count, 0);
}

UNIT_TEST(types_are_spelled_as_in_csharp)
{
	static const char *const names[][2] = {
		{ "System.Int32", "int" },
		{ "System.String[]", "string[]" },
		{ "System.Int32[,]&", "int[,]&" },
		{ "System.Nullable`1[System.Int64]", "long?" },
		{ "System.Collections.Generic.Dictionary`2[System.String,System.Byte[]]",
		  "System.Collections.Generic.Dictionary<string, byte[]>" },
		{ "App.Outer`1+Inner`1[System.Char,App.X]", "App.Outer+Inner<char, App.X>" },
		{ "App.Box`1[App.Box`1[System.__Canon]][]", "App.Box<App.Box<object>>[]" },
		{ "System.Int32(*)(System.Int32)", "System.Int32(*)(System.Int32)" },
		/* Of nobody's language. */
		{ "]", "]" },
		{ "X[", "X[" },
		{ "[]", "[]" },
		{ "X`1[A", "X[A" },
		{ "X`1[,]", "X[,]" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(text_deinit) struct text out = { 0 };

		spelled_type_add_csharp(&out, names[i][0], strlen(names[i][0]));
		assert_string_equal(text_chars(&out), names[i][1]);
	}
}

UNIT_TEST(fields_are_named_as_in_the_source)
{
	static const char *const names[][2] = {
		{ "id", "id" },		 { "<Id>k__BackingField", "Id" }, { "<x>5__2", "x" },
		{ "<>4__this", "this" }, { "<>1__state", "<>1__state" },  { "<", "<" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(text_deinit) struct text out = { 0 };

		spelled_field_add(&out, names[i][0]);
		assert_string_equal(text_chars(&out), names[i][1]);
	}
}

UNIT_MAIN(set_up, tear_down)
