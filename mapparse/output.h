/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command's output: rows as text for people, or in a format for other programs. */
#ifndef MAPPARSE_OUTPUT_H
#define MAPPARSE_OUTPUT_H

#include <stdio.h>

#include "mapparse.h"

enum output_style {
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_CSV,
	OUTPUT_PERF_MAP,
};

struct output {
	FILE *file;
	enum output_style style;
	uint64_t base; /* added to RVAs */
};

/* What stands above all rows. */
void output_begin(const struct output *out);

/* 0 or -ENOMEM. */
int output_row(const struct output *out, const char *file_name, const struct mapparse_row *row);

/* One line: the format found, and what the file says of its image. */
void output_header(const struct output *out, const char *file_name,
		   const struct mapparse_header *header);

#endif
