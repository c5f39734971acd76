// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime/follow.h for .NET: asked by the follower at a compilation and when a file is mapped. The
 * images are a copy of those that the main thread has.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bpf/follow.h"
#include "base/vector.h"
#include "image/bundle.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "runtime/dotnet/exit_parts.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/follow.h"

enum { LAYOUT_IS_LOADED = 1 /* PEImageLayout::FLAG_MAPPED */ };

/* The beginning -------------------------------------------------------------------------------- */

struct images {
	struct runtime_images images;
	struct dotnet_images dotnet;
};

static const struct dotnet_images *dotnet_of(const struct runtime_images *images)
{
	return &((const struct images *)images)->dotnet;
}

static int copy_images(struct runtime_images **out, const struct dotnet *dotnet)
{
	struct images *images = calloc(1, sizeof(*images));

	if (!images || (dotnet && dotnet_images_copy(&images->dotnet, &dotnet->images))) {
		free(images);
		return -ENOMEM;
	}
	images->images.ops = &dotnet_follow_ops;
	/* What their components bring is looked for while threads wait. */
	for (size_t i = 0; i < images->dotnet.count; i++) {
		const struct dotnet_image *image = images->dotnet.images[i];

		if (image->kind == R2R_COMPOSITE && image->r2r)
			(void)r2r_prepare(image->r2r);
	}
	*out = &images->images;
	return 0;
}

static void destroy(struct runtime_images *images)
{
	dotnet_images_deinit(&((struct images *)images)->dotnet);
	free(images);
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

static int begin(struct runtime_follow *follow, const struct runtime *runtime, struct error *err)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	struct modules modules = { .follow = follow };
	int result;

	*follow = (struct runtime_follow){ 0 };
	result = copy_images(&follow->images, dotnet);
	if (result == 0 && dotnet && dotnet->jit) {
		modules.images = &dotnet->images;
		clr_modules_each(&dotnet->jit->modules, add_module, &modules);
	}
	if (result == 0 && !modules.failed)
		return 0;
	runtime_follow_end(follow);
	return error_set(err, -ENOMEM, "no memory to watch for methods");
}

/* Images --------------------------------------------------------------------------------------- */

static size_t count_images(const struct runtime_images *images)
{
	return dotnet_of(images)->count;
}

static struct runtime_image image_at(const struct runtime_images *images, size_t number)
{
	const struct dotnet_image *image = dotnet_of(images)->images[number];

	return (struct runtime_image){
		.name = image->name,
		.file = image->file,
		.offset = image->slice.value,
		.size = image->pe.file.size,
	};
}

static bool have_compressed(const struct runtime_images *images)
{
	return dotnet_of(images)->compressed;
}

static bool have_named(const struct runtime_images *images, const char *file_name)
{
	return dotnet_images_have_named(dotnet_of(images), file_name);
}

/* What comes ----------------------------------------------------------------------------------- */

static bool is_bundle(struct span bytes)
{
	struct bundle bundle;

	if (bundle_read(&bundle, bytes, NULL) != 1)
		return false;
	bundle_deinit(&bundle);
	return true;
}

static int add_file(struct runtime_images *images, size_t file, uint64_t place, const char *name,
		    struct span bytes)
{
	struct dotnet_images *dotnet = &((struct images *)images)->dotnet;
	const struct dotnet_source source = {
		.file = file,
		.place = place,
		.name = name,
		.bytes = bytes,
	};
	size_t first = dotnet->count;
	int result = dotnet_images_add(dotnet, &source, NULL);

	if (result)
		return result;
	dotnet_images_link_from(dotnet, first);
	return (int)(dotnet->count - first);
}

static bool add_copy(struct runtime_images *images, uint8_t *bytes, size_t size, uint64_t base,
		     uint32_t flags)
{
	struct dotnet_images *dotnet = &((struct images *)images)->dotnet;
	size_t first = dotnet->count;
	struct dotnet_image *image = NULL;

	if (dotnet_images_add_copy(dotnet, bytes, size, (struct address){ base },
				   flags & LAYOUT_IS_LOADED ? DOTNET_COPY_LOADED : DOTNET_COPY_FILE,
				   &image, NULL) != 1)
		return false;
	dotnet_images_link_from(dotnet, first);
	/* Pieces that could not be sent are zeros. */
	return image->metadata != NULL;
}

