// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an address in an image to the body that holds it, for frame_names.c; and the parts of a
 * body.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"

enum {
	/* More than any method has. Damaged images can let bodies share one run of functions. */
	MAX_PARTS = 1024,
	MAX_HANDLERS = 2 * MAX_PARTS, /* some are told of more than once */
};

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
	const struct r2r_entry *entry;
	const struct metadata *metadata;

	if (function == r2r->function_count || !build_index(r2r) ||
	    !r2r->learnt->index.owners[function])
		return 0;
	entry = &r2r->learnt->index.entries[r2r->learnt->index.owners[function] - 1];
	if (!r2r_body_fill(body, r2r, entry))
		return 0;
	if (!entry->instance) {
		metadata = r2r_metadata(r2r, entry->component);
		body->type_rid = metadata_method_type(metadata, entry->method_rid);
	}
	return 1;
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
	size_t count = r2r_handlers(body, offsets, MAX_HANDLERS);

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
