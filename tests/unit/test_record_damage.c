// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records that are cut, damaged, foreign, of a later version, or made to do harm: each is told as
 * what it is, and what was before the damage is read.
 */
#include "base/cleanup.h"
#include "record_fixture.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

#include "record/blocks.h"
#include "record/format.h"
#include "record/numbers.h"
#include "tests/unit/scratch.h"

static uint8_t *record;
static size_t record_size;

/* Where each block ends; the first of them is the header's. */
static size_t ends[BLOCKS_OF_HITS + 4], end_count;

static uint32_t u32_at(const uint8_t *at)
{
	struct cursor c = cursor_over((struct span){ at, 4 });

	return cursor_u32(&c);
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes = malloc(1 << 20);

	assert_non_null(file);
	assert_non_null(bytes);
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static int set_up(void **state)
{
	if (scratch_make(state))
		return -1;
	make_record(scratch_path("record"));
	record = read_file(scratch_path("record"), &record_size);
	for (size_t at = RECORD_HEADER_BYTES; at <= record_size;) {
		ends[end_count++] = at;
		if (at == record_size)
			break;
		at += RECORD_BLOCK_HEADER_BYTES + u32_at(record + at + 8);
	}
	/* The facts, the hits, and the end. */
	return end_count == BLOCKS_OF_HITS + 3 ? 0 : -1;
}

static int tear_down(void **state)
{
	free(record);
	return scratch_remove(state);
}

/* How many blocks of hits are whole in the first @size bytes. */
static size_t hits_within(size_t size)
{
	size_t blocks = 0;

	for (size_t i = 2; i < BLOCKS_OF_HITS + 2; i++)
		blocks += ends[i] <= size;
	return blocks * HITS_OF_BLOCK;
}

UNIT_TEST(whole)
{
	struct seen seen;

	assert_int_equal(see(record, record_size, &seen), 0);
	assert_int_equal(seen.hits, BLOCKS_OF_HITS * HITS_OF_BLOCK);
	assert_int_equal(seen.summaries, 1);
	assert_true(seen.end.whole && seen.end.summarized && !seen.end.lossy);
}

UNIT_TEST(cut_at_each_byte)
{
	struct seen seen;

	for (size_t size = 0; size < record_size; size++) {
		int expected = size < RECORD_MAGIC_BYTES ? -EINVAL : -ENODATA;

		assert_int_equal(see(record, size, &seen), expected);
		assert_int_equal(seen.hits, hits_within(size));
		assert_false(seen.summaries || seen.end.whole);
		assert_true(seen.err.text[0]);
	}
}

UNIT_TEST(each_byte_changed)
{
	static const uint8_t changes[] = { 0x01, 0x80, 0xff };
	_cleanup_free_ uint8_t *copy = malloc(record_size);
	struct seen seen;

	assert_non_null(copy);
	for (size_t at = 0; at < record_size; at++) {
		for (size_t i = 0; i < sizeof(changes); i++) {
			memcpy(copy, record, record_size);
			copy[at] ^= changes[i];
			assert_true(see(copy, record_size, &seen) < 0);
			assert_int_equal(seen.hits, hits_within(at));
			assert_false(seen.summaries);
			assert_true(seen.err.text[0]);
		}
	}
}

UNIT_TEST(a_block_is_missing_or_comes_twice)
{
	_cleanup_free_ uint8_t *copy = malloc(2 * record_size);
	struct seen seen;
	size_t block = ends[3] - ends[2];

	assert_non_null(copy);
	memcpy(copy, record, ends[2]);
	memcpy(copy + ends[2], record + ends[3], record_size - ends[3]);
	assert_int_equal(see(copy, record_size - block, &seen), -EBADMSG);
	assert_int_equal(seen.hits, HITS_OF_BLOCK);
	assert_non_null(strstr(seen.err.text, "block 2, at byte "));
	assert_non_null(strstr(seen.err.text, "is not the one that follows"));
	memcpy(copy, record, ends[3]);
	memcpy(copy + ends[3], record + ends[2], record_size - ends[2]);
	assert_int_equal(see(copy, record_size + block, &seen), -EBADMSG);
	assert_int_equal(seen.hits, 2 * HITS_OF_BLOCK);
}

UNIT_TEST(foreign_files)
{
	static const char *const files[] = { "#!/bin/sh\necho this is no record at all\n",
					     "\x7f"
					     "ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0",
					     "PERFILE2........................" };
	struct seen seen;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(see(files[i], 20, &seen), -EINVAL);
		assert_string_equal(seen.err.text,
				    "it is no record: name a file that --record has written");
	}
}

