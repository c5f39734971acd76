/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The types and methods of a live runtime: from a type handle, which is what generic arguments and
 * signatures in memory hold, to a name; from a MethodDesc to its identity and its name. What type
 * was named once is kept, since the same few types come again and again.
 *
 * Source of the format: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md and
 * src/coreclr/vm/{methodtable,typedesc,typehandle}.h, method.hpp.
 */
#ifndef RUNTIME_DOTNET_CLR_TYPE_H
#define RUNTIME_DOTNET_CLR_TYPE_H

#include "runtime/dotnet/clr_module.h"

struct clr_type {
	uint64_t handle;		 /* first: base/sorted.h */
	const struct clr_module *module; /* that defines it; NULL for arrays, pointers and such */
	uint32_t rid;			 /* TypeDef there, 0 if it does not say */
	char *open;			 /* "System.Collections.Generic.List`1", "System.Int32[]" */
	char *args;			 /* "System.Int32,System.String"; "" if none */
	unsigned int attempt;
};

/* @clr and @modules must outlive it; all else is 0 in the beginning. */
struct clr_types {
	const struct clr *clr;
	struct clr_modules *modules;
	void *tree; /* of struct clr_type by handle: base/tree.h */
	unsigned int depth;
	unsigned int attempt; /* types that failed in earlier ones are tried again */
	size_t count;
	size_t name_bytes;
};

void clr_types_deinit(struct clr_types *types);

/* What could not be read so far is tried again when it is next asked for. */
void clr_types_forget_failures(struct clr_types *types);

/* The type of @handle; NULL if it is none, or cannot be read. Valid as long as @types. */
const struct clr_type *clr_type_find(struct clr_types *types, uint64_t handle);

/* Append its full name, "?" for a handle that is no type. */
void clr_type_add_name(struct clr_types *types, uint64_t handle, struct text *out);

/* Append the names of @count handles that lie at @at, with commas. */
void clr_type_add_list(struct clr_types *types, struct look *look, uint64_t at, uint32_t count,
		       struct text *out);

/* Methods (methoddesc.c) ----------------------------------------------------------------------- */

/* Of METHOD_FLAGS: which kind of MethodDesc. */
enum {
	METHOD_CLASS_MASK = 7,
	METHOD_CLASS_INSTANTIATED = 5,
	METHOD_CLASS_DYNAMIC = 7,
};

struct clr_method {
	uint64_t desc;
	bool dynamic;		     /* DynamicMethod or a stub in IL: it has no metadata */
	bool tiered;		     /* the runtime may compile it again */
	const struct clr_type *type; /* that owns it; NULL if dynamic */
	const struct clr_module *module;
	uint32_t rid; /* MethodDef row in the module's metadata; 0 if dynamic */
};

/*
 * Read the MethodDesc at @desc. False if it is none (any more): what is read must agree with
 * itself and with the module's metadata.
 */
bool clr_method_read(const struct clr *clr, struct clr_types *types, uint64_t desc,
		     struct clr_method *method);

/* The cheap parts of its name, for a first look: open type and own name. */
void clr_method_short_name(const struct clr *clr, const struct clr_method *method,
			   struct method_name *name);

/* All parts. False if a part could not be read and became "?". */
bool clr_method_name(const struct clr *clr, struct clr_types *types,
		     const struct clr_method *method, struct method_name *name);

#endif
