/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a runtime has code in the target, and what leaves the frames of it: what unwind/ asks the
 * runtimes, and makes the tables of the BPF unwinder of.
 */
#ifndef RUNTIME_RANGE_H
#define RUNTIME_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct unwind_rows;

/* What follows .unwinder is of UNWINDER_ROWS only. */
struct code_range {
	uint64_t begin;
	uint64_t end;
	enum unwinder unwinder;

	/* These two say which image has the rows: in one runtime the same mean the same rows. */
	size_t file;   /* the target's number of it, or BODY_NO_FILE */
	uint64_t part; /* tells the images of one file apart, and those of none */
	uint64_t base; /* the address that rows are relative to */
	/* Add the image's rows to @rows, which is empty. Called once for each image. -ENOMEM. */
	int (*make_rows)(const void *ctx, struct unwind_rows *rows);
	const void *ctx; /* for as long as the range is told */
};

/* -ENOMEM ends the telling. */
typedef int (*code_range_fn)(const struct code_range *range, void *ctx);

#endif
