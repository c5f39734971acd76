// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include "base/text.h"

UNIT_TEST(test_nothing_is_a_string)
{
	_cleanup_(text_deinit) struct text t = { 0 };

	assert_string_equal(text_chars(&t), "");
	text_clear(&t);
	text_cut(&t, 5);
	assert_true(text_ok(&t));
}

UNIT_TEST(test_parts_are_put_together)
{
	struct text t = { 0 };

	text_add(&t, "Type");
	text_add_char(&t, '[');
	text_add_bytes(&t, "Intxyz", 3);
	text_printf(&t, "%d]%s", 32, "");
	assert_string_equal(text_chars(&t), "Type[Int32]");
	assert_int_equal(t.length, strlen("Type[Int32]"));
	text_cut(&t, 4);
	assert_string_equal(text_chars(&t), "Type");
	text_add(&t, "");
	assert_int_equal(t.length, 4);
	text_clear(&t);
	assert_string_equal(text_chars(&t), "");
	text_deinit(&t);
	assert_null(t.chars);
}

UNIT_TEST(test_it_grows)
{
	enum { PARTS = 5000 };
	_cleanup_(text_deinit) struct text t = { 0 };

	for (int i = 0; i < PARTS; i++)
		text_printf(&t, "%04d,", i);
	assert_true(text_ok(&t));
	assert_int_equal(t.length, PARTS * 5);
	assert_memory_equal(text_chars(&t) + (PARTS - 1) * 5, "4999,", 6);
}

UNIT_TEST(test_failure_sticks_until_cleared)
{
	_cleanup_(text_deinit) struct text t = { .failed = true };

	text_add(&t, "lost");
	text_printf(&t, "%d", 1);
	assert_false(text_ok(&t));
	assert_string_equal(text_chars(&t), "");
	text_clear(&t);
	text_add(&t, "kept");
	assert_true(text_ok(&t));
	assert_string_equal(text_chars(&t), "kept");
}

/* Terminals take U+009B, which is C2 9B, for the beginning of a command, as they do ESC [. */
UNIT_TEST(test_nothing_commands_a_terminal)
{
	_cleanup_(text_deinit) struct text t = { 0 };

	text_add(&t, "\n");
	text_add_printable(&t, "\033[31mA\177B\xc2\x9b"
			       "31mC\xc2\xa7\xc3\x9b\xc2");
	assert_string_equal(text_chars(&t), "\n?[31mA?B??31mC\xc2\xa7\xc3\x9b\xc2");
}

UNIT_MAIN(NULL, NULL)
