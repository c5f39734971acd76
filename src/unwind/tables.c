// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From ranges that the runtimes report to the tables of the BPF unwinder: asked by
 * session/stacks.c, handed to the programs by capture/unwind.c.
 */
#include "unwind/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "runtime/runtime.h"

/* For one row: 66 in node, about 40 in the images of .NET. */
enum { USUAL_CODE_BYTES = 40 };

/* One whose rows have been made. */
struct unwind_image {
	enum runtime_id runtime;
	size_t file; /* these two as struct code_range has them */
	uint64_t part;
	uint32_t first_row;
	uint32_t row_count; /* that a range can have */
};

int unwind_tables_create(struct unwind_tables **out, struct error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : error_set(err, -ENOMEM, "no memory for unwind information");
}

void unwind_tables_destroy(struct unwind_tables *tables)
{
	if (!tables)
		return;
	unwind_rows_deinit(&tables->rows);
	free(tables->ranges);
	free(tables->images);
	free(tables);
}

/* Images -------------------------------------------------------------------------------------- */

/* False for want of memory. The first image is often the program, whose rows are the most. */
static bool append(struct unwind_rows *all, struct unwind_rows *rows)
{
	if (all->count == 0) {
		unwind_rows_deinit(all);
		*all = *rows;
		*rows = (struct unwind_rows){ 0 };
		return true;
	}
	if (!vector_reserve(&all->rows, &all->capacity, all->count + rows->count))
		return false;
	if (rows->count)
		memcpy(all->rows + all->count, rows->rows, rows->count * sizeof(*rows->rows));
	all->count += rows->count;
	return true;
}

/* The image that has the rows of @range, which are made if it is new. NULL for want of memory. */
static const struct unwind_image *image_of(struct unwind_tables *tables, enum runtime_id runtime,
					   const struct code_range *range)
{
	struct unwind_rows rows = { .frames = &tables->frames }, *all = &tables->rows;
	const size_t first = all->count;
	struct unwind_image *image = NULL;

	for (size_t i = 0; i < tables->counts.images; i++) {
		const struct unwind_image *known = &tables->images[i];

		if (known->runtime == runtime && known->file == range->file &&
		    known->part == range->part)
			return known;
	}
	progress_tell("reading unwind information", tables->counts.images, 0);
	if (range->make_rows(range->ctx, &rows) == 0 &&
	    vector_reserve(&tables->images, &tables->image_capacity, tables->counts.images + 1) &&
	    append(all, &rows)) {
		const size_t count = all->count - first;

		image = &tables->images[tables->counts.images++];
		*image = (struct unwind_image){
			.runtime = runtime,
			.file = range->file,
			.part = range->part,
			.first_row = (uint32_t)first,
			.row_count = count < UNWIND_ROWS_MAX ? (uint32_t)count : UNWIND_ROWS_MAX,
		};
		tables->counts.without += count == 0;
	}
	unwind_rows_deinit(&rows);
	return image;
}

/* Ranges -------------------------------------------------------------------------------------- */

/* What one runtime says of its code. */
struct asking {
	struct unwind_tables *tables;
	enum runtime_id runtime;
	size_t before; /* ranges, by address, that runtimes have said that were asked before */
};

/* None, if there is nothing between @begin and @end. */
static int add_part(const struct asking *asking, const struct code_range *range, uint64_t begin,
		    uint64_t end)
{
	struct unwind_tables *tables = asking->tables;
	struct unwind_range part = {
		.begin = begin,
		.end = end,
		.unwinder = range->unwinder & UINT8_MAX,
	};

	if (begin >= end)
		return 0;
	if (range->unwinder == UNWINDER_ROWS) {
		const struct unwind_image *image = image_of(tables, asking->runtime, range);

		if (!image)
			return -ENOMEM;
		part.base = range->base;
		part.first_row = image->first_row;
		part.row_count = image->row_count & UNWIND_ROWS_MAX;
	}
	return vector_add(&tables->ranges, &tables->range_count, &tables->range_capacity, part) ?
		       0 :
		       -ENOMEM;
}

