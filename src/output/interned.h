/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Byte strings that are kept once and known by a number, counted from 0: for formats that are one
 * document, whose parts name each other. Their memory is of a budget that several share.
 */
#ifndef OUTPUT_INTERNED_H
#define OUTPUT_INTERNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define INTERNED_NONE UINT32_MAX

struct interned_item {
	char *bytes; /* a NUL behind them */
	uint32_t length;
	uint32_t next; /* with an equal place in .heads, or INTERNED_NONE */
};

struct interned {
	struct interned_item *items;
	size_t count;
	size_t capacity;
	uint32_t *heads;
	size_t head_count; /* a power of two */
	void *rows;	   /* by number: see interned_row() */
	size_t row_capacity;
};

/* Take @bytes from *@room; false if there are not so many. */
bool interned_take(size_t *room, size_t bytes);

/* The number of these bytes, new or not; INTERNED_NONE if *@room or memory is out. */
uint32_t interned_add(struct interned *interned, const void *bytes, size_t length, size_t *room);

/* The same of @text; also if there was no memory for that. */
uint32_t interned_add_text(struct interned *interned, const struct text *text, size_t *room);

/*
 * The row of these bytes: each has one of @size, all 0 at first, which moves when others are added.
 * NULL if *@room or memory is out for both.
 */
void *interned_row(struct interned *interned, const void *bytes, size_t length, size_t size,
		   size_t *room);

void interned_deinit(struct interned *interned);

#endif
