// SPDX-License-Identifier: GPL-2.0-or-later
/* Hash tables in precompiled images, for the files of r2r_internal.h and r2r_inlining.c. */
#include "runtime/dotnet/native_hashtable.h"

#include <errno.h>

#include "runtime/dotnet/native_array.h"
#include "base/error.h"

enum {
	HEADER_WIDTH_MASK = 3,
	HEADER_BUCKETS_SHIFT = 2,
	BUCKETS_MAX_SHIFT = 28,
};

int native_hashtable_init(struct native_hashtable *table, struct cursor c, struct error *err)
{
	uint8_t header = cursor_u8(&c);
	unsigned int width = header & HEADER_WIDTH_MASK;
	unsigned int shift = header >> HEADER_BUCKETS_SHIFT;

	if (!cursor_ok(&c) || width > 2 || shift > BUCKETS_MAX_SHIFT)
		return error_set(err, -EBADMSG, "NativeHashtable header 0x%x is damaged", header);

	*table = (struct native_hashtable){
		.image = c,
		.buckets_offset = cursor_offset(&c),
		.bucket_count = 1u << shift,
		.index_bytes = (uint8_t)(1u << width),
	};
	return 0;
}

/* Where bucket @bucket begins, which is where the one before ends; SIZE_MAX if damaged. */
static size_t bucket_offset(const struct native_hashtable *table, uint32_t bucket)
{
	return native_offset(&table->image, table->buckets_offset, bucket, table->index_bytes);
}

void native_hashtable_begin(const struct native_hashtable *table,
			    struct native_hashtable_walk *walk)
{
	*walk = (struct native_hashtable_walk){ .table = table, .at = table->image };
}

/*
 * Buckets lie one after the other. One that begins before the last one's end is
 * damaged: to follow it could make a walk as long as the square of the table.
 */
static int next_bucket(struct native_hashtable_walk *walk)
{
	size_t start = bucket_offset(walk->table, walk->bucket);

	if (start == SIZE_MAX || start < walk->end)
		return -EBADMSG;
	walk->end = bucket_offset(walk->table, walk->bucket + 1);
	walk->at = cursor_at(&walk->table->image, start);
	if (walk->end == SIZE_MAX || walk->end < start || !cursor_ok(&walk->at))
		return -EBADMSG;
	walk->bucket++;
	return 0;
}

int native_hashtable_next(struct native_hashtable_walk *walk, struct cursor *element)
{
	size_t base;
	int64_t at;

	while (cursor_offset(&walk->at) >= walk->end || walk->bucket == 0) {
		int status = -EBADMSG;

		if (walk->bucket == walk->table->bucket_count)
			return 0;
		status = next_bucket(walk);
		if (status < 0) {
			walk->bucket = walk->table->bucket_count;
			walk->end = 0;
			return status;
		}
	}

	(void)cursor_u8(&walk->at); /* the low byte of the hash */
	base = cursor_offset(&walk->at);
	at = (int64_t)base + native_signed(&walk->at);
	if (!cursor_ok(&walk->at)) {
		walk->bucket = walk->table->bucket_count;
		walk->end = 0;
		return -EBADMSG;
	}
	*element = cursor_at(&walk->table->image, at < 0 ? SIZE_MAX : (size_t)at);
	return 1;
}
