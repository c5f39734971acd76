/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ReadyToRun NativeArray: a sparse array, index -> position of the element's
 * bytes, stored as blocks of 16 that are small binary trees.
 *
 * Source: dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md,
 * "Native Format"; seen alike in R2R 9.1 (.NET 8), 10.1 (9) and 16.0 (10).
 */
#ifndef RUNTIME_DOTNET_NATIVE_ARRAY_H
#define RUNTIME_DOTNET_NATIVE_ARRAY_H

#include "image/cursor.h"

struct error;

struct native_array {
	struct cursor image;  /* all the bytes that elements may lie in */
	size_t blocks_offset; /* where the block index begins */
	uint32_t count;	      /* number of indexes, present or not */
	uint8_t index_bytes;  /* width of one block index entry: 1, 2 or 4 */
};

/*
 * Read the header at @c. 0, or -EBADMSG with @err set. Borrows the bytes of @c.
 * The count is never larger than what the bytes have block indexes for.
 */
int native_array_init(struct native_array *array, struct cursor c, struct error *err);

/*
 * Stand a cursor on the element of @index.
 * Returns 1 if there is one, 0 if the array has none, -EBADMSG if the bytes are damaged.
 */
int native_array_find(const struct native_array *array, uint32_t index, struct cursor *element,
		      struct error *err);

/* The format's variable-length numbers: 1 to 5 bytes. */
uint32_t native_unsigned(struct cursor *c);
int32_t native_signed(struct cursor *c);

/*
 * What number @number of the table at @base leads to, by its distance from there in @bytes bytes;
 * SIZE_MAX if it lies outside @image.
 */
size_t native_offset(const struct cursor *image, size_t base, uint32_t number, uint8_t bytes);

#endif
