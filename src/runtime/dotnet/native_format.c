// SPDX-License-Identifier: GPL-2.0-or-later
/* Sparse arrays and hash tables in precompiled images, for the files of r2r_internal.h. */
#include "runtime/dotnet/native_format.h"

#include "base/error.h"

enum {
	BLOCK_SIZE = 16,

	/* A tree node: two flags, then a distance or, in a leaf, an index. */
	NODE_HAS_LEFT = 1,
	NODE_HAS_RIGHT = 2,
	NODE_FLAGS = NODE_HAS_LEFT | NODE_HAS_RIGHT,
	NODE_VALUE_SHIFT = 2,

	HEADER_WIDTH_MASK = 3, /* of a hash table */
	HEADER_BUCKETS_SHIFT = 2,
	BUCKETS_MAX_SHIFT = 28,
};

/* The number of trailing one bits in the first byte says how many bytes follow. */
static uint32_t read_number(struct cursor *c, unsigned int *bits)
{
	uint32_t first = cursor_left(c) > 0 ? *c->pos++ : cursor_u8(c);

	if ((first & 1) == 0) {
		*bits = 7;
		return first >> 1;
	}
	if ((first & 2) == 0) {
		*bits = 14;
		return first >> 2 | (uint32_t)cursor_u8(c) << 6;
	}
	if ((first & 4) == 0) {
		*bits = 21;
		return first >> 3 | (uint32_t)cursor_u16(c) << 5;
	}
	if ((first & 8) == 0) {
		uint32_t low = cursor_u16(c);

		*bits = 28;
		return first >> 4 | low << 4 | (uint32_t)cursor_u8(c) << 20;
	}
	*bits = 32;
	return cursor_u32(c);
}

uint32_t native_unsigned(struct cursor *c)
{
	unsigned int bits;

	return read_number(c, &bits);
}

int32_t native_signed(struct cursor *c)
{
	unsigned int bits;
	uint32_t value = read_number(c, &bits);
	uint32_t sign = 1u << (bits - 1);

	return (int32_t)((value ^ sign) - sign);
}

int native_array_init(struct native_array *array, struct cursor c, struct error *err)
{
	uint32_t header = native_unsigned(&c);
	uint32_t width = header & 3;
	size_t blocks;

	if (!cursor_ok(&c) || width > 2)
		return error_set(err, -EBADMSG, "NativeArray header 0x%x is damaged", header);

	*array = (struct native_array){
		.image = c,
		.blocks_offset = cursor_offset(&c),
		.count = header >> 2,
		.index_bytes = (uint8_t)(1u << width),
	};
	blocks = cursor_left(&c) / array->index_bytes;
	if (array->count / BLOCK_SIZE > blocks)
		array->count = (uint32_t)blocks * BLOCK_SIZE;
	return 0;
}

/*
 * What number @number of the table at @base leads to, by its distance from there in @bytes bytes;
 * SIZE_MAX if it lies outside @image.
 */
static size_t offset_of(const struct cursor *image, size_t base, uint32_t number, uint8_t bytes)
{
	struct cursor c = cursor_at(image, base + (size_t)number * bytes);
	uint32_t distance = bytes == 1 ? cursor_u8(&c) :
			    bytes == 2 ? cursor_u16(&c) :
					 cursor_u32(&c);

	return cursor_ok(&c) ? base + distance : SIZE_MAX;
}

int native_array_find(const struct native_array *array, uint32_t index, struct cursor *element,
		      struct error *err)
{
	struct cursor node;

	if (index >= array->count)
		return 0;

	node = cursor_at(&array->image, offset_of(&array->image, array->blocks_offset,
						  index / BLOCK_SIZE, array->index_bytes));
	for (uint32_t bit = BLOCK_SIZE / 2; bit > 0; bit /= 2) {
		size_t node_offset = cursor_offset(&node);
		uint32_t value = native_unsigned(&node);
		uint32_t distance = value >> NODE_VALUE_SHIFT;

		if ((value & NODE_FLAGS) == 0) { /* a lone element stands for its subtree */
			if (cursor_ok(&node) && distance != (index & (BLOCK_SIZE - 1)))
				return 0;
			break;
		}
		if ((value & (index & bit ? NODE_HAS_RIGHT : NODE_HAS_LEFT)) == 0)
			return 0;
		if (index & bit)
			node = cursor_at(&array->image, node_offset + distance);
	}

	if (!cursor_ok(&node))
		return error_set(err, -EBADMSG, "NativeArray block of index %u is damaged", index);
	*element = node;
	return 1;
}

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
	return offset_of(&table->image, table->buckets_offset, bucket, table->index_bytes);
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
static bool next_bucket(struct native_hashtable_walk *walk)
{
	size_t start = bucket_offset(walk->table, walk->bucket);

	if (start == SIZE_MAX || start < walk->end)
		return false;
	walk->end = bucket_offset(walk->table, walk->bucket + 1);
	walk->at = cursor_at(&walk->table->image, start);
	if (walk->end == SIZE_MAX || walk->end < start || !cursor_ok(&walk->at))
		return false;
	walk->bucket++;
	return true;
}

static int end_damaged(struct native_hashtable_walk *walk)
{
	walk->bucket = walk->table->bucket_count;
	walk->end = 0;
	return -EBADMSG;
}

int native_hashtable_next(struct native_hashtable_walk *walk, struct cursor *element)
{
	size_t base;
	int64_t at;

	while (cursor_offset(&walk->at) >= walk->end || walk->bucket == 0) {
		if (walk->bucket == walk->table->bucket_count)
			return 0;
		if (!next_bucket(walk))
			return end_damaged(walk);
	}

	(void)cursor_u8(&walk->at); /* the low byte of the hash */
	base = cursor_offset(&walk->at);
	at = (int64_t)base + native_signed(&walk->at);
	if (!cursor_ok(&walk->at))
		return end_damaged(walk);
	*element = cursor_at(&walk->table->image, at < 0 ? SIZE_MAX : (size_t)at);
	return 1;
}
