// SPDX-License-Identifier: GPL-2.0-or-later
/* From the runtime's map of code to bodies and their places, for jit_read.c and jit.c. */
#include "runtime/dotnet/codeheap.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "bpf/nibble_map.h"

enum {
	MAP_ENTRIES = 1 << RANGE_MAP_LEVEL_BITS,

	TABLES_MAX = 1 << 12, /* bounds of what a damaged or racing map can make us walk */
	FRAGMENTS_MAX = 1 << 16,
	SECTIONS_MAX = 1 << 16,
	BODIES_MAX = 1 << 22,
	HEAP_MAX_BYTES = 1 << 30,
	UNITS_MAX = 1 << 26, /* of all heaps: 16 GiB of code */

	UNWIND_BEGIN = 0, /* in a RUNTIME_FUNCTION */
	UNWIND_END = 4,
	UNWINDS_MAX = 1 << 16,
	BODY_MAX_BYTES = 1 << 28,
};

struct bodies {
	struct code_body *list;
	size_t count;
	size_t capacity;
};

struct walk {
	const struct clr *clr;
	struct look look;
	struct code_heaps *heaps;
	uint64_t *sections; /* each once */
	size_t section_count;
	size_t section_capacity;
	size_t tables;
	size_t fragments;
	size_t units;
	size_t marks;
	struct bodies bodies;
	struct bodies doubtful;
	bool no_memory;
};

static void add_section(struct walk *walk, uint64_t section)
{
	/* A section spans many fragments, which come one after the other. */
	for (size_t i = walk->section_count; i > 0 && i + 8 > walk->section_count; i--) {
		if (walk->sections[i - 1] == section)
			return;
	}
	if (walk->section_count == SECTIONS_MAX)
		return;
	walk->no_memory |= !vector_add(&walk->sections, &walk->section_count,
				       &walk->section_capacity, section);
}

static void walk_fragments(struct walk *walk, uint64_t fragment)
{
	while (fragment && !walk->look.bad) {
		uint64_t section = clr_u64(walk->clr, &walk->look, fragment, FRAGMENT_SECTION);

		if (walk->fragments == FRAGMENTS_MAX) {
			walk->look.bad = true;
			return;
		}
		walk->fragments++;
		if (section && !walk->look.bad)
			add_section(walk, section);
		fragment = clr_u64(walk->clr, &walk->look, fragment, FRAGMENT_NEXT) &
			   ~(uint64_t)RANGE_MAP_MARK;
	}
}

/* A part of the map that vanishes while it is read loses its sections only. */
static void walk_table(struct walk *walk, uint64_t table, unsigned int levels)
{
	uint64_t entries[MAP_ENTRIES];

	if (++walk->tables > TABLES_MAX) {
		walk->look.bad = true;
		return;
	}
	look_copy(&walk->look, table, entries, sizeof(entries));
	for (unsigned int i = 0; i < MAP_ENTRIES && !walk->no_memory && walk->tables <= TABLES_MAX;
	     i++) {
		uint64_t entry = entries[i] & ~(uint64_t)RANGE_MAP_MARK;

		if (!entry)
			continue;
		if (levels > 1)
			walk_table(walk, entry, levels - 1);
		else
			walk_fragments(walk, entry);
		if (walk->look.bad) {
			walk->heaps->unreadable++;
			walk->look.bad = false;
		}
	}
}

/* Sort @items, of @size bytes, by the number that each begins with; how many are left of them. */
static size_t sort_each_once(void *items, size_t count, size_t size)
{
	char *at = items;
	size_t kept = 0;
	bool sorted = true;

	/* They are mostly met in the order of their addresses. */
	for (size_t i = 1; i < count && sorted; i++)
		sorted = leading_number(at + (i - 1) * size) < leading_number(at + i * size);
	if (sorted)
		return count;
	qsort(items, count, size, by_leading_number);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 ||
		    leading_number(at + (kept - 1) * size) != leading_number(at + i * size))
			memmove(at + kept++ * size, at + i * size, size);
	}
	return kept;
}

static void find_sections(struct walk *walk)
{
	walk_table(walk, walk->clr->code_range_map + (uint64_t)walk->clr->layout.at[RANGE_MAP_TOP],
		   RANGE_MAP_LEVELS);
	walk->section_count =
		sort_each_once(walk->sections, walk->section_count, sizeof(*walk->sections));
}

enum code_kind code_body_read(const struct clr *clr, struct code_body *body)
{
	struct look look = look_into(clr->memory);
	uint64_t header = look_u64(&look, body->start.value - CODE_HEADER_BYTES);
	uint32_t unwinds, begin, end;
	uint64_t unwinds_at;

