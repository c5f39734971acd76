// SPDX-License-Identifier: GPL-2.0-or-later
/* Sorting places by their numbers (base/sorted.h), against qsort(). */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "base/sorted.h"

enum { PLACES = 5000 };

/* Of the same number in the order that they had. */
static int by_number_and_place(const void *left, const void *right)
{
	const struct sorted_place *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* @mask: which bits the numbers have, so that few of them are alike or many. */
static void check(size_t count, uint64_t mask)
{
	static struct sorted_place places[PLACES], expected[PLACES];
	uint64_t number = 88172645463325252u;

	for (size_t i = 0; i < count; i++) {
		number ^= number << 13;
		number ^= number >> 7;
		number ^= number << 17;
		places[i] = expected[i] = (struct sorted_place){ number & mask, i };
	}
	qsort(expected, count, sizeof(expected[0]), by_number_and_place);
	assert_true(sorted_places(places, count));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(places[i].number, expected[i].number);
		assert_int_equal(places[i].at, expected[i].at);
	}
	/* What is in order stays as it is. */
	assert_true(sorted_places(places, count));
	assert_memory_equal(places, expected, count * sizeof(places[0]));
}

UNIT_TEST(test_as_qsort)
{
	const uint64_t masks[] = { 0, 1, 0xff, 0x7ff000, 0xffffffff, UINT64_MAX };

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		check(0, masks[i]);
		check(1, masks[i]);
		check(2, masks[i]);
		check(PLACES, masks[i]);
	}
}

UNIT_MAIN(NULL, NULL)
