// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime/follow.h for .NET: asked by the follower at a compilation and when a file is mapped. The
 * images are a copy of those that the main thread has.
 */
#include "runtime/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bpf/follow.h"
#include "base/vector.h"
#include "runtime/dotnet/compiler.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/exit_parts.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/follow_layout.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/precompiled.h"

struct runtime_images {
	struct dotnet_images dotnet;
};

static int copy_images(struct runtime_images **out, const struct dotnet *dotnet)
{
	struct runtime_images *images = calloc(1, sizeof(*images));

	if (!images || (dotnet && dotnet_images_copy(&images->dotnet, &dotnet->images))) {
		free(images);
		return -ENOMEM;
	}
	/* What their components bring is looked for while threads wait. */
	for (size_t i = 0; i < images->dotnet.count; i++) {
		const struct dotnet_image *image = images->dotnet.images[i];

		if (image->kind == R2R_COMPOSITE && image->r2r)
			(void)r2r_prepare(image->r2r);
	}
	*out = images;
	return 0;
}

struct modules {
	struct runtime_follow *follow;
	const struct dotnet_images *images;
	size_t capacity;
	bool failed;
};

static void add_module(const struct clr_module *module, void *ctx)
{
	struct modules *modules = ctx;
	struct runtime_follow *follow = modules->follow;
	size_t image = 0;

	while (image < modules->images->count && modules->images->images[image] != module->image)
		image++;
	if (!module->image || image == modules->images->count)
		return;
	if (!vector_reserve(&follow->modules, &modules->capacity, follow->module_count + 1)) {
		modules->failed = true;
		return;
	}
	follow->modules[follow->module_count++] = (struct runtime_module){
		.at = module->at,
		.allocator = module->loader_allocator,
		.image = image,
		.is_core = strcmp(module->image->name, "System.Private.CoreLib.dll") == 0,
		.grows = !module->image->pe.file.start,
	};
}

int dotnet_follow(struct runtime_follow *follow, const struct dotnet *dotnet, struct error *err)
{
	struct modules modules = { .follow = follow };
	int result;

	*follow = (struct runtime_follow){ 0 };
	result = copy_images(&follow->images, dotnet);
	if (result == 0 && dotnet && dotnet->jit) {
		modules.images = &dotnet->images;
		jit_each_module(dotnet->jit, add_module, &modules);
	}
	if (result == 0 && !modules.failed)
		return 0;
	runtime_follow_end(follow);
	return error_set(err, -ENOMEM, "no memory to watch for methods");
}

void runtime_follow_end(struct runtime_follow *follow)
{
	if (follow->images)
		dotnet_images_deinit(&follow->images->dotnet);
	free(follow->images);
	free(follow->modules);
	*follow = (struct runtime_follow){ 0 };
}

int dotnet_follow_layout(const struct dotnet_runtime *runtime, const struct dotnet *dotnet,
			 struct follow_shared *shared, struct error *err)
{
	struct layout layout;
	int result;

	if (dotnet)
		return layout_for_programs(&jit_clr(dotnet->jit)->layout, shared, err);
	result = layout_init(&layout, runtime->major, NULL, err);
	if (result || shared->has_layout)
		return result;
	return layout_for_programs(&layout, shared, err);
}

int dotnet_find_compiler(const struct dotnet_runtime *runtime, const struct dotnet *dotnet,
			 struct span bytes, struct file_offset *entry, struct file_offset *exit,
			 struct error *err)
{
	struct jit_compiler compiler;
	int result;

	if (!runtime->single_file)
		result = jit_compiler_find(&compiler, bytes, err);
	else if (dotnet)
		result = jit_compiler_find_running(&compiler, jit_clr(dotnet->jit), bytes,
						   runtime->bias, err);
	else
		result = jit_compiler_find_linked(&compiler, bytes, err);
	if (result)
		return result;
	*entry = compiler.entry;
	*exit = compiler.exit;
	return 0;
}

size_t runtime_images_count(const struct runtime_images *images)
{
	return images->dotnet.count;
}

