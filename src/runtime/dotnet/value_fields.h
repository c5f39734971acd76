/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of types, for value_types.c: names and types from metadata, offsets from the runtime. */
#ifndef RUNTIME_DOTNET_VALUE_FIELDS_H
#define RUNTIME_DOTNET_VALUE_FIELDS_H

#include "runtime/dotnet/value_types.h"

struct type_place;

/*
 * Give @type the fields that values with MethodTable @handle have, in the order of the source, its
 * own before those that it inherits. False, and without fields, if they cannot be read.
 */
bool value_fields_read(struct type_maker *maker, struct value_type *type, uint64_t handle);

/* Of a struct that is so many of its one field the other elements too. */
void value_fields_repeat(struct type_maker *maker, struct value_type *type,
			 const struct type_place *place);

/* The alignment of a value as a field. */
uint32_t value_fields_alignment(const struct value_type *type);

#endif
