// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/watch.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/follow.h"
#include "dotnet/find.h"
#include "dotnet/jit.h"
#include "error.h"
#include "method/pattern.h"
#include "options.h"
#include "place/precompiled.h"
#include "resolve.h"
#include "text.h"

enum {
	/* Of more rows than this the programs report all of the module, and we look them up. */
	ROWS_IN_MAP_MAX = 4096,
	ROWS_MAX = 1 << 20,
	LAYOUT_IS_LOADED = 1, /* PEImageLayout::FLAG_MAPPED */
};

static const char dynamic_type[] = "dynamicClass";

/* The rows of one image, sorted by row number. */
struct watch_image {
	const struct dotnet_image *image;
	uint32_t *rows; /* numbers of rows */
	size_t count;
};

struct watch_module {
	uint64_t at;
	const struct watch_image *image;
	bool stays; /* it is never unloaded */
};

struct watch {
	const struct options *options;
	struct watch_maps maps;
	struct pattern **patterns; /* our own: matching changes them */
	struct dotnet_images images;
	size_t borrowed;		/* the first images are others' */
	struct watch_image **of_images; /* along images, as far as they were matched */
	struct watch_row **rows;
	size_t row_count;
	size_t row_capacity;
	uint32_t pattern;	 /* that is being matched */
	void *modules;		 /* of struct watch_module by address, <search.h> */
	uint64_t main_allocator; /* of all modules that are never unloaded; 0: not known yet */
};

/* Rows ------------------------------------------------------------------------------------ */

static void row_destroy(struct watch_row *row)
{
	free(row->method);
	free(row->made_from);
	free(row);
}

