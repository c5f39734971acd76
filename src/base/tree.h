/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of <search.h>: of things that begin with the number, 64 bits wide, they are known by. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/sorted.h"

/* What @tree has of that number; NULL: nothing. */
static inline void *tree_find(void *const *tree, uint64_t number)
{
	void *const *node = tfind(&number, tree, by_leading_number);

	return node ? *node : NULL;
}

/* The same; where there is nothing it gets @size zeros with that number. NULL without memory. */
static inline void *tree_take(void **tree, uint64_t number, size_t size, bool *is_new)
{
	void *item = tree_find(tree, number);

	*is_new = !item;
	if (item)
		return item;
	item = calloc(1, size);
	if (!item)
		return NULL;
	memcpy(item, &number, sizeof(number));
	if (tsearch(item, tree, by_leading_number))
		return item;
	free(item);
	return NULL;
}

#endif
