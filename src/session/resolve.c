// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/resolve_planning.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/dotnet/exit_parts.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/dotnet/metadata.h"
#include "base/error.h"
#include "method/pattern.h"
#include "plan/precompiled.h"
#include "plan/timed.h"

struct source_context {
	const struct maps *maps;
	const struct mapping *row; /* of the file that is asked for */
};

static bool is_mapped(const void *ctx, uint64_t offset, uint64_t size)
{
	const struct source_context *source = ctx;

	for (size_t i = 0; i < source->maps->count; i++) {
		const struct mapping *row = &source->maps->rows[i];
		uint64_t row_size = row->end.value - row->start.value;

		if (mapping_same_file(row, source->row) && row->offset.value < offset + size &&
		    offset < row->offset.value + row_size)
			return true;
	}
	return false;
}

bool resolution_find_runtime(const struct target_files *files, struct dotnet_runtime *runtime)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct target_file *file = &files->files[i];

		if (strcmp(file->name, "libcoreclr.so") != 0 && strstr(file->name, ".so"))
			continue;
		if (dotnet_runtime_read(runtime, file->name, file->bytes)) {
			runtime->file = i;
			return true;
		}
	}
	return false;
}

int resolution_read_images(struct resolution *resolution, const struct target_file *file,
			   struct error *err)
{
	struct source_context context = { target_maps(&resolution->target), &file->mapping };
	const struct dotnet_source source = {
		.file = file->number,
		.place = file->place,
		.name = file->name,
		.bytes = file->bytes,
		.is_mapped = is_mapped,
		.ctx = &context,
	};

	return strstr(file->name, ".so") ? 0 : dotnet_images_add(&resolution->images, &source, err);
}

static int read_images(struct resolution *resolution, struct error *err)
{
	const struct target_files *files = &resolution->target.files;
	int result = 0;

	for (; resolution->files_read < files->count && result == 0; resolution->files_read++)
		result = resolution_read_images(resolution, &files->files[resolution->files_read],
						err);
	if (result)
		return result;
	resolution->managed = resolution_find_runtime(files, &resolution->runtime);
	if (resolution->managed)
		return resolution_read_jit(resolution, err);
	return memory_open(&resolution->memory, &resolution->target.process, err);
}

int resolution_require_runtime(const struct resolution *resolution, struct error *err)
{
	if (resolution->managed)
		return 0;
	return error_set(
		err, -ENOTSUP,
		"process %d (%s) is not a .NET process: it has no libcoreclr.so, and its program is no single-file .NET executable; native functions are asked for as 'Image!function', such as 'libc.so.6!malloc'",
		resolution->target.process.pid, resolution->target.process.comm);
}

static int read_target(struct resolution *resolution, struct error *err)
{
	const struct target_files *files = &resolution->target.files;
	int result = target_look(&resolution->target, err);

	if (result < 0)
		return result;
	if (files->count == 0 && files->first_error)
		return error_set(err, -EACCES, "%s", files->first_error->text);
	return read_images(resolution, err);
}

int resolution_init(struct resolution *resolution, pid_t pid, struct error *err)
{
	int result;

	*resolution = (struct resolution){ 0 };
	result = target_init(&resolution->target, pid, err);
	if (result)
		return result;
	result = read_target(resolution, err);
	if (result)
		resolution_deinit(resolution);
	return result;
}

void resolution_deinit(struct resolution *resolution)
{
	for (size_t i = 0; i < resolution->mapfile_count; i++)
		mapfile_deinit(&resolution->mapfiles[i]);
	free(resolution->mapfiles);
	perf_map_destroy(resolution->perf_map);
	free(resolution->perf_map_problem);
	jit_destroy(resolution->jit);
	free(resolution->jit_problem);
	memory_destroy(resolution->memory);
	dotnet_inlining_destroy(resolution->inlining);
	dotnet_images_deinit(&resolution->images);
	resolution_forget_functions(resolution);
	target_deinit(&resolution->target);
	/* Who tries again does so with the same one. */
	*resolution = (struct resolution){ .target = resolution->target };
}

