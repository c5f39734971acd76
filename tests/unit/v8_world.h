/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap of V8 made of bytes: lays out in a piece of memory what the readers in src/runtime/v8 look
 * for in a live process, for each version that the layout table knows. Fields are put where
 * v8_layout_init() says they are, so that few offsets stand here again.
 *
 * It asserts by abort(), so that the fuzzer, which has no cmocka, can use it too.
 */
#ifndef TESTS_UNIT_V8_WORLD_H
#define TESTS_UNIT_V8_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "runtime/v8/heap.h"
#include "runtime/v8/layout.h"
#include "target/memory.h"

#define WORLD_BASE 0x2e1200000000ull

enum {
	WORLD_ROOM = 1 << 17,
	WORLD_FIELDS_MAX = 2048,
	WORLD_MAPS_MAX = 64,

	/* Instance types of strings. */
	WORLD_TWO_BYTE = 0x20,
	WORLD_CONS = 0x21,
	WORLD_EXTERNAL = 0x22,
	WORLD_SLICED = 0x23,
	WORLD_THIN = 0x25,
	WORLD_ONE_BYTE = 8,
};

struct world {
	struct v8_layout layout;
	struct v8_heap heap;
	struct memory *memory;
	uint8_t *bytes; /* that begin at WORLD_BASE */
	size_t used;

	struct {
		int32_t type;
		uint64_t map;
	} maps[WORLD_MAPS_MAX];
	size_t map_count;
	uint64_t meta_map;
	uint64_t undefined;

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
};

/* What of a function is asked for; 0: none, or what is usual. */
struct world_function {
	const char *name;
	uint64_t script;
	int32_t literal_id;
	uint32_t flags;
	bool builtin;
	uint64_t bytecodes;
};

#include "tests/unit/world_bytes.h"

/* Zeros at a multiple of 8. */
static inline uint64_t world_alloc(struct world *world, size_t size)
{
	size_t start = (world->used + 7) & ~(size_t)7;

	world_check(start + size <= WORLD_ROOM);
	world->used = start + size;
	return WORLD_BASE + start;
}

static inline uint64_t world_smi(int32_t value)
{
	return (uint64_t)(uint32_t)value << 32;
}

static inline void world_word(struct world *world, uint64_t object, int32_t offset, uint64_t value)
{
	world_put(world, v8_address(object, offset), value, 8);
}

static inline void world_u32(struct world *world, uint64_t object, int32_t offset, uint32_t value)
{
	world_put(world, v8_address(object, offset), value, 4);
}

static inline void world_set(struct world *world, uint64_t object, enum v8_field field,
			     uint64_t value)
{
	if (v8_layout_has(&world->layout, field))
		world_word(world, object, world->layout.at[field], value);
}

/* Objects ---------------------------------------------------------------------------------- */

enum { WORLD_MAP_BYTES = 80, WORLD_OBJECT_BYTES = 192 };

/* A Map of its own; of objects of one word unless that is changed. */
static inline uint64_t world_new_map(struct world *world, int32_t type)
{
	uint64_t map = world_alloc(world, WORLD_MAP_BYTES) + 1;

	world_word(world, map, 0, world->meta_map ? world->meta_map : map);
	world_put(world, v8_address(map, V8_MAP_WORDS), 1, 1);
	world_put(world, v8_address(map, V8_MAP_IN_OBJECT), 1, 1);
	world_put(world, v8_address(map, V8_MAP_TYPE), (uint16_t)type, 2);
	return map;
}

static inline uint64_t world_map(struct world *world, int32_t type)
{
	for (size_t i = 0; i < world->map_count; i++) {
		if (world->maps[i].type == type)
			return world->maps[i].map;
	}
	world_check(world->map_count < WORLD_MAPS_MAX);
	world->maps[world->map_count].type = type;
	world->maps[world->map_count].map = world_new_map(world, type);
	return world->maps[world->map_count++].map;
}

static inline uint64_t world_object_of(struct world *world, int32_t type, size_t size)
{
	uint64_t object = world_alloc(world, size) + 1;

	world_word(world, object, 0, world_map(world, type));
	return object;
}

static inline uint64_t world_object(struct world *world, enum v8_field type)
{
	world_check(v8_layout_has(&world->layout, type));
	return world_object_of(world, world->layout.at[type], WORLD_OBJECT_BYTES);
}

static inline uint64_t world_array(struct world *world, enum v8_field type, const uint64_t *words,
				   size_t count)
{
	uint64_t array = world_object_of(world, world->layout.at[type], 16 + 8 * count);

	world_word(world, array, 8, world_smi((int32_t)count));
	for (size_t i = 0; i < count; i++)
		world_word(world, array, 16 + 8 * (int32_t)i, words[i]);
	return array;
}

