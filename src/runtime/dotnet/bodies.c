// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From what matches a pattern in .NET's images and code to bodies for the session: dotnet.h. What
 * has been compiled at run time is read here, and looked at again.
 */
#include "runtime/dotnet/dotnet_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "image/elf.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/dotnet/exit_parts.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/dotnet/pinvoke.h"
#include "target/target.h"

enum { HEADER_BYTES = 512 /* no file of a managed image has less in its first page */ };

/* What is compiled ---------------------------------------------------------------------------- */

/* The image that the target has mapped from a file at @base. */
static const struct dotnet_image *mapped_image(const struct dotnet *dotnet, uint64_t base)
{
	const struct mapping *row =
		maps_find(target_maps(dotnet->target), (struct address){ base });
	const struct target_file *file;
	struct file_offset in_image;

	if (!row || row->inode == 0)
		return NULL;
	file = target_find_file(dotnet->target, row);
	return file ? dotnet_images_find(&dotnet->images, file->number,
					 mapping_offset(row, (struct address){ base }), &in_image) :
		      NULL;
}

/* The mappings are those of the last snapshot: by now something else may lie there. */
static bool is_still_at(const struct dotnet *dotnet, const struct dotnet_image *image,
			uint64_t base)
{
	struct look look = look_into(dotnet->target->memory);
	struct span file = image->pe.file;
	uint8_t header[HEADER_BYTES];
	size_t size = file.size < sizeof(header) ? file.size : sizeof(header);

	look_copy_once(&look, base, header, size);
	return !look.bad && memcmp(header, file.start, size) == 0;
}

static const struct dotnet_image *image_at(void *ctx, const struct clr_layout *layout)
{
	struct dotnet *dotnet = ctx;
	const struct dotnet_image *image = mapped_image(dotnet, layout->base);

	if (image && is_still_at(dotnet, image, layout->base))
		return image;
	return memory_image_get(&dotnet->images, dotnet->target->memory, layout);
}

/* The runtime's executable segment says how far the runtime is loaded from where it was linked. */
static bool find_bias(struct dotnet *dotnet)
{
	const struct target_file *file = target_file(dotnet->target, dotnet->about.file);
	const struct maps *maps = target_maps(dotnet->target);
	struct elf elf;

	if (!elf_init(&elf, file->bytes))
		return false;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *row = &maps->rows[i];

		if (mapping_is_file_code(row) && mapping_same_file(row, &file->mapping) &&
		    elf_load_bias(&elf, row->offset, row->start, &dotnet->about.bias))
			return true;
	}
	return false;
}

static int open_runtime(struct dotnet *dotnet, struct error *err)
{
	int result = target_open_memory(dotnet->target, err);

	if (result)
		return result;
	if (!find_bias(dotnet))
		return error_set(err, -EBADMSG,
				 "the runtime's code is not mapped as its file says");
	result = jit_create(&dotnet->jit, dotnet->target->memory, &dotnet->about, image_at, dotnet,
			    err);
	return result ? result : jit_read(dotnet->jit, err);
}

int dotnet_read_jit(struct dotnet *dotnet, struct error *err)
{
	struct error why = { .text = "" };
	int result = open_runtime(dotnet, &why);

	if (result == 0)
		return 0;
	jit_destroy(dotnet->jit);
	dotnet->jit = NULL;
	if (result == -ENOMEM)
		return error_set(err, result, "%s", why.text);
	/* Precompiled code can be probed all the same. */
	dotnet->jit_problem = malloc(sizeof(why));
	if (dotnet->jit_problem)
		*dotnet->jit_problem = why;
	return 0;
}

/* Bodies --------------------------------------------------------------------------------------- */

bool dotnet_place_body(const struct dotnet_search *search, const struct dotnet_image *image,
		       struct rva rva, struct method_body *body)
{
	struct file_offset in_image;

