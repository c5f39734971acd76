// SPDX-License-Identifier: GPL-2.0-or-later
/* What the target has mapped, read anew for target.c and for the follower. */
#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "target/process.h"

enum {
	MAPS_MAX_BYTES = 1 << 29, /* vm.max_map_count would have to be raised 50-fold */
};

int maps_parse(struct maps *maps, char *text, size_t length, struct error *err)
{
	size_t lines = 1;
	char *line = text, *end = text + length;

	*maps = (struct maps){ .text = text };
	for (const char *p = text; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
		lines++;
	maps->rows = calloc(lines, sizeof(*maps->rows));
	if (!maps->rows) {
		maps_deinit(maps);
		return error_set(err, -ENOMEM, "no memory for %zu rows of /proc/PID/maps", lines);
	}
	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		char *next = newline ? newline + 1 : end;
		struct mapping *row = &maps->rows[maps->count];

		if (newline)
			*newline = '\0';
		if (!mapping_parse(row, line))
			maps->bad_rows++;
		else if (maps->count && row->start.value < row[-1].end.value)
			maps->bad_rows++; /* out of order: maps_find() relies on it */
		else
			maps->count++;
		line = next;
	}
	return 0;
}

int maps_read(struct maps *maps, struct process *process, struct error *err)
{
	char *text;
	size_t length;
	int result = process_read_file(process, "maps", MAPS_MAX_BYTES, &text, &length, err);

	*maps = (struct maps){ 0 };
	return result ? result : maps_parse(maps, text, length, err);
}

void maps_deinit(struct maps *maps)
{
	free(maps->rows);
	free(maps->text);
	*maps = (struct maps){ 0 };
}

const struct mapping *maps_find(const struct maps *maps, struct address address)
{
	size_t at = sorted_first(maps->count, i, maps->rows[i].end.value <= address.value);

	return at < maps->count && maps->rows[at].start.value <= address.value ? &maps->rows[at] :
										 NULL;
}
