// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug info of both formats, written by an encoder of the test's own, and found in a runtime made
 * of bytes.
 */
#include "runtime/dotnet/debug_info.h"
#include "tests/unit/jit_fixture.h"

enum {
	NO_MAPPING = -1,
	PROLOG = -2,
	EPILOG = -3,
	ROOM = 256,
	CALL = 1, /* as packed, and of entry.source */
	STACK_EMPTY = 2,
	NIBBLES_CALL = 0x10, /* CALL_INSTRUCTION */
	NIBBLES_EMPTY = 2,   /* STACK_EMPTY */
	NATIVE_BITS = 9,
	IL_BITS = 13,
};

struct mapping_entry {
	uint32_t native;
	int32_t il;
	unsigned int source;
};

/* A method of 0x80 bytes: two statements, a call within the first, code of nothing, the end. */
static const struct mapping_entry entries[] = {
	{ 0x00, PROLOG, STACK_EMPTY },
	{ 0x08, 0, STACK_EMPTY },
	{ 0x10, 3, CALL },
	{ 0x20, 9, STACK_EMPTY },
	{ 0x28, 800, STACK_EMPTY | CALL },
	{ 0x30, NO_MAPPING, STACK_EMPTY },
	{ 0x40, 0x405, STACK_EMPTY },
	{ 0x60, EPILOG, STACK_EMPTY },
	{ 0x70, 20, STACK_EMPTY },
};

static const struct {
	uint32_t native;
	uint32_t il;
} expected[] = {
	{ 0x00, 0 },	 { 0x07, 0 },  { 0x08, 0 },	{ 0x10, 0 },
	{ 0x1f, 0 },	 { 0x20, 9 },  { 0x28, 9 },	{ 0x2f, 9 },
	{ 0x30, 0 },	 { 0x3f, 0 },  { 0x40, 0x405 }, { 0x5f, 0x405 },
	{ 0x60, 0x405 }, { 0x70, 20 }, { 0x7f, 20 },	{ UINT32_MAX, 20 },
};

struct writer {
	uint8_t bytes[ROOM];
	size_t bit;
};

static void put_bits(struct writer *to, uint32_t value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++, to->bit++) {
		assert_true(to->bit < sizeof(to->bytes) * 8);
		to->bytes[to->bit / 8] |= (uint8_t)((value >> i & 1) << to->bit % 8);
	}
}

static void put_number(struct writer *to, uint32_t value)
{
	unsigned int more = 0;

	while (more < 30 && value >> more > 7)
		more += 3;
	for (; more > 0; more -= 3)
		put_bits(to, (value >> more & 7) | 8, 4);
	put_bits(to, value & 7, 4);
}

static void flush(struct writer *to)
{
	to->bit = (to->bit + 7) / 8 * 8;
}

static void put_entries(struct writer *to, enum debug_info_format format)
{
	size_t count = sizeof(entries) / sizeof(entries[0]);
	uint32_t last = 0;

	put_number(to, (uint32_t)count);
	if (format != DEBUG_INFO_NIBBLES) {
		put_number(to, NATIVE_BITS - 1);
		put_number(to, IL_BITS - 1);
		flush(to);
	}
	for (size_t i = 0; i < count; i++) {
		const struct mapping_entry *entry = &entries[i];

		if (format != DEBUG_INFO_NIBBLES) {
			put_bits(to, entry->source, format == DEBUG_INFO_PACKED ? 2 : 3);
			put_bits(to, entry->native - last, NATIVE_BITS);
			put_bits(to, (uint32_t)(entry->il + 3), IL_BITS);
		} else {
			put_number(to, entry->native - last);
			put_number(to, (uint32_t)(entry->il + 3));
			put_number(to, (entry->source & CALL ? NIBBLES_CALL : 0) |
					       (entry->source & STACK_EMPTY ? NIBBLES_EMPTY : 0));
		}
		last = entry->native;
	}
	flush(to);
}

static struct span written(const struct writer *writer)
{
	return (struct span){ writer->bytes, writer->bit / 8 };
}

/* What a profiler has put in comes first. */
static struct writer whole(enum debug_info_format format, bool instrumented)
{
	struct writer bounds = { .bit = 0 }, info = { .bit = 0 };

	put_entries(&bounds, format);
	if (instrumented) {
		put_number(&info, UINT32_MAX);
		put_number(&info, 5);
	}
	put_number(&info, (uint32_t)(bounds.bit / 8));
	put_number(&info, 1000); /* of variables, which are not looked at */
	flush(&info);
	if (instrumented)
		info.bit += 5 * 8;
	memcpy(info.bytes + info.bit / 8, bounds.bytes, bounds.bit / 8);
	info.bit += bounds.bit;
	return info;
}

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

/* What the runtime keeps before it: a patchpoint's locals, what the JIT says of inlined methods. */
static uint64_t put_info(struct fixture *f, bool patchpoint, bool rich)
{
	enum { LOCALS = 3, RICH_BYTES = 7, EXTRA_PATCHPOINT = 1, EXTRA_RICH = 2 };
	struct world *world = &f->world;
	struct writer info = whole(world->layout.debug_info, false);
	uint64_t start = world_alloc(world, 2 * ROOM), at = start;

	world_put(world, at++, (patchpoint ? EXTRA_PATCHPOINT : 0) | (rich ? EXTRA_RICH : 0), 1);
	if (patchpoint) {
		world_set(world, at, PATCHPOINT_LOCALS, LOCALS, 4);
		at = world_field(world, at, PATCHPOINT_SIZE) + LOCALS * 4;
	}
	if (rich) {
		world_put(world, at, RICH_BYTES, 4);
		at += 4 + RICH_BYTES;
	}
	for (size_t i = 0; i < info.bit / 8; i++)
		world_put(world, at + i, info.bytes[i], 1);
	return start;
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
	uint64_t header = world_get(&f->world, body - 8, 8);
	uint32_t il;

	look(f);
	for (int extras = 0; extras < 4; extras++) {
		world_set(&f->world, header, CODE_DEBUG_INFO, put_info(f, extras & 1, extras & 2),
			  8);
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
	uint64_t header = world_get(&f->world, body - 8, 8), info = put_info(f, true, true);
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
