// SPDX-License-Identifier: GPL-2.0-or-later
/* Which columns there are, and what stands in them; for top.c and the live view. */
#include "output/table.h"

#include <inttypes.h>

#include "output/ops.h"
#include "screen/columns.h"

enum {
	GAP = 1,
	METHOD_GAP = 2, /* before the bar and before the method */
	METHOD_MIN = 24,
	BAR_MIN = 8,
	BAR_MAX = 20,
	BAR_PART = 6, /* of the width */
	CELL_BYTES = 32,
};

static const struct {
	const char *heading;
	size_t width;
	unsigned int order; /* the higher goes first where there is no room; 0: it stays */
	bool timed;	    /* it is only of calls that are */
	bool is_time;
} columns[ROWS_KEYS] = {
	[ROWS_RATE] = { "CALLS/S", 9, 4, false, false },
	[ROWS_CALLS] = { "CALLS", 11, 0, false, false },
	[ROWS_TOTAL] = { "TOTAL", 9, 2, true, true },
	[ROWS_MEAN] = { "MEAN", 9, 3, true, true },
	[ROWS_P99] = { "P99", 9, 0, true, true },
	[ROWS_MAX] = { "MAX", 9, 5, true, true },
	[ROWS_UNWOUND] = { "UNWOUND", 8, 1, true, false },
	[ROWS_NAME] = { "METHOD", 0, 0, false, false },
};

static bool has(const struct table *table, enum rows_key key)
{
	return table->columns >> key & 1;
}

/* What stands before the bar, or before the method. */
static size_t width_of_numbers(const struct table *table)
{
	size_t width = METHOD_GAP - GAP;

	for (enum rows_key key = 0; key < ROWS_NAME; key++)
		width += has(table, key) ? columns[key].width + GAP : 0;
	return width;
}

/* True if there was one to be left out. */
static bool leave_one_out(struct table *table)
{
	enum rows_key least = ROWS_NAME;

	for (enum rows_key key = 0; key < ROWS_NAME; key++) {
		if (has(table, key) && columns[key].order > columns[least].order)
			least = key;
	}
	table->columns &= ~(1U << least) | 1U << ROWS_NAME;
	return least != ROWS_NAME;
}

void table_choose(struct table *table, bool timed, bool bars, size_t width)
{
	size_t numbers, bar = width / BAR_PART;

	table->columns = 0;
	table->bar_columns = 0;
	for (enum rows_key key = 0; key < ROWS_KEYS; key++)
		table->columns |= timed || !columns[key].timed ? 1U << key : 0;
	table->method_columns = 0;
	if (width == 0)
		return;
	while (width < width_of_numbers(table) + METHOD_MIN && leave_one_out(table))
		;
	numbers = width_of_numbers(table);
	bar = bar > BAR_MAX ? BAR_MAX : bar;
	if (bars && bar >= BAR_MIN && numbers + bar + METHOD_GAP + METHOD_MIN <= width) {
		table->bar_at = numbers;
		table->bar_columns = bar;
		numbers += bar + METHOD_GAP;
	}
	table->method_columns = width > numbers ? width - numbers : 1;
}

/* Right-aligned, in @width columns and the gap before the next. */
static void add_cell(struct text *to, size_t width, const char *cell)
{
	text_printf(to, "%*s%*s", (int)width, cell, GAP, "");
}

void table_add_heading(const struct table *table, struct text *to)
{
	char cell[CELL_BYTES];

	for (enum rows_key key = 0; key < ROWS_NAME; key++) {
		if (!has(table, key))
			continue;
		snprintf(cell, sizeof(cell), "%s%s", table->sorted_by == key ? ">" : "",
			 columns[key].heading);
		add_cell(to, columns[key].width, cell);
	}
	columns_add_blanks(to, METHOD_GAP - GAP);
	if (table->bar_columns)
		columns_add_blanks(to, table->bar_columns + METHOD_GAP);
	text_printf(to, "%s%s", table->sorted_by == ROWS_NAME ? ">" : "",
		    columns[ROWS_NAME].heading);
}

/* A number, or "12.35 ms", and "-" where no call has returned. */
static void add_value(const struct table *table, const struct method_row *row, enum rows_key key,
		      struct text *to)
{
	uint64_t number = key == ROWS_RATE ? (uint64_t)(row->rate + 0.5) : row->numbers[key];
	const struct time_scale *scale = text_time_scale(table->unit, number);
	char cell[CELL_BYTES] = "-";

	if (!columns[key].is_time)
		snprintf(cell, sizeof(cell), "%" PRIu64, number);
	else if (row->returned)
		snprintf(cell, sizeof(cell), "%.4g %s", (double)number / (double)scale->ns,
			 scale->name);
	add_cell(to, columns[key].width, cell);
}

static void add_method(const struct table *table, const struct method_row *row, struct text *to)
{
	size_t room = table->method_columns, used;

	if (room == 0) {
		text_add(to, row->name);
		if (*row->note)
			text_printf(to, " [%s]", row->note);
		return;
	}
	used = columns_add(to, row->name, room, table->utf8);
	/* " [" and "]" */
	if (*row->note && used + columns_of(row->note, table->utf8) + 3 <= room)
		text_printf(to, " [%s]", row->note);
}

void table_add_row(const struct table *table, const struct method_row *row, uint64_t most,
		   struct text *to)
{
	for (enum rows_key key = 0; key < ROWS_NAME; key++) {
		if (has(table, key))
			add_value(table, row, key, to);
	}
	columns_add_blanks(to, METHOD_GAP - GAP);
	if (table->bar_columns) {
		columns_add_bar(to, most ? (double)row->numbers[ROWS_CALLS] / (double)most : 0,
				table->bar_columns, table->utf8);
		columns_add_blanks(to, METHOD_GAP);
	}
	add_method(table, row, to);
}
