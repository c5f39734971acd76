// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a file to the managed images in it: for dotnet.c as files are found, and for the follower's
 * own copy.
 */
#include "runtime/dotnet/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/vector.h"
#include "image/bundle.h"

enum { IMAGES_MAX = 100000 };

static void image_destroy(struct dotnet_image *image)
{
	if (!image)
		return;
	r2r_destroy(image->r2r);
	metadata_destroy(image->metadata);
	free(image->copy);
	free(image->name);
	free(image);
}

CLEANUP_POINTER(image_destroy, struct dotnet_image)

static void note_problem(struct dotnet_images *images, const char *name, struct error *why)
{
	images->problems++;
	if (images->first_problem)
		return;
	(void)error_in(why, 0, name);
	images->first_problem = malloc(sizeof(*why));
	if (images->first_problem)
		*images->first_problem = *why;
}

static int append(struct dotnet_images *images, struct dotnet_image *image)
{
	return images->count < IMAGES_MAX && vector_add(&images->images, &images->count,
							&images->capacity, image) ?
		       0 :
		       -ENOMEM;
}

static int read_metadata(struct dotnet_image *image, struct span bytes, struct error *why)
{
	int result = metadata_create(&image->metadata, bytes, why);

	if (result == 0)
		metadata_set_place(image->metadata, image->place);
	return result;
}

/* What cannot be read of an image is said once, and what can be is used. */
static int read_parts(struct dotnet_images *images, struct dotnet_image *image)
{
	struct span metadata = metadata_of_pe(&image->pe);
	struct error why = { .text = "" };
	int metadata_result = 0, code_result = 0;

	image->kind = r2r_kind_of(&image->pe);
	/* Code that the image cannot name may still be named by a map file. */
	if (image->kind == R2R_IMAGE || image->kind == R2R_COMPOSITE)
		code_result = r2r_create(&image->r2r, &image->pe, &why);
	if (image->r2r && images->r2r_major && r2r_major(image->r2r) != images->r2r_major) {
		r2r_destroy(cleanup_take(image->r2r));
		image->kind = R2R_NONE;
	}
	if (metadata.start)
		metadata_result = read_metadata(image, metadata, &why);
	if (metadata_result == -ENOMEM || code_result == -ENOMEM)
		return -ENOMEM;
	if (image->r2r && r2r_manifest(image->r2r))
		metadata_set_place(r2r_manifest(image->r2r), image->place);
	if (metadata_result || code_result) {
		image->damaged = true;
		note_problem(images, image->name, &why);
	}
	if (image->r2r && image->kind == R2R_IMAGE)
		r2r_set_metadata(image->r2r, 0, image->metadata);
	return 0;
}

static int add_image(struct dotnet_images *images, const struct dotnet_source *source,
		     const char *name, struct span bytes, uint64_t slice, struct error *err)
{
	_cleanup_(image_destroy_at) struct dotnet_image *image = calloc(1, sizeof(*image));
	struct error why = { .text = "" };
	int result;

	if (!image || !(image->name = strdup(name)))
		return error_set(err, -ENOMEM, "no memory for image %s", name);
	image->file = source->file;
	image->slice.value = slice;
	image->place = hash_number(source->place, slice);
	if (pe_init(&image->pe, bytes, &why) != 0) {
		note_problem(images, name, &why);
		return 0;
	}
	result = read_parts(images, image);
	/* A PE, but not a managed one. */
	if (result == 0 && !image->metadata && !image->r2r && !image->damaged)
		return 0;
	if (result == 0)
		result = append(images, image);
	if (result)
		return error_set(err, result, "no memory for image %s", name);
	(void)cleanup_take(image);
	return 0;
}

/* A name for what has no file: "Plugin.dll", after the assembly "Plugin". */
static bool name_after_assembly(struct dotnet_image *image)
{
	const char *assembly = image->metadata ? metadata_assembly_name(image->metadata) : "";
	char *name;

	if (asprintf(&name, "%s.dll", *assembly ? assembly : "image-in-memory") < 0)
		return false;
	free(image->name);
	image->name = name;
	return true;
}

static int read_copy(struct dotnet_images *images, struct dotnet_image *image,
		     enum dotnet_copy_kind kind, struct error *why)
{
	struct span bytes = { image->copy, image->copy_size };
	int result;

