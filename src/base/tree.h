/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of <search.h>: of things that begin with the number, 64 bits wide, they are known by. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What @tree has of that number; NULL: nothing. */
void *tree_find(void *const *tree, uint64_t number);

/*
 * The same; where there is nothing it gets @size zeros with that number, which go with
 * tdestroy(). NULL without memory.
 */
void *tree_take(void **tree, uint64_t number, size_t size, bool *is_new);

#endif