static void put_u32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static void set_version(uint8_t *bytes, uint16_t major, uint16_t minor)
{
	bytes[8] = (uint8_t)major;
	bytes[10] = (uint8_t)minor;
	put_u32(bytes + 12, (uint32_t)crc32(crc32(0, NULL, 0), bytes, 12));
}

UNIT_TEST(of_a_later_version)
{
	struct seen seen;

	set_version(record, RECORD_MAJOR + 1, 3);
	assert_int_equal(see(record, record_size, &seen), -EPROTONOSUPPORT);
	assert_non_null(strstr(seen.err.text, "it is of format 2.3, and this place-probe"));
	/* What was only added to is read. */
	set_version(record, RECORD_MAJOR, RECORD_MINOR + 1);
	assert_int_equal(see(record, record_size, &seen), 0);
	assert_int_equal(seen.summaries, 1);
	set_version(record, RECORD_MAJOR, RECORD_MINOR);
}

/* Records that are made by hand --------------------------------------------------------------- */

static struct text made;

/* Append a record whose body is @count numbers. */
static void add(enum record_tag tag, const uint64_t *numbers, size_t count)
{
	_cleanup_(text_deinit) struct text body = { 0 };

	for (size_t i = 0; i < count; i++)
		number_add(&body, numbers[i]);
	text_add_char(&made, (char)tag);
	number_add(&made, body.length);
	text_add_bytes(&made, text_chars(&body), body.length);
}