	if (kind == DOTNET_COPY_METADATA)
		return read_metadata(image, bytes, why);
	result = kind == DOTNET_COPY_LOADED ? pe_init_loaded(&image->pe, bytes, why) :
					      pe_init(&image->pe, bytes, why);
	return result ? result : read_parts(images, image);
}

int dotnet_images_add_copy(struct dotnet_images *images, uint8_t *bytes, size_t size,
			   struct address base, enum dotnet_copy_kind kind,
			   struct dotnet_image **out, struct error *err)
{
	_cleanup_(image_destroy_at) struct dotnet_image *image = calloc(1, sizeof(*image));
	struct error why = { .text = "" };
	int result;

	/* Until its assembly's name is known. */
	if (!image || !(image->name = strdup("an image in memory"))) {
		free(bytes);
		return error_set(err, -ENOMEM, "no memory for an image of the target's memory");
	}
	image->file = DOTNET_NO_FILE;
	image->base = base;
	image->place = base.value;
	image->copy = bytes;
	image->copy_size = size;
	result = read_copy(images, image, kind, &why);
	if (result && result != -ENOMEM) {
		note_problem(images, image->name, &why);
		return 0;
	}
	if (result || !name_after_assembly(image) || append(images, image))
		return error_set(err, -ENOMEM, "no memory for an image of the target's memory");
	*out = cleanup_take(image);
	return 1;
}

/* The same bytes, read once more. */
static int read_again(struct dotnet_images *images, struct dotnet_image *image,
		      const struct dotnet_image *like)
{
	const struct span bytes = { like->copy, like->copy_size };
	int result;

	image->file = like->file;
	image->slice = like->slice;
	image->base = like->base;
	image->place = like->place;
	image->copy_size = like->copy_size;
	image->pe = like->pe;
	image->name = strdup(like->name);
	if (!image->name)
		return -ENOMEM;
	if (image->pe.file.start)
		return read_parts(images, image);
	result = like->metadata ? read_metadata(image, bytes, NULL) : 0;
	return result == -ENOMEM ? result : 0;
}

int dotnet_images_copy(struct dotnet_images *copy, const struct dotnet_images *images)
{
	*copy = (struct dotnet_images){ .r2r_major = images->r2r_major,
					.compressed = images->compressed };
	for (size_t i = 0; i < images->count; i++) {
		struct dotnet_image *image = calloc(1, sizeof(*image));

		if (!image || read_again(copy, image, images->images[i]) || append(copy, image)) {
			image_destroy(image);
			dotnet_images_deinit(copy);
			return -ENOMEM;
		}
	}
	dotnet_images_link_from(copy, 0);
	return 0;
}

bool dotnet_is_pe(struct span bytes)
{
	return bytes.size >= 2 && bytes.start[0] == 'M' && bytes.start[1] == 'Z';
}

static bool is_assembly_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcasecmp(dot, ".dll") == 0 || strcasecmp(dot, ".exe") == 0);
}

static bool has_slice(const struct dotnet_images *images, size_t file, uint64_t slice)
{
	for (size_t i = 0; i < images->count; i++) {
		if (images->images[i]->file == file && images->images[i]->slice.value == slice)
			return true;
	}
	return false;
}

static int add_bundle(struct dotnet_images *images, const struct dotnet_source *source,
		      struct error *err)
{
	struct error why = { .text = "" };
	size_t compressed = 0;
	struct bundle bundle;
	int result = bundle_read(&bundle, source->bytes, &why);

	if (result == -ENOMEM)
		return error_set(err, -ENOMEM, "%s", why.text);
	if (result < 0)
		note_problem(images, source->name, &why);
	if (result <= 0)
		return 0;
	result = 0;
	for (size_t i = 0; i < bundle.count && result == 0; i++) {
		const struct bundle_entry *entry = &bundle.entries[i];
		struct span bytes = span_part(source->bytes, entry->offset, entry->size);

		if (entry->compressed_size) {
			compressed += is_assembly_name(entry->path);
			continue;
		}
		if (!dotnet_is_pe(bytes) || has_slice(images, source->file, entry->offset) ||
		    (source->is_mapped &&
		     !source->is_mapped(source->ctx, entry->offset, entry->size)))
			continue;
		result =
			add_image(images, source, basename(entry->path), bytes, entry->offset, err);
	}
	bundle_deinit(&bundle);
	if (compressed)
		images->compressed = compressed; /* there is one such file */
	return result;
}