	if (!look.bad && header <= clr->layout.last_stub_kind)
		return CODE_IS_STUB;
	body->method_desc = clr_u64(clr, &look, header, CODE_METHOD_DESC);
	unwinds = clr_u32(clr, &look, header, CODE_UNWIND_COUNT);
	if (unwinds == 0 || unwinds > UNWINDS_MAX)
		return CODE_IS_DOUBTFUL;
	unwinds_at = clr_field(clr, &look, header, CODE_UNWINDS);
	begin = look_u32(&look, unwinds_at + UNWIND_BEGIN);
	end = look_u32(&look,
		       unwinds_at + (uint64_t)CODE_UNWIND_BYTES * (unwinds - 1) + UNWIND_END);
	if (look.bad || body->unwind_base + begin != body->start.value || end <= begin ||
	    end - begin > BODY_MAX_BYTES || !body->method_desc)
		return CODE_IS_DOUBTFUL;
	body->size = end - begin;
	return CODE_IS_BODY;
}

bool code_body_is_there(const struct clr *clr, const struct code_body *body)
{
	struct look look = look_into(clr->memory);
	struct code_body now = *body;

	/* The mark goes before anything else of a body that is thrown away. */
	if ((look_u32(&look, body->mark_at) >> body->mark_shift & NIBBLE_MASK) == 0 || look.bad)
		return false;
	return code_body_read(clr, &now) == CODE_IS_BODY && now.method_desc == body->method_desc &&
	       now.size == body->size;
}

static void add_body(struct walk *walk, struct bodies *to, const struct code_body *body)
{
	walk->no_memory |=
		to->count < BODIES_MAX && !vector_add(&to->list, &to->count, &to->capacity, *body);
}

/* A body that was being made is whole by now; of one that is no more the mark may stay for good. */
static void read_doubtful(struct walk *walk)
{
	if (walk->doubtful.count)
		memory_forget(walk->clr->memory);
	for (size_t i = 0; i < walk->doubtful.count; i++) {
		struct code_body *body = &walk->doubtful.list[i];

		if (code_body_read(walk->clr, body) == CODE_IS_BODY)
			add_body(walk, &walk->bodies, body);
	}
}

static void read_unit(struct walk *walk, const struct code_heap *heap, size_t index, uint32_t unit)
{
	if (nibble_is_pointer(walk->clr->layout.nibble_map, unit))
		return;
	for (unsigned int i = 0; i < NIBBLES_OF_UNIT; i++) {
		uint32_t nibble = unit >> nibble_shift(i) & NIBBLE_MASK;
		struct code_body body = {
			.start = { nibble_start(heap->map_base, index, i, nibble) },
			.unwind_base = heap->unwind_base,
			.mark_at = heap->nibbles + index * sizeof(unit),
			.mark_shift = (uint8_t)nibble_shift(i),
		};
		enum code_kind kind;

		if (!nibble)
			continue;
		/* Heaps that lie over each other give the same marks again and again. */
		if (walk->marks++ >= BODIES_MAX) {
			walk->heaps->unreadable += walk->marks == BODIES_MAX + 1;
			return;
		}
		kind = code_body_read(walk->clr, &body);
		if (kind != CODE_IS_STUB)
			add_body(walk, kind == CODE_IS_BODY ? &walk->bodies : &walk->doubtful,
				 &body);
	}
}

bool code_heap_read(const struct clr *clr, uint64_t at, struct code_heap *heap)
{
	struct look look = look_into(clr->memory);
	uint64_t bytes;

	heap->end = clr_u64(clr, &look, at, HEAP_END);
	heap->map_base = clr_u64(clr, &look, at, HEAP_MAP_BASE);
	heap->nibbles = clr_u64(clr, &look, at, HEAP_NIBBLE_MAP);
	/* No descriptor tells of it; but for the heaps of dynamic methods it is the map's base. */
	heap->unwind_base = layout_has(&clr->layout, HEAP_UNWIND_BASE) ?
				    clr_u64(clr, &look, at, HEAP_UNWIND_BASE) :
				    heap->map_base;
	bytes = heap->end - heap->map_base;
	heap->unit_count = (size_t)((bytes + NIBBLE_UNIT_BYTES - 1) / NIBBLE_UNIT_BYTES);
	return !look.bad && heap->end >= heap->map_base && bytes <= HEAP_MAX_BYTES;
}

static void read_heap(struct walk *walk, uint64_t at)
{
	struct look look = look_into(walk->clr->memory);
	_cleanup_free_ uint32_t *units = NULL;
	struct code_heap heap;

	if (!code_heap_read(walk->clr, at, &heap) || heap.unit_count > UNITS_MAX - walk->units) {
		walk->heaps->unreadable++;
		return;
	}
	walk->units += heap.unit_count;
	units = calloc(heap.unit_count + 1, sizeof(*units));
	if (!units) {
		walk->no_memory = true;
		return;
	}
	look_copy_once(&look, heap.nibbles, units, heap.unit_count * sizeof(*units));
	walk->heaps->unreadable += look.bad;
	for (size_t i = 0; i < heap.unit_count && !walk->no_memory; i++) {
		if (units[i])
			read_unit(walk, &heap, i, units[i]);
	}
}

