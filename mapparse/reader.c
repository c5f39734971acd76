// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From bytes to lines: the beginning is held back until the format is known, a line that
 * arrives in pieces until it is complete. Nothing else is kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rows.h"

enum {
	HEAD_MAX = MAPPARSE_LINE_MAX, /* what the format is told by */
	READ_BYTES = 65536,
	DIAGNOSTICS_DEFAULT = 5,
	ERROR_MAX = 256,
};

struct mapparse_reader {
	struct mapparse_options options;
	struct mapparse_header header;
	struct mapparse_counts counts;
	struct mapparse_rows rows;
	struct mapparse_name name;
	uint64_t line; /* the number of the line being read, from 1 */
	uint64_t last_address;
	int result; /* once not 0, reading is over */
	bool detected;
	bool dropping; /* the rest of a line that was too long */
	bool warned_signature;
	size_t held; /* bytes in @hold */
	char error[ERROR_MAX];
	char hold[HEAD_MAX]; /* the head; later, the beginning of a line */
};

struct mapparse_reader *mapparse_reader_create(const struct mapparse_options *options)
{
	struct mapparse_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->options = *options;
	if (!r->options.diagnostics_max)
		r->options.diagnostics_max = DIAGNOSTICS_DEFAULT;
	r->line = 1;
	r->rows = (struct mapparse_rows){
		.header = &r->header,
		.name = &r->name,
		.skip_names = options->skip_names,
		.assembly = options->assembly,
	};
	return r;
}

void mapparse_reader_destroy(struct mapparse_reader *reader)
{
	if (!reader)
		return;
	mapparse_name_deinit(&reader->name);
	free(reader);
}

static int fail(struct mapparse_reader *r, int error, const char *reason)
{
	if (!r->result) {
		r->result = error;
		snprintf(r->error, sizeof(r->error), "%s", reason);
	}
	return r->result;
}

static void report(struct mapparse_reader *r, const char *reason, bool row_used)
{
	struct mapparse_diagnostic diagnostic = {
		.line = r->line,
		.reason = reason,
		.row_used = row_used,
	};

	if (r->counts.bad++ < r->options.diagnostics_max && r->options.diagnostic)
		r->options.diagnostic(r->options.user, &diagnostic);
}

/* RVAs are written in order; the addresses of a process as they come. */
static void check_order(struct mapparse_reader *r, const struct mapparse_row *row)
{
	if (row->kind == MAPPARSE_KIND_IMAGE)
		return;
	if (row->address < r->last_address) {
		r->counts.out_of_order++;
		if (!row->is_absolute)
			report(r, "the row is out of order: its RVA is below the one before", true);
	}
	r->last_address = row->address;
}

static void give_row(struct mapparse_reader *r, struct mapparse_row *row)
{
	if (r->header.format == MAPPARSE_FORMAT_CROSSGEN2 && !r->header.has_signature &&
	    !r->warned_signature) {
		r->warned_signature = true;
		report(r,
		       "there is no signature before the first row, so the image cannot be "
		       "checked",
		       true);
	}
	check_order(r, row);
	row->line = r->line;
	r->counts.rows++;
	r->result = r->options.row ? r->options.row(r->options.user, row) : 0;
}

static void take_line(struct mapparse_reader *r, struct mapparse_slice line, bool is_cut,
		      bool is_last)
{
	struct mapparse_row row;

	if (is_cut)
		report(r, "the line is longer than 64 KiB; its end was dropped", true);
	line = line_trim(line);
	if (!line.length)
		return;
	if (is_last && !mapparse_rows_is_whole(r->header.format, line)) {
		report(r, "the last row is cut short", false);
		return;
	}
	switch (mapparse_rows_read(&r->rows, line, is_cut, &row)) {
	case MAPPARSE_LINE_ROW:
		give_row(r, &row);
		break;
	case MAPPARSE_LINE_NONE:
		break;
	case MAPPARSE_LINE_BAD:
		report(r, r->rows.reason, false);
		break;
	case MAPPARSE_LINE_REFUSED:
		fail(r, -ENOTSUP, r->rows.reason);
		break;
	}
}

/* Some of a line, without its end. What is beyond MAPPARSE_LINE_MAX is dropped. */
static void hold_part(struct mapparse_reader *r, const char *bytes, size_t length)
{
	size_t room = MAPPARSE_LINE_MAX - r->held;

	if (length > room) {
		r->dropping = true;
		length = room;
	}
	memcpy(r->hold + r->held, bytes, length);
	r->held += length;
}

static void end_line(struct mapparse_reader *r, bool is_last)
{
	struct mapparse_slice line = { r->hold, r->held };
	bool is_cut = r->dropping;

	r->held = 0;
	r->dropping = false;
	take_line(r, line, is_cut, is_last && !is_cut);
}

/* A NUL ends a row as a newline does: .NET 8.0.0 wrote some. An editor would not count it. */
static int take_bytes(struct mapparse_reader *r, const char *bytes, size_t length)
{
	const char *end = bytes + length;

	while (bytes < end && !r->result) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		const char *line_end = newline ? newline : end;
		const char *nul = memchr(bytes, '\0', (size_t)(line_end - bytes));

		if (nul)
			line_end = nul;
		length = (size_t)(line_end - bytes);
		if (line_end == end) {
			hold_part(r, bytes, length);
			break;
		}
		if (r->held || length > MAPPARSE_LINE_MAX) {
			hold_part(r, bytes, length);
			end_line(r, false);
		} else {
			take_line(r, (struct mapparse_slice){ bytes, length }, false, false);
		}
		r->line += *line_end == '\n';
		bytes = line_end + 1;
	}
	return r->result;
}

