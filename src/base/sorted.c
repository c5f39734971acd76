// SPDX-License-Identifier: GPL-2.0-or-later
/* Sorting very many places by digits of their numbers: for the functions of image/cfi.c. */
#include "base/sorted.h"

#include <stdlib.h>

#include "base/cleanup.h"

enum {
	DIGIT_BITS = 11,
	DIGITS = 1 << DIGIT_BITS,
};

/* By one digit, from @from to @to. */
static void sort_by_digit(const struct sorted_place *from, struct sorted_place *to, size_t count,
			  unsigned int shift)
{
	size_t ends[DIGITS] = { 0 }, before = 0;

	for (size_t i = 0; i < count; i++)
		ends[from[i].number >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		const size_t of_digit = ends[digit];

		ends[digit] = before;
		before += of_digit;
	}
	for (size_t i = 0; i < count; i++)
		to[ends[from[i].number >> shift & (DIGITS - 1)]++] = from[i];
}

/* The bits that not all numbers have the same; @in_order: they are sorted. */
static uint64_t different_bits(const struct sorted_place *places, size_t count, bool *in_order)
{
	uint64_t bits = 0;

	*in_order = true;
	for (size_t i = 1; i < count; i++) {
		bits |= places[i].number ^ places[0].number;
		*in_order &= places[i - 1].number <= places[i].number;
	}
	return bits;
}

bool sorted_places(struct sorted_place *places, size_t count)
{
	_cleanup_free_ struct sorted_place *other = NULL;
	struct sorted_place *from = places, *to;
	bool in_order;
	const uint64_t bits = different_bits(places, count, &in_order);

	if (in_order)
		return true;
	other = calloc(count, sizeof(*other));
	to = other;
	if (!other)
		return false;
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct sorted_place *sorted = to;

		if (!(bits >> shift & (DIGITS - 1)))
			continue;
		sort_by_digit(from, to, count, shift);
		to = from;
		from = sorted;
	}
	if (from != places)
		memcpy(places, from, count * sizeof(*places));
	return true;
}
