// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an entry point to the body of a method, for find.c; from an address in an image to the body
 * that holds it, for frame_names.c; and the parts of a body.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"

enum {
	EXCEPTION_ROW_BYTES = 8, /* RVA of a method, and of its clauses */

	CLAUSE_BYTES = 24, /* as the image has them: src/coreclr/inc/readytorun.h */
	CLAUSE_FILTER = 1, /* of its flags */

	/* More than any method has. Damaged images can let bodies share one run of functions. */
	MAX_PARTS = 1024,
	MAX_HANDLERS = 2 * MAX_PARTS, /* some are told of more than once */
};

struct body_walk {
	const struct r2r *r2r;
	r2r_body_fn fn;
	void *ctx;

	/* Methods come in the order of their rows, so one look-up serves a whole type. */
	uint32_t component;
	uint32_t type_rid;
	uint32_t first;
	uint32_t end;
};

/* The TypeDef that owns the method, 0 if not known. */
static uint32_t instance_type(const struct r2r_instance *instance)
{
	if (!instance->metadata || !instance->method_rid)
		return 0;
	if (instance->has_owner && instance->owner.type_rid &&
	    instance->owner.metadata == instance->metadata)
		return instance->owner.type_rid;
	return metadata_method_type(instance->metadata, instance->method_rid);
}

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
	body->type_rid = instance_type(instance);
	return instance->metadata != NULL;
}

/* Fill @body from an entry, except the type of a MethodDef. False if it has no metadata. */
static bool fill(struct r2r_body *body, const struct r2r *r2r, const struct r2r_entry *entry)
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

