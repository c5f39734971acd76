// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ranges of code, as runtimes say them and as the unwinder's tables have them: a runtime that
 * nobody has heard of beside native code, and code that is said twice.
 */
#include "tests/unit/toy_runtime.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/error.h"
#include "code/unwind_info.h"
#include "image/pe.h"
#include "image/unwind_rows.h"
#include "session/resolve.h"
#include "unwind/tables.h"

static const struct unwind_frame toy_frames[] = {
	{ .rule = UNWIND_REGISTER, .base = UNWIND_SP, .return_address = -1, .offset = 3 },
	{ .rule = UNWIND_OUTERMOST },
};
static unsigned int rows_made; /* so often */

static int make_rows(const void *ctx, struct unwind_rows *rows)
{
	rows_made++;
	unwind_rows_add(rows, 0, toy_frames[0]);
	unwind_rows_add(rows, (uint32_t) * (const uint64_t *)ctx, toy_frames[1]);
	return 0;
}

static int make_none(const void *ctx, struct unwind_rows *rows)
{
	(void)ctx;
	(void)rows;
	return 0;
}

/* Code that is left by rows of image @part, which are relative to its beginning. */
static struct code_range by_rows(uint64_t begin, uint64_t end, uint64_t part)
{
	static const uint64_t second_row = 8;

	return (struct code_range){
		.begin = begin,
		.end = end,
		.unwinder = UNWINDER_ROWS,
		.file = BODY_NO_FILE,
		.part = part,
		.base = begin,
		.make_rows = make_rows,
		.ctx = &second_row,
	};
}

/* As far as files tell of us. */
static void look_at_ourselves(struct target *target, struct resolution *resolution)
{
	struct error err = { .text = "" };

	if (target_init(target, getpid(), &err) || target_look(target, &err) < 0 ||
	    resolution_begin(resolution, target, &err))
		fail_msg("%s", err.text);
}

static struct unwind_tables *create_tables(void)
{
	struct unwind_tables *tables;

	assert_int_equal(unwind_tables_create(&tables, NULL), 0);
	rows_made = 0;
	return tables;
}

static const struct unwind_range *read_ranges(struct unwind_tables *tables,
					      const struct runtimes *runtimes, size_t *count)
{
	assert_int_equal(unwind_tables_read(tables, runtimes, NULL), 0);
	*count = tables->range_count;
	return tables->ranges;
}

static void check_range(const struct unwind_range *range, uint64_t begin, uint64_t end,
			enum unwinder unwinder)
{
	assert_int_equal(range->begin, begin);
	assert_int_equal(range->end, end);
	assert_int_equal(range->unwinder, unwinder);
	if (unwinder != UNWINDER_ROWS)
		assert_int_equal(range->row_count, 0);
}

static void check_toy_rows(const struct unwind_tables *tables, const struct unwind_range *range)
{
	const struct unwind_row *rows = tables->rows.rows + range->first_row;
	const struct unwind_frame *frames = tables->frames.frames;

	assert_int_equal(range->base, range->begin);
	assert_int_equal(range->row_count, 2);
	assert_int_equal(rows[0].begin, 0);
	assert_int_equal(rows[0].offset, toy_frames[0].offset);
	assert_int_equal(frames[rows[0].frame].rule, UNWIND_REGISTER);
	assert_int_equal(rows[1].begin, 8);
	assert_int_equal(frames[rows[1].frame].rule, UNWIND_OUTERMOST);
}

/* What is left of native code is left as it would be without the toy. */
static void check_native(const struct unwind_range *range, uint64_t begin, uint64_t end,
			 const struct unwind_range *whole)
{
	check_range(range, begin, end, UNWINDER_ROWS);
	assert_int_equal(range->base, whole->base);
	assert_int_equal(range->row_count, whole->row_count);
}

