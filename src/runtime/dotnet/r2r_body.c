// SPDX-License-Identifier: GPL-2.0-or-later
/* From an entry point to the body of a method, for find.c. */
#include <errno.h>

#include "base/sorted.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"
#include "base/error.h"

enum {
	EXCEPTION_ROW_BYTES = 8, /* RVA of a method, and of its clauses */

	CLAUSE_BYTES = 24, /* as the image has them: src/coreclr/inc/readytorun.h */
	CLAUSE_FILTER = 1, /* of its flags */
};

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
		walk->r2r->learnt->unnamed++;
		return 0;
	}
	if (!entry->instance) {
		metadata = r2r_metadata(walk->r2r, entry->component);
		if (entry->method_rid > metadata_rows(metadata, TABLE_METHOD_DEF)) {
			walk->r2r->learnt->damaged++;
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

static uint32_t exception_method(const struct cursor *table, size_t number)
{
	struct cursor row = cursor_at(table, number * EXCEPTION_ROW_BYTES);

	return cursor_u32(&row);
}

/* The clauses of the method at @rva: what the table has from its row to the next. */
static struct cursor find_clauses(const struct r2r *r2r, struct rva rva)
{
	const struct pe_directory section =
		r2r_header_section(&r2r->header, R2R_SECTION_EXCEPTION_INFO);
	const struct cursor table = cursor_over(pe_bytes(r2r->pe, section.rva, section.size));
	size_t at = sorted_first(section.size / EXCEPTION_ROW_BYTES, i,
				 exception_method(&table, i) < rva.value);
	struct cursor row = cursor_at(&table, at * EXCEPTION_ROW_BYTES);
	uint32_t method = cursor_u32(&row), begin = cursor_u32(&row), end;

	cursor_skip(&row, sizeof(uint32_t)); /* the next method: the last row is of none */
	end = cursor_u32(&row);
	if (cursor_ok(&row) && method == rva.value && end > begin)
		return cursor_over(pe_bytes(r2r->pe, (struct rva){ begin }, end - begin));
	return (struct cursor){ .bad = true };
}

/* Where they begin, from the method's own beginning. */
struct clause {
	bool has_filter;
	uint32_t handler;
	uint32_t filter;
};

static bool next_clause(struct cursor *c, struct clause *clause)
{
	if (cursor_left(c) < CLAUSE_BYTES)
		return false;
	clause->has_filter = cursor_u32(c) & CLAUSE_FILTER;
	cursor_skip(c, 2 * sizeof(uint32_t)); /* what it guards */
	clause->handler = cursor_u32(c);
	cursor_skip(c, sizeof(uint32_t)); /* the handler's end */
	clause->filter = cursor_u32(c);
	return cursor_ok(c);
}

bool r2r_in_filter(const struct r2r_body *body, struct rva rva)
{
	const uint32_t offset = rva.value - body->rva.value;
	struct cursor c = find_clauses(body->r2r, body->rva);
	struct clause clause;

	while (next_clause(&c, &clause)) {
		/* The filter comes right before its handler. */
		if (clause.has_filter && offset >= clause.filter && offset < clause.handler)
			return true;
	}
	return false;
}

size_t r2r_handlers(const struct r2r_body *body, uint32_t *offsets, size_t capacity)
{
	struct cursor c = find_clauses(body->r2r, body->rva);
	struct clause clause;
	size_t count = 0;

	while (count < capacity && next_clause(&c, &clause)) {
		offsets[count++] = clause.handler;
		if (clause.has_filter && count < capacity)
			offsets[count++] = clause.filter;
	}
	return count;
}
