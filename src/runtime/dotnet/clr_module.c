// SPDX-License-Identifier: GPL-2.0-or-later
/* From a Module in the target's memory to its image, before a method's name can be read there. */
#include "runtime/dotnet/clr_module.h"

#include <stdlib.h>

#include "base/tree.h"

enum {
	LAYOUT_IS_LOADED = 1, /* PEImageLayout::FLAG_MAPPED */
	MODULE_MAY_BE_OPTIMIZED = 0x800,
};

void clr_modules_deinit(struct clr_modules *modules)
{
	tdestroy(modules->tree, free);
	modules->tree = NULL;
}

/* A module of Reflection.Emit has no image; its metadata lies in a buffer. */
static void read_dynamic_layout(const struct clr *clr, struct look *look, uint64_t module,
				struct clr_layout *layout)
{
	uint64_t buffer = clr_u64(clr, look, module, MODULE_DYNAMIC_METADATA);

	layout->kind = DOTNET_COPY_METADATA;
	layout->size = clr_u32(clr, look, buffer, BUFFER_SIZE);
	layout->base = clr->layout.buffer_points ? clr_u64(clr, look, buffer, BUFFER_BYTES) :
						   clr_field(clr, look, buffer, BUFFER_BYTES);
}

static bool read_layout(const struct clr *clr, uint64_t module, struct clr_layout *layout)
{
	struct look look = look_into(clr->memory);
	uint64_t assembly = clr_u64(clr, &look, module, MODULE_PE_ASSEMBLY);
	uint64_t image = clr_u64(clr, &look, assembly, PE_ASSEMBLY_IMAGE);
	uint64_t loaded;

	*layout = (struct clr_layout){ .kind = DOTNET_COPY_FILE };
	if (look.bad)
		return false;
	if (image == 0) {
		read_dynamic_layout(clr, &look, module, layout);
	} else {
		loaded = clr_u64(clr, &look, image, PE_IMAGE_LAYOUT);
		layout->base = clr_u64(clr, &look, loaded, PE_LAYOUT_BASE);
		layout->size = clr_u32(clr, &look, loaded, PE_LAYOUT_SIZE);
		if (clr_u32(clr, &look, loaded, PE_LAYOUT_FLAGS) & LAYOUT_IS_LOADED)
			layout->kind = DOTNET_COPY_LOADED;
	}
	return !look.bad && layout->base != 0;
}

static void read_module(struct clr_modules *modules, struct clr_module *module)
{
	struct look look = look_into(modules->clr->memory);
	struct clr_layout layout;

	module->optimized =
		clr_u32(modules->clr, &look, module->at, MODULE_FLAGS) & MODULE_MAY_BE_OPTIMIZED;
	module->loader_allocator =
		clr_u64(modules->clr, &look, module->at, MODULE_LOADER_ALLOCATOR);
	if (read_layout(modules->clr, module->at, &layout))
		module->image = modules->image_source(modules->ctx, &layout);
}

const struct metadata *clr_module_metadata(const struct clr_module *module)
{
	return module && module->image ? module->image->metadata : NULL;
}

const struct clr_module *clr_module_find(struct clr_modules *modules, uint64_t at)
{
	bool is_new;
	struct clr_module *module =
		at ? tree_take(&modules->tree, at, sizeof(*module), &is_new) : NULL;

	if (module && is_new)
		read_module(modules, module);
	return module;
}

struct walk {
	clr_module_fn fn;
	void *ctx;
};

static void visit(const void *node, VISIT which, void *ctx)
{
	const struct walk *walk = ctx;

	if (which == postorder || which == leaf)
		walk->fn(*(const struct clr_module *const *)node, walk->ctx);
}

void clr_modules_each(const struct clr_modules *modules, clr_module_fn fn, void *ctx)
{
	struct walk walk = { fn, ctx };

	twalk_r(modules->tree, visit, &walk);
}
