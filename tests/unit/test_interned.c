// SPDX-License-Identifier: GPL-2.0-or-later
/* Byte strings that are known by numbers, and the room that they are given. */
#include "base/cleanup.h"
#include "unit.h"

#include <string.h>

#include "output/interned.h"

UNIT_TEST(same_bytes_same_number)
{
	_cleanup_(interned_deinit) struct interned interned = { 0 };
	size_t room = 1 << 20;

	assert_int_equal(interned_add(&interned, "a", 1, &room), 0);
	assert_int_equal(interned_add(&interned, "a\0b", 3, &room), 1);
	assert_int_equal(interned_add(&interned, "", 0, &room), 2);
	assert_int_equal(interned_add(&interned, "a\0c", 3, &room), 3);
	assert_int_equal(interned_add(&interned, "a\0b", 3, &room), 1);
	assert_int_equal(interned_add(&interned, "a", 1, &room), 0);
	assert_int_equal(interned_add(&interned, "", 0, &room), 2);
	assert_int_equal(interned.count, 4);
	assert_int_equal(interned.items[1].length, 3);
	assert_memory_equal(interned.items[1].bytes, "a\0b\0", 4);
}

/* Many times as many as its table begins with. */
UNIT_TEST(many)
{
	enum { MANY = 100000 };
	_cleanup_(interned_deinit) struct interned interned = { 0 };
	size_t room = SIZE_MAX;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(interned_add(&interned, &i, sizeof(i), &room), i);
	}
	assert_int_equal(interned.count, MANY);
}

/* Each has a row, and there is room for both or for none. */
UNIT_TEST(rows)
{
	enum { MANY = 1000, ROW_BYTES = 3 * sizeof(uint64_t) };
	struct interned interned = { 0 };
	size_t room = SIZE_MAX, some = ROW_BYTES;

	for (uint64_t round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < MANY; i++) {
			uint64_t *row = interned_row(&interned, &i, sizeof(i), ROW_BYTES, &room);

			assert_non_null(row);
			assert_ptr_equal(row, (char *)interned.rows + i * ROW_BYTES);
			assert_int_equal(row[2], round * i);
			row[2] += i;
		}
	}
	assert_null(interned_row(&interned, "new", 3, ROW_BYTES, &some));
	assert_int_equal(some, ROW_BYTES);
	assert_int_equal(interned.count, MANY);
	interned_deinit(&interned);
}

/* What is known needs no room; what is new takes more of it than its bytes. */
UNIT_TEST(room)
{
	_cleanup_(interned_deinit) struct interned interned = { 0 };
	size_t room = 200, before;
	uint32_t count = 0;

	while (interned_add(&interned, &count, sizeof(count), &room) != INTERNED_NONE)
		count++;
	assert_in_range(count, 2, 200 / sizeof(struct interned_item));
	before = room;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(interned_add(&interned, &i, sizeof(i), &room), i);
	assert_int_equal(interned_add(&interned, &count, sizeof(count), &room), INTERNED_NONE);
	assert_int_equal(room, before);
	assert_false(interned_take(&room, room + 1));
	assert_true(interned_take(&room, room));
	assert_int_equal(room, 0);
}

UNIT_MAIN(NULL, NULL)
