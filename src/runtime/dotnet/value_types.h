/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From names and handles of .NET types to what src/value/ knows types as. */
#ifndef RUNTIME_DOTNET_VALUE_TYPES_H
#define RUNTIME_DOTNET_VALUE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "value/value.h"

struct jit;
struct metadata;
struct type_index;

/* All but the last two are borrowed. */
struct type_maker {
	struct type_index *index;
	struct jit *jit; /* NULL: what the runtime has laid out is not known */
	struct value_types *types;
	const struct metadata *near; /* whose names they are */
	unsigned int depth;
	unsigned int references; /* of classes within classes */
	bool incomplete;	 /* a type was not loaded */
	bool no_memory;
};

/* The type of that name, as type_index.h spells them; NULL without memory. */
const struct value_type *type_maker_named(struct type_maker *maker, const char *name);

/* The type of objects with that MethodTable; NULL: it cannot be read. */
const struct value_type *type_maker_object(struct type_maker *maker, uint64_t handle);

/* Is it among so many classes that its fields are of no use? */
bool type_maker_is_far(const struct type_maker *maker);

/* Is the type of the open @name, of @length bytes, a value type? */
bool type_maker_is_value(struct type_maker *maker, const char *name, size_t length);

#endif