static inline uint64_t world_bytes(struct world *world, enum v8_field type, int32_t at,
				   const uint8_t *bytes, size_t count)
{
	uint64_t array = world_object_of(world, world->layout.at[type], (size_t)at + count);

	world_word(world, array, 8, world_smi((int32_t)count));
	for (size_t i = 0; i < count; i++)
		world_put(world, v8_address(array, at + (int32_t)i), bytes[i], 1);
	return array;
}

/* Strings ---------------------------------------------------------------------------------- */

static inline uint64_t world_string_of(struct world *world, int32_t type, uint32_t length,
				       size_t size)
{
	uint64_t string = world_object_of(world, type, 16 + size);

	world_u32(world, string, 12, length);
	return string;
}

static inline uint64_t world_string(struct world *world, const char *chars)
{
	size_t length = strlen(chars);
	uint64_t string = world_string_of(world, WORLD_ONE_BYTE, (uint32_t)length, length);

	if (length)
		memcpy(world_at(world, v8_address(string, 16), length), chars, length);
	return string;
}

static inline uint64_t world_two_byte(struct world *world, const uint16_t *chars, size_t length)
{
	uint64_t string =
		world_string_of(world, WORLD_TWO_BYTE, (uint32_t)length, sizeof(*chars) * length);

	memcpy(world_at(world, v8_address(string, 16), 2 * length), chars, 2 * length);
	return string;
}

/* Made of two words: parts, or a part and a number, or an address. */
static inline uint64_t world_made_of(struct world *world, int32_t type, uint32_t length,
				     uint64_t one, uint64_t other)
{
	uint64_t string = world_string_of(world, type, length, 16);

	world_word(world, string, 16, one);
	world_word(world, string, 24, other);
	return string;
}

/* Functions -------------------------------------------------------------------------------- */

static inline uint64_t world_script(struct world *world, int32_t id, const char *name,
				    uint64_t source)
{
	uint64_t script = world_object(world, V8_TYPE_SCRIPT);

	world_set(world, script, V8_SCRIPT_ID, world_smi(id));
	world_set(world, script, V8_SCRIPT_NAME,
		  name ? world_string(world, name) : world->undefined);
	world_set(world, script, V8_SCRIPT_SOURCE, source);
	world_set(world, script, V8_SCRIPT_SOURCE_URL, world->undefined);
	return script;
}

static inline uint64_t world_bytecodes(struct world *world, const uint8_t *code, size_t code_size,
				       const uint8_t *positions, size_t size)
{
	bool trusted = v8_layout_has(&world->layout, V8_TYPE_TRUSTED_BYTE_ARRAY);
	uint64_t array = world_bytes(world, V8_TYPE_BYTECODES, world->layout.at[V8_BYTECODES_DATA],
				     code, code_size);

	world_set(world, array, V8_BYTECODES_SOURCE_POSITIONS,
		  world_bytes(world, trusted ? V8_TYPE_TRUSTED_BYTE_ARRAY : V8_TYPE_BYTE_ARRAY, 16,
			      positions, size));
	return array;
}

static inline uint64_t world_shared(struct world *world, const struct world_function *function)
{
	const int32_t *at = world->layout.at;
	uint64_t shared = world_object(world, V8_TYPE_SHARED);
	uint64_t data = function->builtin   ? world_smi(7) :
			function->bytecodes ? function->bytecodes :
					      world->undefined;

	world_set(world, shared, V8_SHARED_DATA, data);
	world_set(world, shared, V8_SHARED_NAME,
		  function->name ? world_string(world, function->name) : world_smi(0));
	world_set(world, shared, V8_SHARED_SCRIPT,
		  function->script ? function->script : world->undefined);
	world_u32(world, shared, at[V8_SHARED_FLAGS], function->flags);
	world_u32(world, shared, at[V8_SHARED_LITERAL_ID], (uint32_t)function->literal_id);
	return shared;
}

static inline uint64_t world_closure(struct world *world, uint64_t shared)
{
	uint64_t closure = world_object(world, V8_TYPE_JS_FUNCTION_FIRST);

	world_set(world, closure, V8_FUNCTION_SHARED, shared);
	return closure;
}

static inline uint64_t world_function(struct world *world, const struct world_function *function)
{
	return world_closure(world, world_shared(world, function));
}

