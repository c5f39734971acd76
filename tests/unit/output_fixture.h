/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a format makes of records, for the programs that test formats. */
#ifndef OUTPUT_FIXTURE_H
#define OUTPUT_FIXTURE_H

#include "base/cleanup.h"
#include "unit.h"

#include <string.h>

#include "output/output.h"

/* The @size bytes that come out of the format that @options ask for; the caller frees them. */
static inline char *write_bytes(const struct options *options, void (*write)(struct output *output),
				size_t *size)
{
	struct output output;
	char *written = NULL;

	assert_int_equal(output_open(&output, options, NULL), 0);
	output.to = open_memstream(&written, size);
	assert_non_null(output.to);
	output.start_ns = 1000;
	output.wall_offset_ns = 5000;
	write(&output);
	assert_int_equal(output_close(&output, NULL), 0);
	return written;
}

/* The same of text. */
static inline char *write_out(const struct options *options, void (*write)(struct output *output))
{
	size_t size;

	return write_bytes(options, write, &size);
}

/* It is @expected. */
static inline void check(const struct options *options, void (*write)(struct output *output),
			 const char *expected)
{
	_cleanup_free_ char *written = write_out(options, write);

	assert_string_equal(written, expected);
}

/* The same of JSON, with ' for ". */
static inline void check_json(const struct options *options, void (*write)(struct output *output),
			      const char *expected)
{
	char *quoted = strdup(expected);

	assert_non_null(quoted);
	for (char *at = quoted; (at = strchr(at, '\'')) != NULL;)
		*at = '"';
	check(options, write, quoted);
	free(quoted);
}

#endif