struct runtime_image runtime_images_at(const struct runtime_images *images, size_t number)
{
	const struct dotnet_image *image = images->dotnet.images[number];

	return (struct runtime_image){
		.name = image->name,
		.file = image->file,
		.offset = image->slice.value,
		.size = image->pe.file.size,
	};
}

bool runtime_images_compressed(const struct runtime_images *images)
{
	return images->dotnet.compressed;
}

bool runtime_images_have_named(const struct runtime_images *images, const char *file_name)
{
	return dotnet_images_have_named(&images->dotnet, file_name);
}

/* What comes ----------------------------------------------------------------------------------- */

static bool is_whole(const void *ctx, uint64_t offset, uint64_t size)
{
	(void)ctx;
	(void)offset;
	(void)size;
	return true;
}

int runtime_images_add_file(struct runtime_images *images, size_t file, uint64_t place,
			    const char *name, struct span bytes)
{
	const struct dotnet_source source = {
		.file = file,
		.place = place,
		.name = name,
		.bytes = bytes,
		.is_mapped = is_whole,
	};
	size_t first = images->dotnet.count;
	int result = dotnet_images_add(&images->dotnet, &source, NULL);

	if (result)
		return result;
	dotnet_images_link_from(&images->dotnet, first);
	return (int)(images->dotnet.count - first);
}

bool runtime_images_add_copy(struct runtime_images *images, uint8_t *bytes, size_t size,
			     uint64_t base, bool loaded)
{
	size_t first = images->dotnet.count;
	struct dotnet_image *image = NULL;

	if (dotnet_images_add_copy(&images->dotnet, bytes, size, (struct address){ base },
				   loaded ? DOTNET_COPY_LOADED : DOTNET_COPY_FILE, &image,
				   NULL) != 1)
		return false;
	dotnet_images_link_from(&images->dotnet, first);
	/* Pieces that could not be sent are zeros. */
	return image->metadata != NULL;
}

long runtime_images_find_header(const struct runtime_images *images, const uint8_t *header,
				uint32_t size)
{
	for (size_t i = 0; i < images->dotnet.count; i++) {
		const struct dotnet_image *image = images->dotnet.images[i];
		struct span file = image->pe.file;

		if (file.size < FOLLOW_DETAIL_BYTES ||
		    memcmp(file.start, header, FOLLOW_DETAIL_BYTES) != 0)
			continue;
		/* A copy is of one place and size; of a file there is but one, wherever it lies. */
		if (image->file != DOTNET_NO_FILE || image->copy_size == size)
			return (long)i;
	}
	return -1;
}

/* Methods -------------------------------------------------------------------------------------- */

struct finding {
	int (*fn)(const struct runtime_method *method, void *ctx);
	void *ctx;
};

static int on_definition(const struct dotnet_match *match, void *ctx)
{
	const struct finding *finding = ctx;
	const struct r2r_method *definition = &match->definition;
	const struct runtime_method method = {
		.image = match->image->name,
		.id = dotnet_method_id(definition),
		.traits = dotnet_method_traits(definition),
		.row = definition->method_rid,
		.generic = match->generic,
		.sure = match->sure,
		.pinvoke = !metadata_method_has_il(definition->metadata, definition->method_rid),
		.method = match->method,
		.made_from = match->made_from,
	};

	return match->kind == MATCH_DEFINITION ? finding->fn(&method, finding->ctx) : 0;
}

int runtime_images_find(const struct runtime_images *images, size_t number, struct pattern *pattern,
			bool nested, int (*fn)(const struct runtime_method *method, void *ctx),
			void *ctx)
{
	struct finding finding = { fn, ctx };

	return dotnet_find_in_image(&images->dotnet, images->dotnet.images[number],
				    FIND_DEFINITIONS, pattern, nested, on_definition, &finding,
				    NULL);
}

