// SPDX-License-Identifier: GPL-2.0-or-later
/* Images copied out of the target's memory, for all that reads images. */
#include "runtime/dotnet/memory_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	HEADER_BYTES = 4096,
	IMAGE_MAX_BYTES = 1 << 29,
	COPIES_MAX_BYTES = 1 << 30, /* of all; what a damaged or hostile target can make us read */
	PAGE_BYTES = 4096,
	COPY_PART_BYTES = 256 << 10,
	HOLES_MAX = 4096, /* pages of a section */
};

/*
 * Read it in parts of @step bytes, and of a part that is not there whole each page. How many pages
 * are not there, which stay zeros; what has hardly anything is no image.
 */
static size_t read_pages(struct memory *memory, uint64_t base, uint8_t *image, size_t start,
			 size_t end, size_t step)
{
	size_t holes = 0;

	for (size_t at = start, part; at < end && holes < HOLES_MAX; at += part) {
		struct look look = look_into(memory);

		part = end - at < step ? end - at : step;
		look_copy_once(&look, base + at, image + at, part);
		if (look.bad)
			holes += step == PAGE_BYTES ?
					 1 :
					 read_pages(memory, base, image, at, at + part, PAGE_BYTES);
	}
	return holes;
}

static void read_sections(struct memory *memory, uint64_t base, uint8_t *image, size_t size)
{
	size_t left = size;
	struct pe pe;

	if (pe_init_loaded(&pe, (struct span){ image, size }, NULL))
		return;
	for (unsigned int i = 0; i < pe.section_count; i++) {
		const struct pe_section *section = &pe.sections[i];

		if (section->rva.value >= size || section->raw_size > size - section->rva.value)
			continue;
		/* They do not lie over each other, so all of them are no longer than the image. */
		if (section->raw_size > left)
			break;
		left -= section->raw_size;
		read_pages(memory, base, image, section->rva.value,
			   section->rva.value + section->raw_size, COPY_PART_BYTES);
	}
}

/* Copies cost time and memory: of what begins as no image or metadata does there is none. */
static bool may_be_one(struct memory *memory, const struct clr_layout *layout)
{
	static const char *const marks[] = {
		[DOTNET_COPY_FILE] = "MZ",
		[DOTNET_COPY_LOADED] = "MZ",
		[DOTNET_COPY_METADATA] = "BSJB",
	};
	struct look look = look_into(memory);
	char start[4];

	look_copy_once(&look, layout->base, start, sizeof(start));
	return !look.bad && memcmp(start, marks[layout->kind], strlen(marks[layout->kind])) == 0;
}

/* Where it ends too early no more is touched than was there: a size may say anything. */
static void copy_in_parts(struct look *look, uint64_t at, uint8_t *to, size_t size)
{
	for (size_t done = 0, part; done < size && !look->bad; done += part) {
		part = size - done < COPY_PART_BYTES ? size - done : COPY_PART_BYTES;
		look_copy_once(look, at + done, to + done, part);
	}
}

static uint8_t *read_image(struct memory *memory, const struct clr_layout *layout)
{
	_cleanup_free_ uint8_t *image = layout->size ? calloc(1, layout->size) : NULL;
	struct look look = look_into(memory);

	if (!image)
		return NULL;
	if (layout->kind == DOTNET_COPY_LOADED) {
		look_copy_once(&look, layout->base, image,
			       layout->size < HEADER_BYTES ? layout->size : HEADER_BYTES);
		if (!look.bad)
			read_sections(memory, layout->base, image, layout->size);
	} else {
		copy_in_parts(&look, layout->base, image, layout->size);
	}
	return look.bad ? NULL : cleanup_take(image);
}

/* Memory may have been given to another image since it was copied, and metadata grows. */
static bool is_same(const struct dotnet_image *image, struct memory *memory,
		    const struct clr_layout *layout)
{
	struct look look = look_into(memory);
	uint8_t header[HEADER_BYTES];
	size_t size = layout->size < sizeof(header) ? layout->size : sizeof(header);

	if (image->file != DOTNET_NO_FILE || image->base.value != layout->base ||
	    image->copy_size != layout->size)
		return false;
	look_copy_once(&look, layout->base, header, size);
	return !look.bad && memcmp(header, image->copy, size) == 0;
}

struct dotnet_image *memory_image_get(struct dotnet_images *images, struct memory *memory,
				      const struct clr_layout *layout)
{
	struct dotnet_image *image = NULL;
	uint8_t *bytes;

	for (size_t i = images->count; i > 0; i--) {
		if (is_same(images->images[i - 1], memory, layout))
			return images->images[i - 1];
	}
	if (layout->size > IMAGE_MAX_BYTES || layout->size > COPIES_MAX_BYTES - images->copied ||
	    !may_be_one(memory, layout))
		return NULL;
	images->copied += layout->size;
	bytes = read_image(memory, layout);
	if (!bytes ||
	    dotnet_images_add_copy(images, bytes, layout->size, (struct address){ layout->base },
				   layout->kind, &image, NULL) != 1)
		return NULL;
	return image;
}

struct dotnet_image *memory_image_find(const struct dotnet_images *images, struct address address)
{
	for (size_t i = images->count; i > 0; i--) {
		struct dotnet_image *image = images->images[i - 1];

		if (image->file == DOTNET_NO_FILE && address.value >= image->base.value &&
		    address.value - image->base.value < image->copy_size)
			return image;
	}
	return NULL;
}

bool memory_image_rva(const struct dotnet_image *image, struct address address, struct rva *rva)
{
	struct file_offset offset = { address.value - image->base.value };

	return pe_offset_to_rva(&image->pe, offset, rva);
}

bool memory_image_address(const struct dotnet_image *image, struct rva rva, struct address *address)
{
	struct file_offset offset;

	if (!pe_rva_to_offset(&image->pe, rva, &offset))
		return false;
	address->value = image->base.value + offset.value;
	return true;
}
