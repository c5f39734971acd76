/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the runtime has put the code it compiled: the map of code ranges, the code heaps it leads
 * to, and each heap's nibble map, which marks where a body begins.
 *
 * The target runs on meanwhile, so a body may be gone once its marks have been read. Each one is
 * therefore checked against itself: the unwind information in its header must begin where
 * the nibble map says that the body does. What fails that is looked at once more, after all else.
 *
 * Source of the format: dotnet/runtime docs/design/datacontracts/ExecutionManager.md,
 * src/coreclr/vm/codeman.h (RangeSectionMap, HeapList) and src/coreclr/inc/nibblemapmacros.h.
 */
#ifndef RUNTIME_DOTNET_CODEHEAP_H
#define RUNTIME_DOTNET_CODEHEAP_H

#include "runtime/dotnet/clr.h"
#include "image/space.h"

struct dotnet_image;

enum {
	/* RangeSectionMap: a tree of tables over bits 17 to 56 of an address. */
	RANGE_MAP_LEVELS = 5,
	RANGE_MAP_LEVEL_BITS = 8,
	RANGE_MAP_LOWEST_BIT = 17,
	RANGE_MAP_MARK = 1, /* lowest bit of a pointer: collectible code below */

	SECTION_IS_COLLECTIBLE = 1,
	SECTION_IS_CODE_HEAP = 2,
	SECTION_IS_STUBS = 4,

	CODE_HEADER_BYTES = 8,	/* before a body: a pointer to its header, or a kind of stub */
	CODE_UNWIND_BYTES = 12, /* RUNTIME_FUNCTION: begin, end, unwind information */
};

/* One body that the JIT compiled. */
struct code_body {
	struct address start; /* first: base/sorted.h */
	uint32_t size;	      /* with its handlers, which follow it */
	uint64_t method_desc;
	uint64_t unwind_base; /* of its heap: what its unwind information is relative to */
	uint64_t mark_at;     /* of the nibble map's unit that marks where it begins */
	uint8_t mark_shift;   /* and of the nibble in it */
};

/* What begins at body->start, by its header? The rest of @body is filled if it is a body. */
enum code_kind {
	CODE_IS_BODY,
	CODE_IS_STUB,	  /* the runtime's own, of any kind */
	CODE_IS_DOUBTFUL, /* it is being changed, or is no more */
};

enum code_kind code_body_read(const struct clr *clr, struct code_body *body);

/* Where a ReadyToRun image's code lies: [start, end). */
struct code_image {
	struct address start;
	struct address end;
	uint64_t module;
	const struct dotnet_image *image; /* see jit_read_images(); NULL: not known */
};

struct code_heaps {
	struct code_body *bodies; /* by address, each once */
	size_t count;
	struct code_image *images;
	size_t image_count;
	size_t image_capacity;
	size_t unreadable; /* heaps and parts of the map that changed while they were read */
};

/*
 * Read all of it; with @images_only where images' code lies, and nothing else. -EBADMSG (no map
 * where it should be) or -ENOMEM with @err set.
 */
int code_heaps_read(struct code_heaps *heaps, const struct clr *clr, bool images_only,
		    struct error *err);
void code_heaps_deinit(struct code_heaps *heaps);

/* What the HeapList of a code heap says of it. */
struct code_heap {
	uint64_t end;
	uint64_t map_base; /* of the code that the nibble map covers */
	uint64_t unwind_base;
	uint64_t nibbles;
	size_t unit_count; /* of the nibble map */
};

/* Read that at @at, the end first. False if it cannot be read, or makes no sense. */
bool code_heap_read(const struct clr *clr, uint64_t at, struct code_heap *heap);

/* The code heaps that the map of code ranges leads to, without stubs' own, unread. */
struct code_heap_node {
	uint64_t at;	  /* of the runtime's HeapList */
	uint64_t manager; /* the object that has its code compiled; 0: it cannot be read */
	uint32_t flags;
};

struct code_heap_nodes {
	struct code_heap_node *list;
	size_t count;
};

/* Read the map of code ranges alone. -ENOMEM with @err set; @nodes may have none. */
int code_heap_nodes_read(struct code_heap_nodes *nodes, const struct clr *clr, struct error *err);
void code_heap_nodes_deinit(struct code_heap_nodes *nodes);

/* Is @body still what was read, as the target's memory is now? */
bool code_body_is_there(const struct clr *clr, const struct code_body *body);

/* The body that holds @address, or NULL. */
const struct code_body *code_heaps_find(const struct code_heaps *heaps, struct address address);

#endif
