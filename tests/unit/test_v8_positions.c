// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <string.h>

#include "runtime/v8/positions.h"

/* Bytes that are put together piece by piece. */
struct bytes {
	uint8_t list[512];
	size_t count;
};

static void put(struct bytes *bytes, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		bytes->list[bytes->count++] = (uint8_t)(value | 0x80);
	bytes->list[bytes->count++] = (uint8_t)value;
}

static void put_signed(struct bytes *bytes, int64_t value)
{
	put(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static struct span span_of(const struct bytes *bytes)
{
	return (struct span){ bytes->list, bytes->count };
}

static struct v8_layout layout_of(unsigned int major, unsigned int minor)
{
	const struct v8_version version = { major, minor, 0, 0 };
	struct v8_layout layout;

	assert_int_equal(v8_layout_init(&layout, &version, NULL, NULL), 0);
	return layout;
}

/* Source positions ------------------------------------------------------------------------ */

/* Where a position in the source is in a SourcePosition. */
static int64_t at_source(int32_t offset)
{
	return ((int64_t)offset + 1) << 1;
}

struct entry {
	int32_t code;
	int32_t source;
	bool statement;
};

static const struct entry entries[] = {
	{ 0, 40, true },
	{ 3, 52, false },
	{ 9, 20, true },
	{ 300, 100000, false },
};
enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

static struct bytes old_table(void)
{
	struct bytes table = { .count = 0 };
	int64_t code = -1, source = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		int64_t delta = entries[i].code - code;

		put_signed(&table, entries[i].statement ? delta : -delta - 1);
		put_signed(&table, at_source(entries[i].source) - source);
		code = entries[i].code;
		source = at_source(entries[i].source);
	}
	return table;
}

static struct bytes new_table(void)
{
	struct bytes table = { .count = 0 };
	int64_t code = -1, source = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		put(&table, (uint64_t)(entries[i].code - code) << 2 | 2 | entries[i].statement);
		put_signed(&table, at_source(entries[i].source) - source);
		code = entries[i].code;
		source = at_source(entries[i].source);
	}
	return table;
}

static void check_table(const struct v8_layout *layout, const struct bytes *table)
{
	static const struct {
		int64_t code;
		int32_t source;
	} expected[] = { { 0, 40 }, { 2, 40 },	 { 3, 52 },	  { 8, 52 },
			 { 9, 20 }, { 299, 20 }, { 300, 100000 }, { 100000, 100000 } };
	uint64_t position;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_true(v8_positions_find(layout, span_of(table), expected[i].code, &position));
		assert_int_equal(v8_position_offset(position), expected[i].source);
		assert_int_equal(v8_position_inlining(position), 0);
	}
	assert_false(v8_positions_find(layout, span_of(table), -1, &position));
	assert_false(v8_positions_find(layout, span_of(table), INT64_MIN, &position));
}

UNIT_TEST(test_both_encodings)
{
	const struct v8_layout before = layout_of(12, 4), from_14 = layout_of(14, 1);
	const struct bytes old = old_table(), new = new_table();
	uint64_t position;

	check_table(&before, &old);
	check_table(&from_14, &new);
	/* One is not the other. */
	assert_false(v8_positions_find(&from_14, span_of(&old), 299, &position) &&
		     v8_position_offset(position) == 20);
}

UNIT_TEST(test_damaged_positions)
{
	const struct v8_layout layout = layout_of(12, 4);
	struct bytes table = old_table(), endless = { .count = 64 };
	uint64_t position;
	size_t found = 0;

	memset(endless.list, 0xff, sizeof(endless.list));
	assert_false(v8_positions_find(&layout, span_of(&endless), 5, &position));
	/* Cut anywhere: between two entries there is one less, within one it is damaged. */
	for (size_t i = 0; i < table.count; i++)
		found +=
			v8_positions_find(&layout, (struct span){ table.list, i }, 1000, &position);
	assert_int_equal(found, ENTRIES - 1);
}

