// SPDX-License-Identifier: GPL-2.0-or-later
/* Types in a runtime's memory that is put together here, for each version: sizes, fields, maps. */
#include <string.h>

#include "runtime/dotnet/clr_fields.h"
#include "tests/unit/unit.h"

enum {
	BASE = 0x10000,
	BYTES = 0x4000,
	TABLE = 0x100,
	PARENT = 0x200,
	CLASS = 0x400,
	PARENT_CLASS = 0x500,
	FIELDS = 0x600,
	MODULE = 0x1000,
	HASH = 0x2000,
	BUCKETS = 0x2100,
	ENTRIES = 0x2200,
	SECOND_MAP = 0x3000,
};

struct world {
	uint8_t bytes[BYTES];
	struct clr clr;
};

static ssize_t read_world(void *ctx, void *to, size_t size, uint64_t at)
{
	const struct world *world = ctx;

	if (at < BASE || at - BASE >= BYTES)
		return -1;
	if (size > BYTES - (at - BASE))
		size = BYTES - (at - BASE);
	memcpy(to, world->bytes + (at - BASE), size);
	return (ssize_t)size;
}

static void put(struct world *world, size_t at, uint64_t number, size_t size)
{
	memcpy(world->bytes + at, &number, size);
}

static void put_field(struct world *world, size_t at, enum layout_field field, uint64_t number,
		      size_t size)
{
	put(world, at + (size_t)world->clr.layout.at[field], number, size);
}

/* .NET 8 has two of them behind the fixed part, whose size it says. */
static void put_counts(struct world *world, size_t class, uint32_t instance, bool packed)
{
	if (layout_has(&world->clr.layout, CLASS_INSTANCE_FIELDS)) {
		put_field(world, class, CLASS_INSTANCE_FIELDS, instance, 2);
		return;
	}
	put_field(world, class, CLASS_PACKED, packed, 1);
	put_field(world, class, CLASS_FIXED_BYTES, 56, 1);
	/* A length of 5 bits, less one, then so many. */
	put(world, class + 56, packed ? 7 | (uint64_t)instance << 5 : instance, 8);
}

static void set_up_world(struct world *world, unsigned int major, bool packed)
{
	memset(world, 0, sizeof(*world));
	assert_int_equal(layout_init(&world->clr.layout, major, NULL, NULL), 0);
	assert_int_equal(memory_create(&world->clr.memory, read_world, world, NULL), 0);
	put_field(world, TABLE, TABLE_BASE_SIZE, 40, 4);
	put_field(world, TABLE, TABLE_CLASS, BASE + CLASS, 8);
	put_field(world, TABLE, TABLE_PARENT, BASE + PARENT, 8);
	put_field(world, PARENT, TABLE_CLASS, BASE + PARENT_CLASS, 8);
	put_field(world, CLASS, CLASS_PADDING, 21, 1);
	put_field(world, CLASS, CLASS_FIELDS, BASE + FIELDS, 8);
	put_counts(world, CLASS, 3, packed);
	put_counts(world, PARENT_CLASS, 1, packed);
	put(world, FIELDS + 8, 0x1234, 4);
	put(world, FIELDS + 12, 0x08000000 | 24, 4);
	put(world, FIELDS + 16 + 8, 1u << 30 | 0xabcdef, 4);
	put(world, FIELDS + 16 + 12, 7, 4);
}

static void expect_shape(const struct world *world)
{
	struct clr_field_row row;
	struct clr_shape shape;

	assert_true(clr_shape_read(&world->clr, BASE + TABLE, &shape));
	assert_int_equal(shape.size, 19);
	assert_int_equal(shape.field_count, 2);
	assert_int_equal(shape.parent, BASE + PARENT);
	assert_true(clr_shape_field(&world->clr, &shape, 0, &row));
	assert_int_equal(row.rid, 0x1234);
	assert_int_equal(row.offset, 24);
	assert_true(clr_shape_field(&world->clr, &shape, 1, &row));
	/* The row has more bits then, and what is above them is what kind of field it is. */
	assert_int_equal(row.rid, 0xabcdef);
	assert_int_equal(row.offset, 7);
}