int resolution_read_inlining(struct resolution *resolution, struct error *err)
{
	return dotnet_inlining_create(&resolution->inlining, &resolution->images, err);
}

/* Planning ------------------------------------------------------------------------------ */

bool planning_place_body(const struct planning *planning, const struct dotnet_image *image,
			 struct rva rva, struct method_body *body)
{
	struct file_offset in_image;

	if (!pe_rva_to_offset(&image->pe, rva, &in_image))
		return false;
	body->tier = TIER_R2R;
	if (image->file == DOTNET_NO_FILE)
		return memory_image_address(image, rva, &body->address);
	body->offset.value = image->slice.value + in_image.value;
	body->address = target_address(&planning->resolution->target,
				       target_file(&planning->resolution->target, body->file),
				       body->offset);
	return true;
}

int planning_describe_body(struct planning *planning, const struct dotnet_image *image,
			   const struct r2r_body *r2r_body, struct method_body *body,
			   struct body_code codes[BODY_PARTS_MAX])
{
	if (!precompiled_describe(image, r2r_body, body, codes) ||
	    !planning_place_body(planning, image, r2r_body->rva, body) || !planning->plan->timed)
		return 0;
	body->exits = &planning->exits;
	body->exits_entry = r2r_body->rva.value;
	return r2r_find_exits(&planning->exits, &image->pe, r2r_body, planning->err);
}

/* Calls that go by stubs are not timed: who shares one may be left by the exits of another. */
static enum body_absence why_no_code(const struct planning *planning,
				     const struct r2r_method *definition)
{
	struct metadata_import import;

	return planning->plan->timed && definition->metadata &&
			       metadata_method_import(definition->metadata, definition->method_rid,
						      &import) ?
		       BODY_NATIVE_CALL :
		       BODY_NOT_COMPILED;
}

static int plan_match(const struct dotnet_match *match, void *ctx)
{
	struct planning *planning = ctx;
	struct body_code codes[BODY_PARTS_MAX];
	struct method_body body = {
		.method = match->method,
		.made_from = match->made_from,
		.image = match->image ? match->image->name : "run-time code",
		.id = dotnet_method_id(&match->definition),
		.traits = dotnet_method_traits(&match->definition),
		.tier = TIER_UNKNOWN,
		.state = STATE_NO_BODY,
		.sources = 1u << NAME_SOURCE_METADATA,
		.file = match->image ? match->image->file : BODY_NO_FILE,
	};

	int result = 0;

	planning->matched++;
	body.stub = match->stub;
	if (match->kind == MATCH_JIT_BODY)
		return planning_add_jit_body(planning, match->jit, &body);
	if (match->kind == MATCH_NOT_COMPILED)
		body.absent = why_no_code(planning, &match->definition);
	else if (match->kind == MATCH_NO_IL)
		body.absent = BODY_NO_IL;
	else if (match->image)
		result = planning_describe_body(planning, match->image, &match->body, &body, codes);
	return result ? result : plan_add(planning->plan, &body, planning->err);
}

int resolution_plan(struct resolution *resolution, struct pattern *pattern, bool nested,
		    struct plan *plan, struct error *err)
{
	struct planning planning = {
		.resolution = resolution,
		.pattern = pattern,
		.plan = plan,
		.err = err,
	};
	int result = dotnet_find(&resolution->images, resolution->jit, pattern, nested, plan_match,
				 &planning, err);

	if (result == 0)
		result = planning_add_native(&planning);
	if (result == 0)
		result = planning_add_maps(&planning);
	if (result == 0 && resolution->managed && !resolution->jit &&
	    pattern_wants_image(pattern, "run-time code"))
		result = planning_add_perf_map(&planning);
	exits_deinit(&planning.exits);
	if (result)
		return result;
	return planning.matched > INT_MAX ? INT_MAX : (int)planning.matched;
}
