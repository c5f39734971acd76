// SPDX-License-Identifier: GPL-2.0-or-later
/* What is not shown, what there is no room for, hostile bytes: redaction and bounds. */
#include <uchar.h>

#include "tests/unit/value_fixture.h"

static bool is_secret(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "secret") == 0;
}

static const uint8_t secret_chars[] = { 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 'q', 0, 'z', 0 };

UNIT_TEST(what_is_redacted_is_not_even_read)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *string = type_of(scene, VALUE_STRING, "string", 8);
	struct value_type *pair = type_of(scene, VALUE_STRUCT, "Pair", 16);
	struct value_slot *slot;
	size_t reads;

	add_field(scene, pair, "secret", string, 0);
	add_field(scene, pair, "id", type_of(scene, VALUE_SIGNED, "long", 8), 8);
	add_slot(scene, "secret", string, VALUE_IN_REGISTER, 0);
	slot = add_slot(scene, "p", pair, VALUE_IN_REGISTER, 1);
	add_part(slot, VALUE_IN_REGISTER, 2);
	scene->machine.arguments[0] = scene->machine.arguments[1] = 0x10000;
	scene->machine.arguments[2] = 5;
	add_memory(scene, 0x10000, secret_chars, sizeof(secret_chars));
	assert_string_equal(scene_show(scene, VALUE_TEXT, true),
			    "secret: \"qz\", p: Pair{secret: \"qz\", id: 5}");
	reads = scene->machine.reads;
	scene->options.redacts = is_secret;
	assert_string_equal(scene_show(scene, VALUE_TEXT, true),
			    "secret: <redacted>, p: Pair{secret: <redacted>, id: 5}");
	assert_int_equal(scene->machine.reads, reads);
	assert_null(strstr(scene_show(scene, VALUE_JSON, true), "qz"));
}

UNIT_TEST(what_a_program_has_no_room_for_is_left_out)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	const struct value_type *string = type_of(scene, VALUE_STRING, "string", 8);
	uint64_t stack[ARGUMENTS + 1];
	size_t shown = 0, left_out = 0, count;

	for (uint32_t i = 0; i < ARGUMENTS; i++) {
		add_slot(scene, "s", string, VALUE_ON_STACK, 8 + 8 * i);
		stack[1 + i] = 0x10000;
	}
	add_memory(scene, scene->machine.sp, stack, sizeof(stack));
	add_memory(scene, 0x10000, secret_chars, sizeof(secret_chars));
	scene_show(scene, VALUE_TEXT, true);
	value_watch_entry(scene->watch, &count);
	assert_in_range(count, 2, WATCH_OPS);
	for (const char *at = text_chars(&scene->out); (at = strstr(at, "s: ")); at += 3) {
		shown += strncmp(at + 3, "\"qz\"", 4) == 0;
		left_out += strncmp(at + 3, "...", 3) == 0;
	}
	assert_int_equal(shown + left_out, ARGUMENTS);
	assert_true(shown > 5 && left_out > 5);
}

UNIT_TEST(what_the_items_have_no_room_for_is_left_out)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();

	add_slot(scene, "a", type_of(scene, VALUE_SIGNED, "int", 4), VALUE_IN_REGISTER, 0);
	add_slot(scene, "s", type_of(scene, VALUE_STRING, "string", 8), VALUE_IN_REGISTER, 1);
	scene->machine.arguments[1] = 0x10000;
	add_memory(scene, 0x10000, secret_chars, sizeof(secret_chars));
	scene->machine.room = 64;
	assert_string_equal(scene_show(scene, VALUE_TEXT, true), "a: 0, s: ...");
	scene->machine.room = 16;
	assert_string_equal(scene_show(scene, VALUE_TEXT, true), "a: ..., s: ...");
}

UNIT_TEST(what_is_unknown_says_why)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_slot *slot =
		add_slot(scene, "v", value_types_unknown(scene->types, "V", 0, "a \"thing\"\x1b"),
			 VALUE_IN_REGISTER, 0);

	slot->part_count = 0;
	assert_string_equal(scene_show(scene, VALUE_TEXT, true),
			    "v: <unsupported: a \\\"thing\\\"\\u001b>");
	scene->signature.why = "no metadata";
	assert_string_equal(scene_show(scene, VALUE_TEXT, true), "<no metadata>");
	assert_string_equal(scene_show(scene, VALUE_JSON, true), "[]");
}

UNIT_TEST(names_are_the_targets_words)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_type *type = type_of(scene, VALUE_STRUCT, "S\x1b\xff\n", 8);

	add_field(scene, type, "f\x07\"", type_of(scene, VALUE_SIGNED, "int", 4), 0);
	add_slot(scene, "p\xc2\x9b", type, VALUE_IN_REGISTER, 0);
	assert_string_equal(scene_show(scene, VALUE_TEXT, true),
			    "p\\u009b: S\\u001b\\ufffd\\n{f\\u0007\\\": 0}");
}

/* All that programs make, with bytes changed and cut anywhere. */
UNIT_TEST(items_are_hostile)
{
	_cleanup_(scene_free_at) struct scene *scene = scene_new();
	struct value_type *object = type_of(scene, VALUE_OBJECT, "O", 8);
	uint64_t bytes[8] = { 0x5000, 0x10000, 3 }, table[1] = { 48ULL << 32 };
	struct value_call call = { .exited = true };
	uint32_t random = 1;

	add_field(scene, object, "s", type_of(scene, VALUE_STRING, "string", 8), 0);
	add_field(scene, object, "a", type_over(scene, VALUE_ARRAY, "O[]", object), 0);
	add_slot(scene, "o", object, VALUE_IN_REGISTER, 0);
	scene->machine.arguments[0] = 0x10000;
	add_memory(scene, 0x10000, bytes, sizeof(bytes));
	add_memory(scene, 0x5000, table, sizeof(table));
	scene_show(scene, VALUE_TEXT, true);
	assert_true(scene->machine.used[0] > 64);
	for (unsigned int i = 0; i < 20000; i++) {
		uint8_t *items = scene->machine.items[0];
		size_t used = scene->machine.used[0], at;

		random = random * 1664525 + 1013904223;
		at = (random >> 8) % used;
		items[at] ^= (uint8_t)(random >> 24);
		call.entry = (struct value_items){ items, used - (random >> 16) % 8 };
		text_clear(&scene->out);
		value_add_arguments(scene->watch, &call, &scene->lookup,
				    i % 2 ? VALUE_TEXT : VALUE_JSON, &scene->out);
		assert_in_range(scene->out.length, 1, 65536);
		if (i % 16 == 0)
			scene_show(scene, VALUE_TEXT, true);
	}
}

UNIT_MAIN(NULL, NULL)
