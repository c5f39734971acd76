/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a list of unwind rows says of an address, as the BPF unwinder finds it. */
#ifndef UNWIND_ROW_H
#define UNWIND_ROW_H

#include "base/sorted.h"
#include "image/unwind_rows.h"

/* The row for the code at @address; NULL if it is before the first. */
static inline const struct unwind_row *unwind_rows_find(const struct unwind_rows *rows,
							uint32_t address)
{
	size_t count = sorted_first(rows->count, i, rows->rows[i].begin <= address);

	return count ? &rows->rows[count - 1] : NULL;
}

/* What @row, one of @rows, says. */
static inline struct unwind_frame unwind_rows_frame(const struct unwind_rows *rows,
						    const struct unwind_row *row)
{
	struct unwind_frame frame = rows->frames->frames[row->frame];

	frame.offset = row->offset;
	return frame;
}

#endif