	if (!pe_rva_to_offset(&image->pe, rva, &in_image))
		return false;
	body->tier = TIER_R2R;
	if (image->file == DOTNET_NO_FILE)
		return memory_image_address(image, rva, &body->address);
	body->offset.value = image->slice.value + in_image.value;
	body->address =
		target_address(search->dotnet->target,
			       target_file(search->dotnet->target, body->file), body->offset);
	return true;
}

int dotnet_describe_body(struct dotnet_search *search, const struct dotnet_image *image,
			 const struct r2r_body *r2r_body, struct method_body *body,
			 struct body_code codes[BODY_PARTS_MAX])
{
	if (!precompiled_describe(image, r2r_body, body, codes) ||
	    !dotnet_place_body(search, image, r2r_body->rva, body) || !search->query->timed)
		return 0;
	body->exits = &search->exits;
	body->exits_entry = r2r_body->rva.value;
	return r2r_find_exits(&search->exits, &image->pe, r2r_body, search->err);
}

/* Calls by stubs are not timed: a stub that methods share has shared exits. */
static enum body_absence why_no_code(const struct dotnet_search *search,
				     const struct r2r_method *definition)
{
	struct metadata_import import;

	return search->query->timed && definition->metadata &&
			       metadata_method_import(definition->metadata, definition->method_rid,
						      &import) ?
		       BODY_NATIVE_CALL :
		       BODY_NOT_COMPILED;
}

/* Those of a body that the runtime has compiled; @code is what was read of it. -ENOMEM. */
static int find_exits(struct dotnet_search *search, const struct jit_body *jit, struct span code,
		      struct exits *exits)
{
	const struct dotnet *dotnet = search->dotnet;
	struct exit_part parts[EXITS_PARTS_MAX];
	const struct exit_body exit_body = {
		.parts = parts,
		.part_count = exit_parts_compiled(&dotnet->jit->clr, jit->start, code, parts),
		.entered_midway = jit->tier == TIER_OSR,
		.left_midway = tier_may_be_left(jit->tier),
		.unwound_by_code = true,
		.read = exit_read_memory,
		.ctx = dotnet->target->memory,
	};

	return exits_find(exits, &exit_body, search->err);
}

/* A call that began in the body may go on in an OSR body of the method, and end there. */
static int find_osr_exits(struct dotnet_search *search, const struct jit_body *jit)
{
	const struct dotnet *dotnet = search->dotnet;
	_cleanup_(exits_deinit) struct exits more = { 0 };
	int result = 0;

	for (size_t i = 0; !jit->final && i < jit->method->body_count && result == 0; i++) {
		const struct jit_body *osr = jit_method_body(dotnet->jit, jit->method, i);
		_cleanup_free_ uint8_t *bytes = NULL;

		if (osr->tier != TIER_OSR)
			continue;
		bytes = memory_read_once(dotnet->target->memory, osr->start.value, osr->size);
		result = find_exits(search, osr, (struct span){ bytes, bytes ? osr->size : 0 },
				    &more);
		if (result == 0)
			result = exits_add(&search->exits, &more, search->err);
	}
	return result;
}

