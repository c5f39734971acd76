// SPDX-License-Identifier: GPL-2.0-or-later
/* From native offsets to IL offsets, for lines of source: called by frame_names.c's lines. */
#include "runtime/dotnet/debug_info.h"

enum {
	NIBBLE_BITS = 4,
	NIBBLE_VALUE_BITS = 3,
	NIBBLE_MORE = 8,
	NIBBLES_OF_NUMBER = 11, /* 32 bits, 3 in each */

	SOURCE_CALL = 0x10, /* ICorDebugInfo::CALL_INSTRUCTION */
	PACKED_SOURCE_BITS = 2,
	SIZED_SOURCE_BITS = 3,
	PACKED_SOURCE_CALL = 1, /* the same there */
	WIDTH_MAX = 32,
};

/* IL offsets that are none (ICorDebugInfo::MappingTypes); all are kept with this added. */
enum { IL_UNMAPPED = -1, IL_PROLOG = -2, IL_EPILOG = -3, IL_BIAS = -3 };

#define HAS_INSTRUMENTED_BOUNDS 0xffffffffU

struct entry {
	uint32_t native;
	int32_t il;
	bool is_call; /* only says where a call is, within what another entry covers */
};

/* The reader of both formats: nibbles, and in the newer one then bits. */
struct reader {
	struct cursor c;
	uint64_t bits; /* that were taken from @c and not yet used */
	unsigned int count;
	unsigned int native_width; /* of the newer format */
	unsigned int il_width;
	uint32_t native; /* of the last entry */
};

static uint32_t take_bits(struct reader *reader, unsigned int width)
{
	uint32_t value;

	while (reader->count < width && cursor_ok(&reader->c)) {
		reader->bits |= (uint64_t)cursor_u8(&reader->c) << reader->count;
		reader->count += 8;
	}
	value = (uint32_t)(reader->bits & ((1ULL << width) - 1));
	reader->bits >>= width;
	reader->count = reader->count > width ? reader->count - width : 0;
	return value;
}

/* The upper bits come first. */
static uint32_t take_number(struct reader *reader)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < NIBBLES_OF_NUMBER; i++) {
		uint32_t nibble = take_bits(reader, NIBBLE_BITS);

		value = value << NIBBLE_VALUE_BITS | (nibble & (NIBBLE_MORE - 1));
		if (!(nibble & NIBBLE_MORE))
			return value;
	}
	reader->c.bad = true;
	return 0;
}

/*
 * Of bounds and variables; or first 0, then those, of bounds before a profiler has put in
 * something, and of three other things. Where what is not a profiler's lies then is not known.
 */
static bool read_sizes(struct reader *reader, struct debug_info_bounds *bounds)
{
	enum { OTHERS = 3 };
	uint32_t first = take_number(reader), uninstrumented = 0;

	bounds->size = first ? first : take_number(reader);
	(void)take_number(reader);
	if (!first) {
		uninstrumented = take_number(reader);
		for (int i = 0; i < OTHERS; i++)
			(void)take_number(reader);
	}
	bounds->offset = (uint32_t)cursor_offset(&reader->c);
	return cursor_ok(&reader->c) && bounds->size > 0 && !uninstrumented;
}

bool debug_info_read_head(struct span bytes, enum debug_info_format format,
			  struct debug_info_bounds *bounds)
{
	struct reader reader = { .c = cursor_over(bytes) };
	uint32_t before = 0;

	if (format == DEBUG_INFO_SIZED)
		return read_sizes(&reader, bounds);
	bounds->size = take_number(&reader);
	/* What a profiler has put in comes first, and is not what the compiler wrote lines of. */
	if (format == DEBUG_INFO_PACKED && bounds->size == HAS_INSTRUMENTED_BOUNDS) {
		before = take_number(&reader);
		bounds->size = take_number(&reader);
	}
	(void)take_number(&reader); /* how much is said of variables */
	bounds->offset = (uint32_t)cursor_offset(&reader.c) + before;
	return cursor_ok(&reader.c) && bounds->size > 0 && bounds->offset >= before;
}

static bool begin(struct reader *reader, enum debug_info_format format, uint32_t *count)
{
	*count = take_number(reader);
	if (format == DEBUG_INFO_NIBBLES)
		return cursor_ok(&reader->c);
	reader->native_width = take_number(reader) + 1;
	reader->il_width = take_number(reader) + 1;
	/* The bits begin with a byte of their own. */
	reader->bits = reader->count = 0;
	return cursor_ok(&reader->c) && reader->native_width - 1 < WIDTH_MAX &&
	       reader->il_width - 1 < WIDTH_MAX;
}

static bool next(struct reader *reader, enum debug_info_format format, struct entry *entry)
{
	uint32_t source;

	if (format == DEBUG_INFO_NIBBLES) {
		reader->native += take_number(reader);
		entry->il = (int32_t)(take_number(reader) + (uint32_t)IL_BIAS);
		source = take_number(reader);
		entry->is_call = source & SOURCE_CALL;
	} else {
		source = take_bits(reader, format == DEBUG_INFO_PACKED ? PACKED_SOURCE_BITS :
									 SIZED_SOURCE_BITS);
		reader->native += take_bits(reader, reader->native_width);
		entry->il = (int32_t)(take_bits(reader, reader->il_width) + (uint32_t)IL_BIAS);
		entry->is_call = source & PACKED_SOURCE_CALL;
	}
	entry->native = reader->native;
	return cursor_ok(&reader->c);
}

/* Where several begin at one place, the runtimes differ in which of them it is. */
static bool replaces(const struct entry *entry, const struct entry *found,
		     enum debug_info_format format)
{
	if (entry->native > found->native || format == DEBUG_INFO_NIBBLES)
		return true;
	return entry->il < found->il && entry->il != IL_UNMAPPED;
}

bool debug_info_find_il(struct span bounds, enum debug_info_format format, uint32_t native_offset,
			uint32_t *il_offset)
{
	struct reader reader = { .c = cursor_over(bounds) };
	struct entry entry, found = { .il = IL_PROLOG };
	int32_t greatest = 0;
	uint32_t count;
	bool any = false;

	if (!begin(&reader, format, &count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!next(&reader, format, &entry))
			return false;
		if (entry.il > greatest)
			greatest = entry.il;
		if (entry.is_call || entry.native > native_offset)
			continue;
		if (!any || replaces(&entry, &found, format))
			found = entry;
		any = true;
	}
	*il_offset = found.il == IL_EPILOG ? (uint32_t)greatest :
		     found.il < 0	   ? 0 :
					     (uint32_t)found.il;
	return count > 0;
}
