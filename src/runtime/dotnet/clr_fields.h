/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How values of a type lie in a live runtime's memory: from a MethodTable to its fields, as the
 * type loader has laid them out.
 *
 * Source of the format: dotnet/runtime src/coreclr/vm/{class,field,methodtable}.h; the fields of
 * .NET 8's EEClass: src/coreclr/vm/packedfields.inl.
 */
#ifndef RUNTIME_DOTNET_CLR_FIELDS_H
#define RUNTIME_DOTNET_CLR_FIELDS_H

#include "runtime/dotnet/clr.h"

struct clr_shape {
	uint64_t parent;      /* MethodTable; 0: none */
	uint64_t fields;      /* the FieldDescs of its own */
	uint32_t field_count; /* of instances, without those that are inherited */
	uint32_t size;	      /* of an instance's fields in bytes, with those that are */
};

struct clr_field_row {
	uint32_t rid; /* Field row in the metadata of the type's module */
	uint32_t offset;
};

enum { CLR_FIELDS_MAX = 4096 };

/* False if there is no such type there (any more). */
bool clr_shape_read(const struct clr *clr, uint64_t table, struct clr_shape *shape);

/* Field number @index of its own. */
bool clr_shape_field(const struct clr *clr, const struct clr_shape *shape, uint32_t index,
		     struct clr_field_row *field);

/* The MethodTable of a TypeDef, once it is loaded; else 0. */
uint64_t clr_type_of_row(const struct clr *clr, uint64_t module, uint32_t rid);

/*
 * Call @fn with the handle of each type that is made of others (instantiations, arrays) and listed
 * by @module, as far as that can be read; handles are not checked.
 */
void clr_each_instantiation(const struct clr *clr, uint64_t module,
			    void (*fn)(void *ctx, uint64_t handle), void *ctx);

#endif
