// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug info of both formats, written by an encoder of the test's own, and found in a runtime made
 * of bytes.
 */
#include "tests/unit/jit_fixture.h"
#include "tests/unit/written_debug_info.h"

static const struct {
	uint32_t native;
	uint32_t il;
} expected[] = {
	{ 0x00, 0 },	 { 0x07, 0 },  { 0x08, 0 },	{ 0x10, 0 },
	{ 0x1f, 0 },	 { 0x20, 9 },  { 0x28, 9 },	{ 0x2f, 9 },
	{ 0x30, 0 },	 { 0x3f, 0 },  { 0x40, 0x405 }, { 0x5f, 0x405 },
	{ 0x60, 0x405 }, { 0x70, 20 }, { 0x7f, 20 },	{ UINT32_MAX, 20 },
};

/* With the sizes of all parts, of which none but the first are there. */
static struct writer sized(uint32_t uninstrumented)
{
	struct writer bounds = { .bit = 0 }, info = { .bit = 0 };
	const uint32_t others[] = { 1000, uninstrumented, 76, 3, 1 };

	put_entries(&bounds, DEBUG_INFO_SIZED);
	put_number(&info, 0);
	put_number(&info, (uint32_t)(bounds.bit / 8));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		put_number(&info, others[i]);
	flush(&info);
	memcpy(info.bytes + info.bit / 8, bounds.bytes, bounds.bit / 8);
	info.bit += bounds.bit;
	return info;
}

static void check_info(enum debug_info_format format, struct writer info)
{
	struct debug_info_bounds bounds;
	struct span bytes;
	uint32_t il;

	assert_true(debug_info_read_head(written(&info), format, &bounds));
	bytes = span_part(written(&info), bounds.offset, bounds.size);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_true(debug_info_find_il(bytes, format, expected[i].native, &il));
		assert_int_equal(il, expected[i].il);
	}
	for (size_t size = 0; size < bytes.size; size++)
		assert_false(
			debug_info_find_il((struct span){ bytes.start, size }, format, 0, &il));
}

static void check(enum debug_info_format format, bool instrumented)
{
	check_info(format, whole(format, instrumented));
}

UNIT_TEST(nibbles)
{
	check(DEBUG_INFO_NIBBLES, false);
}

UNIT_TEST(packed)
{
	check(DEBUG_INFO_PACKED, false);
	check(DEBUG_INFO_PACKED, true);
}

UNIT_TEST(sized_parts)
{
	struct writer of_profiler = sized(20);
	struct debug_info_bounds bounds;

	check(DEBUG_INFO_SIZED, false);
	check_info(DEBUG_INFO_SIZED, sized(0));
	assert_false(debug_info_read_head(written(&of_profiler), DEBUG_INFO_SIZED, &bounds));
}

/* Examples of the runtime's sources (inc/nibblestream.h), where those of 64 and 65 are wrong. */
UNIT_TEST(nibbles_of_numbers)
{
	static const struct {
		uint8_t bytes[4];
		uint32_t value;
	} cases[] = {
		{ { 0x01 }, 1 },	 { { 0x07 }, 7 },	  { { 0x09 }, 8 },
		{ { 0x7f }, 63 },	 { { 0x89, 0x00 }, 64 },  { { 0x89, 0x01 }, 65 },
		{ { 0xff, 0x07 }, 511 }, { { 0x89, 0x08 }, 512 }, { { 0x89, 0x18 }, 513 },
	};
	struct debug_info_bounds bounds;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(debug_info_read_head((struct span){ cases[i].bytes, 4 },
						 DEBUG_INFO_NIBBLES, &bounds));
		assert_int_equal(bounds.size, cases[i].value);
	}
}

UNIT_TEST(damaged)
{
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00, 0x00, 0x00 };
	static const uint8_t wide[] = { 0x01, 0xcc, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	const enum debug_info_format formats[] = { DEBUG_INFO_NIBBLES, DEBUG_INFO_PACKED,
						   DEBUG_INFO_SIZED };
	struct debug_info_bounds bounds;
	uint32_t il;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		assert_false(debug_info_read_head((struct span){ endless, sizeof(endless) },
						  formats[i], &bounds));
		assert_false(debug_info_read_head((struct span){ 0 }, formats[i], &bounds));
		assert_false(debug_info_find_il((struct span){ huge, sizeof(huge) }, formats[i], 0,
						&il));
	}
	assert_false(
		debug_info_find_il((struct span){ wide, sizeof(wide) }, DEBUG_INFO_PACKED, 0, &il));
}

static void check_body(struct fixture *f, uint64_t body)
{
	uint32_t il;

	jit_recheck_begin(f->jit);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_true(jit_find_il(f->jit, (struct address){ body }, expected[i].native, &il));
		assert_int_equal(il, expected[i].il);
	}
}

EACH_VERSION(of_bodies, struct fixture *f)
{
	uint64_t body = world_body(&f->world, &f->heap, 0x80, f->add);
	uint64_t header = world_code_header(&f->world, body);
	uint32_t il;

	look(f);
	for (int extras = 0; extras < 4; extras++) {
		world_set(&f->world, header, CODE_DEBUG_INFO,
			  put_info(&f->world, extras & 1, extras & 2), 8);
		check_body(f, body);
	}
	world_set(&f->world, header, CODE_DEBUG_INFO, 0, 8);
	jit_recheck_begin(f->jit);
	assert_false(jit_find_il(f->jit, (struct address){ body }, 0, &il));
	world_set(&f->world, header, CODE_DEBUG_INFO, 0x1000, 8);
	jit_recheck_begin(f->jit);
	assert_false(jit_find_il(f->jit, (struct address){ body }, 0, &il));
}

/* Sizes that make no sense are not read, and not gone by. */
EACH_VERSION(of_damaged_bodies, struct fixture *f)
{
	uint64_t body = world_body(&f->world, &f->heap, 0x80, f->add);
	uint64_t header = world_code_header(&f->world, body),
		 info = put_info(&f->world, true, true);
	uint32_t il;

	look(f);
	world_set(&f->world, header, CODE_DEBUG_INFO, info, 8);
	for (uint8_t flags = 4; flags; flags = (uint8_t)(flags << 1)) {
		world_put(&f->world, info, flags, 1);
		jit_recheck_begin(f->jit);
		assert_false(jit_find_il(f->jit, (struct address){ body }, 0, &il));
	}
	world_put(&f->world, info, 1, 1);
	world_set(&f->world, info + 1, PATCHPOINT_LOCALS, UINT32_MAX, 4);
	jit_recheck_begin(f->jit);
	assert_false(jit_find_il(f->jit, (struct address){ body }, 0, &il));
	world_put(&f->world, info, 2, 1);
	world_put(&f->world, info + 1, UINT32_MAX, 4);
	jit_recheck_begin(f->jit);
	assert_false(jit_find_il(f->jit, (struct address){ body }, 0, &il));
}

UNIT_MAIN(NULL, NULL)
