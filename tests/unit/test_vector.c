// SPDX-License-Identifier: GPL-2.0-or-later
/* vector.h: room is made by doubling, the array keeps its items, and failure changes nothing. */
#include "tests/unit/unit.h"

#include <stdint.h>

#include "base/vector.h"

UNIT_TEST(test_grows)
{
	uint32_t *items = NULL;
	size_t capacity = 0, moves = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		size_t before = capacity;

		assert_true(vector_reserve(&items, &capacity, i + 1));
		assert_true(capacity > i);
		moves += capacity != before;
		items[i] = i;
	}
	assert_true(moves <= 8);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

UNIT_TEST(test_at_once)
{
	uint64_t *items = NULL;
	size_t capacity = 0;

	assert_true(vector_reserve(&items, &capacity, 1000));
	assert_true(capacity >= 1000);
	memset(items, 1, 1000 * sizeof(*items));
	/* There is room already. */
	assert_true(vector_reserve(&items, &capacity, 0));
	assert_true(vector_reserve(&items, &capacity, capacity));
	free(items);
}

UNIT_TEST(test_no_memory)
{
	static const size_t counts[] = { SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 8 + 1 };
	uint64_t *items = NULL, *before;
	size_t capacity = 0, room;

	assert_true(vector_reserve(&items, &capacity, 1));
	assert_non_null(items);
	if (!items)
		return;
	items[0] = 7;
	before = items;
	room = capacity;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		assert_false(vector_reserve(&items, &capacity, counts[i]));
		assert_ptr_equal(items, before);
		assert_int_equal(capacity, room);
		assert_int_equal(items[0], 7);
	}
	free(items);
}

UNIT_MAIN(NULL, NULL)
