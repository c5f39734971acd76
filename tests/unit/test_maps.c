// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "target/maps.h"

static struct maps parse(const char *text)
{
	struct maps maps;

	assert_int_equal(maps_parse(&maps, strdup(text), strlen(text), NULL), 0);
	return maps;
}

UNIT_TEST(reads_every_column)
{
	_cleanup_(maps_deinit) struct maps maps =
		parse("7f42e4000000-7f42e4021000 r-xp 0001f000 fe:1a 11657289"
		      "                   /srv/app/libapp.so\n");
	const struct mapping *row = maps.rows;

	assert_int_equal(maps.count, 1);
	assert_int_equal(maps.bad_rows, 0);
	assert_int_equal(row->start.value, 0x7f42e4000000);
	assert_int_equal(row->end.value, 0x7f42e4021000);
	assert_int_equal(row->offset.value, 0x1f000);
	assert_int_equal(row->major, 0xfe);
	assert_int_equal(row->minor, 0x1a);
	assert_int_equal(row->inode, 11657289);
	assert_true(row->readable && !row->writable && row->executable && !row->shared);
	assert_string_equal(row->path, "/srv/app/libapp.so");
	assert_string_equal(mapping_file_name(row), "libapp.so");
	assert_true(mapping_is_file_code(row));
}

UNIT_TEST(keeps_odd_paths)
{
	_cleanup_(maps_deinit) struct maps maps =
		parse("1000-2000 r-xs 00000000 00:01 1197                       "
		      "/memfd:doublemapper (deleted)\n"
		      "2000-3000 r--p 00000000 fe:00 5 /srv/my app (deleted)/a  b.dll\n"
		      "3000-4000 rw-p 00000000 00:00 0 \n"
		      "4000-5000 r-xp 00000000 00:00 0                          [vdso]\n"
		      "5000-6000 rw-p 00000000 00:05 7                          //anon\n"
		      "6000-7000 r--p 00000000 fe:00 8 /a\\012b.so\n"
		      "7000-8000 r--p 00000000 fe:00 9 /gone.dll (deleted)\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]");

	assert_int_equal(maps.count, 8);
	assert_string_equal(maps.rows[0].path, "/memfd:doublemapper");
	assert_true(maps.rows[0].deleted && maps.rows[0].shared);
	assert_false(mapping_is_file_code(&maps.rows[0]));
	assert_string_equal(maps.rows[1].path, "/srv/my app (deleted)/a  b.dll");
	assert_false(maps.rows[1].deleted);
	assert_string_equal(maps.rows[2].path, "");
	assert_string_equal(maps.rows[3].path, "[vdso]");
	assert_false(mapping_is_file_code(&maps.rows[3]));
	assert_string_equal(maps.rows[4].path, "//anon");
	assert_string_equal(maps.rows[5].path, "/a\\012b.so");
	assert_true(maps.rows[6].deleted);
	assert_string_equal(maps.rows[7].path, "[vsyscall]");
}

UNIT_TEST(counts_rows_that_make_no_sense)
{
	_cleanup_(maps_deinit) struct maps maps =
		parse("1000-2000 r-xp 00000000 fe:00 5 /a\n"
		      "nonsense\n"
		      "\n"
		      "3000-2000 r-xp 00000000 fe:00 5 /ends/before/it/starts\n"
		      "0-1000 r-xp 00000000 fe:00 5 /out/of/order\n"
		      "4000-5000 r-xp 00000000 fe:00\n"
		      "fffffffffffffffff-5000 r-xp 00000000 fe:00 5 /too/large\n"
		      "6000-7000 r-xp 00000000 fe:00 5 /b\n");

	assert_int_equal(maps.count, 2);
	assert_int_equal(maps.bad_rows, 6);
	assert_string_equal(maps.rows[1].path, "/b");
}

UNIT_TEST(takes_an_empty_table)
{
	_cleanup_(maps_deinit) struct maps maps = parse("");

	assert_int_equal(maps.count, 0);
	assert_null(maps_find(&maps, (struct address){ 0x1000 }));
}

/* 65,530 rows are the kernel's default limit; find() must be right at every edge. */
UNIT_TEST(finds_in_a_huge_table)
{
	enum { ROWS = 70000, STEP = 0x3000, SIZE = 0x1000 };
	size_t size = 64 * ROWS, used = 0;
	char *text = malloc(size);
	_cleanup_(maps_deinit) struct maps maps;

	for (unsigned int i = 1; i <= ROWS; i++)
		used += (size_t)snprintf(text + used, size - used, "%x-%x rw-p 00000000 00:00 0 \n",
					 i * STEP, i * STEP + SIZE);
	assert_int_equal(maps_parse(&maps, text, used, NULL), 0);
	assert_int_equal(maps.count, ROWS);
	for (unsigned int i = 1; i <= ROWS; i++) {
		struct address first = { i * STEP }, last = { i * STEP + SIZE - 1 };

		assert_ptr_equal(maps_find(&maps, first), &maps.rows[i - 1]);
		assert_ptr_equal(maps_find(&maps, last), &maps.rows[i - 1]);
		assert_null(maps_find(&maps, (struct address){ last.value + 1 }));
	}
	assert_null(maps_find(&maps, (struct address){ 0 }));
	assert_null(maps_find(&maps, (struct address){ UINT64_MAX }));
}

UNIT_TEST(converts_offsets_to_addresses)
{
	_cleanup_(maps_deinit) struct maps maps = parse("10000-12000 r-xp 00005000 fe:00 5 /a\n");
	const struct mapping *row = maps.rows;
	struct address address = { 0 };

	assert_true(mapping_address(row, (struct file_offset){ 0x5000 }, &address));
	assert_int_equal(address.value, 0x10000);
	assert_true(mapping_address(row, (struct file_offset){ 0x6fff }, &address));
	assert_int_equal(address.value, 0x11fff);
	assert_false(mapping_address(row, (struct file_offset){ 0x7000 }, &address));
	assert_false(mapping_address(row, (struct file_offset){ 0x4fff }, &address));
}

UNIT_MAIN(NULL, NULL)
