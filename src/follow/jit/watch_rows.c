// SPDX-License-Identifier: GPL-2.0-or-later
/* Which methods of an image match, for watch.c; where their precompiled code is, for loader/. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "follow/jit/watch_internal.h"
#include "method/pattern.h"
#include "plan/plan.h"

enum { ROWS_MAX = 1 << 20 };

void watch_row_destroy(struct watch_row *row)
{
	free((char *)row->is.method);
	free((char *)row->is.made_from);
	free(row);
}

long watch_add_row(struct watch *watch, const struct runtime_method *like, uint32_t pattern)
{
	struct watch_row *row;

	if (watch->row_count == ROWS_MAX ||
	    !vector_reserve(&watch->rows, &watch->row_capacity, watch->row_count + 1))
		return -ENOMEM;
	row = malloc(sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = (struct watch_row){
		.is = *like,
		.pattern = pattern,
		.root = pattern < watch->request->roots,
		.rank = UINT32_MAX, /* of one that is dropped as a double */
		.named = pattern_is_exact(watch->patterns[pattern]) ? 0 : UINT32_MAX,
	};
	row->is.method = strdup(like->method);
	row->is.made_from = like->made_from ? strdup(like->made_from) : NULL;
	if (!row->is.method || (like->made_from && !row->is.made_from)) {
		watch_row_destroy(row);
		return -ENOMEM;
	}
	watch->rows[watch->row_count] = row;
	return (long)watch->row_count++;
}

void watch_rank_row(struct watch *watch, struct watch_row *row)
{
	row->rank = watch->next_rank++;
	if (row->named != UINT32_MAX)
		row->named = watch->next_named++;
}

long watch_find_row(const struct watch *watch, const struct watch_image *image, uint32_t rid)
{
	size_t at = sorted_first(image->count, i, watch->rows[image->rows[i]]->is.row < rid);

	return at < image->count && watch->rows[image->rows[at]]->is.row == rid ?
		       (long)image->rows[at] :
		       -1;
}

/* Images ---------------------------------------------------------------------------------- */

static int on_method(const struct runtime_method *method, void *ctx)
{
	struct watch *watch = ctx;

	return watch_add_row(watch, method, watch->pattern) < 0 ? -ENOMEM : 0;
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct watch *watch = ctx;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t a_rid = watch->rows[a]->is.row, b_rid = watch->rows[b]->is.row;

	if (a_rid != b_rid)
		return a_rid < b_rid ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Several patterns may match a method: one row, and it is sure or named if one of them is. */
static void sort_rows(struct watch *watch, struct watch_image *image)
{
	size_t kept = 0;

	qsort_r(image->rows, image->count, sizeof(*image->rows), compare_rows, watch);
	for (size_t i = 0; i < image->count; i++) {
		struct watch_row *row = watch->rows[image->rows[i]];
		struct watch_row *before = kept ? watch->rows[image->rows[kept - 1]] : NULL;

		if (before && before->is.row == row->is.row) {
			before->is.sure |= row->is.sure;
			before->root |= row->root;
			before->named = before->named < row->named ? before->named : row->named;
		} else {
			image->rows[kept++] = image->rows[i];
		}
	}
	image->count = kept;
}

/* Match the patterns with what image @number defines. NULL without memory. */
static struct watch_image *match_image(struct watch *watch, size_t number)
{
	struct watch_image *matched = calloc(1, sizeof(*matched));
	size_t first = watch->row_count;
	int result = 0;

	if (!matched)
		return NULL;
	matched->number = number;
	for (size_t i = 0; i < watch->request->count && result != -ENOMEM; i++) {
		watch->pattern = (uint32_t)i;
		/* A regex that runs away matches nothing; the main search has said so. */
		result = watch->images->ops->find(watch->images, number, watch->patterns[i],
						  watch->request->nested, on_method, watch);
	}
	matched->count = watch->row_count - first;
	matched->rows = calloc(matched->count + 1, sizeof(*matched->rows));
	if (result == -ENOMEM || !matched->rows) {
		free(matched->rows);
		free(matched);
		return NULL;
	}
	for (size_t i = 0; i < matched->count; i++)
		matched->rows[i] = (uint32_t)(first + i);
	sort_rows(watch, matched);
	for (size_t i = 0; i < matched->count; i++)
		watch_rank_row(watch, watch->rows[matched->rows[i]]);
	return matched;
}

int watch_match_images(struct watch *watch)
{
	size_t count = watch->images->ops->count(watch->images);

	if (!vector_reserve(&watch->of_images, &watch->image_capacity, count + 1))
		return -ENOMEM;
	for (; watch->image_count < count; watch->image_count++) {
		watch->of_images[watch->image_count] = match_image(watch, watch->image_count);
		if (!watch->of_images[watch->image_count])
			return -ENOMEM;
	}
	return 0;
}

void watch_rank_rows(struct watch *watch)
{
	watch->next_rank = watch->next_named = 0;
	for (uint32_t pattern = 0; pattern < watch->request->count; pattern++) {
		for (size_t i = 0; i < watch->image_count; i++) {
			const struct watch_image *image = watch->of_images[i];

			for (size_t r = 0; r < image->count; r++) {
				struct watch_row *row = watch->rows[image->rows[r]];

				if (row->pattern == pattern)
					watch_rank_row(watch, row);
			}
		}
	}
}

/* Planning -------------------------------------------------------------------------------- */

static enum runtime_wanted wanted(size_t number, void *ctx)
{
	const struct watch *watch = ctx;
	const struct watch_image *image =
		number < watch->image_count ? watch->of_images[number] : NULL;

	if (!image || image->count == 0)
		return RUNTIME_WANTS_NONE;
	for (size_t i = 0; i < image->count; i++) {
		if (watch->rows[image->rows[i]]->is.generic)
			return RUNTIME_WANTS_GENERIC;
	}
	return RUNTIME_WANTS_METHODS;
}

/* Those of the patterns [first, end). */
static int plan_patterns(struct watch *watch, size_t image, size_t first, size_t end,
			 struct plan_search *found)
{
	const struct runtime_search search = {
		.patterns = watch->patterns + first,
		.count = end - first,
		.nested = watch->request->nested,
		.timed = found->plan->timed,
		.wanted = wanted,
		.ctx = watch,
	};

	if (first == end)
		return 0;
	return watch->images->ops->bodies(watch->images, image, &search, plan_add_found, found,
					  found->err);
}

int watch_plan_image(struct watch *watch, size_t image, struct plan *plan, struct error *err)
{
	size_t roots = watch->request->roots;
	struct plan_search of_roots = { .plan = plan, .err = err, .root = true };
	struct plan_search others = { .plan = plan, .err = err };
	int result = plan_patterns(watch, image, 0, roots, &of_roots);

	return result ? result : plan_patterns(watch, image, roots, watch->request->count, &others);
}
