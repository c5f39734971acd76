// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as /proc/PID/maps: rows stay sorted and apart, and every look-up agrees with them. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "target/maps.h"

/* An address of it, as an offset in its file, leads back to it. */
static void check_offsets(const struct mapping *row)
{
	const struct address last = { row->end.value - 1 };
	struct file_offset offset = mapping_offset(row, last);
	struct address back;

	if (offset.value >= row->offset.value &&
	    (!mapping_address(row, offset, &back) || back.value != last.value))
		__builtin_trap();
	if (row->offset.value &&
	    mapping_address(row, (struct file_offset){ row->offset.value - 1 }, &back))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct maps maps;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (maps_parse(&maps, text, size, NULL))
		return 0;
	for (size_t i = 0; i < maps.count; i++) {
		const struct mapping *row = &maps.rows[i];

		check(row->start.value < row->end.value &&
		      (!i || row->start.value >= row[-1].end.value));
		check(maps_find(&maps, row->start) == row &&
		      maps_find(&maps, (struct address){ row->end.value - 1 }) == row);
		(void)strlen(mapping_file_name(row));
		check_offsets(row);
		check(!mapping_is_file_code(row) || mapping_same_file(row, row));
	}
	maps_deinit(&maps);
	return 0;
}
