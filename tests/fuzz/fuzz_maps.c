// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as /proc/PID/maps: rows stay sorted and apart, and every look-up agrees with them. */
#include <stdlib.h>
#include <string.h>

#include "target/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

		if (row->start.value >= row->end.value ||
		    (i && row->start.value < row[-1].end.value))
			__builtin_trap();
		if (maps_find(&maps, row->start) != row ||
		    maps_find(&maps, (struct address){ row->end.value - 1 }) != row)
			__builtin_trap();
		(void)strlen(mapping_file_name(row));
	}
	maps_deinit(&maps);
	return 0;
}