/* The number of the new row; negative without memory. */
static long add_row(struct watch *watch, const struct watch_row *like)
{
	struct watch_row *row;

	if (watch->row_count == watch->row_capacity) {
		size_t capacity = watch->row_capacity ? 2 * watch->row_capacity : 64;
		struct watch_row **rows;

		if (capacity > ROWS_MAX)
			return -ENOMEM;
		rows = realloc(watch->rows, capacity * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		watch->rows = rows;
		watch->row_capacity = capacity;
	}
	row = malloc(sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = *like;
	row->rank = (uint32_t)watch->row_count;
	row->method = strdup(like->method);
	row->made_from = like->made_from ? strdup(like->made_from) : NULL;
	if (!row->method || (like->made_from && !row->made_from)) {
		row_destroy(row);
		return -ENOMEM;
	}
	watch->rows[watch->row_count] = row;
	return (long)watch->row_count++;
}

static long find_row(const struct watch *watch, const struct watch_image *image, uint32_t rid)
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
	const struct watch_row row = {
		.image = match->image,
		.rid = match->definition.method_rid,
		.pattern = watch->pattern,
		.generic = match->generic,
		.sure = match->sure,
		.method = (char *)match->method,
		.made_from = (char *)match->made_from,
	};

	if (match->kind != MATCH_DEFINITION)
		return 0;
	return add_row(watch, &row) < 0 ? -ENOMEM : 0;
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
	for (size_t i = 0; i < watch->options->pattern_count && result != -ENOMEM; i++) {
		watch->pattern = (uint32_t)i;
		/* A regex that runs away matches nothing; the main search has said so. */
		result = dotnet_find_in_image(&watch->images, image, FIND_DEFINITIONS,
					      watch->patterns[i], watch->options->nested,
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
	return matched;
}

/* Match all images from number @first on; those that cannot be are dropped if they are ours. */
static int match_images(struct watch *watch, size_t first)
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

static struct watch_image *find_image(const struct watch *watch, const struct dotnet_image *image)
{
	for (size_t i = 0; i < watch->images.count; i++) {
		if (watch->images.images[i] == image)
			return watch->of_images[i];
	}
	return NULL;
}

/* Modules --------------------------------------------------------------------------------- */

static int by_address(const void *left, const void *right)
{
	const struct watch_module *a = left, *b = right;

	return a->at < b->at ? -1 : a->at > b->at;
}

static struct watch_module *find_module(const struct watch *watch, uint64_t at)
{
	struct watch_module key = { .at = at };
	struct watch_module **node = tfind(&key, &watch->modules, by_address);

	return node ? *node : NULL;
}

/* Tell the programs. Rows first: a module that is known has all of them. */
static void tell_programs(const struct watch *watch, const struct watch_module *module, bool stays)
{
	const struct watch_image *image = module->image;
	bool in_map = stays && image->count <= ROWS_IN_MAP_MAX;
	uint32_t state = in_map ? MODULE_KNOWN : MODULE_ASK;

	for (size_t i = 0; in_map && i < image->count; i++) {
		struct watched_method key = {
			.module = module->at,
			.rid = watch->rows[image->rows[i]]->rid,
		};

		if (bpf_map_update_elem(watch->maps.watched_fd, &key, &image->rows[i], BPF_ANY))
			state = MODULE_ASK;
	}
	bpf_map_update_elem(watch->maps.modules_fd, &module->at, &state, BPF_ANY);
}

static void set_module(struct watch *watch, uint64_t at, const struct watch_image *image,
		       uint64_t allocator)
{
	struct watch_module *module = find_module(watch, at);

	if (!watch->main_allocator)
		watch->main_allocator = allocator;
	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module)
			return;
		module->at = at;
		if (!tsearch(module, &watch->modules, by_address)) {
			free(module);
			return;
		}
	}
	if (module->image == image)
		return;
	module->image = image;
	/* One that can be unloaded may leave its place to another. */
	module->stays = allocator == watch->main_allocator;
	tell_programs(watch, module, module->stays);
}

static void find_main_allocator(const struct clr_module *module, void *ctx)
{
	struct watch *watch = ctx;

	if (module->image && strcmp(module->image->name, "System.Private.CoreLib.dll") == 0)
		watch->main_allocator = module->loader_allocator;
}

static void add_known_module(const struct clr_module *module, void *ctx)
{
	struct watch *watch = ctx;
	const struct watch_image *image = module->image ? find_image(watch, module->image) : NULL;

	/* That of Reflection.Emit grows. */
	if (image && module->image->pe.file.start)
		set_module(watch, module->at, image, module->loader_allocator);
}

/* Of what is there at the start, first what the user has asked for first. */
static void rank_rows(struct watch *watch)
{
	uint32_t next = 0;

	for (uint32_t pattern = 0; pattern < watch->options->pattern_count; pattern++) {
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

/* The watch ------------------------------------------------------------------------------- */

static int create_patterns(struct watch *watch, struct error *err)
{
	size_t count = watch->options->pattern_count;
	int result = 0;

	watch->patterns = calloc(count, sizeof(struct pattern *));
	if (!watch->patterns)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	for (size_t i = 0; i < count && result == 0; i++)
		result = pattern_create(&watch->patterns[i], watch->options->patterns[i], err);
	return result;
}

static int borrow_images(struct watch *watch, const struct resolution *resolution)
{
	size_t count = resolution ? resolution->images.count : 0;

	watch->images.images = calloc(count + 1, sizeof(struct dotnet_image *));
	if (!watch->images.images)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		watch->images.images[i] = resolution->images.images[i];
	watch->images.count = watch->borrowed = count;
	watch->images.capacity = count + 1;
	return match_images(watch, 0);
}

int watch_create(struct watch **out, const struct options *options,
		 const struct resolution *resolution, const struct watch_maps *maps,
		 struct error *err)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int result;

	if (!watch)
		return error_set(err, -ENOMEM, "no memory to watch for methods");
	watch->options = options;
	watch->maps = *maps;
	result = create_patterns(watch, err);
	if (result == 0 && borrow_images(watch, resolution))
		result = error_set(err, -ENOMEM, "no memory to watch for methods");
	if (result) {
		watch_destroy(watch);
		return result;
	}
	rank_rows(watch);
	if (resolution && resolution->jit) {
		jit_each_module(resolution->jit, find_main_allocator, watch);
		jit_each_module(resolution->jit, add_known_module, watch);
	}
	*out = watch;
	return 0;
}

void watch_destroy(struct watch *watch)
{
	struct dotnet_images *images;

	if (!watch)
		return;
	images = &watch->images;
	for (size_t i = 0; i < watch->row_count; i++)
		row_destroy(watch->rows[i]);
	free(watch->rows);
	for (size_t i = 0; watch->of_images && i < images->count; i++) {
		if (watch->of_images[i])
			free(watch->of_images[i]->rows);
		free(watch->of_images[i]);
	}
	free(watch->of_images);
	tdestroy(watch->modules, free);
	/* Only what came later is ours. */
	if (images->images) {
		memmove(images->images, images->images + watch->borrowed,
			(images->count - watch->borrowed) * sizeof(struct dotnet_image *));
		images->count -= watch->borrowed;
	}
	dotnet_images_deinit(images);
	for (size_t i = 0; watch->patterns && i < watch->options->pattern_count; i++)
		pattern_destroy(watch->patterns[i]);
	free(watch->patterns);
	free(watch);
}

bool watch_wants_dynamic(const struct watch *watch)
{
	for (size_t i = 0; i < watch->options->pattern_count; i++) {
		if (pattern_wants_type(watch->patterns[i], dynamic_type) &&
		    pattern_wants_image(watch->patterns[i], "run-time code"))
			return true;
	}
	return false;
}

const struct watch_row *watch_find(struct watch *watch, const struct compile_event *event)
{
	const struct watch_module *module;
	long row;

	if (event->watch)
		return event->watch - 1 < watch->row_count ? watch->rows[event->watch - 1] : NULL;
	module = find_module(watch, event->module);
	if (!module)
		return NULL;
	row = find_row(watch, module->image, event->rid);
	return row < 0 ? NULL : watch->rows[row];
}

size_t watch_row_count(const struct watch *watch)
{
	return watch->row_count;
}

uint32_t watch_rank(const struct watch *watch, const struct r2r_method *definition)
{
	for (size_t i = 0; definition->metadata && i < watch->images.count; i++) {
		long row;

		if (watch->images.images[i]->metadata != definition->metadata)
			continue;
		row = find_row(watch, watch->of_images[i], definition->method_rid);
		return row < 0 ? UINT32_MAX : watch->rows[row]->rank;
	}
	return UINT32_MAX;
}

bool watch_is_open_ended(const struct watch *watch)
{
	bool *found = calloc(watch->options->pattern_count, sizeof(*found));
	bool open_ended = !found;

	for (size_t i = 0; found && i < watch->row_count; i++) {
		open_ended |= watch->rows[i]->generic;
		found[watch->rows[i]->pattern] = true;
	}
	for (size_t i = 0; found && i < watch->options->pattern_count; i++)
		open_ended |= !found[i];
	free(found);
	return open_ended;
}

bool watch_may_be_freed(const struct watch *watch, uint64_t module)
{
	const struct watch_module *found = find_module(watch, module);

	return !found || !found->stays;
}

/* Its parameters are in memory only: a pattern that asks for them is asked again, with all. */
static bool match_dynamic(struct watch *watch, const char *name, struct watch_row *row)
{
	struct method_name full = { 0 };
	bool wanted = false;

	text_add(&full.type, dynamic_type);
	text_add(&full.name, name);
	for (size_t i = 0; i < watch->options->pattern_count; i++) {
		struct pattern *pattern = watch->patterns[i];

		if (!pattern_wants_image(pattern, "run-time code") ||
		    !pattern_wants_type(pattern, dynamic_type) ||
		    !pattern_wants_method(pattern, name))
			continue;
		wanted = true;
		row->sure |= pattern_is_exact(pattern) && !pattern_has_params(pattern) &&
			     pattern_matches(pattern, &full, NULL) == 1;
	}
	method_name_deinit(&full);
	return wanted;
}

const struct watch_row *watch_find_dynamic(struct watch *watch, const char *name)
{
	struct watch_row row = { .generic = true };
	struct text spelled = { 0 };
	long added = -1;

	text_add(&spelled, dynamic_type);
	text_add(&spelled, "::");
	text_add_printable(&spelled, name);
	text_add(&spelled, "(?)");
	row.method = (char *)text_chars(&spelled);
	for (size_t i = 0; i < watch->row_count; i++) {
		if (!watch->rows[i]->image && strcmp(watch->rows[i]->method, row.method) == 0)
			added = (long)i;
	}
	if (added < 0 && text_ok(&spelled) && match_dynamic(watch, name, &row))
		added = add_row(watch, &row);
	text_deinit(&spelled);
	return added < 0 ? NULL : watch->rows[added];
}

static bool has_header(const struct dotnet_image *image, const struct compile_event *event,
		       const uint8_t *header)
{
	struct span file = image->pe.file;

	if (file.size < FOLLOW_DETAIL_BYTES || memcmp(file.start, header, FOLLOW_DETAIL_BYTES) != 0)
		return false;
	/* A copy is of one place and size; of a file there is but one, wherever it lies. */
	return image->file != DOTNET_NO_FILE || image->copy_size == event->layout_size;
}

enum watch_answer watch_learn(struct watch *watch, const struct compile_event *event,
			      const uint8_t *header)
{
	if (!event->layout_base)
		return WATCH_NO_IMAGE;
	for (size_t i = 0; i < watch->images.count; i++) {
		if (!has_header(watch->images.images[i], event, header))
			continue;
		set_module(watch, event->module, watch->of_images[i], event->loader_allocator);
		return WATCH_KNOWN;
	}
	return WATCH_UNKNOWN;
}

enum watch_answer watch_learn_copy(struct watch *watch, const struct compile_event *event,
				   uint8_t *bytes, size_t size)
{
	struct dotnet_image *image = NULL;
	enum dotnet_copy_kind kind =
		event->layout_flags & LAYOUT_IS_LOADED ? DOTNET_COPY_LOADED : DOTNET_COPY_FILE;
	size_t first = watch->images.count;
	const struct watch_image *matched;

	if (dotnet_images_add_copy(&watch->images, bytes, size,
				   (struct address){ event->layout_base }, kind, &image, NULL) != 1)
		return WATCH_NO_IMAGE;
	dotnet_images_link_from(&watch->images, first);
	if (match_images(watch, first))
		return WATCH_NO_IMAGE;
	matched = find_image(watch, image);
	set_module(watch, event->module, matched, event->loader_allocator);
	return WATCH_KNOWN;
}

static bool is_whole(const void *ctx, uint64_t offset, uint64_t size)
{
	(void)ctx;
	(void)offset;
	(void)size;
	return true;
}

int watch_add_file(struct watch *watch, size_t file, const char *name, struct span bytes)
{
	const struct dotnet_source source = {
		.file = file,
		.name = name,
		.bytes = bytes,
		.is_mapped = is_whole,
	};
	size_t first = watch->images.count;
	int result = dotnet_images_add(&watch->images, &source, NULL);

	if (result == 0) {
		dotnet_images_link_from(&watch->images, first);
		result = match_images(watch, first);
	}
	return result ? result : (int)(watch->images.count - first);
}

const struct dotnet_images *watch_images(const struct watch *watch)
{
	return &watch->images;
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
	struct plan_code codes[BODY_PARTS_MAX];
	struct plan_body body = {
		.method = match->method,
		.made_from = match->made_from,
		.image = match->image ? match->image->name : "run-time code",
		.definition = match->definition,
		.state = STATE_UNKNOWN,
		.sources = 1u << NAME_SOURCE_METADATA,
	};

	if (match->kind != MATCH_BODY || match->image != planning->code)
		return 0;
	body.file = match->image->file;
	/* Where it will be in memory is not known yet; that it will be in code is. */
	body.address.value = 1;
	if (!precompiled_describe(match->image, &match->body, &body, codes))
		return 0;
	return plan_add(planning->plan, &body, planning->err);
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

	for (size_t p = 0; p < watch->options->pattern_count && result != -ENOMEM; p++)
		result = dotnet_find_in_image(&watch->images, image, what, watch->patterns[p],
					      watch->options->nested, on_body, (void *)planning,
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
