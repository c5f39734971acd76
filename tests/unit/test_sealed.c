// SPDX-License-Identifier: GPL-2.0-or-later
/* runtime/dotnet/sealed.h: a heap of four pages, all in use, and what keeps one unsealed. */
#include "runtime/dotnet/sealed.h"
#include "tests/unit/jit_fixture.h"

enum {
	PAGES = 4,
	PAGE = SEALED_PAGE_BYTES,
	FITTING = 24, /* with its header it leaves no byte before the next */
	TAKEN = PAGES * PAGE - 1024,
};

static void place_until(struct fixture *f, uint64_t end)
{
	while (f->heap.next + 64 <= end)
		world_body(&f->world, &f->heap, FITTING, f->add);
}

static void end_heap(struct fixture *f)
{
	world_set(&f->world, f->heap.at, HEAP_END, f->heap.next, 8);
}

/* Bit i: page i of the heap is sealed. */
static unsigned int sealed(struct fixture *f)
{
	_cleanup_(sealed_pages_deinit) struct sealed_pages pages = { 0 };
	unsigned int bits = 0;

	assert_int_equal(jit_read(f->jit, NULL), 0);
	assert_int_equal(sealed_code_read(&pages, &f->jit->clr, NULL), 0);
	for (unsigned int i = 0; i < PAGES; i++) {
		uint64_t at = f->heap.base + (uint64_t)i * PAGE;

		assert_int_equal(sealed_pages_have(&pages, at),
				 sealed_pages_have(&pages, at + PAGE - 1));
		bits |= (unsigned int)sealed_pages_have(&pages, at) << i;
	}
	return bits;
}

/* Neither the heap's own first page nor the one in which the next body will lie. */
EACH_VERSION(between_start_and_end, struct fixture *f)
{
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 6);
}

EACH_VERSION(up_to_the_end, struct fixture *f)
{
	place_until(f, f->heap.end);
	world_set(&f->world, f->heap.at, HEAP_END, f->heap.end, 8);
	/* What was handed out last is zeros. */
	assert_int_equal(sealed(f), 6);
	memset(world_at(&f->world, f->heap.next, 8), 1, (size_t)(f->heap.end - f->heap.next));
	assert_int_equal(sealed(f), 14);
}

/* A body that is not in its place yet. */
EACH_VERSION(room_for_a_body, struct fixture *f)
{
	uint64_t hole;

	place_until(f, f->heap.base + PAGE + 1000);
	hole = f->heap.next;
	f->heap.next += 64;
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 4);
	/* It is what belongs to the body before. */
	memset(world_at(&f->world, hole, 64), 1, 64);
	assert_int_equal(sealed(f), 6);
}

EACH_VERSION(room_over_a_border, struct fixture *f)
{
	place_until(f, f->heap.base + 2 * PAGE);
	f->heap.next = f->heap.base + 2 * PAGE + 8;
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 0);
}

EACH_VERSION(room_for_the_smallest, struct fixture *f)
{
	uint64_t hole;

	place_until(f, f->heap.base + PAGE + 1000);
	hole = f->heap.next++;
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	/* A header, a return instruction and its unwind information. */
	assert_int_equal(sealed(f), 4);
	world_put(&f->world, hole, 1, 1);
	assert_int_equal(sealed(f), 6);
}

EACH_VERSION(no_room_in_padding, struct fixture *f)
{
	place_until(f, f->heap.base + PAGE + 1000);
	for (uint32_t size = 1; size <= 64; size++)
		world_body(&f->world, &f->heap, size, f->add);
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 6);
}

/* What follows the code belongs to the body: its data and, behind that, its unwind information. */
EACH_VERSION(data_of_a_body, struct fixture *f)
{
	static const uint8_t info[] = { 0x19, 5, 2, 0, 5, 0x12, 1, 0x50, 0, 0, 0, 0 };
	uint64_t start, header, at;

	place_until(f, f->heap.base + PAGE + 1000);
	start = world_body(&f->world, &f->heap, FITTING, f->add);
	at = start + FITTING + 200;
	memcpy(world_at(&f->world, at, sizeof(info)), info, sizeof(info));
	f->heap.next = at + sizeof(info);
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 4);
	header = world_get(&f->world, start - 8, 8);
	world_put(&f->world, world_field(&f->world, header, CODE_UNWINDS) + 8,
		  at - f->heap.unwind_base, 4);
	assert_int_equal(sealed(f), 6);
	/* It is none. */
	world_put(&f->world, at, 0x1a, 1);
	assert_int_equal(sealed(f), 4);
}

EACH_VERSION(stubs, struct fixture *f)
{
	place_until(f, f->heap.base + PAGE + 1000);
	world_stub(&f->world, &f->heap, 6);
	memset(world_at(&f->world, f->heap.next, 16), 1, 16);
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 4);
}