UNIT_TEST(fields_of_a_type)
{
	for (unsigned int major = 8; major <= 10; major++) {
		struct world world;

		for (unsigned int packed = 0; packed < 2; packed++) {
			set_up_world(&world, major, packed);
			expect_shape(&world);
			memory_destroy(world.clr.memory);
		}
	}
}

UNIT_TEST(a_type_that_lies_is_none)
{
	struct clr_shape shape;
	struct world world;

	set_up_world(&world, 10, false);
	/* More are inherited than there are. */
	put_counts(&world, PARENT_CLASS, 4, false);
	assert_false(clr_shape_read(&world.clr, BASE + TABLE, &shape));
	put_counts(&world, PARENT_CLASS, 1, false);
	put_counts(&world, CLASS, 0xffff, false);
	memory_forget(world.clr.memory);
	assert_false(clr_shape_read(&world.clr, BASE + TABLE, &shape));
	assert_false(clr_shape_read(&world.clr, BASE + BYTES, &shape));
	memory_destroy(world.clr.memory);
}

UNIT_TEST(types_of_rows)
{
	struct world world;
	size_t map;

	set_up_world(&world, 9, false);
	map = MODULE + (size_t)world.clr.layout.at[MODULE_TYPES];
	put(&world, map, BASE + SECOND_MAP, 8);
	put(&world, map + 8, BASE + ENTRIES, 8);
	put(&world, map + 16, 4, 4);
	put(&world, map + 24, 3, 8);
	put(&world, ENTRIES + 8 * 2, 0x5003, 8);
	/* A circle. */
	put(&world, SECOND_MAP, BASE + SECOND_MAP, 8);
	put(&world, SECOND_MAP + 8, BASE + ENTRIES, 8);
	put(&world, SECOND_MAP + 16, 1, 4);
	put(&world, ENTRIES, 0x6000, 8);
	assert_int_equal(clr_type_of_row(&world.clr, BASE + MODULE, 2), 0x5000);
	assert_int_equal(clr_type_of_row(&world.clr, BASE + MODULE, 3), 0);
	assert_int_equal(clr_type_of_row(&world.clr, BASE + MODULE, 4), 0x6000);
	assert_int_equal(clr_type_of_row(&world.clr, BASE + MODULE, 1u << 30), 0);
	memory_destroy(world.clr.memory);
}

static void note_handle(void *ctx, uint64_t handle)
{
	uint64_t *sum = ctx;

	*sum = *sum * 16 + handle / 16;
}

UNIT_TEST(instantiations_of_a_module)
{
	struct world world;
	uint64_t seen = 0;

	set_up_world(&world, 10, false);
	put_field(&world, MODULE, MODULE_INSTANTIATIONS, BASE + HASH, 8);
	put_field(&world, HASH, TYPE_HASH_BUCKETS, BASE + BUCKETS, 8);
	put(&world, BUCKETS, 2, 8);
	put(&world, BUCKETS + 8 * 2, 1, 8);
	put(&world, BUCKETS + 8 * 3, BASE + ENTRIES, 8);
	put(&world, BUCKETS + 8 * 4, 1, 8);
	put(&world, ENTRIES, 0x11, 8);
	put(&world, ENTRIES + 8, BASE + ENTRIES + 32, 8);
	put(&world, ENTRIES + 32, 0x20, 8);
	put(&world, ENTRIES + 40, 0xc1, 8);
	clr_each_instantiation(&world.clr, BASE + MODULE, note_handle, &seen);
	assert_int_equal(seen, 0x12);
	/* One that never ends does. */
	put(&world, ENTRIES + 40, BASE + ENTRIES, 8);
	memory_forget(world.clr.memory);
	clr_each_instantiation(&world.clr, BASE + MODULE, note_handle, &seen);
	put(&world, BUCKETS, UINT64_MAX, 8);
	memory_forget(world.clr.memory);
	seen = 0;
	clr_each_instantiation(&world.clr, BASE + MODULE, note_handle, &seen);
	assert_int_equal(seen, 0);
	memory_destroy(world.clr.memory);
}

UNIT_MAIN(NULL, NULL)
