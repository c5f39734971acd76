/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runtime made of bytes: lays out in a piece of memory what the readers in src/dotnet look for
 * in a live process, for each version that the layout table knows. Fields are put where
 * layout_init() says they are, so that no offset stands here again; what the table does not hold
 * (the bits of flags, the encoding of the nibble map) is written from the runtime's sources.
 *
 * It asserts by abort(), so that the fuzzer, which has no cmocka, can use it too.
 */
#ifndef TESTS_UNIT_CLR_WORLD_H
#define TESTS_UNIT_CLR_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/layout.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/dotnet/runtime.h"
#include "base/error.h"
#include "target/memory.h"

#define WORLD_BASE 0x7f1200000000ull
#define WORLD_BIAS 0x10000ull /* from where the runtime was linked to where it is */

enum {
	WORLD_ROOM = 1 << 18,
	WORLD_FIELDS_MAX = 4096,

	WORLD_SECTION_COLLECTIBLE = 1,
	WORLD_SECTION_HEAP = 2,
	WORLD_SECTION_STUBS = 4,
};

struct world {
	unsigned int major;
	struct layout layout;
	uint8_t *bytes; /* that begin at WORLD_BASE */
	size_t room;
	size_t used;

	uint64_t range_map;
	uint64_t dac_table;
	uint64_t contract_at;
	uint64_t config;
	uint64_t domain;
	uint64_t allocator;
	uint64_t counting;

	/* Where something was put: what a fuzzer changes. */
	struct world_field {
		uint32_t offset;
		uint32_t size;
	} fields[WORLD_FIELDS_MAX];
	size_t field_count;

	/* Called before each read of the memory: the target runs while it is read. */
	void (*on_read)(struct world *world, uint64_t at);
	void *ctx;
	uint64_t reads;

	struct memory *memory;
	struct dotnet_images images;
};

#include "tests/unit/world_bytes.h"

/* Memory ---------------------------------------------------------------------------------- */

/* Zeros at a multiple of @alignment. */
static inline uint64_t world_alloc_at(struct world *world, size_t size, size_t alignment)
{
	size_t start = (world->used + alignment - 1) / alignment * alignment;

	world_check(start + size <= world->room);
	world->used = start + size;
	return WORLD_BASE + start;
}

static inline uint64_t world_alloc(struct world *world, size_t size)
{
	return world_alloc_at(world, size, 16);
}

static inline uint64_t world_get(struct world *world, uint64_t at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, world_at(world, at, size), size);
	return value;
}

static inline uint64_t world_field(const struct world *world, uint64_t object,
				   enum layout_field field)
{
	world_check(layout_has(&world->layout, field));
	return object + (uint64_t)world->layout.at[field];
}

static inline void world_set(struct world *world, uint64_t object, enum layout_field field,
			     uint64_t value, size_t size)
{
	world_put(world, world_field(world, object, field), value, size);
}

static inline uint64_t world_copy(struct world *world, const void *bytes, size_t size,
				  size_t alignment)
{
	uint64_t at = world_alloc_at(world, size + 1, alignment); /* and a NUL */

	memcpy(world_at(world, at, size), bytes, size);
	return at;
}

static inline uint64_t world_string(struct world *world, const char *chars)
{
	return world_copy(world, chars, strlen(chars), 1);
}

/* The whole of tests/golden/NAME, at the start of a page; tests run in the top of the tree. */
static inline uint64_t world_file(struct world *world, const char *name, size_t *size)
{
	enum { MOST = 1 << 17 };
	uint8_t *bytes = malloc(MOST);
	char path[256];
	FILE *file;
	uint64_t at;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	file = fopen(path, "rb");
	world_check(bytes && file);
	*size = fread(bytes, 1, MOST, file);
	fclose(file);
	at = world_copy(world, bytes, *size, WORLD_PAGE);
	free(bytes);
	return at;
}

