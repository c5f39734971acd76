/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of methods in columns, for a terminal of some width or for as wide a file as it takes. */
#ifndef OUTPUT_TABLE_H
#define OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/options.h"
#include "output/method_rows.h"

struct table {
	unsigned int columns;  /* a bit for each enum rows_key; ROWS_NAME is always there */
	size_t method_columns; /* 0: as many as it takes */
	size_t bar_at;
	size_t bar_columns; /* 0: there is no bar */
	enum time_unit unit;
	bool utf8;
	enum rows_key sorted_by; /* is marked in the heading; ROWS_KEYS: none is */
};

/*
 * Choose the columns that @width has room for, 0 being enough for all: of calls that are @timed, or
 * only counted. @bars: there may be one for the calls of each.
 */
void table_choose(struct table *table, bool timed, bool bars, size_t width);

/* Append the heading, and a row without an end of line; @most is the largest of all calls. */
void table_add_heading(const struct table *table, struct text *to);
void table_add_row(const struct table *table, const struct method_row *row, uint64_t most,
		   struct text *to);

#endif