UNIT_TEST(test_inlining)
{
	uint8_t array[32] = { 0 };
	const struct span span = { array, sizeof(array) };
	const uint64_t position = 77ull << 1 | 3ull << 31;
	struct v8_inlining inlining;
	const int32_t literal = 5;

	assert_int_equal(v8_position_offset(position), 76);
	assert_int_equal(v8_position_inlining(position), 3);
	memcpy(array + 16, &position, 8);
	memcpy(array + 24, &literal, 4);
	assert_true(v8_inlining_at(span, 2, &inlining));
	assert_int_equal(inlining.literal, 5);
	assert_int_equal(inlining.position, position);
	assert_false(v8_inlining_at(span, 0, &inlining));
	assert_false(v8_inlining_at(span, 3, &inlining));
	assert_false(v8_inlining_at((struct span){ 0 }, 1, &inlining));
}

/* Baseline code --------------------------------------------------------------------------- */

UNIT_TEST(test_baseline)
{
	/* Sizes of six bytecodes, of which four are prefixes: plain, wide, and extra wide. */
	static const uint8_t sizes[] = { 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 3, 5, 1, 1, 1, 1, 5, 9 };
	static const uint8_t code[] = { 4, 0, /* wide */ 0, 5, 0, 0, 0, 0, 5, 0, 0, 4, 0 };
	static const uint8_t table[] = { 10, 4, 0x80, 2, 6, 8 };
	const struct span deltas = { table, sizeof(table) }, bytecodes = { code, sizeof(code) };
	static const struct {
		uint64_t pc;
		int32_t offset;
	} expected[] = { { 0, -1 },  { 10, -1 }, { 11, 0 },  { 14, 0 },	 { 15, 2 },
			 { 270, 2 }, { 271, 8 }, { 276, 8 }, { 277, 11 } };
	struct v8_layout layout = layout_of(12, 4);
	int32_t offset;

	assert_false(v8_baseline_offset(&layout, deltas, bytecodes, 11, &offset));
	layout.bytecode_sizes = sizes;
	layout.bytecode_count = 6;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_true(
			v8_baseline_offset(&layout, deltas, bytecodes, expected[i].pc, &offset));
		assert_int_equal(offset, expected[i].offset);
	}
	/* Behind the code, and with less bytecode, or fewer kinds of it, than there should be. */
	assert_false(v8_baseline_offset(&layout, deltas, bytecodes, 1000, &offset));
	assert_false(v8_baseline_offset(&layout, deltas, (struct span){ code, 3 }, 280, &offset));
	layout.bytecode_count = 5;
	assert_false(v8_baseline_offset(&layout, deltas, bytecodes, 280, &offset));
	assert_false(v8_baseline_offset(&layout, (struct span){ 0 }, bytecodes, 1, &offset));
}

/* Translations ----------------------------------------------------------------------------- */

static void put_frame(struct bytes *bytes, uint8_t operation, unsigned int operands,
		      const int32_t values[])
{
	bytes->list[bytes->count++] = operation;
	for (unsigned int i = 0; i < operands; i++)
		put_signed(bytes, i < 3 ? values[i] : 1);
}

static void put_value(struct bytes *bytes, uint8_t operation, int32_t value)
{
	bytes->list[bytes->count++] = operation;
	put_signed(bytes, value);
}

static void put_begin(struct bytes *bytes, uint8_t operation, uint64_t back)
{
	bytes->list[bytes->count++] = operation;
	put(bytes, back);
	put(bytes, 2);
	put(bytes, 2);
}

enum { LITERAL = 38, REGISTER = 39, CONSTRUCT = 4, COUNT = 45, MATCH = 44 }; /* of 13.6 */

/* An outer function, and one that it makes something by. */
static struct bytes two_functions(void)
{
	static const int32_t outer[] = { 20, 3, 4 }, inner[] = { 0, -1, 2 }, other[] = { 7, 6, 5 };
	struct bytes bytes = { .count = 0 };

	put_begin(&bytes, 14, 0);
	put_frame(&bytes, 0, 6, outer);
	put_value(&bytes, LITERAL, 8);
	put_value(&bytes, REGISTER, 9);
	put_frame(&bytes, CONSTRUCT, 2, inner);
	put_frame(&bytes, 1, 4, other);
	put_value(&bytes, LITERAL, 10);
	put_value(&bytes, LITERAL, 11);
	return bytes;
}

