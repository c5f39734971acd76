// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/dotnet/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/runtime.h"
#include "runtime/dotnet/stub_code.h"
#include "runtime/dotnet/versions.h"
#include "base/error.h"
#include "method/method_name.h"

/* EE_ILEXCEPTION and its clauses, as they lie in memory: src/coreclr/vm/codeman.h, codeman.cpp. */
enum {
	CODE_POINTER_BYTES = 8, /* before a body is the address of its header */
	CLAUSE_COUNT_BEFORE = 8,
	FIRST_CLAUSE = 8,
	CLAUSE_BYTES = 32,
	CLAUSE_HANDLER = 12,
	CLAUSE_FILTER_AT = 24,
	CLAUSE_FILTER = 1, /* of its flags */
	CLAUSES_MAX = 4096,
};

struct jit {
	struct clr clr;
	clr_image_source image_source;
	void *ctx;

	/* Of the last look. */
	struct clr_modules *modules;
	struct clr_types *types;
	struct code_heaps heaps;
	struct jit_body *bodies;
	size_t body_count;
	struct jit_method *methods; /* by MethodDesc */
	size_t method_count;
	struct row *rows; /* of metadata that have code, sorted; made when it is first asked for */
	uint32_t *body_numbers;	 /* method by method */
	uint64_t core_allocator; /* of all that is never unloaded; 0: not known */
	size_t unreadable;
	struct jit_image *images;
	size_t image_count;

	/* Of jit_recheck_begin(). */
	struct clr_modules *modules_now;
	struct clr_types *types_now;
};

/* A method's row, and whose it is. */
struct row {
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
	struct jit *jit = calloc(1, sizeof(*jit));
	int result;

	if (!jit)
		return error_set(err, -ENOMEM, "no memory for the target's run-time code");
	jit->image_source = image_source;
	jit->ctx = ctx;
	result = clr_init(&jit->clr, memory, runtime->major,
			  loaded_at(runtime, runtime->contract_at),
			  loaded_at(runtime, runtime->dac_table_at), err);
	if (result) {
		free(jit);
		return result;
	}
	*out = jit;
	return 0;
}

static void forget(struct jit *jit)
{
	free(jit->images);
	free(jit->rows);
	free(jit->body_numbers);
	free(jit->methods);
	free(jit->bodies);
	code_heaps_deinit(&jit->heaps);
	clr_types_destroy(jit->types_now);
	clr_modules_destroy(jit->modules_now);
	clr_types_destroy(jit->types);
	clr_modules_destroy(jit->modules);
	jit->types_now = NULL;
	jit->modules_now = NULL;
	jit->images = NULL;
	jit->rows = NULL;
	jit->body_numbers = NULL;
	jit->methods = NULL;
	jit->bodies = NULL;
	jit->types = NULL;
	jit->modules = NULL;
	jit->method_count = jit->body_count = jit->image_count = jit->unreadable = 0;
}

void jit_destroy(struct jit *jit)
{
	if (!jit)
		return;
	forget(jit);
	free(jit);
}

struct by_desc {
	uint64_t desc;
	uint32_t body;
};

static int compare_desc(const void *left, const void *right)
{
	const struct by_desc *a = left, *b = right;

	if (a->desc != b->desc)
		return a->desc < b->desc ? -1 : 1;
	return a->body < b->body ? -1 : a->body > b->body;
}

static int compare_row(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->image != b->image)
		return (uintptr_t)a->image < (uintptr_t)b->image ? -1 : 1;
	return a->rid < b->rid ? -1 : a->rid > b->rid;
}

/* What the runtime's books say of a method's bodies. */
static void read_versions(struct jit *jit, struct clr_versions *versions, struct jit_method *method)
{
	struct clr_code code;

	clr_code_read(versions, &method->is, &code);
	method->precompiled.value = 0;
	method->precompiled_rejected = false;
	if (code.own && !code_heaps_find(&jit->heaps, (struct address){ code.own }))
		method->precompiled.value = code.own;
	else if (!code.unreadable)
		method->precompiled_rejected = true;
	for (uint32_t i = 0; i < method->body_count; i++) {
		struct jit_body *body = &jit->bodies[jit->body_numbers[method->first_body + i]];
		struct clr_body is;

		clr_body_read(versions, &method->is, &code, body->start, body->size, &is);
		body->method = method;
		body->tier = is.tier;
		body->state = is.state;
		body->final = is.final;
	}
}

