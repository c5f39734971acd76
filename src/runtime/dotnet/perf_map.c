// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The target's own perf map, for frame_names.c, and as a source of bodies where nothing better is
 * known.
 */
#include "runtime/dotnet/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sorted.h"
#include "base/text.h"
#include "base/vector.h"

enum {
	CHUNK_BYTES = 1 << 16,
	ROWS_MAX = 4 << 20,
	SIZE_MAX_READ = 1 << 28, /* what a target lets it grow to beyond that is left unread */
};

struct perf_map {
	int fd;
	off_t size_read;   /* of the file, when it was read */
	struct text names; /* all of them, each with its NUL */
	struct perf_map_row *rows;
	size_t count;
	size_t capacity;
};

/* Keep a row. Without memory for it the map lacks it, which is what an extra source may. */
static int on_row(void *user, const struct mapparse_row *row)
{
	struct perf_map *map = user;
	struct mapparse_slice name = row->raw_name;

	if (!row->is_absolute || row->size == 0 || map->count >= ROWS_MAX ||
	    !vector_reserve(&map->rows, &map->capacity, map->count + 1))
		return 0;
	if (row->kind == MAPPARSE_KIND_METHOD && row->name)
		name = row->name->canonical;
	map->rows[map->count] = (struct perf_map_row){
		.start = { row->address },
		.size = row->size,
		.kind = row->kind,
		.tier = row->tier,
		.order = map->count,
		.name_at = map->names.length,
	};
	text_add_bytes(&map->names, name.start, name.length);
	text_add_bytes(&map->names, "", 1);
	map->count += text_ok(&map->names);
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct perf_map_row *a = left, *b = right;

	if (a->start.value != b->start.value)
		return a->start.value < b->start.value ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool overlap(const struct perf_map_row *before, const struct perf_map_row *after)
{
	return after->start.value - before->start.value < before->size;
}

/* Of rows that lie in each other only the one written last is still true. */
static void sort_rows(struct perf_map *map)
{
	size_t kept = 0;

	if (map->count == 0)
		return;
	qsort(map->rows, map->count, sizeof(*map->rows), by_address);
	for (size_t i = 0; i < map->count; i++) {
		const struct perf_map_row *row = &map->rows[i];

		while (kept && overlap(&map->rows[kept - 1], row) &&
		       map->rows[kept - 1].order < row->order)
			kept--;
		if (kept == 0 || !overlap(&map->rows[kept - 1], row))
			map->rows[kept++] = *row;
	}
	map->count = kept;
	for (size_t i = 0; i < kept; i++)
		map->rows[i].name = text_chars(&map->names) + map->rows[i].name_at;
}

/* Where the last whole line ends: the runtime may be writing the next one. */
static off_t whole_lines_end(int fd, off_t size)
{
	char chunk[CHUNK_BYTES];
	off_t from = size > CHUNK_BYTES ? size - CHUNK_BYTES : 0;
	ssize_t got = pread(fd, chunk, sizeof(chunk), from);
	const char *newline = got > 0 ? memrchr(chunk, '\n', (size_t)got) : NULL;

	return newline ? from + (newline - chunk) + 1 : 0;
}

static void read_rows(struct perf_map *map, off_t end)
{
	struct mapparse_options options = { .row = on_row, .user = map };
	struct mapparse_reader *reader = mapparse_reader_create(&options);
	char chunk[CHUNK_BYTES];
	int result = 0;

	for (off_t at = 0; reader && at < end && result == 0;) {
		size_t wanted = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;
		ssize_t got = pread(map->fd, chunk, wanted, at);

		if (got <= 0)
			break;
		result = mapparse_reader_push(reader, chunk, (size_t)got);
		at += got;
	}
	if (reader && result == 0)
		mapparse_reader_finish(reader);
	mapparse_reader_destroy(reader);
	sort_rows(map);
}

bool perf_map_refresh(struct perf_map *map)
{
	struct stat st;

	if (fstat(map->fd, &st) != 0 || st.st_size == map->size_read || st.st_size > SIZE_MAX_READ)
		return false;
	map->size_read = st.st_size;
	map->count = 0;
	text_clear(&map->names);
	read_rows(map, whole_lines_end(map->fd, st.st_size));
	return true;
}

struct perf_map *perf_map_create(int fd)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (!map) {
		close(fd);
		return NULL;
	}
	map->fd = fd;
	perf_map_refresh(map);
	return map;
}

void perf_map_destroy(struct perf_map *map)
{
	if (!map)
		return;
	text_deinit(&map->names);
	free(map->rows);
	close(map->fd);
	free(map);
}

const struct perf_map_row *perf_map_find(const struct perf_map *map, struct address address)
{
	size_t count = sorted_up_to(map->rows, map->count, sizeof(*map->rows), address.value);
	const struct perf_map_row *row = count ? &map->rows[count - 1] : NULL;

	return row && address.value - row->start.value < row->size ? row : NULL;
}

size_t perf_map_count(const struct perf_map *map)
{
	return map->count;
}

const struct perf_map_row *perf_map_row(const struct perf_map *map, size_t index)
{
	return &map->rows[index];
}