bool runtime_images_find_method(const struct runtime_images *images, const struct method_id *id,
				size_t *number, uint32_t *row)
{
	*row = dotnet_method_row(id);
	for (*number = 0; *row && *number < images->dotnet.count; ++*number) {
		const struct metadata *metadata = images->dotnet.images[*number]->metadata;

		if (metadata && metadata_module(metadata) == id->module)
			return true;
	}
	return false;
}

struct searching {
	const struct runtime_images *images;
	const struct runtime_search *search;
	body_fn fn;
	void *ctx;
	const struct dotnet_image *code; /* whose bodies are wanted */
	struct error *err;
};

static int on_body(const struct dotnet_match *match, void *ctx)
{
	const struct searching *searching = ctx;
	struct body_code codes[BODY_PARTS_MAX];
	struct exits exits = { 0 };
	struct method_body body;
	int result = 0;

	if (match->kind != MATCH_BODY || !match->image || match->image != searching->code)
		return 0;
	body = dotnet_matched_body(match);
	body.state = STATE_UNKNOWN;
	body.exits_entry = match->body.rva.value;
	/* Where it will be in memory is not known yet; that it will be in code is. */
	body.address.value = 1;
	body.exits = &exits;
	if (!precompiled_describe(match->image, &match->body, &body, codes))
		return 0;
	if (searching->search->timed)
		result = r2r_find_exits(&exits, &match->image->pe, &match->body, searching->err);
	if (result == 0)
		result = searching->fn(&body, searching->ctx);
	exits_deinit(&exits);
	return result;
}

static int search_bodies(const struct searching *searching, const struct dotnet_image *image,
			 unsigned int what)
{
	const struct runtime_search *search = searching->search;
	int result = 0;

	for (size_t p = 0; p < search->count && result != -ENOMEM; p++)
		result = dotnet_find_in_image(&searching->images->dotnet, image, what,
					      search->patterns[p], search->nested, on_body,
					      (void *)searching, searching->err);
	return result == -ENOMEM ? result : 0;
}

/* Instantiations of generic methods may be in any image that was compiled with their definition. */
static bool wants_generic(const struct runtime_images *images, const struct runtime_search *search)
{
	for (size_t i = 0; i < images->dotnet.count; i++) {
		if (search->wanted(i, search->ctx) == RUNTIME_WANTS_GENERIC)
			return true;
	}
	return false;
}

int runtime_images_bodies(const struct runtime_images *images, size_t number,
			  const struct runtime_search *search, body_fn fn, void *ctx,
			  struct error *err)
{
	const struct dotnet_image *image = images->dotnet.images[number];
	struct searching searching = { images, search, fn, ctx, image, err };
	uint32_t component;
	int result = 0;

	if (wants_generic(images, search))
		result = search_bodies(&searching, image, FIND_INSTANCES);
	/* The code of a composite's components is in the composite, whichever comes first. */
	for (size_t i = 0; i < images->dotnet.count && result == 0; i++) {
		const struct dotnet_image *defines = images->dotnet.images[i];
		const struct dotnet_image *code =
			dotnet_images_code_of(&images->dotnet, defines, &component);
		enum runtime_wanted wanted = search->wanted(i, search->ctx);

		if (!code || (defines != image && code != image) || wanted == RUNTIME_WANTS_NONE)
			continue;
		searching.code = code;
		result = search_bodies(&searching, defines, FIND_BODIES);
		if (result == 0 && code != image && wanted == RUNTIME_WANTS_GENERIC)
			result = search_bodies(&searching, code, FIND_INSTANCES);
	}
	return result;
}

/* Stubs ---------------------------------------------------------------------------------------- */

void runtime_images_spell_params(const struct runtime_images *images, long number,
				 struct span signature, struct text *params)
{
	pinvoke_spell_params(signature, number < 0 ? NULL : images->dotnet.images[number]->metadata,
			     params);
}

const char *runtime_images_stub_name(const struct runtime_images *images)
{
	(void)images;
	return PINVOKE_STUB_NAME;
}

bool runtime_images_may_share(const struct runtime_images *images, size_t number, uint32_t row,
			      const char *params)
{
	return pinvoke_may_share(images->dotnet.images[number]->metadata, row, params);
}