/* A block goes on to the next body, however far that is. */
EACH_VERSION(a_block_of_two_pages, struct fixture *f)
{
	place_until(f, f->heap.base + PAGE + 1000);
	world_stub(&f->world, &f->heap, 3);
	memset(world_at(&f->world, f->heap.next, PAGE), 1, PAGE);
	f->heap.next += PAGE;
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	assert_int_equal(sealed(f), 0);
}

EACH_VERSION(a_block_at_the_end, struct fixture *f)
{
	place_until(f, f->heap.base + 2 * PAGE);
	world_stub(&f->world, &f->heap, 3);
	f->heap.next = f->heap.base + TAKEN;
	memset(world_at(&f->world, f->heap.base + 2 * PAGE, 8), 1, TAKEN - 2 * PAGE);
	end_heap(f);
	assert_int_equal(sealed(f) & 4, 0);
}

EACH_VERSION(a_body_that_is_none, struct fixture *f)
{
	uint64_t start;

	place_until(f, f->heap.base + PAGE + 1000);
	start = world_body(&f->world, &f->heap, FITTING, f->add);
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	world_put(&f->world, start - 8, 0x12345678, 8);
	assert_int_equal(sealed(f), 4);
}

EACH_VERSION(a_body_over_the_next, struct fixture *f)
{
	uint64_t start, header;

	place_until(f, f->heap.base + PAGE + 1000);
	start = world_body(&f->world, &f->heap, FITTING, f->add);
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	header = world_get(&f->world, start - 8, 8);
	world_put(&f->world, world_field(&f->world, header, CODE_UNWINDS) + 4,
		  start - f->heap.unwind_base + 100, 4);
	assert_int_equal(sealed(f), 0);
}

EACH_VERSION(other_heaps, struct fixture *f)
{
	struct world_heap oldest = world_heap(&f->world, PAGE, false);
	uint64_t object = world_get(&f->world, world_field(&f->world, f->heap.at, HEAP_OBJECT), 8);

	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	world_set(&f->world, f->heap.at, HEAP_NEXT, oldest.at, 8);
	assert_int_equal(sealed(f), 6);
	/* One of another class is one of dynamic methods. */
	world_put(&f->world, object, WORLD_BASE + 8, 8);
	assert_int_equal(sealed(f), 0);
	world_put(&f->world, object, WORLD_BASE, 8);
	world_set(&f->world, f->heap.section, SECTION_FLAGS,
		  WORLD_SECTION_HEAP | WORLD_SECTION_COLLECTIBLE, 4);
	assert_int_equal(sealed(f), 0);
}

EACH_VERSION(damaged, struct fixture *f)
{
	place_until(f, f->heap.base + TAKEN);
	end_heap(f);
	world_set(&f->world, f->heap.at, HEAP_NEXT, f->heap.at, 8);
	assert_int_equal(sealed(f), 0); /* a circle */
	world_set(&f->world, f->heap.at, HEAP_NEXT, 0x1000, 8);
	assert_int_equal(sealed(f), 0);
	world_set(&f->world, f->heap.at, HEAP_NEXT, 0, 8);
	world_set(&f->world, f->heap.at, HEAP_OBJECT, 0x1000, 8);
	assert_int_equal(sealed(f), 0);
	world_set(&f->world, f->heap.at, HEAP_OBJECT,
		  world_get(&f->world, world_field(&f->world, f->heap.at, HEAP_NIBBLE_MAP), 8), 8);
	world_set(&f->world, f->heap.at, HEAP_NIBBLE_MAP, 0x1000, 8);
	assert_int_equal(sealed(f), 0);
	world_set(&f->world, f->heap.at, HEAP_END, UINT64_MAX, 8);
	assert_int_equal(sealed(f), 0);
	world_set(&f->world, f->heap.at, HEAP_END, f->heap.base, 8);
	assert_int_equal(sealed(f), 0);
	world_set(&f->world, f->heap.at, HEAP_END, f->heap.base + (1 << 25), 8);
	assert_int_equal(sealed(f), 0); /* not mapped */
}

UNIT_TEST(ranges)
{
	_cleanup_(sealed_pages_deinit) struct sealed_pages pages = { 0 };

	assert_false(sealed_pages_have(&pages, 0));
	assert_int_equal(sealed_pages_add(&pages, 0x5000, 0x6000, NULL), 0);
	assert_int_equal(sealed_pages_add(&pages, 0x1000, 0x2000, NULL), 0);
	assert_int_equal(sealed_pages_add(&pages, 0x2000, 0x3000, NULL), 0);
	assert_int_equal(sealed_pages_add(&pages, 0x1000, 0x2000, NULL), 0);
	sealed_pages_sort(&pages);
	assert_int_equal(pages.count, 2);
	assert_false(sealed_pages_have(&pages, 0xfff));
	assert_true(sealed_pages_have(&pages, 0x1000));
	assert_true(sealed_pages_have(&pages, 0x2fff));
	assert_false(sealed_pages_have(&pages, 0x3000));
	assert_true(sealed_pages_have(&pages, 0x5fff));
	assert_false(sealed_pages_have(&pages, 0x6000));
}

UNIT_MAIN(NULL, NULL)
