/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing list of unwind rows, in the order of their addresses. */
#ifndef IMAGE_UNWIND_ROWS_H
#define IMAGE_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct unwind_rows {
	struct unwind_row *rows;
	size_t count;
	size_t capacity;
	bool no_memory; /* rows are missing */
};

/*
 * From @begin on the frame is left as @row says. One that begins where the last one does takes its
 * place; one that says the same is not added.
 */
void unwind_rows_add(struct unwind_rows *rows, uint32_t begin, struct unwind_row row);

/* Likewise @count rows, each @by further on than it says. */
void unwind_rows_add_moved(struct unwind_rows *rows, uint32_t by, const struct unwind_row *more,
			   size_t count);

/* The row for the code at @address; NULL if it is before the first. */
const struct unwind_row *unwind_rows_find(const struct unwind_rows *rows, uint32_t address);

void unwind_rows_deinit(struct unwind_rows *rows);

#endif
