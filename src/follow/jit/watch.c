// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a compilation's event to the method that is watched for, and from modules to images: before
 * compilations.c gives the body a site.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/follow.h"
#include "base/error.h"
#include "base/tree.h"
#include "follow/jit/watch_internal.h"
#include "method/pattern.h"
#include "base/text.h"

enum {
	/* Of more rows than this the programs report all of the module, and we look them up. */
	ROWS_IN_MAP_MAX = 4096,
};

/* Modules --------------------------------------------------------------------------------- */

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
			.rid = row->is.row,
		};

		/* P/Invokes are told by it at stubs. */
		stubs |= row->is.pinvoke ? MODULE_STUBS : 0;
		if (!stays || (!in_map && !row->is.pinvoke))
			continue;
		if (bpf_map_update_elem(watch->maps.watched_fd, &key, &image->rows[i], BPF_ANY)) {
			state = MODULE_ASK;
			lacking |= row->is.pinvoke;
		}
	}
	state |= stubs;
	image->told = !lacking;
	bpf_map_update_elem(watch->maps.modules_fd, &module->at, &state, BPF_ANY);
}

static void set_module(struct watch *watch, uint64_t at, struct watch_image *image,
		       uint64_t allocator)
{
	bool is_new;
	struct watch_module *module = tree_take(&watch->modules, at, sizeof(*module), &is_new);

	if (!watch->main_allocator)
		watch->main_allocator = allocator;
	if (!module || module->image == image)
		return;
	module->image = image;
	/* One that can be unloaded may leave its place to another. */
	module->stays = allocator == watch->main_allocator;
	tell_programs(watch, module, module->stays);
}

static void add_known_modules(struct watch *watch, const struct runtime_follow *runtime)
{
	for (size_t i = 0; i < runtime->module_count; i++) {
		if (runtime->modules[i].is_core)
			watch->main_allocator = runtime->modules[i].allocator;
	}
	for (size_t i = 0; i < runtime->module_count; i++) {
		const struct runtime_module *module = &runtime->modules[i];

		if (!module->grows)
			set_module(watch, module->at, watch->of_images[module->image],
				   module->allocator);
	}
}

/* The watch ------------------------------------------------------------------------------- */

int watch_create(struct watch **out, const struct request *request,
		 const struct runtime_follow *runtime, const struct watch_maps *maps,
		 struct error *err)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int result;

	if (!watch)
		return error_set(err, -ENOMEM, "no memory to watch for methods");
	watch->request = request;
	watch->maps = *maps;
	watch->images = runtime->images;
	result = patterns_create(&watch->patterns, request->patterns, request->count, err);
	if (result == 0 && watch_match_images(watch))
		result = error_set(err, -ENOMEM, "no memory to watch for methods");
	if (result) {
		watch_destroy(watch);
		return result;
	}
	watch_rank_rows(watch);
	add_known_modules(watch, runtime);
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
	for (size_t i = 0; i < watch->image_count; i++) {
		free(watch->of_images[i]->rows);
		free(watch->of_images[i]);
	}
	free(watch->of_images);
	tdestroy(watch->modules, free);
	patterns_destroy(watch->patterns, watch->request->count);
	free(watch);
}

