/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests: bytes in, rows and diagnostics out as text that can be compared. */
#ifndef MAPPARSE_TESTS_COLLECT_H
#define MAPPARSE_TESTS_COLLECT_H

#include <inttypes.h>
#include <string.h>

#include "mapparse/mapparse.h"
#include "tests/unit/unit.h"

struct collected {
	char *text; /* one line a row, one "LINE: reason" a diagnostic */
	int result;
	char error[256];
	struct mapparse_header header;
	struct mapparse_counts counts;
};

static inline void collect_slice(FILE *out, const char *label, struct mapparse_slice s)
{
	if (s.length)
		fprintf(out, " %s=%.*s", label, (int)s.length, s.start);
}

static inline int collect_row(void *user, const struct mapparse_row *row)
{
	FILE *out = user;
	const struct mapparse_name *name = row->name;

	if (row->kind == MAPPARSE_KIND_SECTION)
		return 0;
	fprintf(out, "%" PRIu64 " %s %" PRIx64 "+%" PRIx64 " %s %s", row->line,
		row->is_absolute ? "at" : "rva", row->address, row->size,
		mapparse_kind_name(row->kind), mapparse_tier_name(row->tier));
	if (name) {
		fprintf(out, " %.*s%s", (int)name->canonical.length, name->canonical.start,
			name->ambiguous ? " (ambiguous)" : "");
		fprintf(out, "%s",
			name->instance == MAPPARSE_INSTANCE ? " instance" :
			name->instance == MAPPARSE_STATIC   ? " static" :
							      "");
		collect_slice(out, "returns", name->return_type);
		collect_slice(out, "of", name->assembly);
	} else {
		fprintf(out, " %.*s", (int)row->raw_name.length, row->raw_name.start);
	}
	collect_slice(out, "tier", row->tier_name);
	collect_slice(out, "mvid", row->mvid);
	if (row->kind == MAPPARSE_KIND_STUB)
		collect_slice(out, "stub", row->node_type);
	collect_slice(out, "function", row->js.function);
	collect_slice(out, "script", row->js.script);
	if (row->js.line)
		fprintf(out, " %u:%u", row->js.line, row->js.column);
	if (row->is_cut)
		fputs(" (cut)", out);
	fputc('\n', out);
	return 0;
}

static inline void collect_diagnostic(void *user, const struct mapparse_diagnostic *diagnostic)
{
	FILE *out = user;

	fprintf(out, "%" PRIu64 ": %s%s\n", diagnostic->line, diagnostic->reason,
		diagnostic->row_used ? " (used)" : "");
}

/* @chunk: how many bytes are pushed at a time, 0 for all at once. */
static inline struct collected collect(const void *bytes, size_t length, size_t chunk)
{
	struct collected c = { .text = NULL };
	const char *p = bytes;
	size_t text_length;
	FILE *out = open_memstream(&c.text, &text_length);
	struct mapparse_reader *r;

	assert_non_null(out);
	r = mapparse_reader_create(&(struct mapparse_options){
		.row = collect_row,
		.diagnostic = collect_diagnostic,
		.user = out,
	});
	assert_non_null(r);
	for (size_t done = 0; done < length && c.result == 0;) {
		size_t part = chunk && chunk < length - done ? chunk : length - done;

		c.result = mapparse_reader_push(r, p + done, part);
		done += part;
	}
	if (c.result == 0)
		c.result = mapparse_reader_finish(r);
	snprintf(c.error, sizeof(c.error), "%s", mapparse_reader_error(r));
	c.header = *mapparse_reader_header(r);
	c.counts = *mapparse_reader_counts(r);
	mapparse_reader_destroy(r);
	fclose(out);
	return c;
}

/* The text of a string literal's rows, to free(). */
static inline char *collect_text(const char *bytes)
{
	return collect(bytes, strlen(bytes), 0).text;
}

static inline char *read_whole(const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	char *bytes = malloc(1 << 20);

	assert_non_null(bytes);
	if (!file)
		fail_msg("%s cannot be opened; run from the top of the tree", path);
	*length = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

#endif
