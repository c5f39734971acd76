// SPDX-License-Identifier: GPL-2.0-or-later
/* ReadyToRun's numbers, arrays and hash tables. */
#include "tests/unit/golden.h"

#include <errno.h>

#include "runtime/dotnet/native_format.h"
#include "base/error.h"

static struct cursor over(const uint8_t *bytes, size_t size)
{
	return cursor_over((struct span){ bytes, size });
}

UNIT_TEST(test_unsigned_numbers)
{
	static const uint8_t bytes[] = {
		0x18,			      /* 12, as the format's description has it */
		0xa1, 0x0f,		      /* 1000, likewise */
		0xfe,			      /* 127 */
		0xfb, 0xff, 0xff,	      /* 21 ones */
		0xf7, 0xff, 0xff, 0xff,	      /* 28 ones */
		0x0f, 0xff, 0xff, 0xff, 0xff, /* 32 ones */
		0xa1,			      /* cut off */
	};
	static const uint32_t numbers[] = { 12, 1000, 127, 0x1fffff, 0xfffffff, UINT32_MAX };
	struct cursor c = over(bytes, sizeof(bytes));

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(native_unsigned(&c), numbers[i]);
	assert_true(cursor_ok(&c));
	(void)native_unsigned(&c);
	assert_false(cursor_ok(&c));
}

UNIT_TEST(test_signed_numbers)
{
	static const uint8_t bytes[] = {
		0x18,			      /* 12 */
		0xfe,			      /* -1 */
		0xfd, 0xff,		      /* -1 */
		0x61, 0xf0,		      /* -1000 */
		0xfb, 0xff, 0xff,	      /* -1 */
		0xe7, 0xff, 0xff, 0xff,	      /* -2 */
		0x0f, 0x00, 0x00, 0x00, 0x80, /* INT32_MIN */
	};
	static const int32_t numbers[] = { 12, -1, -1, -1000, -1, -2, INT32_MIN };
	struct cursor c = over(bytes, sizeof(bytes));

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(native_signed(&c), numbers[i]);
	assert_true(cursor_ok(&c));
	assert_int_equal(cursor_left(&c), 0);
}

/* { 0: 0x11, 1: 0x22, 4: 0x33, 20: 0x44 } of 21, as images.native_array() writes it. */
static const uint8_t array_bytes[] = { 0xaa, 0x04, 0x00, 0x0c, 0x00, 0x42, 0x2e, 0x22,
				       0x16, 0x11, 0x22, 0x20, 0x33, 0x20, 0x44 };

UNIT_TEST(test_array)
{
	static const uint8_t expected[21] = { [0] = 0x11, [1] = 0x22, [4] = 0x33, [20] = 0x44 };
	struct native_array array;
	struct error err = { "" };

	assert_int_equal(native_array_init(&array, over(array_bytes, sizeof(array_bytes)), &err),
			 0);
	assert_int_equal(array.count, 21);
	assert_int_equal(array.index_bytes, 2);
	for (uint32_t i = 0; i < 30; i++) {
		bool there = i < sizeof(expected) && expected[i];
		struct cursor element;

		assert_int_equal(native_array_find(&array, i, &element, &err), there);
		if (there)
			assert_int_equal(cursor_u8(&element), expected[i]);
	}
}

UNIT_TEST(test_damaged_arrays)
{
	static const uint8_t wide[] = { 0x06 }; /* width 3: there is none */
	static const uint8_t outside[] = { 0x08, 0x80 };
	struct native_array array;
	struct cursor element;
	struct error err = { "" };

	assert_int_equal(native_array_init(&array, over(wide, sizeof(wide)), &err), -EBADMSG);
	assert_int_equal(native_array_init(&array, over(NULL, 0), &err), -EBADMSG);

	assert_int_equal(native_array_init(&array, over(outside, sizeof(outside)), &err), 0);
	assert_int_equal(native_array_find(&array, 0, &element, &err), -EBADMSG);
	assert_string_equal(err.text, "NativeArray block of index 0 is damaged");

	/* Every truncation: what is found must be inside, and nothing may crash. */
	for (size_t size = 0; size < sizeof(array_bytes); size++) {
		_cleanup_(golden_free) struct golden cut = golden_copy(array_bytes, size);

		if (native_array_init(&array, cursor_over(golden_span(&cut)), &err) == 0) {
			for (uint32_t i = 0; i < array.count; i++) {
				if (native_array_find(&array, i, &element, &err) == 1)
					assert_true(cursor_offset(&element) <= size);
			}
		}
	}
}