/* The first of the ranges before that ends behind @address: none of them overlaps another. */
static size_t first_over(const struct asking *asking, uint64_t address)
{
	const struct unwind_range *ranges = asking->tables->ranges;
	size_t up_to = sorted_up_to(ranges, asking->before, sizeof(*ranges), address);

	return up_to && ranges[up_to - 1].end > address ? up_to - 1 : up_to;
}

/* So much of @range as no runtime has said anything of that was asked before. */
static int add_range(const struct code_range *range, void *ctx)
{
	const struct asking *asking = ctx;
	uint64_t begin = range->begin;
	int result = 0;

	for (size_t i = first_over(asking, begin); i < asking->before && result == 0; i++) {
		const struct unwind_range over = asking->tables->ranges[i];

		if (over.begin >= range->end)
			break;
		result = add_part(asking, range, begin, over.begin);
		begin = over.end;
	}
	return result ? result : add_part(asking, range, begin, range->end);
}

/* What lies over other code of the same runtime is not sure to be there. */
static void sort_ranges(struct unwind_tables *tables)
{
	size_t kept = 0;

	if (tables->range_count)
		qsort(tables->ranges, tables->range_count, sizeof(*tables->ranges),
		      by_leading_number);
	for (size_t i = 0; i < tables->range_count; i++) {
		if (kept == 0 || tables->ranges[kept - 1].end <= tables->ranges[i].begin)
			tables->ranges[kept++] = tables->ranges[i];
		else
			tables->counts.overlaps++;
	}
	tables->range_count = kept;
}

static int ask(struct unwind_tables *tables, struct runtime *runtime)
{
	struct asking asking = { tables, runtime->ops->id, tables->range_count };
	int result = runtime->ops->ranges ? runtime->ops->ranges(runtime, add_range, &asking) : 0;

	sort_ranges(tables);
	if (runtime->ops->elsewhere) {
		enum unwinder elsewhere = runtime->ops->elsewhere(runtime, &tables->layouts);

		if (tables->elsewhere == UNWINDER_FRAME_POINTER)
			tables->elsewhere = elsewhere;
	}
	return result;
}

/* Code without rows is as good as in no range, once it has kept others' rows away. */
static void drop_ranges(struct unwind_tables *tables)
{
	size_t kept = 0;

	tables->counts.left_out = 0;
	for (size_t i = 0; i < tables->range_count; i++) {
		const struct unwind_range range = tables->ranges[i];

		if (range.unwinder == UNWINDER_ROWS && range.row_count == 0)
			continue;
		if (kept < UNWIND_RANGES_MAX)
			tables->ranges[kept++] = range;
		else
			tables->counts.left_out++;
	}
	tables->range_count = kept;
}

static int add_expected(const struct code_range *range, void *ctx)
{
	struct unwind_expected *expected = ctx;

	if (range->unwinder == UNWINDER_ROWS && range->end > range->begin)
		expected->rows += (range->end - range->begin) / USUAL_CODE_BYTES;
	return 0;
}

struct unwind_expected unwind_tables_expect(const struct runtimes *runtimes)
{
	struct unwind_expected expected = { 0 };

	for (size_t i = 0; i < runtimes->count; i++) {
		struct runtime *runtime = runtimes->list[i];

		if (runtime->ops->ranges)
			(void)runtime->ops->ranges(runtime, add_expected, &expected);
		if (runtime->ops->elsewhere)
			(void)runtime->ops->elsewhere(runtime, &expected.layouts);
	}
	return expected;
}

int unwind_tables_read(struct unwind_tables *tables, const struct runtimes *runtimes,
		       struct error *err)
{
	int result = 0;

	tables->range_count = 0;
	tables->elsewhere = UNWINDER_FRAME_POINTER;
	for (size_t i = 0; i < runtimes->count && result == 0; i++)
		result = ask(tables, runtimes->list[i]);
	drop_ranges(tables);
	tables->counts.rows = tables->rows.count;
	return result ? error_set(err, result, "no memory for unwind information") : 0;
}
