// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/follow.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/pinvoke.h"
#include "base/error.h"
#include "follow/jit/watch_internal.h"
#include "follow/messages/snapshot.h"
#include "method/pattern.h"
#include "base/text.h"

enum {
	/* Of more rows than this the programs report all of the module, and we look them up. */
	ROWS_IN_MAP_MAX = 4096,
	LAYOUT_IS_LOADED = 1, /* PEImageLayout::FLAG_MAPPED */
};

static const char dynamic_type[] = "dynamicClass";

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
	struct watch_image *image = module->image;
	bool in_map = stays && image->count <= ROWS_IN_MAP_MAX;
	uint32_t state = in_map ? MODULE_KNOWN : MODULE_ASK, stubs = 0;
	bool lacking = !stays;

	for (size_t i = 0; i < image->count; i++) {
		const struct watch_row *row = watch->rows[image->rows[i]];
		struct watched_method key = {
			.module = module->at,
			.rid = row->rid,
		};

		/* P/Invokes are told by it at stubs. */
		stubs |= row->pinvoke ? MODULE_STUBS : 0;
		if (!stays || (!in_map && !row->pinvoke))
			continue;
		if (bpf_map_update_elem(watch->maps.watched_fd, &key, &image->rows[i], BPF_ANY)) {
			state = MODULE_ASK;
			lacking |= row->pinvoke;
		}
	}
	state |= stubs;
	image->told = !lacking;
	bpf_map_update_elem(watch->maps.modules_fd, &module->at, &state, BPF_ANY);
}

static void set_module(struct watch *watch, uint64_t at, struct watch_image *image,
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

static void add_known_modules(struct watch *watch, const struct follow_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->module_count; i++) {
		if (snapshot->modules[i].is_core)
			watch->main_allocator = snapshot->modules[i].allocator;
	}
	for (size_t i = 0; i < snapshot->module_count; i++) {
		const struct snapshot_module *module = &snapshot->modules[i];

		if (!module->grows)
			set_module(watch, module->at, watch->of_images[module->image],
				   module->allocator);
	}
}

/* The watch ------------------------------------------------------------------------------- */

static int copy_images(struct watch *watch, const struct follow_snapshot *snapshot)
{
	if (snapshot->images && dotnet_images_copy(&watch->images, snapshot->images))
		return -ENOMEM;
	/* What their components bring is looked for while threads wait. */
	for (size_t i = 0; i < watch->images.count; i++) {
		if (watch->images.images[i]->kind == R2R_COMPOSITE && watch->images.images[i]->r2r)
			(void)r2r_prepare(watch->images.images[i]->r2r);
	}
	return watch_match_images(watch, 0);
}

int watch_create(struct watch **out, const struct request *request,
		 const struct follow_snapshot *snapshot, const struct watch_maps *maps,
		 struct error *err)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int result;

	if (!watch)
		return error_set(err, -ENOMEM, "no memory to watch for methods");
	watch->request = request;
	watch->maps = *maps;
	result = patterns_create(&watch->patterns, request->patterns, request->count, err);
	if (result == 0 && copy_images(watch, snapshot))
		result = error_set(err, -ENOMEM, "no memory to watch for methods");
	if (result) {
		watch_destroy(watch);
		return result;
	}
	watch_rank_rows(watch);
	add_known_modules(watch, snapshot);
	*out = watch;
	return 0;
}

void watch_destroy(struct watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->row_count; i++)
		watch_row_destroy(watch->rows[i]);
	free(watch->rows);
	for (size_t i = 0; watch->of_images && i < watch->images.count; i++) {
		if (watch->of_images[i])
			free(watch->of_images[i]->rows);
		free(watch->of_images[i]);
	}
	free(watch->of_images);
	tdestroy(watch->modules, free);
	dotnet_images_deinit(&watch->images);
	patterns_destroy(watch->patterns, watch->request->count);
	free(watch);
}

