// SPDX-License-Identifier: GPL-2.0-or-later
/* From the code heaps to pages that are never written again; the rules are in sealed.h. */
#include "runtime/dotnet/sealed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bpf/nibble_map.h"
#include "code/unwind_info.h"
#include "runtime/dotnet/codeheap.h"

enum {
	HEAPS_MAX = 4096,	  /* what damaged lists can make us walk */
	HEAP_MAX_BYTES = 1 << 26, /* of one; the runtime's own are of half a megabyte, mostly */
	ALL_MAX_BYTES = 1 << 28,
	UNWINDS_MAX = 1024, /* of one body */
	UNWIND_INFO = 8,    /* in a RUNTIME_FUNCTION */

	START_STEP = 16, /* a body begins at a multiple of that: CODE_SIZE_ALIGN */
	/* One that only returns: that instruction, and behind it its unwind information. */
	LEAST_BYTES = 4 + UNWIND_INFO_LEAST_BYTES,
	BLOCK_BYTES = 32, /* blocks of stubs are longer, wherever they begin */
};

/* One heap, as it was read: the bytes that it has handed out, and what is marked in them. */
struct heap {
	struct code_heap is;
	uint64_t start;
	uint32_t *units;
	uint8_t *code;	/* from start to end */
	bool *unsealed; /* by page, from that of start */
	uint64_t first_page;
	size_t page_count;
};

struct reading {
	const struct clr *clr;
	uint64_t class; /* of heaps that are never freed; 0: not known yet */
	size_t bytes;	/* of all heaps */
	struct sealed_pages *pages;
	struct error *err;
};

/* What lies before or behind a gap. */
struct neighbour {
	uint64_t start; /* 0: there is none */
	uint64_t end;
};

static uint64_t page_of(uint64_t address)
{
	return address & ~(uint64_t)(SEALED_PAGE_BYTES - 1);
}

static void unseal(struct heap *heap, uint64_t begin, uint64_t end)
{
	for (uint64_t at = page_of(begin); at < end; at += SEALED_PAGE_BYTES) {
		size_t page = (size_t)((at - heap->first_page) / SEALED_PAGE_BYTES);

		if (at >= heap->first_page && page < heap->page_count)
			heap->unsealed[page] = true;
	}
}

/*
 * May an unmarked body, or block, lie in the zeros [begin, end)? No two bodies begin in the same
 * nibble's bytes, and each has its header before it.
 */
static bool hides_body(uint64_t begin, uint64_t end, const struct neighbour *before, uint64_t next)
{
	uint64_t start = (begin + CODE_HEADER_BYTES + START_STEP - 1) & ~(uint64_t)(START_STEP - 1);
	uint64_t after = before->start ? (before->start / NIBBLE_BYTES + 1) * NIBBLE_BYTES : 0;

	if (start < after)
		start = after;
	return end - begin >= BLOCK_BYTES ||
	       (start + LEAST_BYTES <= end &&
		(!next || start / NIBBLE_BYTES < next / NIBBLE_BYTES));
}

/* What is between two bodies: not in use, as far as it is not more than that takes. */
static void look_at_gap(struct heap *heap, const struct neighbour *before, uint64_t next)
{
	uint64_t end = next ? next - CODE_HEADER_BYTES : heap->is.end;
	uint64_t at = before->end;

	while (at < end) {
		uint64_t zeros = at;

		while (at < end && heap->code[at - heap->start] == 0)
			at++;
		if (at > zeros && hides_body(zeros, at, before, next))
			unseal(heap, zeros, at);
		while (at < end && heap->code[at - heap->start] != 0)
			at++;
	}
}

/*
 * Where all ends that is of a body: its data is behind its code, and behind that the unwind
 * information of its parts. They are one piece, written before the mark.
 */
