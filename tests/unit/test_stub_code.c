// SPDX-License-Identifier: GPL-2.0-or-later
/* stub_code.c: blocks of stubs in code heaps, ranges of stubs, and what is neither. */
#include "tests/unit/jit_fixture.h"

enum { LIST_BYTES = 512, RANGE_BYTES = 1 << 16, KINDS = 16 };

static const char *name_at(struct fixture *f, uint64_t address)
{
	return jit_stub_name(f->jit, (struct address){ address });
}

static uint64_t stub_range(struct fixture *f, uint32_t kind, uint64_t *base)
{
	uint64_t list = world_alloc(&f->world, LIST_BYTES), section;

	*base = world_alloc_at(&f->world, RANGE_BYTES, WORLD_PAGE);
	section = world_section(&f->world, *base, *base + RANGE_BYTES, WORLD_SECTION_STUBS);
	world_set(&f->world, section, SECTION_RANGE_LIST, list, 8);
	world_set(&f->world, list, RANGE_LIST_KIND, kind, 4);
	return section;
}

EACH_VERSION(ranges, struct fixture *f)
{
	uint64_t precodes, fixups, unknown;

	stub_range(f, 4, &precodes);
	stub_range(f, 5, &fixups);
	stub_range(f, 0x1234567, &unknown);
	assert_string_equal(name_at(f, precodes), "StubPrecode");
	assert_string_equal(name_at(f, precodes + RANGE_BYTES - 1), "StubPrecode");
	assert_string_equal(name_at(f, fixups), "FixupPrecode");
	assert_null(name_at(f, unknown));
	assert_null(name_at(f, 0));
	assert_null(name_at(f, UINT64_MAX));
}

EACH_VERSION(blocks_in_a_heap, struct fixture *f)
{
	uint64_t body = world_body(&f->world, &f->heap, 600, f->add);
	uint64_t resolve = world_stub(&f->world, &f->heap, 7), later;

	f->heap.next += 1000; /* what a block holds is not marked */
	later = world_stub(&f->world, &f->heap, 9);
	assert_string_equal(name_at(f, resolve), "VSD_ResolveStub");
	assert_string_equal(name_at(f, resolve + 900), "VSD_ResolveStub");
	assert_string_equal(name_at(f, later - 1), "VSD_ResolveStub");
	assert_string_equal(name_at(f, later), "VSD_VTableStub");
	for (uint64_t at = body; at < body + 600; at += 20)
		assert_null(name_at(f, at));
	assert_null(name_at(f, f->heap.base));
	assert_null(name_at(f, f->heap.end));
}

EACH_VERSION(every_kind, struct fixture *f)
{
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		uint64_t at = world_stub(&f->world, &f->heap, kind);

		if (kind >= 1 && kind <= 9)
			assert_non_null(name_at(f, at));
		else
			assert_null(name_at(f, at));
	}
}

/* The first fragment of the part of the map that @address is in. */
static uint64_t fragment_at(struct fixture *f, uint64_t address)
{
	uint64_t at = f->world.range_map + (uint64_t)f->world.layout.at[RANGE_MAP_TOP];

	for (unsigned int level = WORLD_LEVELS; level-- > 0;)
		at = world_get(&f->world,
			       at + 8 * (address >> (WORLD_LOWEST_BIT + level * WORLD_LEVEL_BITS) &
					 255),
			       8) &
		     ~(uint64_t)WORLD_COLLECTIBLE;
	return at;
}

EACH_VERSION(damaged, struct fixture *f)
{
	uint64_t base, section = stub_range(f, 4, &base);
	uint64_t stub = world_stub(&f->world, &f->heap, 7);

	world_set(&f->world, section, SECTION_RANGE_LIST, 0x1000, 8);
	assert_null(name_at(f, base));
	world_set(&f->world, f->heap.at, HEAP_NIBBLE_MAP, 0x1000, 8);
	assert_null(name_at(f, stub));
	world_set(&f->world, f->heap.at, HEAP_NIBBLE_MAP, f->heap.nibbles, 8);
	world_set(&f->world, f->heap.at, HEAP_MAP_BASE, UINT64_MAX, 8);
	assert_null(name_at(f, stub));
	/* A circle of fragments, none of which has the address. */
	world_set(&f->world, section, SECTION_END, base, 8);
	world_set(&f->world, fragment_at(f, base), FRAGMENT_NEXT, fragment_at(f, base), 8);
	assert_null(name_at(f, base));
}

UNIT_MAIN(NULL, NULL)