/* Hash tables of the runtime's: pointers, 0 where an entry is free -------------------------- */

enum { WORLD_HASH_SIZE = 7 };

static inline void world_hash_add(struct world *world, uint64_t hash, uint64_t entry)
{
	uint64_t table = world_get(world, world_field(world, hash, HASH_TABLE), 8);
	size_t i = 1; /* the first stays free, the second is one that was deleted */

	if (!table) {
		table = world_alloc(world, 8 * WORLD_HASH_SIZE);
		world_set(world, hash, HASH_TABLE, table, 8);
		world_set(world, hash, HASH_SIZE, WORLD_HASH_SIZE, 4);
		world_put(world, table + 8, UINT64_MAX, 8);
	}
	while (world_get(world, table + 8 * i, 8))
		i++;
	world_check(i < WORLD_HASH_SIZE);
	world_put(world, table + 8 * i, entry, 8);
}

/* Code ------------------------------------------------------------------------------------ */

struct world_heap {
	uint64_t at;
	uint64_t section;
	uint64_t base;
	uint64_t unwind_base;
	uint64_t nibbles;
	uint64_t end;
	uint64_t next; /* where the next body may be put */
};

enum {
	WORLD_LEVELS = 5,
	WORLD_LEVEL_BITS = 8,
	WORLD_LOWEST_BIT = 17, /* of an address, in the last level */
	WORLD_TABLE_BYTES = 8 << WORLD_LEVEL_BITS,
	WORLD_COLLECTIBLE = 1, /* mark in the lowest bit of the map's pointers */
};

/* Put a fragment for @section before those that the part of the map for @address has. */
static inline void world_map(struct world *world, uint64_t address, uint64_t section)
{
	uint64_t table = world->range_map + (uint64_t)world->layout.at[RANGE_MAP_TOP];
	uint64_t fragment = world_alloc(world, 32), entry = 0;

	for (int level = WORLD_LEVELS - 1; level >= 0; level--) {
		unsigned int shift = WORLD_LOWEST_BIT + (unsigned int)level * WORLD_LEVEL_BITS;

		entry = table + 8 * (address >> shift & ((1 << WORLD_LEVEL_BITS) - 1));
		if (level == 0)
			break;
		if (!world_get(world, entry, 8))
			world_put(world, entry, world_alloc(world, WORLD_TABLE_BYTES), 8);
		table = world_get(world, entry, 8);
	}
	world_set(world, fragment, FRAGMENT_NEXT, world_get(world, entry, 8), 8);
	world_set(world, fragment, FRAGMENT_SECTION, section, 8);
	world_put(world, entry, fragment | WORLD_COLLECTIBLE, 8);
}

static inline uint64_t world_section(struct world *world, uint64_t begin, uint64_t end,
				     uint32_t flags)
{
	uint64_t section = world_alloc(world, 80);

	world_set(world, section, SECTION_BEGIN, begin, 8);
	world_set(world, section, SECTION_END, end, 8);
	world_set(world, section, SECTION_FLAGS, flags, 4);
	for (uint64_t at = begin >> WORLD_LOWEST_BIT; at <= (end - 1) >> WORLD_LOWEST_BIT; at++)
		world_map(world, at << WORLD_LOWEST_BIT, section);
	return section;
}

