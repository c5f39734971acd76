// SPDX-License-Identifier: GPL-2.0-or-later
#include "dotnet/il.h"

#include "dotnet/images.h"

enum {
	FORMAT_MASK = 3,
	FORMAT_TINY = 2,
	FORMAT_FAT = 3,
	TINY_SIZE_SHIFT = 2,

	/* A method with more IL than this is not optimised. */
	SIZE_LIMIT = 60000,
	/* With less than this it can reach none of the other limits: 2,000 basic blocks, and so on. */
	SIZE_SURE = 4000,
};

/* The size of the method's IL; false if it cannot be read. */
static bool read_size(const struct pe *pe, struct rva rva, uint32_t *size)
{
	struct cursor c = pe_cursor(pe, rva);
	uint8_t first = cursor_u8(&c);

	if ((first & FORMAT_MASK) == FORMAT_TINY) {
		*size = first >> TINY_SIZE_SHIFT;
	} else if ((first & FORMAT_MASK) == FORMAT_FAT) {
		cursor_skip(&c, 3); /* flags and stack size */
		*size = cursor_u32(&c);
	} else {
		return false;
	}
	return cursor_ok(&c);
}

enum il_size_class il_size_class(const struct dotnet_image *image, uint32_t method_rid)
{
	struct rva rva;
	uint32_t size;

	if (!image || !image->metadata)
		return IL_NOT_SURE;
	rva = metadata_method_il(image->metadata, method_rid);
	/* Without IL of its own, it is given small IL by the runtime. */
	if (rva.value == 0)
		return IL_SMALL;
	if (!read_size(&image->pe, rva, &size))
		return IL_NOT_SURE;
	if (size > SIZE_LIMIT)
		return IL_HUGE;
	return size < SIZE_SURE ? IL_SMALL : IL_NOT_SURE;
}
