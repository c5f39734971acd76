/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists and trees of things that begin with the number, 64 bits wide, that they are sorted by. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stdbool.h>
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

/*
 * The first of the numbers @i below @count that @precedes, an expression of it, is not true of; it
 * is not true of those behind either. @count if there is none.
 */
#define sorted_first(count, i, precedes)                            \
	({                                                          \
		size_t low_ = 0, high_ = (count);                   \
		while (low_ < high_) {                              \
			size_t middle_ = low_ + (high_ - low_) / 2; \
			const size_t i = middle_;                   \
			if (precedes)                               \
				low_ = middle_ + 1;                 \
			else                                        \
				high_ = middle_;                    \
		}                                                   \
		low_;                                               \
	})

/* How many of the @count items, of @size bytes each, have a number that is not above @number. */
static inline size_t sorted_up_to(const void *items, size_t count, size_t size, uint64_t number)
{
	return sorted_first(count, i, leading_number((const char *)items + i * size) <= number);
}

/* Where the item with a number lies in a list that is not moved. */
struct sorted_place {
	uint64_t number;
	size_t at;
};

/*
 * Sort @count places by their numbers; of the same number they stay in their order. In time that
 * grows as @count does, unlike qsort(). False: no memory for it.
 */
bool sorted_places(struct sorted_place *places, size_t count);

#endif
