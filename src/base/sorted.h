/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists and trees of things that begin with the number, 64 bits wide, that they are sorted by. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t leading_number(const void *item)
{
	uint64_t number;

	memcpy(&number, item, sizeof(number));
	return number;
}

/* For qsort(), bsearch() and <search.h>. */
static inline int by_leading_number(const void *left, const void *right)
{
	uint64_t a = leading_number(left), b = leading_number(right);

	return a < b ? -1 : a > b;
}

/* How many of the @count items, of @size bytes each, have a number that is not above @number. */
static inline size_t sorted_up_to(const void *items, size_t count, size_t size, uint64_t number)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (leading_number((const char *)items + middle * size) <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
