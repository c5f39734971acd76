// SPDX-License-Identifier: GPL-2.0-or-later
/* One row of /proc/PID/maps, for maps.c and for the injector, which has little else in it. */
#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
bool mapping_parse(struct mapping *row, char *line)
{
	size_t path_length, deleted_length = sizeof(DELETED) - 1;
	uint64_t major, minor;
	char *path;

	*row = (struct mapping){ 0 };
	if (!take_number(&line, 16, '-', &row->start.value) ||
	    !take_number(&line, 16, ' ', &row->end.value) || !take_permissions(&line, row) ||
	    !take_number(&line, 16, ' ', &row->offset.value) ||
	    !take_number(&line, 16, ':', &major) || !take_number(&line, 16, ' ', &minor))
		return false;
	row->major = (uint32_t)major;
	row->minor = (uint32_t)minor;
	errno = 0;
	row->inode = strtoull(line, &path, 10);
	if (path == line || errno || row->end.value <= row->start.value)
		return false;

	path += strspn(path, " ");
	path_length = strlen(path);
	if (path_length > deleted_length &&
	    strcmp(path + path_length - deleted_length, DELETED) == 0) {
		path[path_length - deleted_length] = '\0';
		row->deleted = true;
	}
	row->path = path;
	return true;
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
