// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET as a runtime: the table of runtime/runtime.h, filled from the other files here, and the
 * images of what the target has mapped.
 */
#include "runtime/dotnet/dotnet.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/progress.h"
#include "method/pattern.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/sealed.h"
#include "runtime/dotnet/type_index.h"
#include "target/target.h"

/* Images ------------------------------------------------------------------------------------- */

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

static int read_images(struct dotnet *dotnet, const struct target_file *file, struct error *err)
{
	struct source_context context = { target_maps(dotnet->target), &file->mapping };
	const struct dotnet_source source = {
		.file = file->number,
		.place = target_file_place(file->device, file->inode),
		.name = file->name,
		.bytes = file->bytes,
		.is_mapped = is_mapped,
		.ctx = &context,
	};

	return strstr(file->name, ".so") ? 0 : dotnet_images_add(&dotnet->images, &source, err);
}

static int read_new_images(struct dotnet *dotnet, struct error *err)
{
	const struct target *target = dotnet->target;
	bool again = dotnet->files_read != 0;
	int result = 0;

	dotnet->images.r2r_major = dotnet->managed ? r2r_major_of(dotnet->about.major) : 0;
	for (; dotnet->files_read < target->files.count && result == 0; dotnet->files_read++) {
		progress_tell("reading images", dotnet->files_read, target->files.count);
		result = read_images(dotnet, &target->files.files[dotnet->files_read], err);
	}
	/* More of a single-file executable may be mapped by now. */
	if (result == 0 && again && dotnet->about.single_file)
		result = read_images(dotnet, target_file(target, dotnet->about.file), err);
	return result;
}

/* Precompiled code of images that are in no file. */
static uint64_t code_in_memory(const struct dotnet *dotnet)
{
	const struct jit *jit = dotnet->jit;
	uint64_t sum = 0;

	for (size_t i = 0; jit && i < jit->image_count; i++) {
		const struct code_image *code = &jit->images[i];

		if (code->image && code->image->file == DOTNET_NO_FILE)
			sum += (code->start.value ^ (uintptr_t)code->image) * 31 + code->end.value;
	}
	return sum;
}

static void link_new_images(struct dotnet *dotnet)
{
	if (dotnet->images_linked == dotnet->images.count)
		return;
	dotnet_images_link_from(&dotnet->images, dotnet->images_linked);
	dotnet->images_linked = dotnet->images.count;
}

static int refresh(struct runtime *runtime, bool mapped, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	uint64_t in_memory = code_in_memory(dotnet);
	bool changed = false;
	int result = mapped ? read_new_images(dotnet, err) : 0;

	/* A target that changes its metadata just now will be asked again. */
	if (result == 0 && dotnet->jit && jit_read_images(dotnet->jit, NULL) == 0)
		changed = in_memory != code_in_memory(dotnet);
	link_new_images(dotnet);
	return result ? result : changed;
}

bool dotnet_find_runtime(const struct target_files *files, struct dotnet_runtime *runtime)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct target_file *file = &files->files[i];

		if (strcmp(file->name, "libcoreclr.so") != 0 && strstr(file->name, ".so"))
			continue;
		if (dotnet_runtime_read(runtime, file->name, file->bytes)) {
			runtime->file = file->number;
			return true;
		}
	}
	return false;
}

/* As struct runtime ------------------------------------------------------------------------- */

static bool is_present(const struct runtime *runtime)
{
	return ((const struct dotnet *)runtime)->managed;
}

static bool has_come(const struct runtime *runtime)
{
	struct dotnet_runtime about;

	return dotnet_find_runtime(&((const struct dotnet *)runtime)->target->files, &about);
}

static struct runtime_reach reach(const struct runtime *runtime)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;

	return (struct runtime_reach){
		.images = dotnet->images.count,
		.compiled = dotnet->jit != NULL,
		.unreadable = dotnet->jit ? dotnet->jit->unreadable : 0,
		.problems = dotnet->images.problems,
	};
}

static int reread(struct runtime *runtime, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	return dotnet->jit ? jit_read(dotnet->jit, err) : 0;
}

static bool has_image(const struct runtime *runtime, const struct pattern *pattern)
{
	const struct dotnet_images *images = &((const struct dotnet *)runtime)->images;

	for (size_t i = 0; i < images->count; i++) {
		if (pattern_wants_image(pattern, images->images[i]->name))
			return true;
	}
	return false;
}

static bool is_host(const struct runtime *runtime, const struct target_file *file)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;

	return dotnet_images_have_named(&dotnet->images, file->name);
}

