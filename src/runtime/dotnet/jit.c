// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is asked of the snapshot that jit_read.c has taken: by find.c and bodies.c for bodies, by
 * frame_names.c for names.
 */
#include "runtime/dotnet/jit.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/runtime.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "method/method_name.h"

/* EE_ILEXCEPTION and its clauses, as they lie in memory: src/coreclr/vm/codeman.h, codeman.cpp. */
enum {
	CLAUSE_COUNT_BEFORE = 8,
	FIRST_CLAUSE = 8,
	CLAUSE_BYTES = 32,
	CLAUSE_HANDLER = 12,
	CLAUSE_FILTER_AT = 24,
	CLAUSE_FILTER = 1, /* of its flags */
	CLAUSES_MAX = 4096,
};

/* A method's row, and whose it is. */
struct jit_row {
	const struct dotnet_image *image;
	uint32_t rid;
};

static uint64_t loaded_at(const struct dotnet_runtime *runtime, uint64_t linked_at)
{
	return linked_at ? linked_at + runtime->bias : 0;
}

int jit_create(struct jit **out, struct memory *memory, const struct dotnet_runtime *runtime,
	       clr_image_source image_source, void *ctx, struct error *err)
{
	_cleanup_free_ struct jit *jit = calloc(1, sizeof(*jit));
	int result;

	if (!jit)
		return error_set(err, -ENOMEM, "no memory for the target's run-time code");
	jit->image_source = image_source;
	jit->ctx = ctx;
	result = clr_init(&jit->clr, memory, runtime->major,
			  loaded_at(runtime, runtime->contract_at),
			  loaded_at(runtime, runtime->dac_table_at), err);
	if (result == 0)
		*out = cleanup_take(jit);
	return result;
}

const struct jit_body *jit_find_body(const struct jit *jit, struct address address)
{
	const struct code_body *body = code_heaps_find(&jit->heaps, address);

	return body ? &jit->bodies[body - jit->heaps.bodies] : NULL;
}

const struct jit_body *jit_method_body(const struct jit *jit, const struct jit_method *method,
				       size_t index)
{
	return &jit->bodies[jit->body_numbers[method->first_body + index]];
}

const struct clr_module *jit_stub_module(const struct jit *jit, const struct jit_method *method)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	if (!method->is.dynamic)
		return NULL;
	clr_method_short_name(&jit->clr, &method->is, &name);
	return strcmp(text_chars(&name.name), PINVOKE_STUB_NAME) == 0 ? method->is.type->module :
									NULL;
}

static int compare_row(const void *left, const void *right)
{
	const struct jit_row *a = left, *b = right;

	if (a->image != b->image)
		return (uintptr_t)a->image < (uintptr_t)b->image ? -1 : 1;
	return a->rid < b->rid ? -1 : a->rid > b->rid;
}

bool jit_has_method(struct jit *jit, const struct dotnet_image *image, uint32_t rid)
{
	const struct jit_row wanted = { image, rid };

	if (jit->method_count == 0)
		return false;
	if (!jit->rows) {
		jit->rows = calloc(jit->method_count, sizeof(*jit->rows));
		if (!jit->rows)
			return false;
		for (size_t i = 0; i < jit->method_count; i++) {
			const struct clr_method *is = &jit->methods[i].is;

			jit->rows[i].image = is->module ? is->module->image : NULL;
			jit->rows[i].rid = is->rid;
		}
		qsort(jit->rows, jit->method_count, sizeof(*jit->rows), compare_row);
	}
	return bsearch(&wanted, jit->rows, jit->method_count, sizeof(wanted), compare_row) != NULL;
}

bool jit_method_name(struct jit *jit, const struct jit_method *method, struct method_name *name)
{
	return clr_method_name(&jit->clr, &jit->types, &method->is, name);
}

void jit_recheck_begin(struct jit *jit)
{
	clr_types_deinit(&jit->types_now);
	clr_modules_deinit(&jit->modules_now);
	memory_forget(jit->clr.memory);
	jit->modules_now =
		(struct clr_modules){ &jit->clr, jit->image_source, jit->ctx, .tree = NULL };
	jit->types_now = (struct clr_types){ .clr = &jit->clr, .modules = &jit->modules_now };
}

bool jit_recheck(struct jit *jit, const struct jit_body *body, struct method_name *name)
{
	const struct code_body *code = &jit->heaps.bodies[body - jit->bodies];
	struct clr_method now;

	/* Dynamic methods come and go all the time, and leave their place to others. */
	if (body->method && body->method->is.dynamic)
		memory_forget(jit->clr.memory);
	if (!code_body_is_there(&jit->clr, code) ||
	    !clr_method_read(&jit->clr, &jit->types_now, code->method_desc, &now))
		return false;
	clr_method_name(&jit->clr, &jit->types_now, &now, name);
	if (!now.dynamic)
		return true;
	memory_forget(jit->clr.memory);
	return code_body_is_there(&jit->clr, code);
}