#define ADD(tag, ...)                               \
	add(tag, (const uint64_t[]){ __VA_ARGS__ }, \
	    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void add_string(const char *s)
{
	text_add_char(&made, RECORD_STRING);
	number_add(&made, strlen(s));
	text_add(&made, s);
}

/* What is read of a block with made, behind another with facts. */
static int see_made(struct seen *seen)
{
	struct block_writer blocks;
	struct text facts = { 0 };
	uint8_t *bytes;
	size_t size;
	int result;

	text_add_bytes(&facts, (const char[]){ RECORD_STRING, 1, 'v', RECORD_STRING, 1, 'm' }, 6);
	text_add_bytes(&facts, (const char[17]){ RECORD_FACTS, 15, 1, 2, 1, MODE_HITS, 0, 1 }, 17);
	assert_int_equal(blocks_create(&blocks, scratch_path("made"), NULL), 0);
	assert_int_equal(blocks_write(&blocks, text_chars(&facts), facts.length), 0);
	assert_int_equal(blocks_write(&blocks, text_chars(&made), made.length), 0);
	assert_int_equal(blocks_close(&blocks), 0);
	bytes = read_file(scratch_path("made"), &size);
	result = see(bytes, size, seen);
	free(bytes);
	text_deinit(&facts);
	text_clear(&made);
	return result;
}

UNIT_TEST(made_by_hand)
{
	struct seen seen;

	/* As the writer would; what nobody knows, a record and more in one, is passed over. */
	add_string("thread 0");
	add_string("A::b");
	add_string("outer");
	ADD(RECORD_THREAD, 1, 0, 3);
	ADD(200, 1, 2, 3);
	ADD(RECORD_FRAME, FRAME_NATIVE, 0, 0x1000, 5, 0, 0, 0, 0, 0, 0, 0, 0, 77, 78);
	ADD(RECORD_STACK, STACK_WHOLE, 0, 1, 1 << RECORD_IN_STACK_BITS);
	ADD(RECORD_HIT, 2, 1, 4, 4, 0, 1, 99);
	ADD(RECORD_END, 5);
	assert_int_equal(see_made(&seen), 0);
	assert_int_equal(seen.hits, 1);
}

UNIT_TEST(numbers_that_lead_nowhere)
{
	static const struct {
		enum record_tag tag;
		size_t count;
		uint64_t numbers[16];
	} bad[] = {
		{ RECORD_THREAD, 3, { 1, 1, 4 } },
		{ RECORD_THREAD, 3, { 1, 1, 0 } },
		{ RECORD_FRAME, 12, { FRAME_V8 + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
		{ RECORD_FRAME, 12, { FRAME_NATIVE, 0, 0, UINT64_MAX, 0, 0, 0, 0, 0, 0, 0, 0 } },
		{ RECORD_FRAME, 3, { FRAME_NATIVE, 0, 0 } },
		{ RECORD_STACK, 4, { STACK_ENDS, 0, 1, 4 } },
		{ RECORD_STACK, 4, { STACK_WHOLE, 0, 1, 0 } },
		{ RECORD_STACK, 4, { STACK_WHOLE, 0, 1, 8 } },
		{ RECORD_STACK, 4, { STACK_WHOLE, 0, UINT64_MAX, 4 } },
		{ RECORD_STACK, 4, { STACK_WHOLE, 0, 2, 4 } },
		{ RECORD_HIT, 6, { 0, 0, 1, 1, 0, 0 } },
		{ RECORD_HIT, 6, { 0, 1, 0, 1, 0, 0 } },
		{ RECORD_HIT, 6, { 0, 1, 1, 1, 0, 9 } },
		{ RECORD_HIT, 5, { 0, 1, 1, 1, 0 } },
		{ RECORD_KIND, 7, { 5, 0, 1, 1, 1, 0, 0 } },
		{ RECORD_KIND, 7, { UINT64_MAX, 0, 1, 1, 1, 0, 0 } },
		{ RECORD_KIND_COUNT, 2, { 1, 1 } },
		{ RECORD_KIND_RELEASE, 1, { 0 } },
		{ RECORD_COUNT, 3, { 1, 5, UINT64_MAX } },
		{ RECORD_COUNT, 7, { 1, 5, 0, UINT64_MAX, 1, 1, 1 } },
		{ RECORD_HIST, 14, { 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
		{ RECORD_HIST, 15, { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3 } },
		{ RECORD_HIST, 16, { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, UINT64_MAX, 1 } },
		{ RECORD_SITE, 4, { 0, 1, 1, 1 } },
		{ RECORD_SUMMARY, 3, { 0, 0, UINT64_MAX } },
		{ RECORD_SUMMARY, 4, { 0, 0, 0, UINT64_MAX } },
		{ RECORD_SUMMARY, 7, { 0, 0, 0, 0, 0, 0, 0 } },
		{ RECORD_TARGET, 3, { 1, 1, UINT64_MAX } },
		{ RECORD_MAPPING, 4, { 1, 1, 1, 9 } },
		{ RECORD_FACTS, 1, { 1 } },
	};
	struct seen seen;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		add_string("thread 0");
		ADD(RECORD_THREAD, 1, 0, 1);
		ADD(RECORD_FRAME, FRAME_NATIVE, 0, 0x1000, 0, 0, 0, 0, 0, 0, 0, 0, 0);
		add(bad[i].tag, bad[i].numbers, bad[i].count);
		if (see_made(&seen) != -EBADMSG)
			fail_msg("%zu: %s", i, seen.err.text);
		assert_non_null(strstr(seen.err.text, "its record 7, in block 1, makes"));
		assert_int_equal(seen.hits, 0);
	}
}

/* A record whose length is more than there is, and a number that does not end. */
UNIT_TEST(lengths_that_lie)
{
	struct seen seen;

	text_add_bytes(&made, (const char[]){ RECORD_KEPT, 5 }, 2);
	assert_int_equal(see_made(&seen), -EBADMSG);
	text_add_char(&made, RECORD_KEPT);
	for (int i = 0; i < 11; i++)
		text_add_char(&made, (char)0xff);
	assert_int_equal(see_made(&seen), -EBADMSG);
	text_add_bytes(&made, (const char[]){ RECORD_STRING, 3, 'a', 0, 'b' }, 5);
	assert_int_equal(see_made(&seen), -EBADMSG);
}

UNIT_MAIN(set_up, tear_down)