/* The books say something of each body, or it is known that they do not. */
static bool is_clear(const struct jit *jit, const struct jit_method *method)
{
	for (uint32_t i = 0; i < method->body_count; i++) {
		if (jit_method_body(jit, method, i)->state == STATE_UNKNOWN)
			return false;
	}
	return true;
}

/* The method of the bodies [first, end) of @order; false if it cannot be read. */
static bool read_method(struct jit *jit, struct clr_versions *versions, const struct by_desc *order,
			size_t first, size_t end)
{
	struct jit_method *method = &jit->methods[jit->method_count];

	*method = (struct jit_method){
		.first_body = (uint32_t)first,
		.body_count = (uint32_t)(end - first),
	};
	if (!clr_method_read(&jit->clr, jit->types, order[first].desc, &method->is))
		return false;
	read_versions(jit, versions, method);
	jit->method_count++;
	return true;
}

static size_t end_of_method(const struct jit *jit, const struct by_desc *order, size_t first)
{
	size_t end = first + 1;

	while (end < jit->body_count && order[end].desc == order[first].desc)
		end++;
	return end;
}

/*
 * One method for each MethodDesc that has bodies, in the order of those: what is read of each then
 * lies together in memory. Those that cannot be read are counted, and skipped by a second pass.
 */
static void read_methods(struct jit *jit, struct clr_versions *versions,
			 const struct by_desc *order)
{
	for (size_t first = 0, end; first < jit->body_count; first = end) {
		end = end_of_method(jit, order, first);
		if (!read_method(jit, versions, order, first, end))
			jit->unreadable += end - first;
	}
}