int dotnet_images_add(struct dotnet_images *images, const struct dotnet_source *source,
		      struct error *err)
{
	if (dotnet_is_pe(source->bytes))
		return add_image(images, source, source->name, source->bytes, 0, err);
	if (source->bytes.size >= 4 && memcmp(source->bytes.start, "\177ELF", 4) == 0)
		return add_bundle(images, source, err);
	return 0;
}

/* The metadata of the assembly called @name, in the images from number @first on. */
static const struct metadata *find_assembly(const struct dotnet_images *images, size_t first,
					    const char *name)
{
	for (size_t i = first; i < images->count; i++) {
		const struct metadata *metadata = images->images[i]->metadata;

		if (metadata && strcmp(metadata_assembly_name(metadata), name) == 0)
			return metadata;
	}
	return NULL;
}

static const struct metadata *find_reference(const char *name, void *ctx)
{
	return find_assembly(ctx, 0, name);
}

/* Give the composite image numbered @number the metadata of components, if either is new. */
static void link_components(const struct dotnet_images *images, size_t number, size_t first)
{
	struct r2r *r2r = images->images[number]->r2r;

	for (uint32_t c = 0; c < r2r_component_count(r2r); c++) {
		const char *name = r2r_component_name(r2r, c);
		const struct metadata *metadata;

		/* Another assembly of that name is not the one it was compiled with. */
		if (number < first && r2r_metadata(r2r, c))
			continue;
		metadata = name ? find_assembly(images, number < first ? first : 0, name) : NULL;
		if (metadata)
			r2r_set_metadata(r2r, c, metadata);
	}
}

void dotnet_images_link_from(struct dotnet_images *images, size_t first)
{
	for (size_t i = 0; i < images->count; i++) {
		const struct dotnet_image *image = images->images[i];

		if (!image->r2r)
			continue;
		if (i >= first)
			r2r_set_references(image->r2r, find_reference, images);
		if (image->kind == R2R_COMPOSITE)
			link_components(images, i, first);
	}
}

void dotnet_images_deinit(struct dotnet_images *images)
{
	for (size_t i = 0; i < images->count; i++)
		image_destroy(images->images[i]);
	free(images->images);
	free(images->first_problem);
	*images = (struct dotnet_images){ 0 };
}

struct dotnet_image *dotnet_images_find(const struct dotnet_images *images, size_t file,
					struct file_offset offset, struct file_offset *in_image)
{
	for (size_t i = 0; i < images->count; i++) {
		struct dotnet_image *image = images->images[i];

		if (image->file != file || offset.value < image->slice.value ||
		    offset.value - image->slice.value >= image->pe.file.size)
			continue;
		in_image->value = offset.value - image->slice.value;
		return image;
	}
	return NULL;
}

/* The composite that a component names, by its file name. */
static const struct dotnet_image *find_composite(const struct dotnet_images *images,
						 struct span name)
{
	for (size_t i = 0; name.start && i < images->count; i++) {
		const struct dotnet_image *image = images->images[i];

		if (image->kind == R2R_COMPOSITE && image->r2r &&
		    strlen(image->name) == name.size &&
		    memcmp(image->name, name.start, name.size) == 0)
			return image;
	}
	return NULL;
}

const struct dotnet_image *dotnet_images_code_of(const struct dotnet_images *images,
						 const struct dotnet_image *image,
						 uint32_t *component)
{
	const struct dotnet_image *composite;

	*component = 0;
	if (image->kind == R2R_IMAGE)
		return image->r2r ? image : NULL;
	if (image->kind != R2R_COMPONENT)
		return NULL;
	composite = find_composite(images, r2r_owner_composite(&image->pe));
	if (!composite)
		return NULL;
	for (uint32_t c = 0; c < r2r_component_count(composite->r2r); c++) {
		const char *name = r2r_component_name(composite->r2r, c);

		if (name && strcmp(name, metadata_assembly_name(image->metadata)) == 0) {
			*component = c;
			return composite;
		}
	}
	return NULL;
}

bool dotnet_images_have_named(const struct dotnet_images *images, const char *file_name)
{
	size_t length = strlen(file_name);

	for (size_t i = 0; i < images->count; i++) {
		const char *name = images->images[i]->name;

		if (strncmp(name, file_name, length) == 0 &&
		    (name[length] == '\0' || strrchr(name, '.') == name + length))
			return true;
	}
	return false;
}
