// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A snapshot of what the runtime has compiled: bodies out of its code heaps, methods out of the
 * MethodDescs that those name, tiers and states out of its versions of each method. See jit.h.
 */
#include "runtime/dotnet/jit.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"
#include "runtime/dotnet/versions.h"

static struct jit without_snapshot(const struct jit *jit)
{
	return (struct jit){
		.clr = jit->clr,
		.image_source = jit->image_source,
		.ctx = jit->ctx,
	};
}

/* Drop the snapshot. */
static void forget(struct jit *jit)
{
	free(jit->images);
	free(jit->rows);
	free(jit->body_numbers);
	free(jit->methods);
	free(jit->bodies);
	code_heaps_deinit(&jit->heaps);
	clr_types_deinit(&jit->types_now);
	clr_modules_deinit(&jit->modules_now);
	clr_types_deinit(&jit->types);
	clr_modules_deinit(&jit->modules);
	*jit = without_snapshot(jit);
}

void jit_destroy(struct jit *jit)
{
	if (!jit)
		return;
	forget(jit);
	free(jit);
}

/* What the runtime's metadata says of a method's bodies. */
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

/* It says something of each body, or is known to say nothing. */
static bool is_clear(const struct jit *jit, const struct jit_method *method)
{
	for (uint32_t i = 0; i < method->body_count; i++) {
		if (jit_method_body(jit, method, i)->state == STATE_UNKNOWN)
			return false;
	}
	return true;
}

/* The method of the bodies [first, end) of @order, by MethodDesc; false if it cannot be read. */
static bool read_method(struct jit *jit, struct clr_versions *versions,
			const struct sorted_place *order, size_t first, size_t end)
{
	struct jit_method *method = &jit->methods[jit->method_count];

	*method = (struct jit_method){
		.first_body = (uint32_t)first,
		.body_count = (uint32_t)(end - first),
	};
	if (!clr_method_read(&jit->clr, &jit->types, order[first].number, &method->is))
		return false;
	read_versions(jit, versions, method);
	jit->method_count++;
	return true;
}

static size_t end_of_method(const struct jit *jit, const struct sorted_place *order, size_t first)
{
	size_t end = first + 1;

	while (end < jit->body_count && order[end].number == order[first].number)
		end++;
	return end;
}

/*
 * One method for each MethodDesc that has bodies, in the order of those: what is read of each then
 * lies together in memory. Those that cannot be read are counted, and skipped by a second pass.
 */
static void read_methods(struct jit *jit, struct clr_versions *versions,
			 const struct sorted_place *order)
{
	for (size_t first = 0, end; first < jit->body_count; first = end) {
		end = end_of_method(jit, order, first);
		if (!read_method(jit, versions, order, first, end))
			jit->unreadable += end - first;
	}
}

/*
 * A body was found before its method was read, and some pages were read before either: what was
 * published in between makes no sense until it is read again.
 */
static void read_again(struct jit *jit, struct clr_versions *versions,
		       const struct sorted_place *order)
{
	size_t known = jit->method_count;

	for (size_t i = 0; i < known; i++) {
		if (!is_clear(jit, &jit->methods[i]))
			read_versions(jit, versions, &jit->methods[i]);
	}
	for (size_t first = 0, end; jit->unreadable && first < jit->body_count; first = end) {
		end = end_of_method(jit, order, first);
		if (!bsearch(&order[first].number, jit->methods, known, sizeof(*jit->methods),
			     by_leading_number) &&
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

/* @read methods by the runtime's metadata as it is now. */
static void read_now(struct jit *jit, const struct sorted_place *order,
		     void (*read)(struct jit *jit, struct clr_versions *versions,
				  const struct sorted_place *order))
{
	struct clr_versions versions;

	clr_types_forget_failures(&jit->types);
	clr_versions_init(&versions, &jit->clr);
	read(jit, &versions, order);
	clr_versions_deinit(&versions);
}

static void judge_bodies(struct jit *jit, const struct sorted_place *order)
{
	read_now(jit, order, read_methods);
	if (all_clear(jit))
		return;
	memory_forget(jit->clr.memory);
	read_now(jit, order, read_again);
}

static int make_bodies(struct jit *jit, struct error *err)
{
	const struct code_heaps *heaps = &jit->heaps;
	_cleanup_free_ struct sorted_place *order = calloc(heaps->count + 1, sizeof(*order));

	jit->bodies = calloc(heaps->count + 1, sizeof(*jit->bodies));
	jit->methods = calloc(heaps->count + 1, sizeof(*jit->methods));
	jit->body_numbers = calloc(heaps->count + 1, sizeof(*jit->body_numbers));
	if (!order || !jit->bodies || !jit->methods || !jit->body_numbers)
		return error_set(err, -ENOMEM, "no memory for the target's run-time code");
	for (size_t i = 0; i < heaps->count; i++) {
		order[i] = (struct sorted_place){ heaps->bodies[i].method_desc, i };
		jit->bodies[i] = (struct jit_body){
			.start = heaps->bodies[i].start,
			.size = heaps->bodies[i].size,
			.tier = TIER_UNKNOWN,
		};
	}
	jit->body_count = heaps->count;
	if (!sorted_places(order, heaps->count))
		return error_set(err, -ENOMEM, "no memory for the target's run-time code");
	for (size_t i = 0; i < heaps->count; i++)
		jit->body_numbers[i] = (uint32_t)order[i].at;
	judge_bodies(jit, order);
	return 0;
}

/* What the code heaps do not lead to may still be loaded: images with code of their own. */
static void find_images(struct jit *jit, struct clr_modules *modules, struct code_heaps *heaps)
{
	for (size_t i = 0; i < heaps->image_count; i++) {
		const struct clr_module *module = clr_module_find(modules, heaps->images[i].module);

		heaps->images[i].image = module ? module->image : NULL;
	}
	free(jit->images);
	jit->images = cleanup_take(heaps->images);
	jit->image_count = heaps->image_count;
}

static int look(struct jit *jit, struct error *err)
{
	int result;

	memory_forget(jit->clr.memory);
	jit->modules = (struct clr_modules){ &jit->clr, jit->image_source, jit->ctx, .tree = NULL };
	jit->types = (struct clr_types){ .clr = &jit->clr, .modules = &jit->modules };
	result = code_heaps_read(&jit->heaps, &jit->clr, false, err);
	if (result == 0) {
		find_images(jit, &jit->modules, &jit->heaps);
		result = make_bodies(jit, err);
	}
	jit->unreadable += jit->heaps.unreadable;
	return result;
}

int jit_read(struct jit *jit, struct error *err)
{
	struct jit earlier = *jit;
	int result;

	*jit = without_snapshot(jit);
	result = look(jit, err);
	forget(result ? jit : &earlier);
	if (result)
		*jit = earlier;
	return result;
}

int jit_read_images(struct jit *jit, struct error *err)
{
	struct code_heaps heaps;
	int result;

	jit_recheck_begin(jit);
	result = code_heaps_read(&heaps, &jit->clr, true, err);
	if (result)
		return result;
	find_images(jit, &jit->modules_now, &heaps);
	code_heaps_deinit(&heaps);
	return 0;
}