static void add_image(struct walk *walk, uint64_t section, uint64_t module)
{
	struct code_heaps *heaps = walk->heaps;
	struct code_image image = { .module = module };

	image.start.value = clr_u64(walk->clr, &walk->look, section, SECTION_BEGIN);
	image.end.value = clr_u64(walk->clr, &walk->look, section, SECTION_END);
	walk->no_memory |=
		!vector_add(&heaps->images, &heaps->image_count, &heaps->image_capacity, image);
}

static void read_section(struct walk *walk, uint64_t section, bool images_only)
{
	uint32_t flags;
	uint64_t part;

	walk->look.bad = false;
	flags = clr_u32(walk->clr, &walk->look, section, SECTION_FLAGS);
	if (flags & SECTION_IS_STUBS || (images_only && flags & SECTION_IS_CODE_HEAP))
		return;
	if (flags & SECTION_IS_CODE_HEAP) {
		part = clr_u64(walk->clr, &walk->look, section, SECTION_HEAP_LIST);
		if (!walk->look.bad && part)
			read_heap(walk, part);
	} else {
		part = clr_u64(walk->clr, &walk->look, section, SECTION_R2R_MODULE);
		if (!walk->look.bad && part)
			add_image(walk, section, part);
	}
	walk->heaps->unreadable += walk->look.bad;
}

int code_heaps_read(struct code_heaps *heaps, const struct clr *clr, bool images_only,
		    struct error *err)
{
	struct walk walk = {
		.clr = clr,
		.look = look_into(clr->memory),
		.heaps = heaps,
	};

	*heaps = (struct code_heaps){ 0 };
	find_sections(&walk);
	for (size_t i = 0; i < walk.section_count && !walk.no_memory; i++)
		read_section(&walk, walk.sections[i], images_only);
	read_doubtful(&walk);
	heaps->bodies = walk.bodies.list;
	heaps->count = sort_each_once(heaps->bodies, walk.bodies.count, sizeof(*heaps->bodies));
	free(walk.doubtful.list);
	free(walk.sections);
	if (walk.no_memory) {
		code_heaps_deinit(heaps);
		return error_set(err, -ENOMEM, "no memory for the target's code heaps");
	}
	if (walk.section_count == 0)
		return error_set(err, -EBADMSG,
				 "the runtime's map of code ranges is not where it should be");
	return 0;
}

int code_heap_nodes_read(struct code_heap_nodes *nodes, const struct clr *clr, struct error *err)
{
	struct code_heaps heaps = { 0 }; /* where the walk counts what it cannot read */
	struct walk walk = {
		.clr = clr,
		.look = look_into(clr->memory),
		.heaps = &heaps,
	};

	*nodes = (struct code_heap_nodes){ 0 };
	find_sections(&walk);
	nodes->list = calloc(walk.section_count + 1, sizeof(*nodes->list));
	walk.no_memory |= !nodes->list;
	for (size_t i = 0; i < walk.section_count && !walk.no_memory; i++) {
		struct look look = look_into(clr->memory);
		uint32_t flags = clr_u32(clr, &look, walk.sections[i], SECTION_FLAGS);
		uint64_t at = clr_u64(clr, &look, walk.sections[i], SECTION_HEAP_LIST);

		if ((flags & SECTION_IS_CODE_HEAP) && !(flags & SECTION_IS_STUBS) && !look.bad)
			nodes->list[nodes->count++] = (struct code_heap_node){
				.at = at,
				.manager =
					clr_u64(clr, &look, walk.sections[i], SECTION_JIT_MANAGER),
				.flags = flags,
			};
	}
	free(walk.sections);
	if (!walk.no_memory)
		return 0;
	code_heap_nodes_deinit(nodes);
	return error_set(err, -ENOMEM, "no memory for the map of code ranges");
}

void code_heap_nodes_deinit(struct code_heap_nodes *nodes)
{
	free(nodes->list);
	*nodes = (struct code_heap_nodes){ 0 };
}

void code_heaps_deinit(struct code_heaps *heaps)
{
	free(heaps->bodies);
	free(heaps->images);
	*heaps = (struct code_heaps){ 0 };
}

const struct code_body *code_heaps_find(const struct code_heaps *heaps, struct address address)
{
	size_t count =
		sorted_up_to(heaps->bodies, heaps->count, sizeof(*heaps->bodies), address.value);
	const struct code_body *body = count ? &heaps->bodies[count - 1] : NULL;

	return body && address.value - body->start.value < body->size ? body : NULL;
}
