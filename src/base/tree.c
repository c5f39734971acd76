// SPDX-License-Identifier: GPL-2.0-or-later
/* See tree.h. */
#include "base/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

void *tree_find(void *const *tree, uint64_t number)
{
	void *const *node = tfind(&number, tree, by_leading_number);

	return node ? *node : NULL;
}

void *tree_take(void **tree, uint64_t number, size_t size, bool *is_new)
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