static bool fill_with_type(struct r2r_body *body, const struct r2r *r2r,
			   const struct r2r_entry *entry)
{
	if (!fill(body, r2r, entry))
		return false;
	if (!entry->instance)
		body->type_rid = metadata_method_type(r2r_metadata(r2r, entry->component),
						      entry->method_rid);
	return true;
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

	if (!fill(&body, walk->r2r, entry)) {
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

int r2r_each_body(const struct r2r *r2r, r2r_body_fn fn, void *ctx)
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
	(void)fill_with_type(body, r2r, &entry);
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
	const struct span section = r2r_section(r2r, R2R_SECTION_EXCEPTION_INFO);
	const struct cursor table = cursor_over(section);
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

/*
 * Where handlers and filters of @body begin, from its own beginning, in no order and some of them
 * more than once; at most @capacity. Returns how many.
 */
static size_t list_handlers(const struct r2r_body *body, uint32_t *offsets, size_t capacity)
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

/* By address --------------------------------------------------------------------------------- */

/* Each function belongs to the first entry that names it, so there are never more entries. */
static int note_entry(const struct r2r_entry *entry, void *ctx)
{
	struct r2r_index *index = ctx;

	if (index->owners[entry->function] || index->entry_count == index->entry_capacity)
		return 0;
	index->entries[index->entry_count] = *entry;
	index->entries[index->entry_count].parsed = NULL;
	index->owners[entry->function] = ++index->entry_count;
	return 0;
}

/* Pair @i of the hot-cold map: a method's first cold function and its entry. */
static void hot_cold_pair(const struct r2r *r2r, uint32_t i, uint32_t *cold, uint32_t *hot)
{
	struct cursor c = cursor_over(r2r->hot_cold);

	cursor_skip(&c, (size_t)i * 2 * sizeof(uint32_t));
	*cold = cursor_u32(&c);
	*hot = cursor_u32(&c);
	if (!cursor_ok(&c))
		*cold = *hot = UINT32_MAX;
}

/* Where cold code begins: it all lies behind the rest. */
static uint32_t first_cold(const struct r2r *r2r)
{
	uint32_t cold, hot;

	if (r2r->hot_cold_count == 0)
		return r2r->function_count;
	hot_cold_pair(r2r, 0, &cold, &hot);
	return cold < r2r->function_count ? cold : r2r->function_count;
}

/* The functions between two entries are the first one's funclets. */
static void claim_funclets(struct r2r_index *index, const struct r2r *r2r)
{
	uint32_t end = first_cold(r2r);
	uint32_t claimed = end;

	for (uint32_t i = 1; i < end; i++) {
		if (index->owners[i] == 0)
			index->owners[i] = index->owners[i - 1];
	}
	for (uint32_t i = 0; i < r2r->hot_cold_count; i++) {
		uint32_t cold, hot, next, unused;

		hot_cold_pair(r2r, i, &cold, &hot);
		next = r2r->function_count;
		if (i + 1 < r2r->hot_cold_count)
			hot_cold_pair(r2r, i + 1, &next, &unused);
		if (hot >= end || cold < claimed || next > r2r->function_count || next < cold)
			continue;
		for (; cold < next; cold++)
			index->owners[cold] = index->owners[hot];
		claimed = next;
	}
}

static bool build_index(const struct r2r *r2r)
{
	struct r2r_index *index = &r2r->learnt->index;
	uint64_t damaged = r2r->learnt->damaged;

	if (index->built)
		return true;
	if (!index->owners)
		index->owners = calloc((size_t)r2r->function_count + 1, sizeof(*index->owners));
	if (!index->entries)
		index->entries = calloc((size_t)r2r->function_count + 1, sizeof(*index->entries));
	if (!index->owners || !index->entries)
		return false;
	index->entry_capacity = r2r->function_count;
	(void)r2r_each_entry(r2r, note_entry, index);
	r2r->learnt->damaged = damaged; /* what this walk met is counted by the caller's own */
	claim_funclets(index, r2r);
	index->built = true;
	return true;
}

/* The last function that begins at or before @rva, or function_count. */
static uint32_t function_at(const struct r2r *r2r, struct rva rva)
{
	struct rva begin, end;
	/* What is no function is the end mark, which sorts last. */
	uint32_t count = (uint32_t)sorted_first(r2r->function_count, i,
						r2r_function(r2r, (uint32_t)i, &begin, &end) &&
							begin.value <= rva.value);

	if (count == 0 || !r2r_function(r2r, count - 1, &begin, &end) || rva.value >= end.value)
		return r2r->function_count;
	return count - 1;
}

int r2r_find_rva(struct r2r *r2r, struct rva rva, struct r2r_body *body)
{
	uint32_t function = function_at(r2r, rva);

	if (function == r2r->function_count || !build_index(r2r) ||
	    !r2r->learnt->index.owners[function])
		return 0;
	return fill_with_type(body, r2r,
			      &r2r->learnt->index.entries[r2r->learnt->index.owners[function] - 1]);
}

struct parts {
	const struct r2r *r2r;
	struct r2r_part *parts;
	size_t capacity;
	size_t count;
};

static void add_part(struct parts *to, uint32_t function, bool funclet, bool cold)
{
	struct rva begin, end;

	if (to->count == MAX_PARTS || !r2r_function(to->r2r, function, &begin, &end))
		return;
	if (to->count < to->capacity)
		to->parts[to->count] = (struct r2r_part){
			.rva = begin,
			.size = end.value - begin.value,
			.funclet = funclet,
			.cold = cold,
		};
	to->count++;
}

/* The map is sorted by its hot functions as well. */
static void add_cold_parts(struct parts *to, uint32_t function)
{
	const struct r2r *r2r = to->r2r;
	uint32_t cold, hot;
	size_t at = sorted_first(r2r->hot_cold_count, i,
				 (hot_cold_pair(r2r, (uint32_t)i, &cold, &hot), hot < function));

	if (at == r2r->hot_cold_count)
		return;
	hot_cold_pair(r2r, (uint32_t)at, &cold, &hot);
	if (hot != function)
		return;
	for (uint32_t i = cold; i < r2r->function_count && i - cold < MAX_PARTS &&
				r2r->learnt->index.owners[i] == r2r->learnt->index.owners[function];
	     i++)
		add_part(to, i, i > cold, true);
}

static int by_offset(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/*
 * Do offsets of handlers tell which functions these are? Where code is split into hot and cold they
 * are not from where the method begins. Then an index of the whole image must, which takes some
 * milliseconds.
 */
static bool has_offsets(const struct r2r *r2r)
{
	return r2r->hot_cold_count == 0 &&
	       r2r_header_section(&r2r->header, R2R_SECTION_EXCEPTION_INFO).size > 0;
}

bool r2r_prepare(const struct r2r *r2r)
{
	return has_offsets(r2r) || build_index(r2r);
}

/* The functions behind the method's own that are its handlers. */
static void add_funclets(struct parts *to, const struct r2r_body *body)
{
	uint32_t offsets[MAX_HANDLERS];
	size_t count = list_handlers(body, offsets, MAX_HANDLERS);

	qsort(offsets, count, sizeof(offsets[0]), by_offset);
	for (uint32_t i = body->function + 1; to->count < MAX_PARTS; i++) {
		struct rva begin, end;
		uint32_t offset;

		if (!r2r_function(body->r2r, i, &begin, &end))
			return;
		offset = begin.value - body->rva.value;
		if (!bsearch(&offset, offsets, count, sizeof(offsets[0]), by_offset))
			return;
		add_part(to, i, true, false);
	}
}

/* Likewise, and what is cold, by whose each function is. */
static void add_owned(struct parts *to, uint32_t function)
{
	const struct r2r *r2r = to->r2r;
	const uint32_t end = first_cold(r2r), *owners = r2r->learnt->index.owners;

	for (uint32_t i = function + 1;
	     i < end && i - function < MAX_PARTS && owners[i] == owners[function]; i++)
		add_part(to, i, true, false);
	add_cold_parts(to, function);
}

size_t r2r_body_parts(const struct r2r_body *body, struct r2r_part *parts, size_t capacity)
{
	const struct r2r *r2r = body->r2r;
	struct parts to = { .r2r = r2r, .parts = parts, .capacity = capacity };

	add_part(&to, body->function, false, false);
	if (body->function >= r2r->function_count)
		return to.count;
	if (has_offsets(r2r))
		add_funclets(&to, body);
	else if (build_index(r2r))
		add_owned(&to, body->function);
	return to.count;
}