/* @of_dynamic_methods: there the unwind information begins elsewhere than the nibble map. */
static inline struct world_heap world_heap(struct world *world, size_t size,
					   bool of_dynamic_methods)
{
	struct world_heap heap = { .base = world_alloc_at(world, size, WORLD_PAGE) };
	uint64_t object; /* of which only the class is looked at */

	heap.unwind_base = heap.base + (of_dynamic_methods ? 16 : 0);
	heap.end = heap.base + size;
	heap.next = heap.base + 32; /* before it are the heap's own records */
	heap.nibbles = world_alloc(world, (size + 255) / 256 * 4);
	heap.at = world_alloc(world, 96);
	object = world_alloc(world, 8);
	world_put(world, object, of_dynamic_methods ? WORLD_BASE + 8 : WORLD_BASE, 8);
	world_set(world, heap.at, HEAP_OBJECT, object, 8);
	world_set(world, heap.at, HEAP_START, heap.next, 8);
	world_set(world, heap.at, HEAP_END, heap.end, 8);
	world_set(world, heap.at, HEAP_MAP_BASE, heap.base, 8);
	world_set(world, heap.at, HEAP_NIBBLE_MAP, heap.nibbles, 8);
	world_set(world, heap.at, HEAP_UNWIND_BASE, heap.unwind_base, 8);
	heap.section = world_section(world, heap.base, heap.end, WORLD_SECTION_HEAP);
	world_set(world, heap.section, SECTION_HEAP_LIST, heap.at, 8);
	return heap;
}

/* Set the nibble that says that code begins at @start, or clear it. */
static inline void world_mark(struct world *world, const struct world_heap *heap, uint64_t start,
			      bool set)
{
	uint64_t offset = start - heap->base;
	uint64_t at = heap->nibbles + offset / 256 * 4;
	unsigned int shift = 28 - 4 * (unsigned int)(offset % 256 / 32);
	uint32_t unit = (uint32_t)world_get(world, at, 4) & ~(15u << shift);

	if (set)
		unit |= (uint32_t)(offset % 32 / 4 + 1) << shift;
	world_put(world, at, unit, 4);
}

/* Units that lie in the middle of a body say how far back it begins, from .NET 10 on. */
static inline void world_mark_back(struct world *world, const struct world_heap *heap,
				   uint64_t start, uint32_t size)
{
	uint32_t offset = (uint32_t)(start - heap->base);

	for (uint64_t unit = offset / 256 + 1; (unit + 1) * 256 <= offset + size; unit++)
		world_put(world, heap->nibbles + 4 * unit,
			  (offset & ~15u) | ((offset & 15) / 4 + 9), 4);
}

/* The next place in the heap for code, behind its header's pointer. */
static inline uint64_t world_place(struct world *world, struct world_heap *heap, uint32_t size)
{
	uint64_t start = (heap->next + 8 + 31) & ~31ull;

	heap->next = start + size;
	world_check(heap->next <= heap->end);
	world_mark(world, heap, start, true);
	return start;
}

/* A body of @size bytes, the last of @funclets handlers included. */
static inline uint64_t world_body_of(struct world *world, struct world_heap *heap, uint32_t size,
				     uint64_t method_desc, uint32_t funclets)
{
	uint64_t start = world_place(world, heap, size);
	uint64_t header = world_alloc(world, 64 + 12 * (size_t)funclets);
	uint64_t unwinds = world_field(world, header, CODE_UNWINDS);
	uint32_t at = (uint32_t)(start - heap->unwind_base), part = size / (funclets + 1);

	if (world->layout.nibble_map >= 2)
		world_mark_back(world, heap, start, size);
	world_put(world, start - 8, header, 8);
	world_set(world, header, CODE_METHOD_DESC, method_desc, 8);
	world_set(world, header, CODE_UNWIND_COUNT, funclets + 1, 4);
	for (uint32_t i = 0; i <= funclets; i++) {
		world_put(world, unwinds + 12ull * i, at + i * part, 4);
		world_put(world, unwinds + 12ull * i + 4,
			  i == funclets ? at + size : at + (i + 1) * part, 4);
	}
	return start;
}

static inline uint64_t world_body(struct world *world, struct world_heap *heap, uint32_t size,
				  uint64_t method_desc)
{
	return world_body_of(world, heap, size, method_desc, 0);
}

/* What is told of a body of the JIT's: its RealCodeHeader. */
static inline uint64_t world_code_header(struct world *world, uint64_t body)
{
	return world_get(world, body - CODE_HEADER_BYTES, 8);
}