static void check_two(const struct v8_deopt_frames *frames)
{
	assert_int_equal(frames->count, 2);
	assert_int_equal(frames->frames[0].bytecode_offset, 20);
	assert_int_equal(frames->frames[0].shared, 3);
	assert_int_equal(frames->frames[0].bytecodes, 4);
	assert_int_equal(frames->frames[0].closure, 8);
	assert_int_equal(frames->frames[0].receiver, -1);
	assert_false(frames->frames[0].construct);
	assert_int_equal(frames->frames[1].bytecode_offset, 7);
	assert_int_equal(frames->frames[1].shared, 6);
	assert_int_equal(frames->frames[1].bytecodes, 5);
	assert_int_equal(frames->frames[1].closure, 10);
	assert_int_equal(frames->frames[1].receiver, 11);
	assert_true(frames->frames[1].construct);
}

UNIT_TEST(test_translation)
{
	static const int32_t third[] = { 30, 12, -1 };
	const struct v8_layout layout = layout_of(13, 6);
	struct bytes bytes = two_functions();
	const size_t first = bytes.count;
	struct v8_deopt_frames frames;

	assert_true(v8_translation_frames(&layout, span_of(&bytes), 0, &frames));
	check_two(&frames);
	/* All as in the first but the last value, and a builtin. */
	put_begin(&bytes, 15, first);
	bytes.list[bytes.count++] = COUNT + 6;
	put_value(&bytes, REGISTER, 1);
	put_frame(&bytes, 2, 3, third);
	put_value(&bytes, REGISTER, 1);
	assert_true(v8_translation_frames(&layout, span_of(&bytes), first, &frames));
	assert_int_equal(frames.count, 3);
	assert_int_equal(frames.frames[1].receiver, -1);
	assert_true(frames.frames[2].builtin);
	assert_int_equal(frames.frames[2].shared, 12);
	frames.frames[1].receiver = 11;
	frames.count = 2;
	check_two(&frames);
}

UNIT_TEST(test_translation_by_count)
{
	const struct v8_layout layout = layout_of(14, 6);
	struct bytes bytes = two_functions();
	const size_t first = bytes.count;
	struct v8_deopt_frames frames;

	put_begin(&bytes, 15, first);
	bytes.list[bytes.count++] = MATCH;
	put(&bytes, 7);
	assert_true(v8_translation_frames(&layout, span_of(&bytes), first, &frames));
	check_two(&frames);
	/* One more than there are. */
	bytes.list[bytes.count - 1] = 8;
	assert_false(v8_translation_frames(&layout, span_of(&bytes), first, &frames));
}

UNIT_TEST(test_older_translations)
{
	static const int32_t values[] = { 20, 3, 0 };
	const struct v8_layout v12 = layout_of(12, 4), v11 = layout_of(11, 3),
			       v10 = layout_of(10, 2), v9 = layout_of(9, 3);
	struct bytes bytes = { .count = 0 };
	struct v8_deopt_frames frames;

	put_begin(&bytes, 12, 0);
	put_frame(&bytes, 0, 5, values);
	put_value(&bytes, 33, 8);
	assert_true(v8_translation_frames(&v12, span_of(&bytes), 0, &frames));
	assert_true(frames.count == 1 && frames.frames[0].shared == 3 &&
		    frames.frames[0].bytecodes == -1 && frames.frames[0].closure == 8);
	bytes.count = 0;
	put_begin(&bytes, 2, 0);
	put_frame(&bytes, 24, 3, values);
	put_value(&bytes, 29, 8);
	assert_true(v8_translation_frames(&v11, span_of(&bytes), 0, &frames));
	assert_true(frames.count == 1 && frames.frames[0].bytecode_offset == 20 &&
		    frames.frames[0].closure == 8);
	/* Operations are numbers with a sign, too, and what looks like a reference is a count. */
	bytes.count = 0;
	put_begin(&bytes, 3 << 1, 1);
	put_frame(&bytes, 18 << 1, 5, values);
	put_value(&bytes, 22 << 1, 8);
	assert_true(v8_translation_frames(&v10, span_of(&bytes), 0, &frames));
	assert_true(frames.count == 1 && frames.frames[0].bytecode_offset == 20 &&
		    frames.frames[0].closure == 8);
	assert_false(v8_translation_frames(&v9, span_of(&bytes), 0, &frames));
}

