/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions and source lines of a file of the target: those that it has, or its debug file. */
#ifndef RUNTIME_NATIVE_FUNCTIONS_H
#define RUNTIME_NATIVE_FUNCTIONS_H

#include <stdbool.h>

#include "image/cursor.h"

struct debuginfod;
struct native_lines;
struct native_symbols;
struct process;

struct target_functions {
	struct native_symbols *symbols; /* NULL: there are none */
	struct span debug;		/* the debug file that they are from, if it is one */
	uint8_t *unpacked;		/* the names that the file has compressed, or NULL */
	bool awaited;			/* a debug file is being fetched that may know more */
};

/*
 * Read those of the file with @bytes, which must outlive the result; @path is the file's, as the
 * target sees it. A debug file that is nowhere here comes by @debuginfod, if that is not NULL. What
 * cannot be read is not there. Ends with target_functions_deinit().
 */
void target_functions_read(struct target_functions *functions, struct process *process,
			   struct debuginfod *debuginfod, const char *path, struct span bytes);
void target_functions_deinit(struct target_functions *functions);

/* The source lines of the same file. */
struct target_lines {
	struct native_lines *lines; /* NULL: there are none */
	struct span debug;	    /* the debug file that they are from, if only they are */
	bool awaited;		    /* as above */
};

/* Read those of the file whose @functions were read, with the same arguments, and end before. */
void target_lines_read(struct target_lines *lines, const struct target_functions *functions,
		       struct process *process, struct debuginfod *debuginfod, const char *path,
		       struct span bytes);
void target_lines_deinit(struct target_lines *lines);

/* Is there one called @name among @symbols, which may be NULL? */
bool target_functions_have(struct native_symbols *symbols, const char *name);

#endif
