/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow: the one way to make room in them, for every room of the tree. */
#ifndef BASE_VECTOR_H
#define BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR_FIRST = 16 /* items that the first memory is for */ };

/* See vector_reserve(). */
static inline bool vector_reserve_bytes(void *items, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = *capacity ? *capacity : VECTOR_FIRST, bytes;
	void *array, *grown;

	if (count <= *capacity)
		return true;
	while (wanted < count) {
		if (__builtin_mul_overflow(wanted, 2, &wanted))
			return false;
	}
	/* reallocarray() would say so too, but a sanitizer ends the program there. */
	if (__builtin_mul_overflow(wanted, size, &bytes))
		return false;
	memcpy(&array, items, sizeof(array));
	grown = reallocarray(array, wanted, size);
	if (!grown)
		return false;
	memcpy(items, &grown, sizeof(grown));
	*capacity = wanted;
	return true;
}

/*
 * Room for @count items in all in the malloc'd array that *@items points to, which has room for
 * *@capacity. False for want of memory; then all is as it was.
 */
#define vector_reserve(items, capacity, count) \
	vector_reserve_bytes((items), (capacity), (count), sizeof(**(items)))

/* Append @item to such an array of *@count items. False for want of memory. */
#define vector_add(items, count, capacity, item)              \
	(vector_reserve((items), (capacity), *(count) + 1) && \
	 ((*(items))[(*(count))++] = (item), true))

#endif
