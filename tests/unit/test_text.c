// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/golden.h"

#include "base/text.h"

static void test_nothing_is_a_string(void **state)
{
	struct text t = { 0 };

	(void)state;
	assert_string_equal(text_chars(&t), "");
	text_clear(&t);
	text_cut(&t, 5);
	assert_true(text_ok(&t));
	text_deinit(&t);
}

static void test_parts_are_put_together(void **state)
{
	struct text t = { 0 };

	(void)state;
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

static void test_it_grows(void **state)
{
	enum { PARTS = 5000 };
	struct text t = { 0 };

	(void)state;
	for (int i = 0; i < PARTS; i++)
		text_printf(&t, "%04d,", i);
	assert_true(text_ok(&t));
	assert_int_equal(t.length, PARTS * 5);
	assert_memory_equal(text_chars(&t) + (PARTS - 1) * 5, "4999,", 6);
	text_deinit(&t);
}

static void test_failure_sticks_until_cleared(void **state)
{
	struct text t = { .failed = true };

	(void)state;
	text_add(&t, "lost");
	text_printf(&t, "%d", 1);
	assert_false(text_ok(&t));
	assert_string_equal(text_chars(&t), "");
	text_clear(&t);
	text_add(&t, "kept");
	assert_true(text_ok(&t));
	assert_string_equal(text_chars(&t), "kept");
	text_deinit(&t);
}

/* Terminals take U+009B, which is C2 9B, for the beginning of a command, as they do ESC [. */
static void test_nothing_commands_a_terminal(void **state)
{
	struct text t = { 0 };

	(void)state;
	text_add(&t, "\n");
	text_add_printable(&t, "\033[31mA\177B\xc2\x9b"
			       "31mC\xc2\xa7\xc3\x9b\xc2");
	assert_string_equal(text_chars(&t), "\n?[31mA?B??31mC\xc2\xa7\xc3\x9b\xc2");
	text_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_a_string),
		cmocka_unit_test(test_parts_are_put_together),
		cmocka_unit_test(test_it_grows),
		cmocka_unit_test(test_failure_sticks_until_cleared),
		cmocka_unit_test(test_nothing_commands_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
