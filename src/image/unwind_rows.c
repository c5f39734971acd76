// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list of unwind rows and the frames that they refer to. The same few frames come again and
 * again, so each has a number, found by a hash table that is twice as large as they can be many.
 */
#include "image/unwind_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum { SLOT_BITS = 11, SLOTS = 1 << SLOT_BITS };

_Static_assert((int)SLOTS == 2 * UNWIND_FRAMES_MAX, "half of them stay free");

static uint64_t bits_of(struct unwind_frame frame)
{
	uint64_t bits;

	memcpy(&bits, &frame, sizeof(bits));
	return bits;
}

/* Called for each row there is, so it is quick. */
static uint16_t number_of(struct unwind_frames *frames, struct unwind_frame frame)
{
	const uint64_t bits = bits_of(frame);
	size_t slot = bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS);

	if (!frames->count) {
		frames->count = 1; /* UNWIND_UNKNOWN, which is all zero */
		number_of(frames, (struct unwind_frame){ .rule = UNWIND_UNSUPPORTED });
	}
	if (!bits)
		return 0;
	for (; frames->slots[slot]; slot = (slot + 1) % SLOTS) {
		if (bits_of(frames->frames[frames->slots[slot]]) == bits)
			return frames->slots[slot];
	}
	if (frames->count == UNWIND_FRAMES_MAX)
		return 1;
	frames->frames[frames->count] = frame;
	frames->slots[slot] = (uint16_t)frames->count;
	return (uint16_t)frames->count++;
}

static void add(struct unwind_rows *rows, struct unwind_row row)
{
	const struct unwind_row *last;

	if (rows->count && rows->rows[rows->count - 1].begin == row.begin)
		rows->count--;
	last = rows->count ? &rows->rows[rows->count - 1] : NULL;
	if (last && last->frame == row.frame && last->offset == row.offset)
		return;
	rows->no_memory |= !vector_add(&rows->rows, &rows->count, &rows->capacity, row);
}

void unwind_rows_add(struct unwind_rows *rows, uint32_t begin, struct unwind_frame frame)
{
	struct unwind_row row = { .begin = begin, .offset = frame.offset };

	frame.offset = 0;
	row.frame = number_of(rows->frames, frame);
	add(rows, row);
}

void unwind_rows_add_moved(struct unwind_rows *rows, uint32_t by, const struct unwind_row *more,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct unwind_row row = more[i];

		row.begin += by;
		add(rows, row);
	}
}

int8_t unwind_place(int64_t bytes)
{
	int64_t units = bytes / UNWIND_UNIT;

	return bytes % UNWIND_UNIT || units < INT8_MIN || units >= UNWIND_PLACES ? UNWIND_LOST :
										   (int8_t)units;
}

bool unwind_offset_fits(int64_t bytes)
{
	return bytes % UNWIND_UNIT == 0 && bytes / UNWIND_UNIT >= INT16_MIN &&
	       bytes / UNWIND_UNIT <= INT16_MAX;
}

void unwind_rows_deinit(struct unwind_rows *rows)
{
	free(rows->rows);
	*rows = (struct unwind_rows){ .frames = rows->frames };
}