/* A count that the bytes cannot have is cut down, so that no walk over it is long. */
UNIT_TEST(test_a_boastful_array)
{
	static const uint8_t bytes[] = { 0x0f, 0xfc, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00 };
	struct native_array array;

	assert_int_equal(native_array_init(&array, over(bytes, sizeof(bytes)), NULL), 0);
	assert_int_equal(array.count, 64);
}

/* { 0x11, 0x33 } and { 0x22 } in two buckets, as images.native_hashtable() writes it. */
static const uint8_t table_bytes[] = { 0x05, 0x06, 0x00, 0x10, 0x00, 0x15, 0x00, 0x55, 0xe7,
				       0x00, 0x00, 0x00, 0x55, 0xa7, 0x00, 0x00, 0x00, 0x55,
				       0x67, 0x00, 0x00, 0x00, 0x11, 0x33, 0x22 };

UNIT_TEST(test_hashtable)
{
	static const uint8_t expected[] = { 0x11, 0x33, 0x22 };
	struct native_hashtable table;
	struct native_hashtable_walk walk;
	struct cursor element;

	assert_int_equal(
		native_hashtable_init(&table, over(table_bytes, sizeof(table_bytes)), NULL), 0);
	assert_int_equal(table.bucket_count, 2);
	native_hashtable_begin(&table, &walk);
	for (size_t i = 0; i < sizeof(expected); i++) {
		assert_int_equal(native_hashtable_next(&walk, &element), 1);
		assert_int_equal(cursor_u8(&element), expected[i]);
	}
	assert_int_equal(native_hashtable_next(&walk, &element), 0);
	assert_int_equal(native_hashtable_next(&walk, &element), 0);
}

/* How many elements a walk gives, and how it ends. */
static int count_elements(const uint8_t *bytes, size_t size, unsigned int *count)
{
	struct native_hashtable table;
	struct native_hashtable_walk walk;
	struct cursor element;
	int status = native_hashtable_init(&table, over(bytes, size), NULL);

	*count = 0;
	if (status < 0)
		return status;
	native_hashtable_begin(&table, &walk);
	while ((status = native_hashtable_next(&walk, &element)) > 0)
		++*count;
	assert_int_equal(native_hashtable_next(&walk, &element), 0);
	return status;
}

UNIT_TEST(test_damaged_hashtables)
{
	uint8_t bytes[sizeof(table_bytes)];
	unsigned int count;

	memcpy(bytes, table_bytes, sizeof(bytes));
	bytes[3] = 0x06; /* the second bucket begins where the first does: an empty first */
	assert_int_equal(count_elements(bytes, sizeof(bytes), &count), 0);
	assert_int_equal(count, 3);

	memcpy(bytes, table_bytes, sizeof(bytes));
	bytes[5] = 0x06; /* the second bucket ends before it begins */
	assert_int_equal(count_elements(bytes, sizeof(bytes), &count), -EBADMSG);
	assert_int_equal(count, 2);

	memcpy(bytes, table_bytes, sizeof(bytes));
	bytes[6] = 0x7f; /* the last bucket ends far outside */
	assert_int_equal(count_elements(bytes, sizeof(bytes), &count), -EBADMSG);

	for (size_t size = 0; size < sizeof(table_bytes); size++) {
		_cleanup_(golden_free) struct golden cut = golden_copy(table_bytes, size);

		(void)count_elements(cut.bytes, size, &count);
		assert_true(count <= size);
	}
}

UNIT_MAIN(NULL, NULL)
