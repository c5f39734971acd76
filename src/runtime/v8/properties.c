// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/properties.h"

#include "runtime/v8/js_string.h"

/* Bits of a property's details, a small integer. */
enum {
	DETAILS_ACCESSOR = 1,
	DETAILS_DONT_ENUM = 2, /* of the attributes */
	DETAILS_REPRESENTATION = 448,
	DETAILS_SMALL = 1 << 6, /* a small integer */
	DETAILS_DOUBLE = 2 << 6,
	DETAILS_INDEX_SHIFT = 19,
	DETAILS_INDEX_MASK = 1023,
};

/* Of a Map. */
enum {
	BITS_CONSTRUCTOR = 1 << 6,
	BITS_2_OWN_NEW_TARGET = 1,
	BITS_3_DESCRIPTORS_SHIFT = 10,
	BITS_3_DESCRIPTORS_MASK = 1023,
	BITS_3_PROTOTYPE_MAP = 1 << 20,
	BITS_3_DICTIONARY = 1 << 21,
};

enum {
	OBJECT_PROPERTIES = 8,
	TUPLE_FIRST = 8,
	DESCRIPTOR_WORDS = 3,	 /* key, details, value */
	DICTIONARY_CAPACITY = 2, /* index; the counts are before it */
	DICTIONARY_PREFIX = 3,
	DICTIONARY_WORDS = 3, /* key, value, details */
	DICTIONARY_MAX = 4096,
	BACK_POINTERS_MAX = 256,
};

struct properties {
	const struct v8_heap *heap;
	uint64_t object;
	uint64_t map;
	unsigned int *budget;
	v8_property_fn fn;
	void *ctx;
};

/* The value of a field, by its place among all. */
static uint64_t field_at(const struct properties *p, uint32_t index)
{
	uint32_t words = v8_u8(p->heap, p->map, V8_MAP_WORDS);
	uint32_t first = v8_u8(p->heap, p->map, V8_MAP_IN_OBJECT);
	uint32_t inside = words > first ? words - first : 0;
	uint64_t outside;

	if (index < inside)
		return v8_word(p->heap, p->object, 8 * (int32_t)(first + index));
	outside = v8_word(p->heap, p->object, OBJECT_PROPERTIES);
	if (!v8_is(p->heap, outside, V8_TYPE_PROPERTY_ARRAY))
		return 0;
	return v8_word(p->heap, outside, V8_ARRAY_DATA + 8 * (int32_t)(index - inside));
}

static bool tell(const struct properties *p, uint64_t key, uint64_t value, int32_t details)
{
	int32_t attributes = p->heap->layout->at[V8_DETAILS_ATTRIBUTES];
	const struct v8_property property = {
		.key = key,
		.value = value,
		.is_accessor = details & DETAILS_ACCESSOR,
		.is_enumerable = !((uint32_t)details >> (attributes & 31) & DETAILS_DONT_ENUM),
	};

	if (*p->budget == 0)
		return false;
	--*p->budget;
	return p->fn(p->ctx, &property);
}

static void each_descriptor(const struct properties *p, uint32_t count)
{
	uint64_t descriptors = v8_word(p->heap, p->map, V8_MAP_DESCRIPTORS);
	int32_t at = p->heap->layout->at[V8_DESCRIPTORS_HEADER];

	if (!v8_is(p->heap, descriptors, V8_TYPE_DESCRIPTORS) &&
	    !v8_is(p->heap, descriptors, V8_TYPE_STRONG_DESCRIPTORS))
		return;
	for (uint32_t i = 0; i < count; i++, at += 8 * DESCRIPTOR_WORDS) {
		uint64_t key = v8_word(p->heap, descriptors, at);
		int32_t details = v8_smi(v8_word(p->heap, descriptors, at + 8));
		uint32_t index = (uint32_t)details >> DETAILS_INDEX_SHIFT & DETAILS_INDEX_MASK;
		uint64_t value;

		if (details & p->heap->layout->at[V8_DETAILS_IN_DESCRIPTOR])
			value = v8_word(p->heap, descriptors, at + 16);
		else if ((details & DETAILS_REPRESENTATION) == DETAILS_DOUBLE)
			value = 0;
		else
			value = field_at(p, index);
		if (!tell(p, key, value, details))
			return;
	}
}

static void each_in_dictionary(const struct properties *p)
{
	uint64_t dictionary = v8_word(p->heap, p->object, OBJECT_PROPERTIES);
	int32_t at =
		V8_ARRAY_DATA + 8 * (DICTIONARY_PREFIX + p->heap->layout->at[V8_DICTIONARY_PREFIX]);
	int32_t capacity =
		v8_smi(v8_word(p->heap, dictionary, V8_ARRAY_DATA + 8 * DICTIONARY_CAPACITY));

	if (v8_type(p->heap, dictionary) < 0 || capacity > DICTIONARY_MAX)
		return;
	for (int32_t i = 0; i < capacity; i++, at += 8 * DICTIONARY_WORDS) {
		uint64_t key = v8_word(p->heap, dictionary, at);

		/* Free entries have undefined or a hole. */
		if (v8_is_smi(key) || v8_type(p->heap, key) > p->heap->layout->at[V8_TYPE_SYMBOL])
			continue;
		if (!tell(p, key, v8_word(p->heap, dictionary, at + 8),
			  v8_smi(v8_word(p->heap, dictionary, at + 16))))
			return;
	}
}

