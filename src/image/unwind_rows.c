// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/vector.h"
#include "image/unwind_rows.h"

#include <stdlib.h>

static bool same(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->rule == b->rule && a->rbp == b->rbp && a->offset == b->offset;
}

void unwind_rows_add(struct unwind_rows *rows, uint32_t begin, struct unwind_row row)
{
	if (rows->count && rows->rows[rows->count - 1].begin == begin)
		rows->count--;
	if (rows->count && same(&rows->rows[rows->count - 1], &row))
		return;
	if (!vector_reserve(&rows->rows, &rows->capacity, rows->count + 1)) {
		rows->no_memory = true;
		return;
	}
	row.begin = begin;
	rows->rows[rows->count++] = row;
}

void unwind_rows_add_moved(struct unwind_rows *rows, uint32_t by, const struct unwind_row *more,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		unwind_rows_add(rows, by + more[i].begin, more[i]);
}

const struct unwind_row *unwind_rows_find(const struct unwind_rows *rows, uint32_t address)
{
	size_t low = 0, high = rows->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows->rows[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows->rows[low - 1] : NULL;
}

void unwind_rows_deinit(struct unwind_rows *rows)
{
	free(rows->rows);
	*rows = (struct unwind_rows){ 0 };
}