UNIT_TEST(test_damaged_translations)
{
	const struct v8_layout layout = layout_of(13, 6);
	struct bytes bytes = two_functions(), circle = { .count = 0 };
	struct v8_deopt_frames frames;

	/* Before the beginning, in the middle, behind the end. */
	assert_false(v8_translation_frames(&layout, span_of(&bytes), 3, &frames));
	assert_false(v8_translation_frames(&layout, span_of(&bytes), bytes.count, &frames));
	assert_false(v8_translation_frames(&layout, span_of(&bytes), UINT64_MAX, &frames));
	put_begin(&circle, 14, 1);
	assert_false(v8_translation_frames(&layout, span_of(&circle), 0, &frames));
	/* What another refers to refers to yet another. */
	put_begin(&circle, 14, circle.count);
	assert_false(v8_translation_frames(&layout, span_of(&circle), 4, &frames));
	/* Cut, and with each byte as large as it can be. */
	for (size_t i = 0; i < bytes.count; i++) {
		struct bytes other = bytes;

		(void)v8_translation_frames(&layout, (struct span){ bytes.list, i }, 0, &frames);
		other.list[i] = 0xff;
		(void)v8_translation_frames(&layout, span_of(&other), 0, &frames);
		assert_true(frames.count <= V8_DEOPT_FRAMES_MAX);
	}
}

/* More functions than are told, and more operations than one translation has. */
UNIT_TEST(test_many)
{
	static const int32_t values[] = { 1, 2, 3 };
	static uint8_t many[1 << 16];
	const struct v8_layout layout = layout_of(13, 6);
	struct bytes bytes = { .count = 0 };
	struct v8_deopt_frames frames;

	put_begin(&bytes, 14, 0);
	for (int i = 0; i < 40; i++)
		put_frame(&bytes, 1, 4, values);
	assert_true(v8_translation_frames(&layout, span_of(&bytes), 0, &frames));
	assert_int_equal(frames.count, V8_DEOPT_FRAMES_MAX);
	memset(many, 37, sizeof(many)); /* optimised out: no operand */
	memcpy(many, bytes.list, 16);
	assert_false(
		v8_translation_frames(&layout, (struct span){ many, sizeof(many) }, 0, &frames));
}

/* Safepoints ------------------------------------------------------------------------------- */

UNIT_TEST(test_safepoints)
{
	/* As found behind code of V8 12.4 and 13.6, shortened: pc, entry + 1, trampoline. */
	static const uint8_t v12_4[] = { 3, 0,	  0, 0,	 0xa1, 4, 0,	0, 0xa3, 1, 20, 0xab,
					 4, 0x56, 2, 21, 0xaf, 4, 0x87, 3, 0,	 0, 0 };
	static const uint8_t v13_6[] = { 19, 0,	   0, 0,  2,	0,  0,	  0, 0xa1, 8,	 0,
					 0,  0x50, 2, 47, 0xc4, 11, 0xf5, 2, 48,   0xc8, 11 };
	const struct v8_layout layout = layout_of(12, 4), later = layout_of(13, 6),
			       oldest = layout_of(9, 3);
	struct v8_safepoints_form form;
	uint32_t entry;

	assert_true(v8_safepoints_form(&layout, false, &form));
	assert_int_equal(v8_safepoints_size(&form, (struct span){ v12_4, sizeof(v12_4) }), 23);
	assert_true(v8_safepoint_find(&form, (struct span){ v12_4, 23 }, 0x1a3, &entry));
	assert_int_equal(entry, 19);
	assert_true(v8_safepoint_find(&form, (struct span){ v12_4, 23 }, 0x256, &entry));
	assert_int_equal(entry, 20);
	assert_false(v8_safepoint_find(&form, (struct span){ v12_4, 23 }, 0x387, &entry));
	assert_false(v8_safepoint_find(&form, (struct span){ v12_4, 23 }, 0x1a4, &entry));
	assert_false(v8_safepoint_find(&form, (struct span){ v12_4, 12 }, 0x256, &entry));
	assert_int_equal(v8_safepoints_size(&form, (struct span){ v12_4, 5 }), 0);
	assert_false(v8_safepoints_form(&layout, true, &form));
	assert_false(v8_safepoints_form(&oldest, false, &form));

	assert_true(v8_safepoints_form(&later, false, &form));
	assert_true(v8_safepoint_find(&form, (struct span){ v13_6, sizeof(v13_6) }, 0x2f5, &entry));
	assert_int_equal(entry, 47);
	assert_true(v8_safepoints_form(&later, true, &form));
	assert_int_equal(form.head_bytes, 16);
	assert_int_equal(form.more_bytes, 1);
}

UNIT_MAIN(NULL, NULL)
