// SPDX-License-Identifier: GPL-2.0-or-later
/* From records to rows, the order of these, and what stands in their columns. */
#include "output/method_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vector.h"
#include "latency/latency.h"
#include "output/ops.h"
#include "screen/columns.h"

static void drop_histogram(struct method_row *row)
{
	if (row->histogram)
		free(row->histogram->linear);
	free(row->histogram);
	row->histogram = NULL;
}

static void row_deinit(struct method_row *row)
{
	free(row->name);
	free(row->note);
	drop_histogram(row);
}

static void free_rows(struct method_row *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_deinit(&list[i]);
	free(list);
}

void method_rows_deinit(struct method_rows *rows)
{
	free_rows(rows->list, rows->count);
	free_rows(rows->before, rows->before_count);
	*rows = (struct method_rows){ 0 };
}

/* Coming in ----------------------------------------------------------------------------------- */

static int before_by_name(const void *left, const void *right)
{
	const struct method_row *a = left, *b = right;

	return strcmp(a->name, b->name);
}

void method_rows_begin(struct method_rows *rows, uint64_t elapsed_ns)
{
	free_rows(rows->before, rows->before_count);
	rows->before = rows->list;
	rows->before_count = rows->count;
	for (size_t i = 0; i < rows->before_count; i++)
		drop_histogram(&rows->before[i]);
	if (rows->before_count)
		qsort(rows->before, rows->before_count, sizeof(*rows->before), before_by_name);
	rows->list = NULL;
	rows->count = rows->capacity = 0;
	rows->failed = false;
	rows->before_ns = rows->elapsed_ns;
	rows->elapsed_ns = elapsed_ns;
}

static char *printable(const char *s)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	output_add_utf8(&text, s);
	return text_ok(&text) ? strdup(text_chars(&text)) : NULL;
}

/* Takes what @row owns. */
static void add(struct method_rows *rows, struct method_row row)
{
	if (row.name && row.note && vector_add(&rows->list, &rows->count, &rows->capacity, row))
		return;
	row_deinit(&row);
	rows->failed = true;
}

/* "r2r 12, tier1 30"; the number is left out where it is the only one. */
static char *note_of(const struct output_count *count)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	for (size_t i = 0; i < count->body_count; i++) {
		const char *tier = count->bodies[i].tier;
		uint64_t calls = 0;
		bool first = true;

		for (size_t j = 0; j < count->body_count; j++) {
			if (strcmp(count->bodies[j].tier, tier) != 0)
				continue;
			first &= j >= i;
			calls += count->bodies[j].calls;
		}
		if (!first)
			continue;
		text_printf(&text, "%s%s", text.length ? ", " : "", tier);
		if (calls != count->calls)
			text_printf(&text, " %" PRIu64, calls);
	}
	return printable(text_chars(&text));
}

void method_rows_add_count(struct method_rows *rows, const struct output_count *count)
{
	add(rows, (struct method_row){ .name = printable(count->method),
				       .note = note_of(count),
				       .numbers[ROWS_CALLS] = count->calls });
}

static char *name_of(const struct output_hist *hist)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	text_add_hist_name(&text, hist);
	return printable(text_chars(&text));
}

static struct histogram *copy_of(const struct histogram *histogram)
{
	struct histogram *copy = malloc(sizeof(*copy));
	size_t linear_bytes = (histogram->linear_count + 2) * sizeof(*histogram->linear);

	if (!copy)
		return NULL;
	*copy = *histogram;
	if (!histogram->linear)
		return copy;
	copy->linear = malloc(linear_bytes);
	if (copy->linear) {
		memcpy(copy->linear, histogram->linear, linear_bytes);
		return copy;
	}
	free(copy);
	return NULL;
}

void method_rows_add_hist(struct method_rows *rows, const struct output_hist *hist, bool keep)
{
	const struct histogram *is = hist->histogram;
	struct method_row row = {
		.name = name_of(hist),
		.note = strdup(""),
		.returned = is->returned,
		.numbers[ROWS_CALLS] = is->returned + is->unwound + is->untimed + is->unfinished,
		.numbers[ROWS_TOTAL] = is->sum_ns,
		.numbers[ROWS_MEAN] = is->returned ? is->sum_ns / is->returned : 0,
		.numbers[ROWS_P99] = histogram_percentile(is, 0.99),
		.numbers[ROWS_MAX] = is->max_ns,
		.numbers[ROWS_UNWOUND] = is->unwound,
		.histogram = keep ? copy_of(is) : NULL,
	};

	rows->failed |= keep && !row.histogram;
	add(rows, row);
}

/* What a row had been; of two methods with one name each has one. */
static uint64_t calls_before(struct method_rows *rows, const char *name)
{
	size_t at = sorted_first(rows->before_count, i, strcmp(rows->before[i].name, name) < 0);

	for (; at < rows->before_count && strcmp(rows->before[at].name, name) == 0; at++) {
		if (rows->before[at].taken)
			continue;
		rows->before[at].taken = true;
		return rows->before[at].numbers[ROWS_CALLS];
	}
	return 0;
}

void method_rows_settle(struct method_rows *rows, bool whole)
{
	uint64_t from = whole ? 0 : rows->before_ns;
	double seconds = (double)(rows->elapsed_ns - from) / NS_PER_S;

	for (size_t i = 0; i < rows->count && rows->elapsed_ns > from; i++) {
		struct method_row *row = &rows->list[i];
		uint64_t before = whole ? 0 : calls_before(rows, row->name);
		uint64_t calls = row->numbers[ROWS_CALLS];

		/* Calls that turned out to be another method's do not count any more. */
		row->rate = calls > before ? (double)(calls - before) / seconds : 0;
	}
}

/* The order ----------------------------------------------------------------------------------- */

static double value_of(const struct method_row *row, enum rows_key key)
{
	if (key == ROWS_RATE)
		return row->rate;
	return key == ROWS_NAME ? 0 : (double)row->numbers[key];
}

static int by_key(const void *left, const void *right, void *ctx)
{
	const struct method_row *a = left, *b = right;
	const enum rows_key *key = ctx;
	double x = value_of(a, *key), y = value_of(b, *key);

	if (x < y || x > y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name);
}

void method_rows_sort(struct method_rows *rows, enum rows_key key)
{
	if (rows->count)
		qsort_r(rows->list, rows->count, sizeof(*rows->list), by_key, &key);
}

/* The table ----------------------------------------------------------------------------------- */

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

void table_choose(struct table *table, bool timed, size_t width)
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
	if (bar >= BAR_MIN && numbers + bar + METHOD_GAP + METHOD_MIN <= width) {
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
