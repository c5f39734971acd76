/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The modules of a live runtime: from a Module to the image that it was loaded from, be it a
 * mapped file or bytes in memory only.
 *
 * Source of the format: dotnet/runtime docs/design/datacontracts/Loader.md and
 * src/coreclr/vm/{ceeload,peassembly,peimage,peimagelayout}.h.
 */
#ifndef RUNTIME_DOTNET_CLR_MODULE_H
#define RUNTIME_DOTNET_CLR_MODULE_H

#include "runtime/dotnet/clr.h"
#include "runtime/dotnet/images.h"

struct clr_module {
	uint64_t at;			  /* first: base/sorted.h */
	const struct dotnet_image *image; /* NULL: cannot be read */
	bool optimized; /* false: built for debugging, so its code is never optimised */
	uint64_t loader_allocator;
};

/* How an image lies in memory. */
struct clr_layout {
	enum dotnet_copy_kind kind;
	uint64_t base;
	uint32_t size;
};

/* The image at @layout, found or read anew; NULL if there is none. */
typedef const struct dotnet_image *(*clr_image_source)(void *ctx, const struct clr_layout *layout);

/* @clr and what @image_source gives must outlive it. */
struct clr_modules {
	const struct clr *clr;
	clr_image_source image_source;
	void *ctx;
	void *tree; /* of struct clr_module by address: base/tree.h */
};

void clr_modules_deinit(struct clr_modules *modules);

/* The metadata of @module, which may be NULL; NULL if it is not at hand. */
const struct metadata *clr_module_metadata(const struct clr_module *module);

/* The module at @at; NULL if there is none. Valid as long as @modules. */
const struct clr_module *clr_module_find(struct clr_modules *modules, uint64_t at);

/* Call @fn for each that has been asked for so far. */
typedef void (*clr_module_fn)(const struct clr_module *module, void *ctx);
void clr_modules_each(const struct clr_modules *modules, clr_module_fn fn, void *ctx);

#endif
