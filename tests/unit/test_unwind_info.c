// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UNWIND_INFO, code by code, and that of images that crossgen2 wrote. What it says of real
 * functions is held against their instructions by tests/system/test_unwind_rows.py.
 */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "code/unwind_info.h"
#include "base/error.h"
#include "image/pe.h"
#include "tests/unit/golden.h"
#include "tests/unit/unwind_row.h"

enum { BEGIN = 0x1000, RBX = 3, RBP = 5 };

static struct unwind_frames frames;

static bool rows_of(const uint8_t *info, size_t size, struct unwind_rows *rows)
{
	_cleanup_(golden_free) struct golden copy = golden_copy(info, size);
	bool good;

	*rows = (struct unwind_rows){ .frames = &frames };
	good = unwind_info_rows(golden_span(&copy), BEGIN, rows);
	return good;
}

#define ROWS_OF(rows, ...) \
	rows_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), rows)

static struct unwind_frame frame_at(const struct unwind_rows *rows, uint32_t offset)
{
	const struct unwind_row *row = unwind_rows_find(rows, BEGIN + offset);

	assert_non_null(row);
	return unwind_rows_frame(rows, row);
}

static void expect(const struct unwind_rows *rows, uint32_t offset, enum unwind_base base,
		   int bytes, int rbp, int rbx)
{
	const struct unwind_frame frame = frame_at(rows, offset), expected = {
		.rule = UNWIND_REGISTER,
		.base = (uint8_t)base,
		.return_address = -1,
		.frame_pointer = (int8_t)rbp,
		.saved = (int8_t)rbx,
		.offset = (int16_t)(bytes / UNWIND_UNIT),
	};

	assert_memory_equal(&frame, &expected, sizeof(frame));
}

static void expect_unsupported(const struct unwind_rows *rows, uint32_t offset)
{
	assert_int_equal(frame_at(rows, offset).rule, UNWIND_UNSUPPORTED);
}

UNIT_TEST(pushes_and_allocations)
{
	_cleanup_(unwind_rows_deinit) struct unwind_rows rows;

	/* push rbp; push rbx; sub rsp, 0x28 */
	assert_true(ROWS_OF(&rows, 1, 6, 3, 0, 6, 4 << 4 | 2, 2, RBX << 4, 1, RBP << 4));
	expect(&rows, 0, UNWIND_SP, 8, UNWIND_SAME, UNWIND_SAME);
	expect(&rows, 1, UNWIND_SP, 16, -2, UNWIND_SAME);
	expect(&rows, 2, UNWIND_SP, 24, -2, -3);
	expect(&rows, 5, UNWIND_SP, 24, -2, -3);
	expect(&rows, 6, UNWIND_SP, 24 + 0x28, -2, -3);
	unwind_rows_deinit(&rows);

	/* sub rsp, 0x1000, in words and in bytes. */
	assert_true(ROWS_OF(&rows, 1, 7, 2, 0, 7, 1, 0x00, 0x02));
	expect(&rows, 7, UNWIND_SP, 0x1008, UNWIND_SAME, UNWIND_SAME);
	unwind_rows_deinit(&rows);
	assert_true(ROWS_OF(&rows, 1, 7, 3, 0, 7, 1 << 4 | 1, 0x00, 0x10, 0, 0));
	expect(&rows, 7, UNWIND_SP, 0x1008, UNWIND_SAME, UNWIND_SAME);
	unwind_rows_deinit(&rows);
	/* More than a row can express. */
	assert_true(ROWS_OF(&rows, 1, 7, 3, 0, 7, 1 << 4 | 1, 0, 0, 0x10, 0));
	expect(&rows, 0, UNWIND_SP, 8, UNWIND_SAME, UNWIND_SAME);
	expect_unsupported(&rows, 7);
}

UNIT_TEST(frame_pointers)
{
	_cleanup_(unwind_rows_deinit) struct unwind_rows rows;

	/* push rbp; sub rsp, 0x30; lea rbp, [rsp + 0x20] */
	assert_true(ROWS_OF(&rows, 1, 10, 3, 2 << 4 | RBP, 10, 3, 5, 5 << 4 | 2, 1, RBP << 4));
	expect(&rows, 5, UNWIND_SP, 0x40, -2, UNWIND_SAME);
	expect(&rows, 10, UNWIND_FP, 0x20, -2, UNWIND_SAME);
	unwind_rows_deinit(&rows);
	/* The same with an offset that four bits do not hold. */
	assert_true(ROWS_OF(&rows, 1, 12, 6, RBP, 12, 11, 0x40, 0, 0, 0, 8, 1, 0x00, 0x01, 1,
			    RBP << 4));
	expect(&rows, 8, UNWIND_SP, 16 + 0x800, -2, UNWIND_SAME);
	expect(&rows, 12, UNWIND_FP, 16 + 0x800 - 0x400, -2, UNWIND_SAME);
	unwind_rows_deinit(&rows);
	/* By another register than rbp. */
	assert_false(ROWS_OF(&rows, 1, 4, 2, RBX, 4, 3, 1, RBX << 4));
	expect_unsupported(&rows, 0);
}

