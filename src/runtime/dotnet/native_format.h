/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ReadyToRun NativeArray: a sparse array, index -> position of the element's bytes, stored as
 * blocks of 16 that are small binary trees. And NativeHashtable, walked from end to end: all that
 * is kept in one is found here by name or by address, never by the compiler's hash.
 *
 * Source: dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md,
 * "Native Format"; seen alike in R2R 9.1 (.NET 8), 10.1 (9) and 16.0 (10).
 */
#ifndef RUNTIME_DOTNET_NATIVE_FORMAT_H
#define RUNTIME_DOTNET_NATIVE_FORMAT_H

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

struct native_hashtable {
	struct cursor image;   /* all the bytes that elements may lie in */
	size_t buckets_offset; /* where the bucket index begins */
	uint32_t bucket_count;
	uint8_t index_bytes; /* width of one bucket index entry: 1, 2 or 4 */
};

/* Where a walk stands. */
struct native_hashtable_walk {
	const struct native_hashtable *table;
	struct cursor at; /* next entry */
	size_t end;	  /* of the bucket */
	uint32_t bucket;  /* the next one */
};

/* Read the header at @c. 0, or -EBADMSG with @err set. Borrows the bytes of @c. */
int native_hashtable_init(struct native_hashtable *table, struct cursor c, struct error *err);

void native_hashtable_begin(const struct native_hashtable *table,
			    struct native_hashtable_walk *walk);

/*
 * Stand @element on the next element. 1 if there is one, 0 at the end, -EBADMSG if the
 * buckets are damaged, which ends the walk. An element may still stand outside the bytes:
 * its cursor is bad then.
 */
int native_hashtable_next(struct native_hashtable_walk *walk, struct cursor *element);

#endif
