/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The methods of a live runtime: from a MethodDesc to its identity and its name.
 *
 * Source of the format: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md and
 * src/coreclr/vm/method.hpp.
 */
#ifndef RUNTIME_DOTNET_METHODDESC_H
#define RUNTIME_DOTNET_METHODDESC_H

#include "runtime/dotnet/clr_type.h"

struct method_name;

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
