/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Methods as rows of a table: counts and histograms come in, what is new of them since the last
 * time is found, and lines come out, for a terminal of some width or for as wide a file as it
 * takes. For top.c and the live view.
 */
#ifndef OUTPUT_METHOD_ROWS_H
#define OUTPUT_METHOD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/options.h"

struct histogram;
struct output_count;
struct output_hist;

/* What rows are sorted by, and the columns, from left to right. */
enum rows_key {
	ROWS_RATE,
	ROWS_CALLS,
	ROWS_TOTAL,
	ROWS_MEAN,
	ROWS_P99,
	ROWS_MAX,
	ROWS_UNWOUND,
	ROWS_NAME,
	ROWS_KEYS,
};

struct method_row {
	char *name;	   /* printable UTF-8 */
	char *note;	   /* likewise: its tiers; "" */
	double rate;	   /* calls a second */
	uint64_t returned; /* calls of which times are known, in ns: */
	/*
	 * By key, but for the rate and the name: calls are all that have begun, as far as that is
	 * known; unwound, left by an exception or longjmp().
	 */
	uint64_t numbers[ROWS_NAME];
	struct histogram *histogram; /* a copy; NULL: it is not kept */
	bool taken;		     /* of those before: one by now has its name */
};

/* All 0: no rows. */
struct method_rows {
	struct method_row *list;
	size_t count;
	size_t capacity;
	struct method_row *before; /* those there were, by name, without histograms */
	size_t before_count;
	uint64_t elapsed_ns, before_ns;
	bool failed; /* there was no memory for some */
};

void method_rows_deinit(struct method_rows *rows);

/* Others come in the place of those there are, @elapsed_ns after counting began. */
void method_rows_begin(struct method_rows *rows, uint64_t elapsed_ns);

void method_rows_add_count(struct method_rows *rows, const struct output_count *count);

/* @keep: its histogram is asked for. */
void method_rows_add_hist(struct method_rows *rows, const struct output_hist *hist, bool keep);

/* All have come: find out their rates since the time before. @whole: since counting began. */
void method_rows_settle(struct method_rows *rows, bool whole);

/* Numbers: the largest first; those that are alike by name. */
void method_rows_sort(struct method_rows *rows, enum rows_key key);

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
 * Choose the columns that @width has room for, with a bar for the calls of each if there may be, 0
 * being enough for all, without one: of calls that are @timed, or only counted.
 */
void table_choose(struct table *table, bool timed, size_t width);

/* Append the heading, and a row without an end of line; @most is the largest of all calls. */
void table_add_heading(const struct table *table, struct text *to);
void table_add_row(const struct table *table, const struct method_row *row, uint64_t most,
		   struct text *to);

#endif
