// SPDX-License-Identifier: GPL-2.0-or-later
/* codeheap.h, where what it reads is damaged or changing: loops and huge numbers must end soon. */
#include "tests/unit/jit_fixture.h"

/* Marks stay of some bodies that are no more. */
EACH_VERSION(stale_marks, struct fixture *f)
{
	uint64_t good = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t unmapped = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t moved = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t none = world_body(&f->world, &f->heap, 32, 0);
	uint64_t many = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t backwards = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t header;

	world_put(&f->world, unmapped - 8, 0x1000, 8);
	header = world_get(&f->world, moved - 8, 8);
	world_put(&f->world, world_field(&f->world, header, CODE_UNWINDS), 1, 4);
	header = world_get(&f->world, many - 8, 8);
	world_set(&f->world, header, CODE_UNWIND_COUNT, UINT32_MAX, 4);
	header = world_get(&f->world, backwards - 8, 8);
	world_put(&f->world, world_field(&f->world, header, CODE_UNWINDS) + 4, 0, 4);
	look(f);
	assert_int_equal(f->jit->body_count, 1);
	assert_non_null(body_at(f, good));
	assert_null(body_at(f, none));
	/* That is how the runtime is, and no reason to warn. */
	assert_int_equal(f->jit->unreadable, 0);
}

EACH_VERSION(fragments_in_a_circle, struct fixture *f)
{
	uint64_t first = world_alloc(&f->world, 32), second = world_alloc(&f->world, 32);
	uint64_t table = world_alloc(&f->world, WORLD_TABLE_BYTES);
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);

	world_set(&f->world, first, FRAGMENT_NEXT, second, 8);
	world_set(&f->world, first, FRAGMENT_SECTION, f->heap.section, 8);
	world_set(&f->world, second, FRAGMENT_NEXT, first, 8);
	world_set(&f->world, second, FRAGMENT_SECTION, f->heap.section, 8);
	/* The levels below are one table; all its entries lead to it, or to the circle. */
	for (unsigned int i = 0; i < 256; i++)
		world_put(&f->world, table + 8ull * i, table, 8);
	world_put(&f->world, table, first, 8);
	world_put(&f->world, f->world.range_map + 8, table, 8);
	look(f);
	assert_int_equal(f->jit->body_count, 1);
	assert_non_null(body_at(f, start));
	assert_true(f->jit->unreadable > 0);
}

EACH_VERSION(maps_of_holes, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);

	for (uint64_t i = 8; i < 256; i++)
		world_put(&f->world, f->world.range_map + 8 * i, i << 20, 8);
	look(f);
	assert_non_null(body_at(f, start));
	assert_int_equal(f->jit->unreadable, 248);
}

EACH_VERSION(heaps_that_cannot_be, struct fixture *f)
{
	struct world_heap huge = world_heap(&f->world, 4096, false);
	struct world_heap backwards = world_heap(&f->world, 4096, false);
	struct world_heap unmapped = world_heap(&f->world, 4096, false);
	struct world_heap gone = world_heap(&f->world, 4096, false);
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);

	world_set(&f->world, huge.at, HEAP_END, UINT64_MAX, 8);
	world_set(&f->world, backwards.at, HEAP_END, 0, 8);
	world_set(&f->world, unmapped.at, HEAP_NIBBLE_MAP, 0x1000, 8);
	world_set(&f->world, gone.section, SECTION_HEAP_LIST, 0x1000, 8);
	look(f);
	assert_int_equal(f->jit->unreadable, 4);
	assert_int_equal(f->jit->body_count, 1);
	assert_non_null(body_at(f, start));
}

/* Every unit of the map full of marks, by many heaps that say they are as large as can be. */
UNIT_TEST(marks_everywhere)
{
	enum { HEAPS = 16, SIZE = 1 << 22 };
	double began = processor_seconds();
	struct fixture f;
	uint64_t nibbles;

	fixture_init_large(&f, 8, (size_t)SIZE + 4 * WORLD_ROOM);
	nibbles = world_alloc(&f.world, SIZE);
	memset(world_at(&f.world, nibbles, SIZE), 0x11, SIZE);
	for (unsigned int i = 0; i < HEAPS; i++) {
		struct world_heap heap = world_heap(&f.world, 64, false);

		world_set(&f.world, heap.at, HEAP_NIBBLE_MAP, nibbles, 8);
		world_set(&f.world, heap.at, HEAP_END, heap.base + 64ull * SIZE, 8);
	}
	look(&f);
	assert_int_equal(f.jit->body_count, 0);
	assert_true(processor_seconds() - began < 15); /* about 0.3 s as built for use */
	fixture_deinit(&f);
}

UNIT_MAIN(NULL, NULL)
