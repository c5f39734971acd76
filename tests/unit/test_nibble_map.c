// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nibble_map.h: maps of both versions are written as the runtime does
 * (EECodeGenManager::NibbleMapSet, NibbleMapSetUnlocked of .NET 10), and each address is looked
 * for.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "bpf/nibble_map.h"

enum {
	UNITS = 64,
	BASE = 0x7f0000,
	BODIES = 12,
};

struct map {
	uint32_t version;
	uint32_t units[UNITS];
	uint32_t starts[BODIES]; /* from the base on */
};

/* A body from @start to @end: its mark, and from version 2 on pointers to it in all whole units. */
static void set(struct map *map, uint32_t start, uint32_t end)
{
	map->units[start / 256] |= (start % 32 / 4 + 1) << (28 - start % 256 / 32 * 4);
	for (uint32_t unit = start / 256 + 1; map->version >= 2 && unit < end / 256; unit++)
		map->units[unit] = (start & ~15u) | ((start & 15) / 4 + 9);
}

/* Bodies shorter than a unit and longer than several; each begins in 32 bytes of its own. */
static void fill(struct map *map, uint32_t version, unsigned int seed)
{
	uint32_t at = 0;

	*map = (struct map){ .version = version };
	srand(seed);
	for (int i = 0; i < BODIES; i++) {
		at += (uint32_t)(rand() % 8) * 4;
		map->starts[i] = at;
		at = (at + 64 + (uint32_t)rand() % (i % 3 ? 100 : 3000)) & ~31u;
	}
	for (int i = 0; i < BODIES; i++)
		set(map, map->starts[i], i + 1 < BODIES ? map->starts[i + 1] : UNITS * 256);
}

/* As the unwinder does. */
static uint64_t find(const struct map *map, uint32_t offset)
{
	uint32_t index = offset / 256;
	uint32_t unit = nibble_before(map->version, map->units[index], offset % 256);
	uint64_t start = nibble_last(map->version, BASE, index, unit);

	while (!start && index-- > 0)
		start = nibble_last(map->version, BASE, index, map->units[index]);
	return start;
}

static uint64_t expected(const struct map *map, uint32_t offset)
{
	uint64_t start = 0;

	for (int i = 0; i < BODIES; i++) {
		if (map->starts[i] <= offset)
			start = BASE + map->starts[i];
	}
	return start;
}

UNIT_TEST(every_address)
{
	for (uint32_t version = 1; version <= 2; version++) {
		for (unsigned int seed = 0; seed < 50; seed++) {
			struct map map;

			fill(&map, version, seed);
			for (uint32_t offset = 0; offset < UNITS * 256; offset++)
				assert_int_equal(find(&map, offset), expected(&map, offset));
		}
	}
}

UNIT_TEST(every_mark)
{
	for (uint32_t version = 1; version <= 2; version++) {
		struct map map;
		int found = 0;

		fill(&map, version, 1);
		for (uint32_t i = 0; i < UNITS * NIBBLES_OF_UNIT; i++) {
			uint32_t unit = map.units[i / NIBBLES_OF_UNIT],
				 number = i % NIBBLES_OF_UNIT;
			uint32_t nibble = unit >> nibble_shift(number) & NIBBLE_MASK;

			if (!nibble || nibble_is_pointer(version, unit))
				continue;
			assert_true(found < BODIES);
			assert_int_equal(nibble_start(BASE, i / NIBBLES_OF_UNIT, number, nibble),
					 BASE + map.starts[found++]);
		}
		assert_int_equal(found, BODIES);
	}
}

/* Only version 2 has pointers; what makes no sense is not found behind where it is looked for. */
UNIT_TEST(odd_units)
{
	assert_true(nibble_is_pointer(2, 0x1239));
	assert_true(nibble_is_pointer(2, 0xffffffff));
	assert_false(nibble_is_pointer(2, 0x1238));
	assert_false(nibble_is_pointer(1, 0x1239));
	assert_int_equal(nibble_last(2, BASE, 40, 0x123a), BASE + 0x1230 + 4);
	assert_int_equal(nibble_last(1, BASE, 40, 0x1239), BASE + 40 * 256 + 7 * 32 + 8 * 4);
	assert_int_equal(nibble_last(1, BASE, 40, 0), 0);
	assert_int_equal(nibble_before(1, 0x0000000f, 255), 0);
	assert_int_equal(nibble_before(1, 0x80000000, 27), 0);
	assert_int_equal(nibble_before(1, 0x80000000, 28), 0x80000000);
	assert_int_equal(nibble_before(2, 0x1239, 0), 0x1239);
}

UNIT_MAIN(NULL, NULL)
