/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF unwinder goes by, made of what the runtimes say: which code of the target is left by
 * what, and the rows of every image that is left by rows, made once for each.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include <stddef.h>

#include "image/unwind_rows.h"

struct error;
struct runtimes;

/* What came of it, for people. */
struct unwind_tables_counts {
	size_t images;
	size_t rows;
	size_t without;	 /* images that say nothing of how to unwind them */
	size_t left_out; /* ranges that there was no room for, by the last read */
	size_t overlaps; /* ranges over others of the same runtime, which are not used */
};

/* Pointers are valid until the next read. */
struct unwind_tables {
	struct unwind_frames frames; /* numbered by the rows */
	struct unwind_rows rows;     /* of all images, one after the other */
	struct unwind_range *ranges; /* by address */
	size_t range_count;
	size_t range_capacity;
	struct unwind_tables_counts counts;
	enum unwinder elsewhere;       /* what leaves the frames of code that is in no range */
	struct unwind_layouts layouts; /* what the runtimes' own unwinders need */

	struct unwind_image *images; /* tables.c's own, as is what follows */
	size_t image_capacity;
};

/* -ENOMEM with @err set. */
int unwind_tables_create(struct unwind_tables **tables, struct error *err);
void unwind_tables_destroy(struct unwind_tables *tables);

/*
 * What a read will come to, by the size of the code: about how many rows, and what the runtimes'
 * own unwinders need.
 */
struct unwind_expected {
	size_t rows;
	struct unwind_layouts layouts;
};

struct unwind_expected unwind_tables_expect(const struct runtimes *runtimes);

/*
 * Ask the @runtimes for their ranges, in their order: what the first of them says of some code
 * holds, and is taken out of what the others say. Rows are made of what has none yet. -ENOMEM with
 * @err set.
 */
int unwind_tables_read(struct unwind_tables *tables, const struct runtimes *runtimes,
		       struct error *err);

#endif