/* Code of @size bytes; what is behind it is @after. Returns the Code, and where it starts. */
static inline uint64_t world_code(struct world *world, int32_t kind, size_t size,
				  const uint8_t *after, size_t after_size, uint64_t *start)
{
	const int32_t *at = world->layout.at;
	bool apart = v8_layout_has(&world->layout, V8_STREAM_CODE);
	uint64_t code, stream;

	if (apart) {
		code = world_object(world, V8_TYPE_CODE);
		stream = world_object_of(world, at[V8_TYPE_STREAM], 64 + size + after_size);
		*start = stream - 1 + 64;
		world_set(world, stream, V8_STREAM_CODE, code);
		world_set(world, code, V8_CODE_START, *start);
	} else {
		code = world_object_of(world, at[V8_TYPE_CODE],
				       (size_t)at[V8_CODE_START_INLINE] + size + after_size);
		*start = v8_address(code, at[V8_CODE_START_INLINE]);
	}
	world_u32(world, code, at[V8_CODE_SIZE], (uint32_t)size);
	world_u32(world, code, at[V8_CODE_FLAGS], (uint32_t)kind);
	for (size_t i = 0; i < after_size; i++)
		world_put(world, *start + size + i, after[i], 1);
	return code;
}

/* Objects of JavaScript -------------------------------------------------------------------- */

struct world_property {
	const char *name;
	uint64_t key; /* instead of the name */
	uint64_t value;
	bool accessor;
	bool hidden;
};

/* An object with a Map of its own, whose properties are in the Map, or in a dictionary. */
static inline uint64_t world_js_object(struct world *world, int32_t type, uint64_t prototype,
				       const struct world_property *properties, size_t count,
				       bool dictionary)
{
	const int32_t *at = world->layout.at;
	int32_t next =
		dictionary ? 16 + 8 * (3 + at[V8_DICTIONARY_PREFIX]) : at[V8_DESCRIPTORS_HEADER];
	uint64_t map = world_new_map(world, type), holder;
	uint64_t object = world_alloc(world, WORLD_OBJECT_BYTES) + 1;

	world_word(world, object, 0, map);
	holder = world_object_of(world, at[dictionary ? V8_TYPE_ARRAY : V8_TYPE_DESCRIPTORS],
				 (size_t)next + 24 * count);
	world_word(world, map, V8_MAP_PROTOTYPE, prototype ? prototype : world->undefined);
	world_word(world, map, V8_MAP_CONSTRUCTOR, world->undefined);
	world_word(world, map, V8_MAP_DESCRIPTORS, holder);
	world_u32(world, map, V8_MAP_BITS_3, dictionary ? 1u << 21 : (uint32_t)count << 10);
	if (dictionary) {
		world_word(world, object, 8, holder);
		world_word(world, holder, 16 + 16, world_smi((int32_t)count));
	}
	for (size_t i = 0; i < count; i++, next += 24) {
		const struct world_property *property = &properties[i];
		uint64_t key = property->key ? property->key : world_string(world, property->name);
		uint64_t details =
			world_smi((property->accessor ? 1 : 0) |
				  (property->hidden ? 2 : 0) << at[V8_DETAILS_ATTRIBUTES] |
				  at[V8_DETAILS_IN_DESCRIPTOR]);

		world_word(world, holder, next, key);
		world_word(world, holder, next + (dictionary ? 16 : 8), details);
		world_word(world, holder, next + (dictionary ? 8 : 16), property->value);
	}
	return object;
}

static inline int32_t world_receiver_type(const struct world *world)
{
	return world->layout.at[V8_TYPE_JS_FUNCTION_FIRST] - 8;
}

/* Beginning and end ------------------------------------------------------------------------ */

static inline void world_init(struct world *world, unsigned int major, unsigned int minor)
{
	const struct v8_version version = { major, minor, 0, 0 };

	*world = (struct world){ .bytes = calloc(1, WORLD_ROOM) };
	world_check(world->bytes && v8_layout_init(&world->layout, &version, NULL, NULL) == 0);
	world_check(memory_create(&world->memory, world_read, world, NULL) == 0);
	world->heap = (struct v8_heap){ world->memory, &world->layout };
	(void)world_alloc(world, 64);
	world->meta_map = world_new_map(world, world->layout.at[V8_TYPE_MAP]);
	world->undefined = world_object(world, V8_TYPE_ODDBALL);
	world_set(world, world->undefined, V8_ODDBALL_KIND,
		  world_smi(world->layout.at[V8_ODDBALL_UNDEFINED]));
}

static inline void world_deinit(struct world *world)
{
	memory_destroy(world->memory);
	free(world->bytes);
	*world = (struct world){ 0 };
}

/* What was put later is to be read. */
static inline const struct v8_heap *world_now(struct world *world)
{
	memory_forget(world->memory);
	return &world->heap;
}

#endif
