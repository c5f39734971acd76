// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of resolve.h that has to do with what the target loads while it is looked at. */
#include "session/resolve_planning.h"

static int read_new_images(struct resolution *resolution, struct error *err)
{
	const struct target *target = &resolution->target;
	int result = 0;

	for (; resolution->files_read < target->files.count && result == 0;
	     resolution->files_read++)
		result = resolution_read_images(resolution,
						target_file(target, resolution->files_read), err);
	/* More of a single-file executable may be mapped by now. */
	if (result == 0 && resolution->runtime.single_file)
		result = resolution_read_images(resolution,
						target_file(target, resolution->runtime.file), err);
	return result;
}

/* Precompiled code of images that are in no file. */
static uint64_t code_in_memory(const struct resolution *resolution)
{
	const struct jit *jit = resolution->jit;
	uint64_t sum = 0;

	for (size_t i = 0; jit && i < jit_image_count(jit); i++) {
		const struct jit_image *code = jit_image(jit, i);

		if (code->image && code->image->file == DOTNET_NO_FILE)
			sum += (code->start.value ^ (uintptr_t)code->image) * 31 + code->end.value;
	}
	return sum;
}

static void link_new_images(struct resolution *resolution)
{
	if (resolution->images_linked == resolution->images.count)
		return;
	dotnet_images_link_from(&resolution->images, resolution->images_linked);
	resolution->images_linked = resolution->images.count;
}

int resolution_refresh(struct resolution *resolution, struct error *err)
{
	uint64_t in_memory = code_in_memory(resolution);
	int result = target_look(&resolution->target, err);
	bool changed = result > 0;

	if (result > 0)
		result = read_new_images(resolution, err);
	/* A target that changes its metadata just now will be asked again. */
	if (result == 0 && resolution->jit && jit_read_images(resolution->jit, NULL) == 0)
		changed |= in_memory != code_in_memory(resolution);
	link_new_images(resolution);
	resolution->version += changed;
	return result ? result : changed;
}
