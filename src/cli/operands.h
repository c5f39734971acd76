/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of the command line beside the options: a PID and patterns, or patterns and a command.
 * options.c gathers them, and has them taken once all options are known.
 */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct options;

/* The words before "--" and those after it. */
struct operands {
	char **before;
	size_t before_count;
	char **after; /* ends with NULL */
	size_t after_count;
	bool separated; /* "--" stands there at all */
};

/* Set what @options are for. -EINVAL with @err set. */
int operands_take(const struct operands *operands, struct options *options, struct error *err);

#endif