/* The head is complete: its format is what the rest is read as. */
static int take_head(struct mapparse_reader *r, bool is_all)
{
	struct mapparse_detection found = mapparse_detect(r->hold, r->held, is_all);
	char *head;
	size_t length = r->held;

	r->detected = true;
	if (found.error)
		return fail(r, found.error, found.reason);
	r->header.format = found.format;

	/* The lines are read out of a copy, because the last one's beginning is held again. */
	head = malloc(length);
	if (!head)
		return fail(r, -ENOMEM, "there is no memory to read it");
	memcpy(head, r->hold, length);
	r->held = 0;
	take_bytes(r, head + found.skip, length - found.skip);
	free(head);
	return r->result;
}

int mapparse_reader_push(struct mapparse_reader *r, const void *bytes, size_t length)
{
	const char *p = bytes;

	if (r->result)
		return r->result;
	if (!r->detected) {
		size_t part = HEAD_MAX - r->held;

		if (part > length)
			part = length;
		if (part)
			memcpy(r->hold + r->held, p, part);
		r->held += part;
		if (r->held < HEAD_MAX)
			return 0;
		if (take_head(r, false) != 0)
			return r->result;
		p += part;
		length -= part;
	}
	return length ? take_bytes(r, p, length) : 0;
}

int mapparse_reader_finish(struct mapparse_reader *r)
{
	if (r->result)
		return r->result;
	if (!r->detected && take_head(r, true) != 0)
		return r->result;
	r->counts.lines = r->line - 1;
	if (r->held || r->dropping) {
		r->counts.lines = r->line;
		end_line(r, true);
	}
	return r->result;
}

int mapparse_reader_read_fd(struct mapparse_reader *r, int fd)
{
	char *bytes = malloc(READ_BYTES);
	ssize_t length;
	int result = 0;

	if (!bytes)
		return fail(r, -ENOMEM, "there is no memory to read it");
	while (result == 0) {
		length = read(fd, bytes, READ_BYTES);
		if (length > 0) {
			result = mapparse_reader_push(r, bytes, (size_t)length);
		} else if (length == 0) {
			result = mapparse_reader_finish(r);
			break;
		} else if (errno != EINTR) {
			result = fail(r, -errno, strerror(errno));
		}
	}
	free(bytes);
	return result;
}

const struct mapparse_header *mapparse_reader_header(const struct mapparse_reader *reader)
{
	return &reader->header;
}

const struct mapparse_counts *mapparse_reader_counts(const struct mapparse_reader *reader)
{
	return &reader->counts;
}

const char *mapparse_reader_error(const struct mapparse_reader *reader)
{
	return reader->error;
}

const char *mapparse_format_name(enum mapparse_format format)
{
	static const char *const names[] = {
		[MAPPARSE_FORMAT_UNKNOWN] = "unknown",
		[MAPPARSE_FORMAT_CROSSGEN] = "crossgen",
		[MAPPARSE_FORMAT_CROSSGEN2] = "crossgen2-perfmap",
		[MAPPARSE_FORMAT_CROSSGEN2_MAP] = "crossgen2-map",
		[MAPPARSE_FORMAT_CROSSGEN2_CSV] = "crossgen2-mapcsv",
		[MAPPARSE_FORMAT_PERF_MAP] = "perfmap",
		[MAPPARSE_FORMAT_PERFINFO] = "perfinfo",
	};

	return names[format];
}

const char *mapparse_kind_name(enum mapparse_kind kind)
{
	static const char *const names[] = {
		[MAPPARSE_KIND_METHOD] = "method",   [MAPPARSE_KIND_STUB] = "stub",
		[MAPPARSE_KIND_JS] = "js",	     [MAPPARSE_KIND_BUILTIN] = "builtin",
		[MAPPARSE_KIND_SECTION] = "section", [MAPPARSE_KIND_IMAGE] = "image",
		[MAPPARSE_KIND_OTHER] = "other",
	};

	return names[kind];
}

const char *mapparse_tier_name(enum mapparse_tier tier)
{
	static const char *const names[] = {
		[MAPPARSE_TIER_UNKNOWN] = "unknown",
		[MAPPARSE_TIER_R2R] = "r2r",
		[MAPPARSE_TIER_TIER0] = "tier0",
		[MAPPARSE_TIER_MINOPT] = "minopt",
		[MAPPARSE_TIER_INSTRUMENTED] = "instrumented",
		[MAPPARSE_TIER_OPTIMIZED] = "optimized",
		[MAPPARSE_TIER_TIER1] = "tier1",
		[MAPPARSE_TIER_OSR] = "osr",
		[MAPPARSE_TIER_INTERPRETER] = "interpreter",
		[MAPPARSE_TIER_BASELINE] = "baseline",
		[MAPPARSE_TIER_MAGLEV] = "maglev",
		[MAPPARSE_TIER_TURBOFAN] = "turbofan",
	};

	return names[tier];
}