static bool is_listed(const struct jit *jit, uint64_t desc, size_t known)
{
	size_t low = 0, high = known;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (jit->methods[middle].is.desc < desc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < known && jit->methods[low].is.desc == desc;
}

/*
 * A body was found before its method was read, and some pages were read before either: what was
 * published in between makes no sense until it is read again.
 */
static void read_again(struct jit *jit, struct clr_versions *versions, const struct by_desc *order)
{
	size_t known = jit->method_count;

	for (size_t i = 0; i < known; i++) {
		if (!is_clear(jit, &jit->methods[i]))
			read_versions(jit, versions, &jit->methods[i]);
	}
	for (size_t first = 0, end; jit->unreadable && first < jit->body_count; first = end) {
		end = end_of_method(jit, order, first);
		if (!is_listed(jit, order[first].desc, known) &&
		    read_method(jit, versions, order, first, end))
			jit->unreadable -= end - first;
	}
}

static bool all_clear(const struct jit *jit)
{
	for (size_t i = 0; i < jit->method_count; i++) {
		if (!is_clear(jit, &jit->methods[i]))
			return false;
	}
	return jit->unreadable == 0;
}

/* The runtime's books as they are now. */
static int open_books(struct jit *jit, struct clr_versions **versions, struct error *err)
{
	clr_types_forget_failures(jit->types);
	return clr_versions_create(versions, &jit->clr, err);
}

static int judge_bodies(struct jit *jit, const struct by_desc *order, struct error *err)
{
	struct clr_versions *versions;
	int result = open_books(jit, &versions, err);

	if (result)
		return result;
	read_methods(jit, versions, order);
	clr_versions_destroy(versions);
	if (all_clear(jit))
		return 0;
	memory_forget(jit->clr.memory);
	result = open_books(jit, &versions, err);
	if (result)
		return result;
	read_again(jit, versions, order);
	clr_versions_destroy(versions);
	return 0;
}

static int make_bodies(struct jit *jit, struct error *err)
{
	const struct code_heaps *heaps = &jit->heaps;
	struct by_desc *order = calloc(heaps->count + 1, sizeof(*order));
	int result;

	jit->bodies = calloc(heaps->count + 1, sizeof(*jit->bodies));
	jit->methods = calloc(heaps->count + 1, sizeof(*jit->methods));
	jit->body_numbers = calloc(heaps->count + 1, sizeof(*jit->body_numbers));
	if (!order || !jit->bodies || !jit->methods || !jit->body_numbers) {
		free(order);
		return error_set(err, -ENOMEM, "no memory for the target's run-time code");
	}
	for (size_t i = 0; i < heaps->count; i++) {
		order[i] = (struct by_desc){ heaps->bodies[i].method_desc, (uint32_t)i };
		jit->bodies[i] = (struct jit_body){
			.start = heaps->bodies[i].start,
			.size = heaps->bodies[i].size,
			.tier = TIER_UNKNOWN,
		};
	}
	jit->body_count = heaps->count;
	qsort(order, heaps->count, sizeof(*order), compare_desc);
	for (size_t i = 0; i < heaps->count; i++)
		jit->body_numbers[i] = order[i].body;
	result = judge_bodies(jit, order, err);
	free(order);
	return result;
}

/* What the code heaps do not lead to may still be loaded: images with code of their own. */
static int find_images(struct jit *jit, struct clr_modules *modules, const struct code_heaps *heaps,
		       struct error *err)
{
	struct jit_image *images = calloc(heaps->image_count + 1, sizeof(*images));

	if (!images)
		return error_set(err, -ENOMEM, "no memory for the target's images");
	for (size_t i = 0; i < heaps->image_count; i++) {
		const struct code_image *code = &heaps->images[i];
		const struct clr_module *module = clr_module_find(modules, code->module);

		images[i] = (struct jit_image){
			.start = code->start,
			.end = code->end,
			.image = module ? module->image : NULL,
		};
	}
	free(jit->images);
	jit->images = images;
	jit->image_count = heaps->image_count;
	return 0;
}

static int look(struct jit *jit, struct error *err)
{
	int result;

	memory_forget(jit->clr.memory);
	result = clr_modules_create(&jit->modules, &jit->clr, jit->image_source, jit->ctx, err);
	if (result == 0)
		result = clr_types_create(&jit->types, &jit->clr, jit->modules, err);
	if (result == 0)
		result = code_heaps_read(&jit->heaps, &jit->clr, err);
	if (result)
		return result;
	result = find_images(jit, jit->modules, &jit->heaps, err);
	if (result == 0)
		result = make_bodies(jit, err);
	if (result)
		return result;
	jit->unreadable += jit->heaps.unreadable;
	return 0;
}

int jit_read(struct jit *jit, struct error *err)
{
	struct jit earlier = *jit;
	int result;

	*jit = (struct jit){
		.clr = earlier.clr,
		.image_source = earlier.image_source,
		.ctx = earlier.ctx,
	};
	result = look(jit, err);
	forget(result ? jit : &earlier);
	if (result)
		*jit = earlier;
	return result;
}

size_t jit_body_count(const struct jit *jit)
{
	return jit->body_count;
}

const struct jit_body *jit_body(const struct jit *jit, size_t index)
{
	return &jit->bodies[index];
}

const struct jit_body *jit_find_body(const struct jit *jit, struct address address)
{
	const struct code_body *body = code_heaps_find(&jit->heaps, address);

	return body ? &jit->bodies[body - jit->heaps.bodies] : NULL;
}

size_t jit_method_count(const struct jit *jit)
{
	return jit->method_count;
}

const struct jit_method *jit_method(const struct jit *jit, size_t index)
{
	return &jit->methods[index];
}

const struct jit_body *jit_method_body(const struct jit *jit, const struct jit_method *method,
				       size_t index)
{
	return &jit->bodies[jit->body_numbers[method->first_body + index]];
}

const struct clr_module *jit_stub_module(const struct jit *jit, const struct jit_method *method)
{
	struct method_name name = { 0 };
	bool is_stub = false;

	if (method->is.dynamic) {
		clr_method_short_name(&jit->clr, &method->is, &name);
		is_stub = strcmp(text_chars(&name.name), PINVOKE_STUB_NAME) == 0;
		method_name_deinit(&name);
	}
	return is_stub ? method->is.type->module : NULL;
}

bool jit_has_method(struct jit *jit, const struct dotnet_image *image, uint32_t rid)
{
	const struct row wanted = { image, rid };

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

void jit_method_short_name(const struct jit *jit, const struct jit_method *method,
			   struct method_name *name)
{
	clr_method_short_name(&jit->clr, &method->is, name);
}

bool jit_method_name(struct jit *jit, const struct jit_method *method, struct method_name *name)
{
	return clr_method_name(&jit->clr, jit->types, &method->is, name);
}

int jit_recheck_begin(struct jit *jit, struct error *err)
{
	int result;

	clr_types_destroy(jit->types_now);
	clr_modules_destroy(jit->modules_now);
	jit->types_now = NULL;
	jit->modules_now = NULL;
	memory_forget(jit->clr.memory);
	result = clr_modules_create(&jit->modules_now, &jit->clr, jit->image_source, jit->ctx, err);
	if (result == 0)
		result = clr_types_create(&jit->types_now, &jit->clr, jit->modules_now, err);
	return result;
}

int jit_read_images(struct jit *jit, struct error *err)
{
	struct code_heaps heaps;
	int result = jit_recheck_begin(jit, err);

	if (result == 0)
		result = code_images_read(&heaps, &jit->clr, err);
	if (result)
		return result;
	result = find_images(jit, jit->modules_now, &heaps, err);
	code_heaps_deinit(&heaps);
	return result;
}

size_t jit_image_count(const struct jit *jit)
{
	return jit->image_count;
}

const struct jit_image *jit_image(const struct jit *jit, size_t index)
{
	return &jit->images[index];
}

bool jit_recheck(struct jit *jit, const struct jit_body *body, struct method_name *name)
{
	const struct code_body *code = &jit->heaps.bodies[body - jit->bodies];
	struct clr_method now;

	/* Dynamic methods come and go all the time, and leave their place to others. */
	if (body->method && body->method->is.dynamic)
		memory_forget(jit->clr.memory);
	if (!code_body_is_there(&jit->clr, code) ||
	    !clr_method_read(&jit->clr, jit->types_now, code->method_desc, &now))
		return false;
	clr_method_name(&jit->clr, jit->types_now, &now, name);
	if (!now.dynamic)
		return true;
	memory_forget(jit->clr.memory);
	return code_body_is_there(&jit->clr, code);
}

void jit_each_module(const struct jit *jit, void (*fn)(const struct clr_module *module, void *ctx),
		     void *ctx)
{
	clr_modules_each(jit->modules, fn, ctx);
}

const struct clr *jit_clr(const struct jit *jit)
{
	return &jit->clr;
}

bool jit_name_desc(struct jit *jit, uint64_t desc, struct method_name *name,
		   struct clr_method *method)
{
	return clr_method_read(&jit->clr, jit->types_now, desc, method) &&
	       clr_method_name(&jit->clr, jit->types_now, method, name);
}

bool jit_has_desc(struct jit *jit, uint64_t desc)
{
	struct clr_method method;

	return clr_method_read(&jit->clr, jit->types_now, desc, &method);
}

bool jit_in_filter(struct jit *jit, struct address code, uint32_t offset)
{
	struct look look = look_into(jit->clr.memory);
	uint64_t header = look_u64(&look, code.value - CODE_POINTER_BYTES);
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

const char *jit_stub_name(struct jit *jit, struct address address)
{
	memory_forget(jit->clr.memory);
	return stub_code_name(&jit->clr, address);
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
		clr_modules_each(jit->modules, find_core, &jit->core_allocator);
	module = method->is.module ? method->is.module : jit_stub_module(jit, method);
	return !module || module->loader_allocator != jit->core_allocator;
}

size_t jit_unreadable(const struct jit *jit)
{
	return jit->unreadable;
}
