// SPDX-License-Identifier: GPL-2.0-or-later
/* Text and JSON of the exception that has left a call, from what the programs bring of it. */
#include "base/cleanup.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <uchar.h>

#include "base/text.h"
#include "bpf/thrown.h"
#include "value/value.h"

enum { TYPE = 0x1000, OTHER_TYPE = 0x2000, ALL = 1000 };

struct brought {
	struct watch_item item;
	struct thrown thrown;
};

static const struct value_type type = { .kind = VALUE_OBJECT, .name = "App.NoStock" };

static const struct value_type *object_type(void *ctx, uint64_t handle)
{
	(void)ctx;
	return handle == TYPE ? &type : NULL;
}

static struct brought bring(const char16_t *message, uint32_t chars)
{
	struct brought brought = {
		.item = { .slot = THROWN_SLOT, .bytes = sizeof(struct thrown) },
	};

	for (int i = 0; i < THROWN_READINGS; i++) {
		struct thrown_reading *reading = &brought.thrown.readings[i];

		reading->type = TYPE;
		reading->status = message ? THROWN_MESSAGE : THROWN_NO_MESSAGE;
		reading->chars = chars;
		if (message)
			memcpy(reading->message, message, 2 * (size_t)(chars < 240 ? chars : 240));
	}
	return brought;
}

static const char *show(const struct brought *brought, uint32_t string_bytes,
			enum value_format format, struct text *out)
{
	const struct value_items items = { brought, sizeof(*brought) };
	const struct value_lookup lookup = { .object_type = object_type };

	text_clear(out);
	return value_add_thrown(&items, &lookup, string_bytes, format, out);
}

static void expect(const struct brought *brought, uint32_t string_bytes, const char *text,
		   const char *json)
{
	_cleanup_(text_deinit) struct text out = { 0 };

	assert_null(show(brought, string_bytes, VALUE_TEXT, &out));
	assert_string_equal(text_chars(&out), text);
	assert_null(show(brought, string_bytes, VALUE_JSON, &out));
	assert_string_equal(text_chars(&out), json);
}

static void expect_unknown(const struct brought *brought, const char *why)
{
	_cleanup_(text_deinit) struct text out = { 0 };
	const char *said = show(brought, ALL, VALUE_TEXT, &out);

	assert_non_null(said);
	assert_non_null(strstr(said, why));
	assert_int_equal(out.length, 0);
}

UNIT_TEST(type_and_message)
{
	struct brought brought = bring(u"no \"stock\"\n", 11);

	expect(&brought, ALL, "App.NoStock: \"no \\\"stock\\\"\\n\"",
	       "{\"type\":\"App.NoStock\",\"message\":\"no \\\"stock\\\"\\n\"}");
	expect(&brought, 0, "App.NoStock", "{\"type\":\"App.NoStock\",\"message\":null}");
	brought = bring(u"", 0);
	expect(&brought, ALL, "App.NoStock: \"\"", "{\"type\":\"App.NoStock\",\"message\":\"\"}");
	brought = bring(NULL, 0);
	expect(&brought, ALL, "App.NoStock", "{\"type\":\"App.NoStock\",\"message\":null}");
}

UNIT_TEST(a_message_that_is_cut)
{
	char16_t chars[240];
	struct brought brought = bring(u"ab\xd83d\xdc7f", 4);

	expect(&brought, 4, "App.NoStock: \"ab\"…",
	       "{\"type\":\"App.NoStock\",\"message\":\"ab\",\"length\":4,\"cut\":true}");
	/* Not between the halves of a character. */
	expect(&brought, 6, "App.NoStock: \"ab\"…",
	       "{\"type\":\"App.NoStock\",\"message\":\"ab\",\"length\":4,\"cut\":true}");
	expect(&brought, 8, "App.NoStock: \"ab👿\"",
	       "{\"type\":\"App.NoStock\",\"message\":\"ab👿\"}");
	/* Longer than there can be, by far. */
	for (size_t i = 0; i < 240; i++)
		chars[i] = u'y';
	brought = bring(chars, UINT32_MAX);
	expect(&brought, 6, "App.NoStock: \"yyy\"…",
	       "{\"type\":\"App.NoStock\",\"message\":\"yyy\",\"length\":4294967295,\"cut\":true}");
}

