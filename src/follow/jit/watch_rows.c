// SPDX-License-Identifier: GPL-2.0-or-later
/* Which methods of an image match, and where their precompiled code is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/metadata.h"
#include "follow/jit/watch_internal.h"
#include "method/pattern.h"
#include "runtime/dotnet/precompiled.h"
#include "runtime/dotnet/exit_parts.h"
#include "plan/timed.h"

enum { ROWS_MAX = 1 << 20 };

void watch_row_destroy(struct watch_row *row)
{
	free(row->method);
	free(row->made_from);
	free(row);
}

long watch_add_row(struct watch *watch, const struct watch_row *like)
{
	struct watch_row *row;

	if (watch->row_count == ROWS_MAX ||
	    !vector_reserve(&watch->rows, &watch->row_capacity, watch->row_count + 1))
		return -ENOMEM;
	row = malloc(sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = *like;
	row->rank = UINT32_MAX; /* of one that is dropped as a double */
	row->method = strdup(like->method);
	row->made_from = like->made_from ? strdup(like->made_from) : NULL;
	if (!row->method || (like->made_from && !row->made_from)) {
		watch_row_destroy(row);
		return -ENOMEM;
	}
	watch->rows[watch->row_count] = row;
	return (long)watch->row_count++;
}

long watch_find_row(const struct watch *watch, const struct watch_image *image, uint32_t rid)
{
	size_t low = 0, high = image->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (watch->rows[image->rows[middle]]->rid < rid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->count && watch->rows[image->rows[low]]->rid == rid ?
		       (long)image->rows[low] :
		       -1;
}

/* Images ---------------------------------------------------------------------------------- */

static int on_definition(const struct dotnet_match *match, void *ctx)
{
	struct watch *watch = ctx;
	const struct r2r_method *definition = &match->definition;
	const struct watch_row row = {
		.image = match->image,
		.id = dotnet_method_id(definition),
		.traits = dotnet_method_traits(definition),
		.pinvoke = !metadata_method_has_il(definition->metadata, definition->method_rid),
		.rid = match->definition.method_rid,
		.pattern = watch->pattern,
		.generic = match->generic,
		.sure = match->sure,
		.method = (char *)match->method,
		.made_from = (char *)match->made_from,
	};

	if (match->kind != MATCH_DEFINITION)
		return 0;
	return watch_add_row(watch, &row) < 0 ? -ENOMEM : 0;
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct watch *watch = ctx;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t a_rid = watch->rows[a]->rid, b_rid = watch->rows[b]->rid;

	if (a_rid != b_rid)
		return a_rid < b_rid ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Several patterns may match a method: one row, and it is sure if one of them is. */
static void sort_rows(struct watch *watch, struct watch_image *image)
{
	size_t kept = 0;

	qsort_r(image->rows, image->count, sizeof(*image->rows), compare_rows, watch);
	for (size_t i = 0; i < image->count; i++) {
		struct watch_row *row = watch->rows[image->rows[i]];
		struct watch_row *before = kept ? watch->rows[image->rows[kept - 1]] : NULL;

		if (before && before->rid == row->rid)
			before->sure |= row->sure;
		else
			image->rows[kept++] = image->rows[i];
	}
	image->count = kept;
}

/* Match the patterns with what @image defines. NULL without memory. */
static struct watch_image *match_image(struct watch *watch, const struct dotnet_image *image)
{
	struct watch_image *matched = calloc(1, sizeof(*matched));
	size_t first = watch->row_count;
	int result = 0;

	if (!matched)
		return NULL;
	matched->image = image;
	for (size_t i = 0; i < watch->request->count && result != -ENOMEM; i++) {
		watch->pattern = (uint32_t)i;
		/* A regex that runs away matches nothing; the main search has said so. */
		result = dotnet_find_in_image(&watch->images, image, FIND_DEFINITIONS,
					      watch->patterns[i], watch->request->nested,
					      on_definition, watch, NULL);
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
		watch->rows[matched->rows[i]]->rank = watch->next_rank++;
	return matched;
}

/* Match all images from number @first on; those that cannot be are dropped if they are ours. */
int watch_match_images(struct watch *watch, size_t first)
{
	struct watch_image **grown =
		realloc(watch->of_images, (watch->images.count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	memset(grown + first, 0, (watch->images.count + 1 - first) * sizeof(*grown));
	watch->of_images = grown;
	for (size_t i = first; i < watch->images.count; i++) {
		grown[i] = match_image(watch, watch->images.images[i]);
		if (!grown[i])
			return -ENOMEM;
	}
	return 0;
}

struct watch_image *watch_find_image(const struct watch *watch, const struct dotnet_image *image)
{
	for (size_t i = 0; i < watch->images.count; i++) {
		if (watch->images.images[i] == image)
			return watch->of_images[i];
	}
	return NULL;
}

void watch_rank_rows(struct watch *watch)
{
	uint32_t next = 0;

	for (uint32_t pattern = 0; pattern < watch->request->count; pattern++) {
		for (size_t i = 0; i < watch->images.count; i++) {
			const struct watch_image *image = watch->of_images[i];

			for (size_t r = 0; r < image->count; r++) {
				struct watch_row *row = watch->rows[image->rows[r]];

				if (row->pattern == pattern)
					row->rank = next++;
			}
		}
	}
}

/* Planning -------------------------------------------------------------------------------- */

struct planning_image {
	struct plan *plan;
	const struct dotnet_image *code; /* whose bodies are wanted */
	struct error *err;
};

static int on_body(const struct dotnet_match *match, void *ctx)
{
	const struct planning_image *planning = ctx;
	struct body_code codes[BODY_PARTS_MAX];
	struct method_body body = {
		.method = match->method,
		.made_from = match->made_from,
		.id = dotnet_method_id(&match->definition),
		.traits = dotnet_method_traits(&match->definition),
		.state = STATE_UNKNOWN,
		.sources = 1u << NAME_SOURCE_METADATA,
		.exits_entry = match->body.rva.value,
	};
	struct exits exits = { 0 };
	int result = 0;

	if (match->kind != MATCH_BODY || !match->image || match->image != planning->code)
		return 0;
	body.image = match->image->name;
	body.file = match->image->file;
	/* Where it will be in memory is not known yet; that it will be in code is. */
	body.address.value = 1;
	body.exits = &exits;
	if (!precompiled_describe(match->image, &match->body, &body, codes))
		return 0;
	if (planning->plan->timed)
		result = r2r_find_exits(&exits, &match->image->pe, &match->body, planning->err);
	if (result == 0)
		result = plan_add(planning->plan, &body, planning->err);
	exits_deinit(&exits);
	return result;
}

static bool has_generic_rows(const struct watch *watch, const struct watch_image *image)
{
	for (size_t i = 0; i < image->count; i++) {
		if (watch->rows[image->rows[i]]->generic)
			return true;
	}
	return false;
}

/* Instantiations of generic methods may be in any image that was compiled with their definition. */
static bool any_generic_rows(const struct watch *watch)
{
	for (size_t i = 0; i < watch->images.count; i++) {
		if (has_generic_rows(watch, watch->of_images[i]))
			return true;
	}
	return false;
}

static int plan_bodies(struct watch *watch, const struct dotnet_image *image, unsigned int what,
		       const struct planning_image *planning)
{
	int result = 0;

	for (size_t p = 0; p < watch->request->count && result != -ENOMEM; p++)
		result = dotnet_find_in_image(&watch->images, image, what, watch->patterns[p],
					      watch->request->nested, on_body, (void *)planning,
					      planning->err);
	return result == -ENOMEM ? result : 0;
}

int watch_plan_image(struct watch *watch, size_t index, struct plan *plan, struct error *err)
{
	const struct dotnet_image *image = watch->images.images[index];
	struct planning_image planning = { .plan = plan, .code = image, .err = err };
	bool generic = any_generic_rows(watch);
	uint32_t component;
	int result = generic ? plan_bodies(watch, image, FIND_INSTANCES, &planning) : 0;

	/* The code of a composite's components is in the composite, whichever comes first. */
	for (size_t i = 0; i < watch->images.count && result == 0; i++) {
		const struct dotnet_image *defines = watch->images.images[i];
		const struct dotnet_image *code =
			dotnet_images_code_of(&watch->images, defines, &component);

		if (!code || (defines != image && code != image) || watch->of_images[i]->count == 0)
			continue;
		planning.code = code;
		result = plan_bodies(watch, defines, FIND_BODIES, &planning);
		if (result == 0 && code != image && has_generic_rows(watch, watch->of_images[i]))
			result = plan_bodies(watch, code, FIND_INSTANCES, &planning);
	}
	return result;
}