UNIT_TEST(saved_registers)
{
	_cleanup_(unwind_rows_deinit) struct unwind_rows rows;

	/* sub rsp, 0x28; mov [rsp + 0x10], rbp; movaps [rsp], xmm6 */
	assert_true(ROWS_OF(&rows, 1, 14, 5, 0, 14, 8 | 6 << 4, 0, 0, 9, RBP << 4 | 4, 2, 0, 4,
			    4 << 4 | 2, 0, 0));
	expect(&rows, 4, UNWIND_SP, 0x30, UNWIND_SAME, UNWIND_SAME);
	expect(&rows, 9, UNWIND_SP, 0x30, -4, UNWIND_SAME);
	expect(&rows, 14, UNWIND_SP, 0x30, -4, UNWIND_SAME);
	unwind_rows_deinit(&rows);
	/* sub rsp, 0x28; mov [rsp + 0x18], rbx */
	assert_true(ROWS_OF(&rows, 1, 9, 3, 0, 9, RBX << 4 | 4, 3, 0, 4, 4 << 4 | 2));
	expect(&rows, 4, UNWIND_SP, 0x30, UNWIND_SAME, UNWIND_SAME);
	expect(&rows, 9, UNWIND_SP, 0x30, UNWIND_SAME, -3);
}

UNIT_TEST(what_does_not_parse)
{
	_cleanup_(unwind_rows_deinit) struct unwind_rows rows;

	/* No such version, no such code, one cut off, steps that go backwards, one of a chain. */
	assert_false(ROWS_OF(&rows, 2, 1, 1, 0, 1, RBP << 4, 0, 0));
	expect_unsupported(&rows, 0);
	unwind_rows_deinit(&rows);
	assert_false(ROWS_OF(&rows, 1, 1, 1, 0, 1, 10, 0, 0));
	unwind_rows_deinit(&rows);
	assert_false(ROWS_OF(&rows, 1, 1, 1, 0, 1, 1, 0, 0));
	unwind_rows_deinit(&rows);
	assert_false(ROWS_OF(&rows, 1, 1, 9, 0, 1));
	unwind_rows_deinit(&rows);
	assert_false(ROWS_OF(&rows, 1, 2, 2, 0, 1, RBX << 4, 2, RBP << 4));
	expect_unsupported(&rows, 0);
	unwind_rows_deinit(&rows);
	assert_false(
		ROWS_OF(&rows, 1 | 4 << 3, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x11, 0, 0, 0, 0x20, 0, 0));
}

/* Prologues that are kept change nothing: each function alone has the same rows. */
static size_t compare_each_alone(const struct pe *pe, const struct unwind_rows *all)
{
	const struct pe_directory *directory = &pe->directories[PE_DIRECTORY_EXCEPTION];
	struct cursor c = cursor_over(pe_bytes(pe, directory->rva, directory->size));
	size_t compared = 0;

	while (cursor_left(&c) >= 12) {
		uint32_t begin = cursor_u32(&c), end = cursor_u32(&c), rva = cursor_u32(&c);
		struct cursor info = pe_cursor(pe, (struct rva){ rva & ~1u });
		struct unwind_rows alone = { .frames = &frames };

		if (begin == UINT32_MAX)
			break;
		if (unwind_info_rows((struct span){ info.pos, cursor_left(&info) }, begin,
				     &alone)) {
			for (size_t i = 0; i < alone.count && alone.rows[i].begin < end; i++) {
				const struct unwind_row *row =
					unwind_rows_find(all, alone.rows[i].begin);

				assert_non_null(row);
				assert_int_equal(row->frame, alone.rows[i].frame);
				assert_int_equal(row->offset, alone.rows[i].offset);
				compared++;
			}
		}
		unwind_rows_deinit(&alone);
	}
	return compared;
}

UNIT_TEST(images)
{
	static const char *const files[] = { "zoo-r2r.dll", "zoo-composite.r2r.dll",
					     "tiny-r2r.dll" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_(golden_free) struct golden file = golden_read(files[i]);
		struct error err = { .text = "" };
		struct unwind_info_counts counts = { 0 };
		_cleanup_(unwind_rows_deinit) struct unwind_rows rows = { .frames = &frames };
		struct pe pe;

		if (pe_init(&pe, golden_span(&file), &err) ||
		    unwind_info_image(&pe, &rows, &counts, &err))
			fail_msg("%s: %s", files[i], err.text);
		printf("%s: %zu rows of %lu functions\n", files[i], rows.count,
		       (unsigned long)counts.functions);
		assert_int_equal(counts.damaged, 0);
		assert_true(rows.count > counts.functions || counts.functions == 0);
		assert_true(compare_each_alone(&pe, &rows) >= counts.functions);
	}
}

/* Whatever is changed in it: rows in order, and nothing read beyond the end. */
UNIT_TEST(damaged_images)
{
	_cleanup_(golden_free) struct golden file = golden_read("zoo-r2r.dll");
	unsigned int seed = 1;

	for (int i = 0; i < 200; i++) {
		_cleanup_(golden_free) struct golden copy = golden_copy(file.bytes, file.size);
		struct unwind_info_counts counts;
		_cleanup_(unwind_rows_deinit) struct unwind_rows rows = { .frames = &frames };
		struct pe pe;

		for (int flips = 0; flips < 400; flips++)
			copy.bytes[1024 + (size_t)rand_r(&seed) % (copy.size - 1024)] =
				(uint8_t)rand_r(&seed);
		if (pe_init(&pe, golden_span(&copy), NULL) == 0) {
			assert_int_equal(unwind_info_image(&pe, &rows, &counts, NULL), 0);
			for (size_t row = 1; row < rows.count; row++)
				assert_true(rows.rows[row - 1].begin < rows.rows[row].begin);
		}
	}
}

UNIT_MAIN(NULL, NULL)