static uint64_t end_of_body(const struct heap *heap, const struct clr *clr,
			    const struct code_body *body)
{
	struct look look = look_into(clr->memory);
	uint64_t header = look_u64(&look, body->start.value - CODE_HEADER_BYTES);
	uint32_t count = clr_u32(clr, &look, header, CODE_UNWIND_COUNT);
	uint64_t at = clr_field(clr, &look, header, CODE_UNWINDS);
	uint64_t code_end = body->start.value + body->size, end = code_end;

	for (uint32_t i = 0; i < count && i < UNWINDS_MAX && !look.bad; i++) {
		uint32_t rva = look_u32(&look, at + (uint64_t)CODE_UNWIND_BYTES * i + UNWIND_INFO);
		uint64_t info = heap->is.unwind_base + rva, size;

		if (look.bad || info < code_end || info >= heap->is.end)
			return code_end;
		size = unwind_info_bytes((struct span){ heap->code + (info - heap->start),
							(size_t)(heap->is.end - info) });
		if (!size || size > heap->is.end - info)
			return code_end;
		end = info + size > end ? info + size : end;
	}
	return count > UNWINDS_MAX || look.bad ? code_end : end;
}

/* The next mark is at @start, 0: there is none. Returns what is before what comes then. */
static struct neighbour pass_mark(struct heap *heap, const struct clr *clr,
				  const struct neighbour *before, uint64_t start)
{
	struct code_body body = { .start = { start }, .unwind_base = heap->is.unwind_base };
	struct neighbour now = { .start = start };

	/* Bodies in one another: this is no heap as we know them. */
	if (start && (start - heap->start < CODE_HEADER_BYTES || start >= heap->is.end ||
		      start - CODE_HEADER_BYTES < before->end)) {
		unseal(heap, heap->start, heap->is.end);
		return *before;
	}
	look_at_gap(heap, before, start);
	if (!start)
		return now;
	if (code_body_read(clr, &body) == CODE_IS_BODY && body.size <= heap->is.end - start)
		now.end = end_of_body(heap, clr, &body);
	/* Else it is as long as can be: to the next one's header. */
	return now;
}

/* A block, or what is doubtful, reaches to what comes next. */
static void close_block(struct heap *heap, struct neighbour *before, uint64_t next)
{
	if (!before->start || before->end)
		return;
	before->end = heap->is.end;
	if (next && next - heap->start >= CODE_HEADER_BYTES && next < heap->is.end)
		before->end = next - CODE_HEADER_BYTES;
	unseal(heap, before->start - CODE_HEADER_BYTES, before->end);
}

static void look_at_marks(struct heap *heap, const struct clr *clr)
{
	struct neighbour before = { .end = heap->start };

	for (size_t i = 0; i < heap->is.unit_count; i++) {
		uint32_t unit = heap->units[i];

		if (!unit || nibble_is_pointer(clr->layout.nibble_map, unit))
			continue;
		for (unsigned int j = 0; j < NIBBLES_OF_UNIT; j++) {
			uint32_t nibble = unit >> nibble_shift(j) & NIBBLE_MASK;
			uint64_t start = nibble_start(heap->is.map_base, i, j, nibble);

			/* What has come since the end was read lies behind it. */
			if (!nibble || start >= heap->is.end)
				continue;
			close_block(heap, &before, start);
			before = pass_mark(heap, clr, &before, start);
		}
	}
	close_block(heap, &before, 0);
	pass_mark(heap, clr, &before, 0);
}

/*
 * The end is read before all else: what is handed out below it by now is marked, or it is zeros, or
 * it is being copied.
 */
