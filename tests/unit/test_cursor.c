// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/golden.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b', 0, 'c' };
static const struct span all = { bytes, sizeof(bytes) };

UNIT_TEST(test_numbers_are_little_endian)
{
	struct cursor c = cursor_over(all);

	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u16(&c), 0x0302);
	assert_int_equal(cursor_u32(&c), 0x07060504);
	assert_int_equal(cursor_offset(&c), 7);
	assert_true(cursor_ok(&c));
	c = cursor_at(&c, 0);
	assert_true(cursor_u64(&c) == 0x0807060504030201);
}

UNIT_TEST(test_reading_past_the_end_sticks)
{
	struct cursor c = cursor_over(all);

	c = cursor_at(&c, sizeof(bytes) - 3);
	assert_int_equal(cursor_u32(&c), 0);
	assert_false(cursor_ok(&c));
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_null(cursor_take(&c, 1).start);
	assert_null(cursor_string(&c));
	c = cursor_at(&c, 2);
	assert_int_equal(cursor_u8(&c), 3);
}

UNIT_TEST(test_positions)
{
	struct cursor c = cursor_over(all);
	struct cursor end = cursor_at(&c, sizeof(bytes));

	assert_true(cursor_ok(&end));
	assert_int_equal(cursor_left(&end), 0);
	end = cursor_at(&c, sizeof(bytes) + 1);
	assert_false(cursor_ok(&end));
	end = cursor_at(&c, SIZE_MAX);
	assert_false(cursor_ok(&end));
	cursor_skip(&c, SIZE_MAX);
	assert_false(cursor_ok(&c));
}

UNIT_TEST(test_strings_need_their_nul)
{
	struct cursor c = cursor_over(all);

	c = cursor_at(&c, 8);
	assert_string_equal(cursor_string(&c), "ab");
	assert_int_equal(cursor_offset(&c), 11);
	assert_null(cursor_string(&c));
	assert_false(cursor_ok(&c));
}

UNIT_TEST(test_parts)
{
	struct span part = span_part(all, 8, 4);

	assert_ptr_equal(part.start, bytes + 8);
	assert_int_equal(part.size, 4);
	assert_non_null(span_part(all, sizeof(bytes), 0).start);
	assert_null(span_part(all, sizeof(bytes), 1).start);
	assert_null(span_part(all, UINT64_MAX, 2).start);
	assert_null(span_part(all, 2, UINT64_MAX).start);
}

UNIT_TEST(test_nothing)
{
	struct span none = { 0 };
	struct cursor c = cursor_over(none);

	assert_false(cursor_ok(&c));
	assert_int_equal(cursor_u64(&c), 0);
	assert_null(cursor_take(&c, 0).start);
	assert_null(span_part(none, 0, 0).start);
	c = cursor_at(&c, 0);
	assert_false(cursor_ok(&c));
}

UNIT_MAIN(NULL, NULL)