bool jit_name_desc(struct jit *jit, uint64_t desc, struct method_name *name,
		   struct clr_method *method)
{
	return clr_method_read(&jit->clr, &jit->types_now, desc, method) &&
	       clr_method_name(&jit->clr, &jit->types_now, method, name);
}

bool jit_has_desc(struct jit *jit, uint64_t desc)
{
	struct clr_method method;

	return clr_method_read(&jit->clr, &jit->types_now, desc, &method);
}

bool jit_in_filter(struct jit *jit, struct address code, uint32_t offset)
{
	struct look look = look_into(jit->clr.memory);
	uint64_t header = look_u64(&look, code.value - CODE_HEADER_BYTES);
	uint64_t info = clr_u64(&jit->clr, &look, header, CODE_EH_INFO);
	uint32_t count = info ? look_u32(&look, info - CLAUSE_COUNT_BEFORE) : 0;

	for (uint32_t i = 0; i < count && i < CLAUSES_MAX && !look.bad; i++) {
		uint64_t clause = info + FIRST_CLAUSE + (uint64_t)i * CLAUSE_BYTES;
		uint32_t flags = look_u32(&look, clause);
		uint32_t handler = look_u32(&look, clause + CLAUSE_HANDLER);
		uint32_t filter = look_u32(&look, clause + CLAUSE_FILTER_AT);

		/* The filter comes right before its handler. */
		if ((flags & CLAUSE_FILTER) && offset >= filter && offset < handler && !look.bad)
			return true;
	}
	return false;
}

/* Which IL a body was made of, by the debug info that its header points to: see debug_info.h. */
enum {
	/* EXTRA_DEBUG_INFO_FLAGS: what comes before the rest (vm/debuginfostore.cpp). */
	HAS_PATCHPOINTS = 1,
	HAS_RICH = 2,
	LOCALS_MAX = 1 << 16,
	RICH_MAX_BYTES = 1 << 24,
	BOUNDS_MAX_BYTES = 1 << 20,
};

/* Where the rest begins. */
static uint64_t skip_extras(const struct clr *clr, struct look *look, uint64_t at)
{
	uint8_t flags = look_u8(look, at++);

	if (flags & HAS_PATCHPOINTS) {
		uint32_t locals = clr_u32(clr, look, at, PATCHPOINT_LOCALS);

		look->bad |= locals > LOCALS_MAX;
		at = clr_field(clr, look, at, PATCHPOINT_SIZE) + locals * sizeof(uint32_t);
	}
	if (flags & HAS_RICH) {
		uint32_t size = look_u32(look, at);

		look->bad |= size > RICH_MAX_BYTES;
		at += sizeof(size) + size;
	}
	look->bad |= (flags & ~(HAS_PATCHPOINTS | HAS_RICH)) != 0;
	return at;
}

/* It may be shorter, and what follows need not be there. */
static struct span read_head(struct memory *memory, uint64_t at,
			     uint8_t head[DEBUG_INFO_HEAD_BYTES])
{
	struct look look = look_into(memory);
	size_t size = 0;

	while (size < DEBUG_INFO_HEAD_BYTES) {
		head[size] = look_u8(&look, at + size);
		if (look.bad)
			break;
		size++;
	}
	return (struct span){ head, size };
}

bool jit_find_il(struct jit *jit, struct address code, uint32_t offset, uint32_t *il_offset)
{
	const struct clr *clr = &jit->clr;
	const enum debug_info_format format = clr->layout.debug_info;
	struct look look = look_into(clr->memory);
	uint64_t header = look_u64(&look, code.value - CODE_HEADER_BYTES);
	uint64_t info = clr_u64(clr, &look, header, CODE_DEBUG_INFO);
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t head[DEBUG_INFO_HEAD_BYTES];
	struct debug_info_bounds bounds;

	if (look.bad || !info)
		return false;
	if (format != DEBUG_INFO_SIZED)
		info = skip_extras(clr, &look, info);
	if (look.bad ||
	    !debug_info_read_head(read_head(clr->memory, info, head), format, &bounds) ||
	    bounds.size > BOUNDS_MAX_BYTES || bounds.offset > BOUNDS_MAX_BYTES)
		return false;
	bytes = memory_read_once(clr->memory, info + bounds.offset, bounds.size);
	return bytes &&
	       debug_info_find_il((struct span){ bytes, bounds.size }, format, offset, il_offset);
}

static void find_core(const struct clr_module *module, void *ctx)
{
	if (module->image && strcmp(module->image->name, "System.Private.CoreLib.dll") == 0)
		*(uint64_t *)ctx = module->loader_allocator;
}

bool jit_may_be_freed(struct jit *jit, const struct jit_method *method)
{
	const struct clr_module *module;

	if (!jit->core_allocator)
		clr_modules_each(&jit->modules, find_core, &jit->core_allocator);
	module = method->is.module ? method->is.module : jit_stub_module(jit, method);
	return !module || module->loader_allocator != jit->core_allocator;
}