/* Our own process: two pieces of the toy's code lie in the text of our program, one elsewhere. */
UNIT_TEST(ranges_within_native_code)
{
	const uint64_t text = (uint64_t)(uintptr_t)ranges_within_native_code;
	struct code_range inside[] = {
		by_rows(text, text + 0x10, 1),
		{ .begin = text + 0x20, .end = text + 0x30, .unwinder = UNWINDER_DOTNET },
		{ .begin = CODE, .end = CODE_END, .unwinder = UNWINDER_FRAME_POINTER },
	};
	struct toy toy = { .runtime = { &toy_ops }, .ranges = inside, .range_count = 3 };
	struct unwind_tables *alone = create_tables(), *tables = create_tables();
	const struct unwind_range *before, *now, *again;
	struct resolution resolution;
	struct runtimes both = { .list = { &toy.runtime }, .count = 1 };
	size_t count, now_count, at = 0;
	struct target target;

	look_at_ourselves(&target, &resolution);
	both.list[both.count++] = runtimes_get(&resolution.runtimes, RUNTIME_NATIVE);
	before = read_ranges(alone, &resolution.runtimes, &count);
	assert_int_equal(alone->elsewhere, UNWINDER_FRAME_POINTER);
	while (at < count && before[at].end <= text)
		at++;
	assert_true(at < count && before[at].begin < text && before[at].row_count > 100);

	now = read_ranges(tables, &both, &now_count);
	assert_int_equal(now_count, count + 5);
	check_range(&now[0], CODE, CODE_END, UNWINDER_FRAME_POINTER);
	for (size_t i = 0; i < count; i++) {
		if (i != at)
			check_native(&now[1 + i + (i > at ? 4 : 0)], before[i].begin, before[i].end,
				     &before[i]);
	}
	now += 1 + at;
	before += at;
	check_native(&now[0], before->begin, text, before);
	check_range(&now[1], text, text + 0x10, UNWINDER_ROWS);
	check_toy_rows(tables, &now[1]);
	check_native(&now[2], text + 0x10, text + 0x20, before);
	check_range(&now[3], text + 0x20, text + 0x30, UNWINDER_DOTNET);
	check_native(&now[4], text + 0x30, before->end, before);
	assert_int_equal(now[4].first_row, now[0].first_row);
	assert_int_equal(tables->elsewhere, UNWINDER_DOTNET);
	assert_int_equal(tables->layouts.dotnet.range_map, MODULE);
	assert_int_equal(tables->counts.overlaps, 0);

	/* It moves, and its rows are the same ones. */
	inside[0] = by_rows(text + 8, text + 0x18, 1);
	again = read_ranges(tables, &both, &now_count) + 1 + at;
	check_native(&again[0], before->begin, text + 8, before);
	check_range(&again[1], text + 8, text + 0x18, UNWINDER_ROWS);
	check_toy_rows(tables, &again[1]);
	assert_int_equal(rows_made, 1);
	unwind_tables_destroy(alone);
	unwind_tables_destroy(tables);
	resolution_deinit(&resolution);
	target_deinit(&target);
}

/* Before anything is read: no rows are made, and there will be room for all. */
UNIT_TEST(what_is_expected)
{
	const uint64_t text = (uint64_t)(uintptr_t)what_is_expected;
	struct code_range inside[] = { by_rows(text, text + 0x10, 1) };
	struct toy toy = { .runtime = { &toy_ops }, .ranges = inside, .range_count = 1 };
	struct runtimes both = { .list = { &toy.runtime }, .count = 1 };
	struct unwind_tables *tables = create_tables();
	struct unwind_expected expected;
	struct resolution resolution;
	struct target target;
	size_t count;

	look_at_ourselves(&target, &resolution);
	both.list[both.count++] = runtimes_get(&resolution.runtimes, RUNTIME_NATIVE);
	expected = unwind_tables_expect(&both);
	assert_int_equal(rows_made, 0);
	assert_int_equal(expected.layouts.dotnet.range_map, MODULE);
	read_ranges(tables, &both, &count);
	count = tables->counts.rows;
	assert_in_range(count, expected.rows / 4, expected.rows * 4);
	unwind_tables_destroy(tables);
	resolution_deinit(&resolution);
	target_deinit(&target);
}

