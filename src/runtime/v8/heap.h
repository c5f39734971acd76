/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of V8's heap in the target's memory: tagged words, their types, arrays. The collector
 * moves objects while they are read, and others come in their place, so nothing is believed
 * without its type; what cannot be read is the small integer 0, which has none.
 *
 * Source: V8's src/objects/tagged.h, map.tq, fixed-array.tq; alike in all versions but for what
 * layout.h has.
 */
#ifndef RUNTIME_V8_HEAP_H
#define RUNTIME_V8_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cursor.h"
#include "runtime/v8/layout.h"

struct v8_heap {
	struct memory *memory; /* as it was read since memory_forget() */
	const struct v8_layout *layout;
};

/* Of a Map. */
enum {
	V8_MAP_WORDS = 8,     /* of an instance, u8 */
	V8_MAP_IN_OBJECT = 9, /* u8: the word at which properties in the object begin */
	V8_MAP_TYPE = 12,     /* u16 */
	V8_MAP_BITS = 14,     /* u8 */
	V8_MAP_BITS_2 = 15,   /* u8 */
	V8_MAP_BITS_3 = 16,   /* u32 */
	V8_MAP_PROTOTYPE = 24,
	V8_MAP_CONSTRUCTOR = 32, /* or another map, which has it */
	V8_MAP_DESCRIPTORS = 40,
};

/* Of arrays of any kind. */
enum {
	V8_ARRAY_LENGTH = 8,
	V8_ARRAY_DATA = 16,
};

enum { V8_BYTES_MAX = 1 << 24 }; /* of a table */

static inline bool v8_is_smi(uint64_t value)
{
	return !(value & 1);
}

static inline int32_t v8_smi(uint64_t value)
{
	return (int32_t)(uint32_t)(value >> 32);
}

static inline bool v8_is_object(uint64_t value)
{
	return (value & 3) == 1;
}

/* A weak reference as a strong one. */
static inline uint64_t v8_strong(uint64_t value)
{
	return v8_is_smi(value) ? value : value & ~(uint64_t)2;
}

static inline uint64_t v8_address(uint64_t object, int32_t offset)
{
	return object - 1 + (uint64_t)(int64_t)offset;
}

/* What is at @offset of an object; 0 if that cannot be read. */
uint64_t v8_word(const struct v8_heap *heap, uint64_t object, int32_t offset);
uint32_t v8_u32(const struct v8_heap *heap, uint64_t object, int32_t offset);
uint16_t v8_u16(const struct v8_heap *heap, uint64_t object, int32_t offset);
uint8_t v8_u8(const struct v8_heap *heap, uint64_t object, int32_t offset);

/* The same of a field of the layout; 0 if this version has none. */
uint64_t v8_field(const struct v8_heap *heap, uint64_t object, enum v8_field field);
uint32_t v8_field_u32(const struct v8_heap *heap, uint64_t object, enum v8_field field);

/* Instance type; -1: it is a small integer, or no object any more. */
int v8_type(const struct v8_heap *heap, uint64_t value);

/* Is it a reference to what is no object, or to one that has moved or cannot be read? */
bool v8_is_lost(const struct v8_heap *heap, uint64_t value);

/* Is it an object of the type that @type, of the layout, stands for? */
bool v8_is(const struct v8_heap *heap, uint64_t value, enum v8_field type);
bool v8_is_function(const struct v8_heap *heap, uint64_t value);
bool v8_is_function_type(const struct v8_heap *heap, int type);

/*
 * What objects with the Map @map are, by their type; -1: it is no Map. Are they something that
 * methods are called on: no number, string, symbol, true, false, null...?
 */
int v8_map_type(const struct v8_heap *heap, uint64_t map);
bool v8_map_is_receiver(const struct v8_heap *heap, uint64_t map);

/* Is it undefined or null, told apart by @field (V8_ODDBALL_...)? */
bool v8_is_oddball(const struct v8_heap *heap, uint64_t value, enum v8_field field);

/* Of an array of tagged words, however it is held; 0 and nothing if it is none. */
uint32_t v8_array_length(const struct v8_heap *heap, uint64_t array);
uint64_t v8_array_at(const struct v8_heap *heap, uint64_t array, uint64_t index);

/*
 * The bytes of a ByteArray, in memory that the caller frees; NULL if it is none, or empty. Those of
 * a BytecodeArray likewise.
 */
uint8_t *v8_byte_array(const struct v8_heap *heap, uint64_t array, struct span *bytes);
uint8_t *v8_bytecodes(const struct v8_heap *heap, uint64_t array, struct span *bytes);

#endif
