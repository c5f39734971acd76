/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common to the fuzz targets of the formats: hostile bytes are read three times, at once, in
 * pieces and out of a file, behind a beginning that makes them one format. The rows must be
 * the same, lie within bounds, and have names that are what they parse to again.
 */
#ifndef MAPPARSE_TESTS_FUZZ_ROWS_H
#define MAPPARSE_TESTS_FUZZ_ROWS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapparse/mapparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

struct fuzz_sum {
	uint64_t rows;
	uint64_t hash;
};

#define FUZZ_ASSERT(condition)    \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static inline void fuzz_hash(struct fuzz_sum *sum, const void *bytes, size_t length)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < length; i++)
		sum->hash = (sum->hash ^ p[i]) * UINT64_C(1099511628211);
}

/* A name that was understood is understood the same way when it comes back. */
static inline void fuzz_check_name(const struct mapparse_name *name)
{
	struct mapparse_name again = { .chars = NULL };

	if (!name->ambiguous) {
		FUZZ_ASSERT(mapparse_name_parse(&again, MAPPARSE_SPELLING_ANY,
						name->canonical.start,
						name->canonical.length) == 0);
		FUZZ_ASSERT(again.canonical.length == name->canonical.length);
		FUZZ_ASSERT(memcmp(again.canonical.start, name->canonical.start,
				   name->canonical.length) == 0);
	}
	for (int spelling = MAPPARSE_SPELLING_ANY; spelling <= MAPPARSE_SPELLING_MANGLED;
	     spelling++)
		free(mapparse_name_render(name, (enum mapparse_spelling)spelling));
	mapparse_name_deinit(&again);
}

static inline int fuzz_row(void *user, const struct mapparse_row *row)
{
	struct fuzz_sum *sum = user;
	const struct mapparse_slice parts[] = { row->raw_name,	row->tier_name, row->section,
						row->node_type, row->mvid,	row->js.function,
						row->js.script };

	sum->rows++;
	FUZZ_ASSERT(row->address <= UINT64_MAX - row->size);
	fuzz_hash(sum, &row->address, sizeof(row->address));
	fuzz_hash(sum, &row->size, sizeof(row->size));
	fuzz_hash(sum, &row->line, sizeof(row->line));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fuzz_hash(sum, parts[i].start, parts[i].length);
	FUZZ_ASSERT(mapparse_kind_name(row->kind) && mapparse_tier_name(row->tier));
	if (row->name) {
		fuzz_hash(sum, row->name->canonical.start, row->name->canonical.length);
		fuzz_hash(sum, row->name->return_type.start, row->name->return_type.length);
		fuzz_check_name(row->name);
	}
	return 0;
}

/* What is reported is of a line that there is. */
static inline void fuzz_diagnostic(void *user, const struct mapparse_diagnostic *diagnostic)
{
	(void)user;
	FUZZ_ASSERT(diagnostic->line > 0 && diagnostic->reason && *diagnostic->reason);
}

static inline int fuzz_push(struct mapparse_reader *r, const char *front, const uint8_t *bytes,
			    size_t length, size_t chunk)
{
	int result = mapparse_reader_push(r, front, strlen(front));

	for (size_t done = 0; done < length && result == 0;) {
		size_t part = chunk < length - done ? chunk : length - done;

		result = mapparse_reader_push(r, bytes + done, part);
		done += part;
	}
	return result ? result : mapparse_reader_finish(r);
}

static inline int fuzz_push_file(struct mapparse_reader *r, const char *front, const uint8_t *bytes,
				 size_t length)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	FUZZ_ASSERT(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	FUZZ_ASSERT(write(fd, front, strlen(front)) == (ssize_t)strlen(front));
	FUZZ_ASSERT(write(fd, bytes, length) == (ssize_t)length);
	FUZZ_ASSERT(lseek(fd, 0, SEEK_SET) == 0);
	return mapparse_reader_read_fd(r, fd);
}

/* In pieces of @chunk bytes; 0: out of a file. */
static inline struct fuzz_sum fuzz_read(const char *front, const uint8_t *bytes, size_t length,
					size_t chunk)
{
	struct fuzz_sum sum = { 0, UINT64_C(14695981039346656037) };
	struct mapparse_reader *r = mapparse_reader_create(&(struct mapparse_options){
		.row = fuzz_row, .diagnostic = fuzz_diagnostic, .user = &sum });
	int result;

	FUZZ_ASSERT(r);
	result = chunk ? fuzz_push(r, front, bytes, length, chunk) :
			 fuzz_push_file(r, front, bytes, length);
	FUZZ_ASSERT(!result == !*mapparse_reader_error(r));
	FUZZ_ASSERT(mapparse_format_name(mapparse_reader_header(r)->format));
	fuzz_hash(&sum, &result, sizeof(result));
	fuzz_hash(&sum, mapparse_reader_counts(r), sizeof(struct mapparse_counts));
	mapparse_reader_destroy(r);
	return sum;
}

static inline int fuzz_rows(const char *front, const uint8_t *bytes, size_t length)
{
	struct fuzz_sum whole = fuzz_read(front, bytes, length, SIZE_MAX);
	const struct fuzz_sum others[] = {
		fuzz_read(front, bytes, length, length % 13 + 1),
		fuzz_read(front, bytes, length, 0),
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		FUZZ_ASSERT(whole.rows == others[i].rows && whole.hash == others[i].hash);
	return 0;
}

/* The fuzz target of a format, whose files begin with @front. */
#define FUZZ_ROWS(front)                                                \
	int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) \
	{                                                               \
		return fuzz_rows(front, bytes, length);                 \
	}

#endif