/* Code of @pe, of which the file is mapped at @at. */
static void check_image(const struct unwind_tables *tables, const struct pe *pe, const void *at,
			size_t row_count)
{
	size_t count = tables->range_count, i = 0;
	const struct unwind_range *ranges = tables->ranges;
	const struct pe_section *section = pe->sections;

	while (!section->executable)
		section++;
	while (i < count && ranges[i].begin != (uint64_t)(uintptr_t)at)
		i++;
	assert_true(i < count);
	assert_int_equal(ranges[i].unwinder, UNWINDER_ROWS);
	assert_true(ranges[i].end - ranges[i].begin >= pe->file.size);
	assert_int_equal(ranges[i].base + section->rva.value,
			 ranges[i].begin + section->raw_offset);
	assert_int_equal(ranges[i].row_count, row_count);
}

/* An image of .NET that we have mapped twice: its rows are made once. */
UNIT_TEST(mapped_images)
{
	static struct unwind_frames frames;
	const int fd = open("tests/golden/zoo-r2r.dll", O_RDONLY | O_CLOEXEC);
	const size_t size = (size_t)lseek(fd, 0, SEEK_END);
	struct unwind_tables *alone = create_tables(), *tables = create_tables();
	struct unwind_rows rows = { .frames = &frames };
	struct unwind_info_counts counts;
	struct resolution resolution;
	struct target target;
	void *mapped[2];
	struct pe pe;
	size_t count;

	look_at_ourselves(&target, &resolution);
	(void)read_ranges(alone, &resolution.runtimes, &count);
	for (int i = 0; i < 2; i++) {
		mapped[i] = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_true(mapped[i] != MAP_FAILED);
	}
	close(fd);
	assert_int_equal(target_look(&target, NULL), 1);
	(void)read_ranges(tables, &resolution.runtimes, &count);
	assert_int_equal(pe_init(&pe, (struct span){ mapped[0], size }, NULL), 0);
	assert_int_equal(unwind_info_image(&pe, &rows, &counts, NULL), 0);
	for (int i = 0; i < 2; i++) {
		check_image(tables, &pe, mapped[i], rows.count);
		munmap(mapped[i], size);
	}
	assert_int_equal(tables->counts.images, alone->counts.images + 1);
	unwind_rows_deinit(&rows);
	unwind_tables_destroy(alone);
	unwind_tables_destroy(tables);
	resolution_deinit(&resolution);
	target_deinit(&target);
}

/* Of two that one runtime says of the same code one is used, and the other is counted. */
UNIT_TEST(overlaps)
{
	struct code_range first[] = {
		by_rows(300, 400, 1), by_rows(150, 250, 2), by_rows(100, 200, 3),
		by_rows(500, 600, 4), by_rows(700, 700, 5),
	};
	const struct code_range later[] = { by_rows(50, 1000, 1) };
	struct toy toys[] = {
		{ .runtime = { &toy_ops }, .ranges = first, .range_count = 5 },
		{ .runtime = { &toy_ops }, .ranges = later, .range_count = 1 },
	};
	const struct runtimes both = { .list = { &toys[0].runtime, &toys[1].runtime }, .count = 2 };
	struct unwind_tables *tables = create_tables();
	const struct unwind_range *ranges;
	size_t count;

	/* No rows: nobody else's hold there either. */
	first[3].make_rows = make_none;
	ranges = read_ranges(tables, &both, &count);
	assert_int_equal(count, 6);
	check_range(&ranges[0], 50, 100, UNWINDER_ROWS);
	check_range(&ranges[1], 100, 200, UNWINDER_ROWS);
	check_range(&ranges[2], 200, 300, UNWINDER_ROWS);
	check_range(&ranges[3], 300, 400, UNWINDER_ROWS);
	check_range(&ranges[4], 400, 500, UNWINDER_ROWS);
	check_range(&ranges[5], 600, 1000, UNWINDER_ROWS);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(ranges[i].base, i % 2 == 0 || i == 5 ? 50 : ranges[i].begin);
	assert_int_equal(tables->counts.images, 4);
	assert_int_equal(tables->counts.without, 1);
	assert_int_equal(tables->counts.overlaps, 1);
	unwind_tables_destroy(tables);
}

UNIT_MAIN(NULL, NULL)
