// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "dotnet/metadata.h"
#include "dotnet/r2r_internal.h"
#include "error.h"

struct body_walk {
	const struct r2r *r2r;
	int (*fn)(const struct r2r_body *body, void *ctx);
	void *ctx;

	/* Methods come in the order of their rows, so one look-up serves a whole type. */
	uint32_t component;
	uint32_t type_rid;
	uint32_t first;
	uint32_t end;
};

static bool fill_from_instance(struct r2r_body *body, const struct r2r *r2r,
			       const struct r2r_entry *entry)
{
	struct r2r_instance storage;
	const struct r2r_instance *instance = entry->parsed;

	if (!instance) {
		if (!r2r_instance_read(&storage, r2r, entry->instance))
			return false;
		instance = &storage;
	}
	body->component = instance->component;
	body->method_rid = instance->method_rid;
	body->member_ref_rid = instance->member_ref_rid;
	body->type_rid = r2r_instance_type(instance);
	return instance->metadata != NULL;
}

bool r2r_body_fill(struct r2r_body *body, const struct r2r *r2r, const struct r2r_entry *entry)
{
	*body = (struct r2r_body){
		.r2r = r2r,
		.component = entry->component,
		.method_rid = entry->method_rid,
		.instance = entry->instance,
		.function = entry->function,
		.rva = entry->rva,
	};
	if (entry->instance)
		return fill_from_instance(body, r2r, entry);
	return r2r_metadata(r2r, entry->component) != NULL;
}

/* The type of a MethodDef; the walk goes from one to the next. */
static uint32_t walk_type_of(struct body_walk *walk, const struct r2r_entry *entry)
{
	const struct metadata *metadata = r2r_metadata(walk->r2r, entry->component);
	uint32_t rid = entry->method_rid;

	if (walk->component != entry->component || rid < walk->first || rid >= walk->end) {
		walk->component = entry->component;
		walk->type_rid = metadata_method_type(metadata, rid);
		metadata_type_methods(metadata, walk->type_rid, &walk->first, &walk->end);
	}
	return walk->type_rid;
}

static int visit_body(const struct r2r_entry *entry, void *ctx)
{
	struct body_walk *walk = ctx;
	const struct metadata *metadata;
	struct r2r_body body;

	if (!r2r_body_fill(&body, walk->r2r, entry)) {
		r2r_count_unnamed(walk->r2r);
		return 0;
	}
	if (!entry->instance) {
		metadata = r2r_metadata(walk->r2r, entry->component);
		if (entry->method_rid > metadata_rows(metadata, TABLE_METHOD_DEF)) {
			r2r_count_damaged(walk->r2r);
			return 0;
		}
		body.type_rid = walk_type_of(walk, entry);
	}
	return walk->fn(&body, walk->ctx);
}

int r2r_each_body(const struct r2r *r2r, int (*fn)(const struct r2r_body *body, void *ctx),
		  void *ctx)
{
	struct body_walk walk = {
		.r2r = r2r,
		.fn = fn,
		.ctx = ctx,
		.component = R2R_NO_ASSEMBLY,
	};

	return r2r_each_entry(r2r, visit_body, &walk);
}

int r2r_find_method(const struct r2r *r2r, uint32_t component, uint32_t method_rid,
		    struct r2r_body *body)
{
	struct r2r_entry entry = { .component = component, .method_rid = method_rid };
	struct cursor element;
	const struct metadata *metadata;
	struct rva end;
	int status;

	if (component >= r2r->component_count || method_rid == 0)
		return 0;
	status = native_array_find(&r2r->components[component].methods, method_rid - 1, &element,
				   NULL);
	if (status <= 0)
		return status;
	entry.function = r2r_read_function(&element);
	if (!cursor_ok(&element) || !r2r_function(r2r, entry.function, &entry.rva, &end))
		return -EBADMSG;
	(void)r2r_body_fill(body, r2r, &entry);
	metadata = r2r_metadata(r2r, component);
	if (metadata)
		body->type_rid = metadata_method_type(metadata, method_rid);
	return 1;
}