static bool read_head(struct reading *reading, uint64_t at, struct heap *heap)
{
	const struct clr *clr = reading->clr;
	struct look look = look_into(clr->memory);
	bool good = code_heap_read(clr, at, &heap->is);
	uint64_t bytes = heap->is.end - heap->is.map_base;

	heap->start = clr_u64(clr, &look, at, HEAP_START);
	if (!good || look.bad || heap->is.map_base > heap->start || heap->start >= heap->is.end ||
	    bytes > HEAP_MAX_BYTES || bytes > ALL_MAX_BYTES - reading->bytes)
		return false;
	reading->bytes += (size_t)bytes;
	heap->first_page = page_of(heap->start + SEALED_PAGE_BYTES - 1);
	if (page_of(heap->is.end) <= heap->first_page)
		return false;
	heap->page_count = (size_t)((page_of(heap->is.end) - heap->first_page) / SEALED_PAGE_BYTES);
	return true;
}

static int add_pages(struct reading *reading, const struct heap *heap)
{
	int result = 0;

	for (size_t i = 0; i < heap->page_count && result == 0; i++) {
		uint64_t at = heap->first_page + i * SEALED_PAGE_BYTES;

		if (!heap->unsealed[i])
			result = sealed_pages_add(reading->pages, at, at + SEALED_PAGE_BYTES,
						  reading->err);
	}
	return result;
}

/* First the marks, then the bytes: what is marked has been written. */
static int read_heap(struct reading *reading, uint64_t at)
{
	struct look look = look_into(reading->clr->memory);
	struct heap heap = { 0 };
	int result = -ENOMEM;

	if (!read_head(reading, at, &heap))
		return 0;
	heap.units = calloc(heap.is.unit_count, sizeof(*heap.units));
	heap.code = malloc((size_t)(heap.is.end - heap.start));
	heap.unsealed = calloc(heap.page_count, sizeof(*heap.unsealed));
	if (heap.units && heap.code && heap.unsealed) {
		look_copy_once(&look, heap.is.nibbles, heap.units,
			       heap.is.unit_count * sizeof(*heap.units));
		look_copy_once(&look, heap.start, heap.code, (size_t)(heap.is.end - heap.start));
		result = 0;
	}
	if (result == 0 && !look.bad) {
		look_at_marks(&heap, reading->clr);
		result = add_pages(reading, &heap);
	}
	free(heap.units);
	free(heap.code);
	free(heap.unsealed);
	return result == -ENOMEM ?
		       error_set(reading->err, -ENOMEM, "no memory for the target's code heaps") :
		       result;
}

/* What tells the class of the heap at @at; 0: it cannot be read. */
static uint64_t class_of(const struct clr *clr, uint64_t at)
{
	struct look look = look_into(clr->memory);
	uint64_t object = clr_u64(clr, &look, at, HEAP_OBJECT), class = look_u64(&look, object);

	return look.bad ? 0 : class;
}

/* The oldest is the last of the list, and the first code of a process is never dynamic. */
static uint64_t oldest_class(const struct clr *clr, uint64_t at)
{
	for (size_t i = 0; i < HEAPS_MAX; i++) {
		struct look look = look_into(clr->memory);
		uint64_t next = clr_u64(clr, &look, at, HEAP_NEXT);

		if (look.bad)
			return 0;
		if (!next)
			return class_of(clr, at);
		at = next;
	}
	return 0;
}

int sealed_code_read(struct sealed_pages *pages, const struct clr *clr, struct error *err)
{
	struct reading reading = { .clr = clr, .pages = pages, .err = err };
	struct code_heap_nodes nodes;
	int result;

	memory_forget(clr->memory);
	result = code_heap_nodes_read(&nodes, clr, err);
	if (result)
		return result;
	for (size_t i = 0; i < nodes.count && i < HEAPS_MAX && result == 0; i++) {
		uint64_t at = nodes.list[i].at;

		if (nodes.list[i].flags & SECTION_IS_COLLECTIBLE)
			continue;
		if (!reading.class)
			reading.class = oldest_class(clr, at);
		if (reading.class && class_of(clr, at) == reading.class)
			result = read_heap(&reading, at);
	}
	code_heap_nodes_deinit(&nodes);
	sealed_pages_sort(pages);
	return result;
}
