/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line to one row, for each format. What the lines have in common - where they end, how
 * often one is bad - is reader.c's.
 */
#ifndef MAPPARSE_ROWS_H
#define MAPPARSE_ROWS_H

#include "line.h"

enum mapparse_line {
	MAPPARSE_LINE_ROW,     /* @row is filled */
	MAPPARSE_LINE_NONE,    /* a heading, a rule, a fact for the header */
	MAPPARSE_LINE_BAD,     /* @reason says why */
	MAPPARSE_LINE_REFUSED, /* the rest of the file makes no sense either */
};

/* What a format remembers from line to line. */
struct mapparse_rows {
	struct mapparse_header *header;
	struct mapparse_name *name;
	bool skip_names;
	const char *assembly; /* --map, --mapcsv; may be NULL */
	enum {
		MAPPARSE_TABLE_OTHER,
		MAPPARSE_TABLE_SECTIONS,
		MAPPARSE_TABLE_NODES,
	} table; /* --map: which one the lines are in */
	const char *reason;
};

/* MAPPARSE_LINE_BAD, and why. */
static inline enum mapparse_line mapparse_rows_bad(struct mapparse_rows *rows, const char *reason)
{
	rows->reason = reason;
	return MAPPARSE_LINE_BAD;
}

/* Are the numbers of @row possible ones? Else what is wrong with them. */
enum mapparse_line mapparse_rows_range(struct mapparse_rows *rows, enum mapparse_number address,
				       enum mapparse_number size, struct mapparse_row *row);

/*
 * @line has no end of line, no NUL and no spaces around it. The row's name is parsed into
 * @rows->name, unless @line is cut.
 */
enum mapparse_line mapparse_rows_read(struct mapparse_rows *rows, struct mapparse_slice line,
				      bool is_cut, struct mapparse_row *row);

/*
 * The last line of a file lacks its end. Is it all there nevertheless, judged by how rows of
 * its format end?
 */
bool mapparse_rows_is_whole(enum mapparse_format format, struct mapparse_slice line);

/* rows_perf.c: what @row->raw_name is: kind, tier (cut off) and, for a script's function, where. */
void mapparse_rows_classify_perf(struct mapparse_row *row);

/* perfinfo-PID.map, whose rows are images. */
enum mapparse_line mapparse_rows_read_perfinfo(struct mapparse_rows *rows,
					       struct mapparse_slice line,
					       struct mapparse_row *row);

/* rows_crossgen2.c: --map and --mapcsv, every node of the image, methods among them. */
enum mapparse_line mapparse_rows_read_map(struct mapparse_rows *rows, struct mapparse_slice line,
					  struct mapparse_row *row);
enum mapparse_line mapparse_rows_read_csv(struct mapparse_rows *rows, struct mapparse_slice line,
					  struct mapparse_row *row);

/* detect.c: what is in the first bytes of a file, all of it if @is_all. */
struct mapparse_detection {
	enum mapparse_format format;
	int error; /* 0, or a negative errno and why */
	const char *reason;
	size_t skip; /* a byte order mark */
};

struct mapparse_detection mapparse_detect(const char *bytes, size_t length, bool is_all);

#endif
