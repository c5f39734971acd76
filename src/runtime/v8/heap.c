// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/heap.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "target/memory.h"

enum { ARRAY_MAX = 1 << 24 }; /* elements */

#define V8_NUMBER(name, bits)                                                                 \
	uint##bits##_t v8_##name(const struct v8_heap *heap, uint64_t object, int32_t offset) \
	{                                                                                     \
		struct look look = look_into(heap->memory);                                   \
                                                                                              \
		return look_u##bits(&look, v8_address(object, offset));                       \
	}
V8_NUMBER(word, 64)
V8_NUMBER(u32, 32)
V8_NUMBER(u16, 16)
V8_NUMBER(u8, 8)

uint64_t v8_field(const struct v8_heap *heap, uint64_t object, enum v8_field field)
{
	return v8_layout_has(heap->layout, field) ? v8_word(heap, object, heap->layout->at[field]) :
						    0;
}

uint32_t v8_field_u32(const struct v8_heap *heap, uint64_t object, enum v8_field field)
{
	return v8_layout_has(heap->layout, field) ? v8_u32(heap, object, heap->layout->at[field]) :
						    0;
}

int v8_map_type(const struct v8_heap *heap, uint64_t map)
{
	uint64_t of_map;

	/* An object that has moved has its new address there, which is aligned as no map is. */
	if (!v8_is_object(map))
		return -1;
	of_map = v8_word(heap, map, 0);
	if (!v8_is_object(of_map) ||
	    v8_u16(heap, of_map, V8_MAP_TYPE) != heap->layout->at[V8_TYPE_MAP])
		return -1;
	return v8_u16(heap, map, V8_MAP_TYPE);
}

int v8_type(const struct v8_heap *heap, uint64_t value)
{
	return v8_is_object(value) ? v8_map_type(heap, v8_word(heap, value, 0)) : -1;
}

bool v8_map_is_receiver(const struct v8_heap *heap, uint64_t map)
{
	return v8_map_type(heap, map) >= heap->layout->at[V8_TYPE_PROXY];
}

bool v8_is_lost(const struct v8_heap *heap, uint64_t value)
{
	return v8_is_object(value) && v8_type(heap, value) < 0;
}

bool v8_is(const struct v8_heap *heap, uint64_t value, enum v8_field type)
{
	return v8_layout_has(heap->layout, type) && v8_type(heap, value) == heap->layout->at[type];
}

bool v8_is_function_type(const struct v8_heap *heap, int type)
{
	return type >= heap->layout->at[V8_TYPE_JS_FUNCTION_FIRST] &&
	       type <= heap->layout->at[V8_TYPE_JS_FUNCTION_LAST];
}

bool v8_is_function(const struct v8_heap *heap, uint64_t value)
{
	return v8_is_function_type(heap, v8_type(heap, value));
}

bool v8_is_oddball(const struct v8_heap *heap, uint64_t value, enum v8_field field)
{
	uint64_t kind;

	if (!v8_is(heap, value, V8_TYPE_ODDBALL))
		return false;
	kind = v8_field(heap, value, V8_ODDBALL_KIND);
	return v8_is_smi(kind) && v8_smi(kind) == heap->layout->at[field];
}

static bool is_array(const struct v8_heap *heap, uint64_t array)
{
	static const enum v8_field types[] = {
		V8_TYPE_ARRAY,	    V8_TYPE_TRUSTED_ARRAY,	V8_TYPE_PROTECTED_ARRAY,
		V8_TYPE_WEAK_ARRAY, V8_TYPE_TRUSTED_WEAK_ARRAY,
	};
	int type = v8_type(heap, array);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (type >= 0 && type == heap->layout->at[types[i]])
			return true;
	}
	return false;
}

static uint32_t length_of(const struct v8_heap *heap, uint64_t array, uint32_t most)
{
	uint64_t length = v8_word(heap, array, V8_ARRAY_LENGTH);

	if (!v8_is_smi(length) || v8_smi(length) < 0 || (uint32_t)v8_smi(length) > most)
		return 0;
	return (uint32_t)v8_smi(length);
}

uint32_t v8_array_length(const struct v8_heap *heap, uint64_t array)
{
	return is_array(heap, array) ? length_of(heap, array, ARRAY_MAX) : 0;
}

uint64_t v8_array_at(const struct v8_heap *heap, uint64_t array, uint64_t index)
{
	if (index >= v8_array_length(heap, array))
		return 0;
	return v8_word(heap, array, V8_ARRAY_DATA + 8 * (int32_t)index);
}

static uint8_t *bytes_at(const struct v8_heap *heap, uint64_t array, int32_t offset,
			 struct span *bytes)
{
	struct look look = look_into(heap->memory);
	size_t size = length_of(heap, array, V8_BYTES_MAX);
	_cleanup_free_ uint8_t *memory = size ? malloc(size) : NULL;

	if (!memory)
		return NULL;
	/* Page by page, so that a length which is not true costs no more than what is there. */
	look_copy(&look, v8_address(array, offset), memory, size);
	*bytes = (struct span){ memory, size };
	return look.bad ? NULL : cleanup_take(memory);
}

uint8_t *v8_byte_array(const struct v8_heap *heap, uint64_t array, struct span *bytes)
{
	if (!v8_is(heap, array, V8_TYPE_BYTE_ARRAY) &&
	    !v8_is(heap, array, V8_TYPE_TRUSTED_BYTE_ARRAY))
		return NULL;
	return bytes_at(heap, array, V8_ARRAY_DATA, bytes);
}

uint8_t *v8_bytecodes(const struct v8_heap *heap, uint64_t array, struct span *bytes)
{
	if (!v8_is(heap, array, V8_TYPE_BYTECODES))
		return NULL;
	return bytes_at(heap, array, heap->layout->at[V8_BYTECODES_DATA], bytes);
}
