// SPDX-License-Identifier: GPL-2.0-or-later
/* Pieces of memory on their way from the programs (follow.c) to those who have asked for them. */
#include "follow/jit/compilations.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* No thread is held for so long: what has not come by then does not come any more. */
enum { COPY_MAX_MS = 10000 };

static struct copy *find_room(struct copies *copies)
{
	uint64_t now = clock_now_ns();

	for (struct copy *copy = copies->copies; copy < copies->copies + COPIES_MAX; copy++) {
		if (copy->hold && now - copy->asked_ns > (uint64_t)COPY_MAX_MS * NS_PER_MS)
			copy_drop(copy);
		if (!copy->hold)
			return copy;
	}
	return NULL;
}

struct copy *copies_add(struct copies *copies, const struct compile_event *event,
			const struct hold_copy ranges[FOLLOW_COPIES])
{
	struct copy *copy = find_room(copies);

	if (!copy)
		return NULL;
	for (size_t i = 0; i < FOLLOW_COPIES; i++) {
		if (ranges[i].size == 0)
			continue;
		if (ranges[i].size <= FOLLOW_COPY_MAX_BYTES)
			copy->ranges[i].bytes = calloc(1, ranges[i].size);
		if (!copy->ranges[i].bytes) {
			copy_drop(copy);
			return NULL;
		}
		copy->ranges[i].size = ranges[i].size;
		copy->at[i] = ranges[i].at;
	}
	copy->hold = event->head.hold;
	copy->asked_ns = clock_now_ns();
	copy->event = *event;
	return copy;
}

struct copy *copies_find(struct copies *copies, uint64_t hold)
{
	for (size_t i = 0; hold && i < COPIES_MAX; i++) {
		if (copies->copies[i].hold == hold)
			return &copies->copies[i];
	}
	return NULL;
}

void copies_take(struct copies *copies, const struct chunk_event *chunk)
{
	struct copy *copy = copies_find(copies, chunk->for_hold);
	struct copied *range = copy ? &copy->ranges[chunk->copy % FOLLOW_COPIES] : NULL;

	if (!range || chunk->size > FOLLOW_CHUNK_BYTES || chunk->at > range->size ||
	    chunk->size > range->size - chunk->at)
		return;
	memcpy(range->bytes + chunk->at, chunk->bytes, chunk->size);
	range->got += chunk->size;
}

struct span copy_bytes(const struct copy *copy, size_t range)
{
	const struct copied *copied = &copy->ranges[range];

	return copied->got == copied->size ? (struct span){ copied->bytes, copied->size } :
					     (struct span){ 0 };
}

void copy_drop(struct copy *copy)
{
	for (size_t i = 0; i < FOLLOW_COPIES; i++)
		free(copy->ranges[i].bytes);
	*copy = (struct copy){ 0 };
}

void copies_deinit(struct copies *copies)
{
	for (size_t i = 0; i < COPIES_MAX; i++)
		copy_drop(&copies->copies[i]);
}
