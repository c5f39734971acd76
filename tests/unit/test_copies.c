// SPDX-License-Identifier: GPL-2.0-or-later
/* copies.c: memory that comes in pieces, which may be missing, or be none of what was asked for. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "follow/jit/compilations.h"

enum { AT = 0x1000, SIZE = FOLLOW_CHUNK_BYTES + 100 };

static const struct hold_copy ranges[FOLLOW_COPIES] = { { AT, SIZE }, { 0x9000, 12 } };

static struct copy *add(struct copies *copies, uint64_t hold)
{
	const struct compile_event event = { .head = { .hold = hold } };

	return copies_add(copies, &event, ranges);
}

static void send(struct copies *copies, uint64_t hold, uint32_t copy, uint32_t at, uint32_t size)
{
	struct chunk_event chunk = { .for_hold = hold, .copy = copy, .at = at, .size = size };

	memset(chunk.bytes, 'a' + (int)copy, sizeof(chunk.bytes));
	copies_take(copies, &chunk);
}

UNIT_TEST(in_pieces)
{
	_cleanup_(copies_deinit) struct copies copies = { 0 };
	struct copy *copy = add(&copies, 5);
	struct span bytes;

	assert_non_null(copy);
	assert_ptr_equal(copies_find(&copies, 5), copy);
	assert_null(copies_find(&copies, 6));
	assert_null(copies_find(&copies, 0));
	send(&copies, 5, 0, 0, FOLLOW_CHUNK_BYTES);
	assert_null(copy_bytes(copy, 0).start);
	send(&copies, 5, 1, 0, 12);
	send(&copies, 5, 0, FOLLOW_CHUNK_BYTES, 100);
	bytes = copy_bytes(copy, 0);
	assert_int_equal(bytes.size, SIZE);
	assert_int_equal(bytes.start[0], 'a');
	assert_int_equal(bytes.start[SIZE - 1], 'a');
	assert_int_equal(copy_bytes(copy, 1).start[11], 'b');
}

UNIT_TEST(what_does_not_fit)
{
	_cleanup_(copies_deinit) struct copies copies = { 0 };
	struct copy *copy = add(&copies, 5);

	assert_non_null(copy);
	send(&copies, 6, 0, 0, FOLLOW_CHUNK_BYTES);
	send(&copies, 5, 0, SIZE, 1);
	send(&copies, 5, 0, SIZE - 1, 2);
	send(&copies, 5, 0, UINT32_MAX, 2);
	send(&copies, 5, 0, 0, FOLLOW_CHUNK_BYTES + 1);
	send(&copies, 5, 1, 0, 13);
	/* The range's number is bounded, too: this is the first again. */
	send(&copies, 5, FOLLOW_COPIES, 0, 1);
	assert_int_equal(copy->ranges[0].got, 1);
	assert_int_equal(copy->ranges[1].got, 0);
	assert_null(copy_bytes(copy, 0).start);
	assert_null(copy_bytes(copy, 1).start);
}

UNIT_TEST(too_large)
{
	const struct hold_copy large[FOLLOW_COPIES] = { { AT, 16 },
							{ AT, FOLLOW_COPY_MAX_BYTES + 1 } };
	const struct compile_event event = { .head = { .hold = 3 } };
	_cleanup_(copies_deinit) struct copies copies = { 0 };

	assert_null(copies_add(&copies, &event, large));
	assert_null(copies_find(&copies, 3));
}

/* Who never answers does not keep others out for ever. */
UNIT_TEST(full)
{
	_cleanup_(copies_deinit) struct copies copies = { 0 };
	struct copy *copy;

	for (uint64_t i = 1; i <= COPIES_MAX; i++)
		assert_non_null(add(&copies, i));
	assert_null(add(&copies, 100));
	copies_find(&copies, 7)->asked_ns -= 60ULL * NS_PER_S;
	copy = add(&copies, 100);
	assert_non_null(copy);
	assert_null(copies_find(&copies, 7));
	copy_drop(copy);
	assert_null(copies_find(&copies, 100));
}

UNIT_MAIN(NULL, NULL)