static inline uint64_t world_stub(struct world *world, struct world_heap *heap, uint64_t kind)
{
	uint64_t start = world_place(world, heap, 16);

	world_put(world, start - 8, kind, 8);
	return start;
}

/* The whole ------------------------------------------------------------------------------- */

static inline uint64_t world_contract(struct world *world, const char *json,
				      const uint64_t *pointers, uint32_t count)
{
	uint64_t at = world_alloc(world, 40);
	uint64_t list = world_alloc(world, 8 * ((size_t)count + 1));

	memcpy(world_at(world, at, 8), "DNCCDAC", 8);
	world_put(world, at + 12, strlen(json), 4);
	world_put(world, at + 16, world_string(world, json), 8);
	world_put(world, at + 24, count, 4);
	world_put(world, at + 32, list, 8);
	for (uint32_t i = 0; i < count; i++)
		world_put(world, list + 8ull * i, pointers[i], 8);
	return at;
}

static inline void world_config(struct world *world, enum layout_field setting, uint8_t value)
{
	world_set(world, world->config, setting, value, 1);
}

/* A global of the runtime's: the table for debuggers leads to it, and it to the object. */
static inline void world_global(struct world *world, unsigned int index, uint64_t object)
{
	uint64_t global = world_alloc(world, 8);

	world_put(world, global, object, 8);
	world_put(world, world->dac_table + 8ull * index, global, 8);
}

/* An empty runtime, optimising in tiers and instrumenting, as it does unless told otherwise. */
static inline void world_init(struct world *world, unsigned int major, size_t room)
{
	*world = (struct world){ .major = major, .room = room };
	world->bytes = calloc(1, room + WORLD_PAGE);
	world_check(world->bytes && layout_init(&world->layout, major, NULL, NULL) == 0);
	world_check(memory_create(&world->memory, world_read, world, NULL) == 0);
	world->dac_table = world_alloc(world, 8 * 64);
	world->range_map =
		world_alloc(world, WORLD_TABLE_BYTES + (size_t)world->layout.at[RANGE_MAP_TOP]);
	world->config = world_alloc(world, 160);
	world->allocator = world_alloc(world, 2672);
	world->counting = world_alloc(world, 24);
	world_put(world, world->dac_table, world->range_map, 8);
	world_global(world, world->layout.dac_config, world->config);
	if (world->layout.dac_app_domain) {
		world->domain = world_alloc(world, 2560);
		world_global(world, world->layout.dac_app_domain, world->domain);
	}
	world_config(world, CONFIG_PGO, 1);
	world_config(world, CONFIG_PGO_ONLY_HOT, 1);
	world_set(world, world->allocator, ALLOCATOR_CALL_COUNTING, world->counting, 8);
}

static inline void world_deinit(struct world *world)
{
	memory_destroy(world->memory);
	dotnet_images_deinit(&world->images);
	free(world->bytes);
	*world = (struct world){ 0 };
}

static inline const struct dotnet_image *world_image(void *ctx, const struct clr_layout *layout)
{
	struct world *world = ctx;

	return memory_image_get(&world->images, world->memory, layout);
}

static inline int world_create_jit(struct world *world, struct jit **jit, struct error *err)
{
	struct dotnet_runtime runtime = {
		.major = world->major,
		.contract_at = world->contract_at ? world->contract_at - WORLD_BIAS : 0,
		.dac_table_at = world->dac_table - WORLD_BIAS,
		.bias = WORLD_BIAS,
	};

	return jit_create(jit, world->memory, &runtime, world_image, world, err);
}

/* The head of a test that the file's for_each_version() runs, with @arg. */
#define EACH_VERSION(test, arg)         \
	static void test(arg);          \
	UNIT_TEST(test_##test)          \
	{                               \
		for_each_version(test); \
	}                               \
	static void test(arg)

#endif
