/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From names and handles of .NET types to what src/value/ knows types as. */
#ifndef RUNTIME_DOTNET_VALUE_TYPES_H
#define RUNTIME_DOTNET_VALUE_TYPES_H

#include "value/value.h"

struct jit;
struct metadata;
struct type_index;
struct type_place;

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

/*
 * For value_types.c: give @type the fields that values with MethodTable @handle have, names and
 * types from metadata, offsets from the runtime; in the order of the source, its own before those
 * that it inherits. False, and without fields, if they cannot be read.
 */
bool value_fields_read(struct type_maker *maker, struct value_type *type, uint64_t handle);

/* Of a struct that is so many of its one field the other elements too. */
void value_fields_repeat(struct type_maker *maker, struct value_type *type,
			 const struct type_place *place);

/* The alignment of a value as a field. */
uint32_t value_fields_alignment(const struct value_type *type);

/*
 * Likewise: @type of objects with MethodTable @handle has its fields. If it is
 * a task or a delegate, or derives from one, it becomes what value.h says of these. A task of the
 * framework's own, as each async method has one, is called as what it derives from.
 */
void framework_type_of_object(struct type_maker *maker, struct value_type *type, uint64_t handle);

/* The same of a struct, by its open name of @length bytes. */
void framework_type_of_struct(struct value_type *type, const char *name, size_t length);

#endif