void v8_each_property(const struct v8_heap *heap, uint64_t object, unsigned int *budget,
		      v8_property_fn fn, void *ctx)
{
	struct properties p = {
		.heap = heap, .object = object, .budget = budget, .fn = fn, .ctx = ctx
	};
	uint32_t bits;

	/* A proxy has none of its own; what is above it has. */
	if (v8_type(heap, object) <= heap->layout->at[V8_TYPE_PROXY])
		return;
	p.map = v8_word(heap, object, 0);
	bits = v8_u32(heap, p.map, V8_MAP_BITS_3);
	if (bits & BITS_3_DICTIONARY)
		each_in_dictionary(&p);
	else
		each_descriptor(&p, bits >> BITS_3_DESCRIPTORS_SHIFT & BITS_3_DESCRIPTORS_MASK);
}

bool v8_map_may_have(const struct v8_heap *heap, uint64_t map, const char *name)
{
	uint32_t bits = v8_u32(heap, map, V8_MAP_BITS_3);
	uint64_t descriptors = v8_word(heap, map, V8_MAP_DESCRIPTORS);
	uint32_t count = bits >> BITS_3_DESCRIPTORS_SHIFT & BITS_3_DESCRIPTORS_MASK;
	int32_t at = heap->layout->at[V8_DESCRIPTORS_HEADER];

	if (!v8_map_is_receiver(heap, map) || bits & BITS_3_DICTIONARY)
		return true;
	for (uint32_t i = 0; i < count; i++, at += 8 * DESCRIPTOR_WORDS) {
		int32_t details = v8_smi(v8_word(heap, descriptors, at + 8));
		int32_t kind = details & DETAILS_REPRESENTATION;
		bool number = kind == DETAILS_SMALL || kind == DETAILS_DOUBLE;

		if (name ? v8_string_is(heap, v8_word(heap, descriptors, at), name) : !number)
			return true;
	}
	return false;
}

struct search {
	const struct v8_heap *heap;
	const char *name; /* NULL: one that cannot be read */
	bool symbol;
	struct v8_property *found;
	bool has_found;
};

static bool on_property(void *ctx, const struct v8_property *property)
{
	struct search *search = ctx;
	const struct v8_heap *heap = search->heap;
	uint64_t key = property->key;

	if (search->symbol)
		key = v8_is(heap, key, V8_TYPE_SYMBOL) ? v8_field(heap, key, V8_SYMBOL_NAME) : 0;
	search->has_found =
		search->name ? v8_string_is(heap, key, search->name) : v8_is_lost(heap, key);
	if (search->has_found)
		*search->found = *property;
	return !search->has_found;
}

bool v8_own_property(const struct v8_heap *heap, uint64_t object, const char *name, bool symbol,
		     unsigned int *budget, struct v8_property *property)
{
	struct search search = { .heap = heap, .name = name, .symbol = symbol, .found = property };

	v8_each_property(heap, object, budget, on_property, &search);
	return search.has_found;
}

uint64_t v8_map_prototype(const struct v8_heap *heap, uint64_t map)
{
	uint64_t prototype = v8_word(heap, map, V8_MAP_PROTOTYPE);

	return v8_map_is_receiver(heap, map) &&
			       v8_type(heap, prototype) >= heap->layout->at[V8_TYPE_PROXY] ?
		       prototype :
		       0;
}

uint64_t v8_prototype(const struct v8_heap *heap, uint64_t object)
{
	return v8_map_prototype(heap, v8_word(heap, object, 0));
}

bool v8_has_lost_properties(const struct v8_heap *heap, uint64_t object, unsigned int *budget)
{
	struct v8_property lost;
	uint64_t map = v8_word(heap, object, 0);
	uint64_t holder = v8_u32(heap, map, V8_MAP_BITS_3) & BITS_3_DICTIONARY ?
				  v8_word(heap, object, OBJECT_PROPERTIES) :
				  v8_word(heap, map, V8_MAP_DESCRIPTORS);

	if (v8_type(heap, object) < 0 || v8_type(heap, holder) < 0)
		return true;
	return v8_own_property(heap, object, NULL, false, budget, &lost) || *budget == 0;
}

bool v8_map_is_of_constructors(const struct v8_heap *heap, uint64_t map)
{
	return v8_map_is_receiver(heap, map) && v8_u8(heap, map, V8_MAP_BITS) & BITS_CONSTRUCTOR;
}

uint64_t v8_map_constructor(const struct v8_heap *heap, uint64_t map)
{
	uint64_t constructor;

	/* Of a subclass, or of a prototype, it says nothing. */
	if (!v8_map_is_receiver(heap, map) ||
	    !(v8_u8(heap, map, V8_MAP_BITS_2) & BITS_2_OWN_NEW_TARGET) ||
	    v8_u32(heap, map, V8_MAP_BITS_3) & BITS_3_PROTOTYPE_MAP)
		return 0;
	constructor = v8_word(heap, map, V8_MAP_CONSTRUCTOR);
	for (unsigned int i = 0; i < BACK_POINTERS_MAX && v8_is(heap, constructor, V8_TYPE_MAP);
	     i++)
		constructor = v8_word(heap, constructor, V8_MAP_CONSTRUCTOR);
	if (v8_is(heap, constructor, V8_TYPE_TUPLE))
		constructor = v8_word(heap, constructor, TUPLE_FIRST);
	return v8_type(heap, constructor) >= 0 ? constructor : 0;
}