UNIT_TEST(a_message_that_is_not_in_memory)
{
	struct brought brought = bring(NULL, 0);

	brought.thrown.readings[0].status = brought.thrown.readings[1].status = THROWN_FAULT;
	expect(&brought, ALL, "App.NoStock: <not in memory>",
	       "{\"type\":\"App.NoStock\",\"message\":null,\"unavailable\":\"not in memory\"}");
}

/* One of the readings, or both, may have been made while objects were moved. */
UNIT_TEST(readings_must_agree)
{
	struct brought right = bring(u"abc", 3), brought = right;
	_cleanup_(text_deinit) struct text out = { 0 };

	brought.thrown.readings[1].message[4] = 'd';
	expect_unknown(&brought, "not read twice");
	brought = right;
	brought.thrown.readings[0].chars = 2;
	expect_unknown(&brought, "not read twice");
	brought = right;
	brought.thrown.readings[0].type = OTHER_TYPE;
	expect_unknown(&brought, "not read twice");
	brought = right;
	brought.thrown.readings[1].status = THROWN_NOT_READ;
	expect_unknown(&brought, "not read twice");
	brought.thrown.readings[0].status = THROWN_NOT_READ;
	expect_unknown(&brought, "not read twice");
	/* What is behind the message is of no account. */
	brought = right;
	brought.thrown.readings[1].message[6] = 'z';
	assert_null(show(&brought, ALL, VALUE_TEXT, &out));
}

/* TYPE derives from OTHER_TYPE, which derives from nothing. */
static const struct value_type *one_of_two(void *ctx, uint64_t handle)
{
	static const struct value_type other = { .kind = VALUE_OBJECT, .name = "System.Odd" };

	return handle == OTHER_TYPE ? &other : object_type(ctx, handle);
}

static bool base_type(void *ctx, uint64_t handle, uint64_t *base)
{
	const uint64_t *of_other = ctx;

	*base = handle == TYPE ? OTHER_TYPE : *of_other;
	return handle == TYPE || *of_other != UINT64_MAX;
}

UNIT_TEST(types_that_are_asked_for)
{
	static const char *const names[] = { "App.NoStock", "NoStock", "System.Odd", "Stock" };
	struct brought brought = bring(u"abc", 3);
	uint64_t base = 0;
	const struct value_lookup lookup = {
		.object_type = one_of_two,
		.base_type = base_type,
		.ctx = &base,
	};
	const struct value_items items = { &brought, sizeof(brought) };

	assert_int_equal(value_thrown_types(&items, &lookup, names, 4), 7);
	assert_int_equal(value_thrown_types(&items, &lookup, names + 3, 1), 0);
	for (int i = 0; i < THROWN_READINGS; i++)
		brought.thrown.readings[i].type = OTHER_TYPE;
	assert_int_equal(value_thrown_types(&items, &lookup, names, 4), 4);
	/* What is not known in the end is not told, nor what goes round. */
	base = UINT64_MAX;
	assert_int_equal(value_thrown_types(&items, &lookup, names, 4), -1);
	base = 0x3000;
	assert_int_equal(value_thrown_types(&items, &lookup, names, 4), -1);
	base = OTHER_TYPE;
	assert_int_equal(value_thrown_types(&items, &lookup, names, 4), -1);
	brought.thrown.readings[1].type = TYPE;
	base = 0;
	assert_int_equal(value_thrown_types(&items, &lookup, names, 4), -1);
}

UNIT_TEST(what_is_none)
{
	struct brought right = bring(u"abc", 3), brought = right;
	const struct value_lookup lookup = { .object_type = object_type };
	struct value_items items = { &right, 0 };
	_cleanup_(text_deinit) struct text out = { 0 };

	brought.thrown.readings[0].type = brought.thrown.readings[1].type = OTHER_TYPE;
	expect_unknown(&brought, "type");
	brought = right;
	brought.item.slot = 3;
	expect_unknown(&brought, "not seen");
	brought = right;
	brought.item.bytes = 8;
	expect_unknown(&brought, "not seen");
	for (; items.size < sizeof(right); items.size++)
		assert_non_null(value_add_thrown(&items, &lookup, ALL, VALUE_TEXT, &out));
	assert_int_equal(out.length, 0);
	items.bytes = NULL;
	assert_non_null(value_add_thrown(&items, &lookup, ALL, VALUE_TEXT, &out));
}

int main(void)
{
	return unit_run(NULL, NULL);
}