static int recheck_begin(struct runtime *runtime, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	(void)err;
	if (dotnet->jit)
		jit_recheck_begin(dotnet->jit);
	return 0;
}

static bool has_method(struct runtime *runtime, uint64_t handle)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	/* What cannot be looked at is not said to have gone. */
	return !dotnet->jit || jit_has_desc(dotnet->jit, handle);
}

static int read_sealed(struct runtime *runtime, struct sealed_pages *pages, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	return dotnet->jit ? sealed_code_read(pages, &dotnet->jit->clr, err) : 0;
}

static int read_inliners(struct runtime *runtime, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	return dotnet_inlining_create(&dotnet->inlining, &dotnet->images, err);
}

static int inliners(struct runtime *runtime, struct method_inliners *inliners,
		    const struct method_id *id, size_t named)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	return dotnet_method_inliners(inliners, dotnet->inlining, &dotnet->images, id, named);
}

static bool has_function(void *ctx, const struct target_file *file, const char *name)
{
	return runtimes_have_function(ctx, file, name);
}

static bool native_function(struct runtime *runtime, const struct method_id *id, struct text *out)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	const struct dotnet_import_sources sources = {
		.images = &dotnet->images,
		.target = dotnet->target,
		.runtime = dotnet->managed ? target_file(dotnet->target, dotnet->about.file) : NULL,
		.has_function = has_function,
		.ctx = (void *)(uintptr_t)dotnet->others,
	};

	return dotnet_method_import(&sources, id, out);
}

static const char *map_name(const struct runtime *runtime, size_t map)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;

	return map < dotnet->mapfile_count ? dotnet->mapfiles[map].name : NULL;
}

static void destroy(struct runtime *runtime)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;

	for (size_t i = 0; i < dotnet->mapfile_count; i++)
		mapfile_deinit(&dotnet->mapfiles[i]);
	free(dotnet->mapfiles);
	perf_map_destroy(dotnet->perf_map);
	free(dotnet->perf_map_problem);
	jit_destroy(dotnet->jit);
	free(dotnet->jit_problem);
	type_index_destroy(dotnet->types);
	dotnet_inlining_destroy(dotnet->inlining);
	dotnet_images_deinit(&dotnet->images);
	text_deinit(&dotnet->pdbs.where);
	free(dotnet);
}

static int create(struct runtime **out, struct target *target, const struct runtimes *others,
		  struct error *err)
{
	struct dotnet *dotnet = calloc(1, sizeof(*dotnet));

	if (!dotnet)
		return error_set(err, -ENOMEM, "no memory to look for .NET in the target");
	*dotnet = (struct dotnet){ .runtime.ops = &dotnet_ops, .target = target, .others = others };
	*out = &dotnet->runtime;
	return 0;
}

static int read_all(struct runtime *runtime, struct error *err)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	int result;

	dotnet->managed = dotnet_find_runtime(&dotnet->target->files, &dotnet->about);
	result = read_new_images(dotnet, err);
	if (result == 0 && dotnet->managed) {
		result = dotnet_read_jit(dotnet, err);
		link_new_images(dotnet);
	}
	return result;
}

const struct runtime_ops dotnet_ops = {
	.id = RUNTIME_DOTNET,
	.create = create,
	.destroy = destroy,
	.read = read_all,
	.is_present = is_present,
	.has_come = has_come,
	.reach = reach,
	.log = dotnet_log,
	.use_maps = dotnet_use_maps,
	.refresh = refresh,
	.reread = reread,
	.has_image = has_image,
	.is_host = is_host,
	.find = dotnet_find_bodies,
	.follow = &dotnet_follow_ops,
	.names = dotnet_names,
	.near_misses = dotnet_near_misses,
	.recheck_begin = recheck_begin,
	.is_unchanged = dotnet_is_unchanged,
	.read_name = dotnet_read_name,
	.has_method = has_method,
	.read_sealed = read_sealed,
	.read_inliners = read_inliners,
	.inliners = inliners,
	.native_function = native_function,
	.signature = dotnet_signature,
	.object_type = dotnet_object_type,
	.base_type = dotnet_base_type,
	.context_name = dotnet_context_name,
	.throws = dotnet_throws,
	.collects = dotnet_collects,
	.fault_path = dotnet_fault_path,
	.ranges = dotnet_ranges,
	.elsewhere = dotnet_elsewhere,
	.map_name = map_name,
	.frame_namer = dotnet_frame_namer,
};
