// SPDX-License-Identifier: GPL-2.0-or-later
/* From what matches a pattern in .NET's images and code to bodies for the session: dotnet.h. */
#include "runtime/dotnet/dotnet_internal.h"

#include "method/pattern.h"
#include "runtime/dotnet/exit_parts.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/dotnet/metadata.h"
#include "target/target.h"

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

static int tell_match(const struct dotnet_match *match, void *ctx)
{
	struct dotnet_search *search = ctx;
	struct body_code codes[BODY_PARTS_MAX];
	struct method_body body = dotnet_matched_body(match);
	int result = 0;

	if (match->kind == MATCH_JIT_BODY)
		return dotnet_tell_compiled(search, match->jit, &body);
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
