// SPDX-License-Identifier: GPL-2.0-or-later
/* What the target has mapped, read anew for target.c and for the follower. */
#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "target/process.h"

enum {
	MAPS_MAX_BYTES = 1 << 29, /* vm.max_map_count would have to be raised 50-fold */
};

static const char DELETED[] = " (deleted)";

/* A number of the given base up to @end_char, which is passed over. */
static bool take_number(char **text, int base, char end_char, uint64_t *value)
{
	char *end;

	/* strtoull would also take spaces and signs. */
	if (!((**text >= '0' && **text <= '9') || (**text >= 'a' && **text <= 'f')))
		return false;
	errno = 0;
	*value = strtoull(*text, &end, base);
	if (end == *text || *end != end_char || errno)
		return false;
	*text = end + 1;
	return true;
}

static bool take_permissions(char **text, struct mapping *row)
{
	const char *p = *text;

	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	row->readable = p[0] == 'r';
	row->writable = p[1] == 'w';
	row->executable = p[2] == 'x';
	row->shared = p[3] == 's';
	*text += 5;
	return true;
}

/* START-END PERM OFFSET MAJOR:MINOR INODE [PATH], one space between, many before the path. */
static bool parse_row(char *line, struct mapping *row)
{
	uint64_t start, end, offset, major, minor, inode;
	size_t path_length, deleted_length = sizeof(DELETED) - 1;
	char *path;

	*row = (struct mapping){ 0 };
	if (!take_number(&line, 16, '-', &start) || !take_number(&line, 16, ' ', &end) ||
	    !take_permissions(&line, row) || !take_number(&line, 16, ' ', &offset) ||
	    !take_number(&line, 16, ':', &major) || !take_number(&line, 16, ' ', &minor))
		return false;
	errno = 0;
	inode = strtoull(line, &path, 10);
	if (path == line || errno || end <= start)
		return false;

	path += strspn(path, " ");
	path_length = strlen(path);
	if (path_length > deleted_length &&
	    strcmp(path + path_length - deleted_length, DELETED) == 0) {
		path[path_length - deleted_length] = '\0';
		row->deleted = true;
	}
	row->start.value = start;
	row->end.value = end;
	row->offset.value = offset;
	row->major = (uint32_t)major;
	row->minor = (uint32_t)minor;
	row->inode = inode;
	row->path = path;
	return true;
}

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
		if (!parse_row(line, row))
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
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->rows[middle].end.value <= address.value)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == maps->count || maps->rows[low].start.value > address.value)
		return NULL;
	return &maps->rows[low];
}

bool mapping_address(const struct mapping *row, struct file_offset offset, struct address *address)
{
	uint64_t size = row->end.value - row->start.value;

	if (offset.value < row->offset.value || offset.value - row->offset.value >= size)
		return false;
	address->value = row->start.value + (offset.value - row->offset.value);
	return true;
}

struct file_offset mapping_offset(const struct mapping *row, struct address address)
{
	return (struct file_offset){ row->offset.value + (address.value - row->start.value) };
}

bool mapping_is_file_code(const struct mapping *row)
{
	return row->executable && !row->shared && row->inode != 0;
}

bool mapping_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

const char *mapping_file_name(const struct mapping *row)
{
	return basename(row->path);
}
