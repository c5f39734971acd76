// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of resolve.h that has to do with what the target loads while it is looked at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"
#include "session/resolve_planning.h"

enum { GONE_MAX = 1 << 14 /* mappings that are remembered; the older half is forgotten then */ };

const struct maps *resolution_maps(const struct resolution *resolution)
{
	return resolution->later.maps.count ? &resolution->later.maps : &resolution->maps;
}

const struct mapping *resolution_find_mapping(const struct resolution *resolution,
					      struct address address)
{
	const struct later *later = &resolution->later;
	const struct mapping *row = maps_find(resolution_maps(resolution), address);

	for (size_t i = later->gone_count; !row && i > 0; i--) {
		const struct mapping *gone = &later->gone[i - 1];

		if (address.value >= gone->start.value && address.value < gone->end.value)
			row = gone;
	}
	return row;
}

const struct target_file *resolution_find_file(const struct resolution *resolution,
					       const struct mapping *row, size_t *number)
{
	const struct target_file *file = target_files_find(&resolution->files, row);

	if (file) {
		*number = (size_t)(file - resolution->files.files);
		return file;
	}
	file = target_files_find(&resolution->later.files, row);
	if (file)
		*number = RESOLUTION_LATER_FILES + (size_t)(file - resolution->later.files.files);
	return file;
}

/* What is mapped ------------------------------------------------------------------------------- */

static bool is_same_row(const struct mapping *a, const struct mapping *b)
{
	return a->start.value == b->start.value && a->end.value == b->end.value &&
	       a->offset.value == b->offset.value && a->executable == b->executable &&
	       mapping_same_file(a, b);
}

/* The next row from @i on that bears on code. */
static size_t next_wanted(const struct maps *maps, size_t i)
{
	while (i < maps->count && !resolution_wants(&maps->rows[i]))
		i++;
	return i;
}

static bool is_same_code(const struct maps *a, const struct maps *b)
{
	size_t i = next_wanted(a, 0), j = next_wanted(b, 0);

	for (; i < a->count && j < b->count; i = next_wanted(a, i + 1), j = next_wanted(b, j + 1)) {
		if (!is_same_row(&a->rows[i], &b->rows[j]))
			return false;
	}
	return i == a->count && j == b->count;
}

/* Hits in code may still be on their way to us when it is unmapped. */
static void note_gone(struct resolution *resolution, const struct mapping *row)
{
	struct later *later = &resolution->later;
	size_t number;
	const struct target_file *file = resolution_find_file(resolution, row, &number);

	if (!file)
		return;
	if (later->gone_count == GONE_MAX) {
		later->gone_count /= 2;
		memmove(later->gone, later->gone + later->gone_count,
			later->gone_count * sizeof(*later->gone));
	}
	if (!vector_reserve(&later->gone, &later->gone_capacity, later->gone_count + 1))
		return;
	later->gone[later->gone_count] = *row;
	/* The list of mappings is not kept. */
	later->gone[later->gone_count++].path = file->path;
}

static void note_all_gone(struct resolution *resolution, const struct maps *now)
{
	const struct maps *before = resolution_maps(resolution);

	for (size_t i = 0; i < before->count; i++) {
		const struct mapping *row = &before->rows[i], *there;

		if (!mapping_is_file_code(row))
			continue;
		there = maps_find(now, row->start);
		if (!there || !is_same_row(row, there))
			note_gone(resolution, row);
	}
}

/* Images --------------------------------------------------------------------------------------- */

static int read_new_images(struct resolution *resolution, struct error *err)
{
	struct later *later = &resolution->later;
	int result = 0;

	for (; later->files_read < later->files.count && result == 0; later->files_read++)
		result = resolution_read_images(resolution, &later->files.files[later->files_read],
						RESOLUTION_LATER_FILES + later->files_read, err);
	/* More of a single-file executable may be mapped by now. */
	if (result == 0 && resolution->runtime.single_file)
		result = resolution_read_images(resolution,
						&resolution->files.files[resolution->runtime.file],
						resolution->runtime.file, err);
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
	struct later *later = &resolution->later;

	if (later->images_linked == resolution->images.count)
		return;
	dotnet_images_link_from(&resolution->images, later->images_linked);
	later->images_linked = resolution->images.count;
}

int resolution_refresh(struct resolution *resolution, struct error *err)
{
	struct later *later = &resolution->later;
	uint64_t in_memory = code_in_memory(resolution);
	bool changed;
	struct maps maps;
	int result = maps_read(&maps, &resolution->process, err);

	if (result)
		return result;
	if (maps.count == 0) {
		maps_deinit(&maps);
		return error_set(err, -ESRCH, "process %d has exited", resolution->process.pid);
	}
	changed = !is_same_code(resolution_maps(resolution), &maps);
	if (changed) {
		/* What is open stays open if not all can be opened. */
		result = target_files_add(&later->files, &resolution->files, &resolution->process,
					  &maps, resolution_wants, err);
		note_all_gone(resolution, &maps);
	}
	maps_deinit(&later->maps);
	later->maps = maps;
	if (result == 0 && changed)
		result = read_new_images(resolution, err);
	/* A target that changes its books just now will be asked again. */
	if (result == 0 && resolution->jit && jit_read_images(resolution->jit, NULL) == 0)
		changed |= in_memory != code_in_memory(resolution);
	link_new_images(resolution);
	later->version += changed;
	return result ? result : changed;
}

void later_deinit(struct later *later)
{
	maps_deinit(&later->maps);
	target_files_close(&later->files);
	free(later->gone);
}