/* A body that the runtime compiled; @known says already whose it is. */
static int tell_compiled(struct dotnet_search *search, const struct jit_body *jit,
			 const struct method_body *known)
{
	struct dotnet *dotnet = search->dotnet;
	struct perf_map *map = dotnet_perf_map(dotnet);
	const struct perf_map_row *row = map ? perf_map_find(map, jit->start) : NULL;
	bool wanted = jit->state != STATE_SUPERSEDED && jit->tier != TIER_OSR;
	_cleanup_free_ uint8_t *bytes =
		wanted ? memory_read_once(dotnet->target->memory, jit->start.value, jit->size) :
			 NULL;
	struct body_code code = { .bytes = { bytes, bytes ? jit->size : 0 } };
	struct method_body body = *known;
	int result;

	if (row && row->start.value == jit->start.value && row->kind == MAPPARSE_KIND_METHOD)
		body.sources |= 1u << NAME_SOURCE_PERF_MAP;
	body.file = BODY_NO_FILE;
	body.tier = jit->tier;
	body.state = jit->state;
	body.final = jit->final;
	body.method_desc = jit->method->is.desc;
	body.may_be_freed = jit_may_be_freed(dotnet->jit, jit->method);
	body.precompiled = jit->method->precompiled;
	body.precompiled_rejected = jit->method->precompiled_rejected;
	body.address = jit->start;
	body.size = jit->size;
	body.function_start = true;
	body.code = &code;
	body.code_count = 1;
	/* What can be unloaded cannot be told by its method for sure. */
	if (body.stub && (search->query->timed || body.may_be_freed))
		body.absent = BODY_NATIVE_CALL;
	body.exits = bytes && search->query->timed ? &search->exits : NULL;
	body.exits_entry = jit->start.value;
	result = body.exits ? find_exits(search, jit, code.bytes, &search->exits) : 0;
	if (result == 0 && body.exits)
		result = find_osr_exits(search, jit);
	return result ? result : search->fn(&body, search->ctx);
}

static int tell_match(const struct dotnet_match *match, void *ctx)
{
	struct dotnet_search *search = ctx;
	struct body_code codes[BODY_PARTS_MAX];
	struct method_body body = dotnet_matched_body(match);
	int result = 0;

	if (match->kind == MATCH_JIT_BODY)
		return tell_compiled(search, match->jit, &body);
	if (match->kind == MATCH_NOT_COMPILED)
		body.absent = why_no_code(search, &match->definition);
	else if (match->kind == MATCH_NO_IL)
		body.absent = BODY_NO_IL;
	else if (match->image)
		result = dotnet_describe_body(search, match->image, &match->body, &body, codes);
	return result ? result : search->fn(&body, search->ctx);
}

int dotnet_find_bodies(struct runtime *runtime, const struct body_query *query, body_fn fn,
		       void *ctx, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	struct dotnet_search search = {
		.dotnet = dotnet,
		.query = query,
		.fn = fn,
		.ctx = ctx,
		.err = err,
	};
	int result = dotnet_find(&dotnet->images, dotnet->jit, query->pattern, query->nested,
				 tell_match, &search, err);

	if (result == 0)
		result = dotnet_tell_maps(&search);
	if (result == 0 && dotnet->managed && !dotnet->jit &&
	    pattern_wants_image(query->pattern, "run-time code"))
		result = dotnet_tell_perf_map(&search);
	exits_deinit(&search.exits);
	return result;
}

/* Looked at again ------------------------------------------------------------------------------ */

bool dotnet_is_unchanged(struct runtime *runtime, struct address start, const char *method,
			 bool stub)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	const struct jit_body *body = jit_find_body(dotnet->jit, start);
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	_cleanup_(text_deinit) struct text spelled = { 0 };

	if (!body || !jit_recheck(dotnet->jit, body, &name))
		return false;
	if (stub)
		return strcmp(text_chars(&name.name), PINVOKE_STUB_NAME) == 0;
	method_name_spell(&name, &spelled);
	return strcmp(text_chars(&spelled), method) == 0;
}

static int matches_any(const struct name_query *query, const struct method_name *name,
		       const struct clr_method *method)
{
	const struct metadata *metadata = clr_module_metadata(method->module);
	_cleanup_(text_deinit) struct text made_from = { 0 };
	int matches = 0;

	for (size_t i = 0; i < query->count && matches != 1; i++)
		matches = dotnet_name_matches(name, metadata, method->rid, query->patterns[i],
					      query->nested, &made_from, NULL);
	return matches == 1;
}

int dotnet_read_name(struct runtime *runtime, uint64_t handle, const struct name_query *query,
		     struct text *spelled, uint64_t *instantiation)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	struct clr_method method;

	if (!dotnet->jit || !jit_name_desc(dotnet->jit, handle, &name, &method))
		return -1;
	method_name_spell(&name, spelled);
	*instantiation = method_name_instantiation(&name);
	return matches_any(query, &name, &method);
}
