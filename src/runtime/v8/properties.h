/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties of JavaScript objects, without running anything: own ones of objects with a
 * DescriptorArray or a dictionary, prototypes, and which constructor made an object. Names of
 * methods (names.c) need them.
 *
 * Source: V8's src/objects/property-details.h, descriptor-array.tq, map.h, name-dictionary.
 */
#ifndef RUNTIME_V8_PROPERTIES_H
#define RUNTIME_V8_PROPERTIES_H

#include "runtime/v8/heap.h"

enum { V8_PROTOTYPES_MAX = 32 };

struct v8_property {
	uint64_t key;	/* a String or Symbol */
	uint64_t value; /* of an accessor its AccessorPair, or whatever it is told by */
	bool is_accessor;
	bool is_enumerable;
};

/* False: that is enough. */
typedef bool (*v8_property_fn)(void *ctx, const struct v8_property *property);

/*
 * Call @fn for each own property that has a name and is no number, taking one of @budget for each;
 * ends where there is none of it left.
 */
void v8_each_property(const struct v8_heap *heap, uint64_t object, unsigned int *budget,
		      v8_property_fn fn, void *ctx);

/*
 * The own property called @name, ASCII; if @symbol the Symbol described so. NULL: one whose name
 * cannot be read. False: none.
 */
bool v8_own_property(const struct v8_heap *heap, uint64_t object, const char *name, bool symbol,
		     unsigned int *budget, struct v8_property *property);

/* Are there own properties of @object, or parts of what has them, that cannot be read? */
bool v8_has_lost_properties(const struct v8_heap *heap, uint64_t object, unsigned int *budget);

/*
 * May an object with the Map @map have an own property called @name (NULL: any that holds an
 * object)? The Map alone does not say what is in it.
 */
bool v8_map_may_have(const struct v8_heap *heap, uint64_t map, const char *name);

/* What an object inherits from; 0 if nothing. */
uint64_t v8_prototype(const struct v8_heap *heap, uint64_t object);

/* The same of all objects with the Map @map. */
uint64_t v8_map_prototype(const struct v8_heap *heap, uint64_t map);

/* May a function with the Map @map be called by new? */
bool v8_map_is_of_constructors(const struct v8_heap *heap, uint64_t map);

/* The function (or other thing) that made objects with the Map @map; 0: there is none. */
uint64_t v8_map_constructor(const struct v8_heap *heap, uint64_t map);

#endif