bool watch_wants_dynamic(const struct watch *watch)
{
	for (size_t i = 0; i < watch->request->count; i++) {
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
	row = watch_find_row(watch, module->image, event->rid);
	return row < 0 ? NULL : watch->rows[row];
}

const struct watch_row *watch_next_stub(struct watch *watch, const struct compile_event *event,
					const char *params, size_t *at, uint32_t *number)
{
	const struct watch_module *module = find_module(watch, event->module);

	if (!module || !module->image->told)
		return NULL;
	while (*at < module->image->count) {
		uint32_t row = module->image->rows[(*at)++];

		*number = row + 1;
		if (watch->rows[row]->pinvoke && pinvoke_may_share(module->image->image->metadata,
								   watch->rows[row]->rid, params))
			return watch->rows[row];
	}
	return NULL;
}

bool watch_misses_stub(const struct watch *watch, const struct compile_event *event)
{
	const struct watch_module *module = find_module(watch, event->module);

	for (size_t i = 0; module && !module->image->told && i < module->image->count; i++) {
		if (watch->rows[module->image->rows[i]]->pinvoke)
			return true;
	}
	return false;
}

void watch_spell_params(struct watch *watch, const struct compile_event *event,
			struct span signature, struct text *params)
{
	const struct watch_module *module = find_module(watch, event->module);

	pinvoke_spell_params(signature, module ? module->image->image->metadata : NULL, params);
}

/*
 * The row that @method is defined in, of a number of image that is put into *@image; -1: nobody
 * asks for it.
 */
static long find_method(const struct watch *watch, const struct method_id *method, size_t *image)
{
	uint32_t rid = dotnet_method_row(method);

	for (*image = 0; rid && *image < watch->images.count; ++*image) {
		const struct metadata *metadata = watch->images.images[*image]->metadata;

		if (metadata && metadata_module(metadata) == method->module)
			return watch_find_row(watch, watch->of_images[*image], rid);
	}
	return -1;
}

bool watch_find_stub(struct watch *watch, const struct method_id *method, uint32_t *number)
{
	size_t image;
	long row = find_method(watch, method, &image);

	*number = (uint32_t)row + 1;
	return row >= 0 && watch->rows[row]->pinvoke && watch->of_images[image]->told;
}

size_t watch_row_count(const struct watch *watch)
{
	return watch->next_rank;
}

bool watch_pattern_matched(const struct watch *watch, size_t pattern)
{
	for (size_t i = 0; i < watch->row_count; i++) {
		if (watch->rows[i]->pattern == pattern)
			return true;
	}
	return false;
}

const char *watch_name_of_rank(const struct watch *watch, uint32_t rank)
{
	for (size_t i = 0; i < watch->row_count; i++) {
		if (watch->rows[i]->rank == rank)
			return watch->rows[i]->method;
	}
	return "?";
}

uint32_t watch_rank(const struct watch *watch, const struct method_id *method)
{
	size_t image;
	long row = find_method(watch, method, &image);

	return row < 0 ? UINT32_MAX : watch->rows[row]->rank;
}

bool watch_is_open_ended(const struct watch *watch)
{
	bool *found = calloc(watch->request->count, sizeof(*found));
	bool open_ended = !found;

	for (size_t i = 0; found && i < watch->row_count; i++) {
		open_ended |= watch->rows[i]->generic;
		found[watch->rows[i]->pattern] = true;
	}
	for (size_t i = 0; found && i < watch->request->count; i++)
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
	for (size_t i = 0; i < watch->request->count; i++) {
		struct pattern *pattern = watch->patterns[i];

		if (!pattern_wants_image(pattern, "run-time code") ||
		    !pattern_wants_type(pattern, dynamic_type) ||
		    !pattern_wants_method(pattern, name))
			continue;
		if (!wanted)
			row->pattern = (uint32_t)i;
		wanted = true;
		row->sure |= pattern_is_exact(pattern) && !pattern_has_params(pattern) &&
			     pattern_matches(pattern, &full, NULL) == 1;
	}
	method_name_deinit(&full);
	return wanted;
}

const struct watch_row *watch_find_dynamic(struct watch *watch, const char *name)
{
	struct watch_row row = { .generic = true, .id.runtime = RUNTIME_DOTNET };
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
	if (added < 0 && text_ok(&spelled) && match_dynamic(watch, name, &row)) {
		added = watch_add_row(watch, &row);
		if (added >= 0)
			watch->rows[added]->rank = watch->next_rank++;
	}
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
	struct watch_image *matched;

	if (dotnet_images_add_copy(&watch->images, bytes, size,
				   (struct address){ event->layout_base }, kind, &image, NULL) != 1)
		return WATCH_NO_IMAGE;
	/* Pieces that could not be sent are zeros. */
	if (!image->metadata)
		return WATCH_NO_IMAGE;
	dotnet_images_link_from(&watch->images, first);
	if (watch_match_images(watch, first))
		return WATCH_NO_IMAGE;
	matched = watch_find_image(watch, image);
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

int watch_add_file(struct watch *watch, size_t file, uint64_t place, const char *name,
		   struct span bytes)
{
	const struct dotnet_source source = {
		.file = file,
		.place = place,
		.name = name,
		.bytes = bytes,
		.is_mapped = is_whole,
	};
	size_t first = watch->images.count;
	int result = dotnet_images_add(&watch->images, &source, NULL);

	if (result == 0) {
		dotnet_images_link_from(&watch->images, first);
		result = watch_match_images(watch, first);
	}
	return result ? result : (int)(watch->images.count - first);
}

const struct dotnet_images *watch_images(const struct watch *watch)
{
	return &watch->images;
}
