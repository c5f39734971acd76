/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug info of a body, as the runtime packs it, by an encoder of the tests' own. */
#ifndef TESTS_UNIT_WRITTEN_DEBUG_INFO_H
#define TESTS_UNIT_WRITTEN_DEBUG_INFO_H

#include "runtime/dotnet/debug_info.h"
#include "tests/unit/clr_world.h"

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

struct writer {
	uint8_t bytes[ROOM];
	size_t bit;
};

static inline void put_bits(struct writer *to, uint32_t value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++, to->bit++) {
		if (to->bit >= sizeof(to->bytes) * 8)
			abort();
		to->bytes[to->bit / 8] |= (uint8_t)((value >> i & 1) << to->bit % 8);
	}
}

static inline void put_number(struct writer *to, uint32_t value)
{
	unsigned int more = 0;

	while (more < 30 && value >> more > 7)
		more += 3;
	for (; more > 0; more -= 3)
		put_bits(to, (value >> more & 7) | 8, 4);
	put_bits(to, value & 7, 4);
}

static inline void flush(struct writer *to)
{
	to->bit = (to->bit + 7) / 8 * 8;
}

static inline void put_entries(struct writer *to, enum debug_info_format format)
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

static inline struct span written(const struct writer *writer)
{
	return (struct span){ writer->bytes, writer->bit / 8 };
}

/* What a profiler has put in comes first. */
static inline struct writer whole(enum debug_info_format format, bool instrumented)
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

/* What the runtime keeps before it: a patchpoint's locals, what the JIT says of inlined methods. */
static inline uint64_t put_info(struct world *world, bool patchpoint, bool rich)
{
	enum { LOCALS = 3, RICH_BYTES = 7, EXTRA_PATCHPOINT = 1, EXTRA_RICH = 2 };
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

#endif