static long find_header(const struct runtime_images *images, const uint8_t *header, uint32_t size)
{
	const struct dotnet_images *dotnet = dotnet_of(images);

	for (size_t i = 0; i < dotnet->count; i++) {
		const struct dotnet_image *image = dotnet->images[i];
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

static int find_methods(const struct runtime_images *images, size_t number, struct pattern *pattern,
			bool nested, int (*fn)(const struct runtime_method *method, void *ctx),
			void *ctx)
{
	struct finding finding = { fn, ctx };

	return dotnet_find_in_image(dotnet_of(images), dotnet_of(images)->images[number],
				    FIND_DEFINITIONS, pattern, nested, on_definition, &finding,
				    NULL);
}

static bool find_method(const struct runtime_images *images, const struct method_id *id,
			size_t *number, uint32_t *row)
{
	const struct dotnet_images *dotnet = dotnet_of(images);

	*row = dotnet_method_row(id);
	for (*number = 0; *row && *number < dotnet->count; ++*number) {
		const struct metadata *metadata = dotnet->images[*number]->metadata;

		if (metadata && metadata_module(metadata) == id->module)
			return true;
	}
	return false;
}

struct searching {
	const struct dotnet_images *images;
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
		result = dotnet_find_in_image(searching->images, image, what, search->patterns[p],
					      search->nested, on_body, (void *)searching,
					      searching->err);
	return result == -ENOMEM ? result : 0;
}

/* Instantiations of generic methods may be in any image that was compiled with their definition. */
static bool wants_generic(const struct dotnet_images *images, const struct runtime_search *search)
{
	for (size_t i = 0; i < images->count; i++) {
		if (search->wanted(i, search->ctx) == RUNTIME_WANTS_GENERIC)
			return true;
	}
	return false;
}

static int find_bodies(const struct runtime_images *images, size_t number,
		       const struct runtime_search *search, body_fn fn, void *ctx,
		       struct error *err)
{
	const struct dotnet_images *dotnet = dotnet_of(images);
	const struct dotnet_image *image = dotnet->images[number];
	struct searching searching = { dotnet, search, fn, ctx, image, err };
	uint32_t component;
	int result = 0;

	if (wants_generic(dotnet, search))
		result = search_bodies(&searching, image, FIND_INSTANCES);
	/* The code of a composite's components is in the composite, whichever comes first. */
	for (size_t i = 0; i < dotnet->count && result == 0; i++) {
		const struct dotnet_image *defines = dotnet->images[i];
		const struct dotnet_image *code =
			dotnet_images_code_of(dotnet, defines, &component);
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

static void spell_params(const struct runtime_images *images, long number, struct span signature,
			 struct text *params)
{
	pinvoke_spell_params(
		signature, number < 0 ? NULL : dotnet_of(images)->images[number]->metadata, params);
}

static bool may_share(const struct runtime_images *images, size_t number, uint32_t row,
		      const char *params)
{
	return pinvoke_may_share(dotnet_of(images)->images[number]->metadata, row, params);
}

const struct runtime_follow_ops dotnet_follow_ops = {
	.id = RUNTIME_DOTNET,
	.dynamic_type = "dynamicClass",
	.stub_name = PINVOKE_STUB_NAME,
	.program_end = ".dll",
	.begin = begin,
	.destroy = destroy,
	.find_code = dotnet_find_code,
	.tier_of = dotnet_tier_of,
	.header_bytes = CODE_HEADER_BYTES,
	.unwind_bytes = CODE_UNWIND_BYTES,
	.find_parts = exit_parts_unwound,
	.count = count_images,
	.at = image_at,
	.have_compressed = have_compressed,
	.have_named = have_named,
	.may_be_image = dotnet_is_pe,
	.is_bundle = is_bundle,
	.add_file = add_file,
	.add_copy = add_copy,
	.find_header = find_header,
	.find = find_methods,
	.find_method = find_method,
	.bodies = find_bodies,
	.spell_params = spell_params,
	.may_share = may_share,
};