bool watch_wants_dynamic(const struct watch *watch)
{
	for (size_t i = 0; i < watch->request->count; i++) {
		if (pattern_wants_type(watch->patterns[i], watch->images->ops->dynamic_type) &&
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
	module = tree_find(&watch->modules, event->module);
	if (!module)
		return NULL;
	row = watch_find_row(watch, module->image, event->rid);
	return row < 0 ? NULL : watch->rows[row];
}

const struct watch_row *watch_next_stub(struct watch *watch, const struct compile_event *event,
					const char *params, size_t *at, uint32_t *number)
{
	const struct watch_module *module = tree_find(&watch->modules, event->module);

	if (!module || !module->image->told)
		return NULL;
	while (*at < module->image->count) {
		uint32_t row = module->image->rows[(*at)++];

		*number = row + 1;
		if (watch->rows[row]->is.pinvoke &&
		    watch->images->ops->may_share(watch->images, module->image->number,
						  watch->rows[row]->is.row, params))
			return watch->rows[row];
	}
	return NULL;
}

bool watch_misses_stub(const struct watch *watch, const struct compile_event *event)
{
	const struct watch_module *module = tree_find(&watch->modules, event->module);

	for (size_t i = 0; module && !module->image->told && i < module->image->count; i++) {
		if (watch->rows[module->image->rows[i]]->is.pinvoke)
			return true;
	}
	return false;
}

void watch_spell_params(struct watch *watch, const struct compile_event *event,
			struct span signature, struct text *params)
{
	const struct watch_module *module = tree_find(&watch->modules, event->module);

	watch->images->ops->spell_params(watch->images, module ? (long)module->image->number : -1,
					 signature, params);
}

/*
 * The row that @method is defined in, of a number of image that is put into *@image; -1: nobody
 * asks for it.
 */
static long find_method(const struct watch *watch, const struct method_id *method, size_t *image)
{
	uint32_t rid;

	if (!watch->images->ops->find_method(watch->images, method, image, &rid) ||
	    *image >= watch->image_count)
		return -1;
	return watch_find_row(watch, watch->of_images[*image], rid);
}

bool watch_find_stub(struct watch *watch, const struct method_id *method, uint32_t *number)
{
	size_t image;
	long row = find_method(watch, method, &image);

	*number = (uint32_t)row + 1;
	return row >= 0 && watch->rows[row]->is.pinvoke && watch->of_images[image]->told;
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

uint32_t watch_named_count(const struct watch *watch)
{
	return watch->next_named;
}

const char *watch_name_of(const struct watch *watch, uint32_t named)
{
	for (size_t i = 0; i < watch->row_count; i++) {
		if (watch->rows[i]->rank != UINT32_MAX && watch->rows[i]->named == named)
			return watch->rows[i]->is.method;
	}
	return "?";
}

const struct watch_row *watch_row_of(const struct watch *watch, const struct method_id *method)
{
	size_t image;
	long row = find_method(watch, method, &image);

	return row < 0 ? NULL : watch->rows[row];
}

bool watch_is_open_ended(const struct watch *watch)
{
	bool *found = calloc(watch->request->count, sizeof(*found));
	bool open_ended = !found;

	for (size_t i = 0; found && i < watch->row_count; i++) {
		open_ended |= watch->rows[i]->is.generic;
		found[watch->rows[i]->pattern] = true;
	}
	for (size_t i = 0; found && i < watch->request->count; i++)
		open_ended |= !found[i];
	free(found);
	return open_ended;
}

bool watch_may_be_freed(const struct watch *watch, uint64_t module)
{
	const struct watch_module *found = tree_find(&watch->modules, module);

	return !found || !found->stays;
}

/* Its parameters are in memory only: a pattern that asks for them is asked again, with all. */
static bool match_dynamic(struct watch *watch, const char *name, struct watch_row *row)
{
	const char *type = watch->images->ops->dynamic_type;
	struct method_name full = { 0 };
	bool wanted = false;

	text_add(&full.type, type);
	text_add(&full.name, name);
	for (size_t i = 0; i < watch->request->count; i++) {
		struct pattern *pattern = watch->patterns[i];

		if (!pattern_wants_image(pattern, "run-time code") ||
		    !pattern_wants_type(pattern, type) || !pattern_wants_method(pattern, name))
			continue;
		if (!wanted)
			row->pattern = (uint32_t)i;
		wanted = true;
		row->is.sure |= pattern_is_exact(pattern) && !pattern_has_params(pattern) &&
				pattern_matches(pattern, &full, NULL) == 1;
	}
	method_name_deinit(&full);
	return wanted;
}

const struct watch_row *watch_find_dynamic(struct watch *watch, const char *name)
{
	const struct runtime_follow_ops *ops = watch->images->ops;
	struct watch_row row = { .is = { .generic = true, .id.runtime = ops->id } };
	struct text spelled = { 0 };
	long added = -1;

	text_add(&spelled, ops->dynamic_type);
	text_add(&spelled, "::");
	text_add_printable(&spelled, name);
	text_add(&spelled, "(?)");
	row.is.method = text_chars(&spelled);
	for (size_t i = 0; i < watch->row_count; i++) {
		if (!watch->rows[i]->is.image &&
		    strcmp(watch->rows[i]->is.method, row.is.method) == 0)
			added = (long)i;
	}
	if (added < 0 && text_ok(&spelled) && match_dynamic(watch, name, &row)) {
		added = watch_add_row(watch, &row.is, row.pattern);
		if (added >= 0)
			watch_rank_row(watch, watch->rows[added]);
	}
	text_deinit(&spelled);
	return added < 0 ? NULL : watch->rows[added];
}

enum watch_answer watch_learn(struct watch *watch, const struct compile_event *event,
			      const uint8_t *header)
{
	long image;

	if (!event->layout_base)
		return WATCH_NO_IMAGE;
	image = watch->images->ops->find_header(watch->images, header, event->layout_size);
	if (image < 0 || (size_t)image >= watch->image_count)
		return WATCH_UNKNOWN;
	set_module(watch, event->module, watch->of_images[image], event->loader_allocator);
	return WATCH_KNOWN;
}

enum watch_answer watch_learn_copy(struct watch *watch, const struct compile_event *event,
				   uint8_t *bytes, size_t size)
{
	bool added = watch->images->ops->add_copy(watch->images, bytes, size, event->layout_base,
						  event->layout_flags);

	if (watch_match_images(watch) || !added)
		return WATCH_NO_IMAGE;
	set_module(watch, event->module, watch->of_images[watch->image_count - 1],
		   event->loader_allocator);
	return WATCH_KNOWN;
}

int watch_add_file(struct watch *watch, size_t file, uint64_t place, const char *name,
		   struct span bytes)
{
	int added = watch->images->ops->add_file(watch->images, file, place, name, bytes);
	int result = added < 0 ? added : watch_match_images(watch);

	return result ? result : added;
}

const struct runtime_images *watch_images(const struct watch *watch)
{
	return watch->images;
}
