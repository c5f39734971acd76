/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a file of the target by name: those that the file has, or its debug file. */
#ifndef RUNTIME_NATIVE_FUNCTIONS_H
#define RUNTIME_NATIVE_FUNCTIONS_H

#include "image/cursor.h"

struct native_symbols;
struct process;

struct target_functions {
	struct native_symbols *symbols; /* NULL: there are none */
	struct span debug;		/* the debug file that they are from, if it is one */
};

/*
 * Read those of the file with @bytes, which must outlive the result; @path is the file's, as the
 * target sees it. What cannot be read is not there. Ends with target_functions_deinit().
 */
void target_functions_read(struct target_functions *functions, struct process *process,
			   const char *path, struct span bytes);
void target_functions_deinit(struct target_functions *functions);

/* Is there one called @name among @symbols, which may be NULL? */
bool target_functions_have(struct native_symbols *symbols, const char *name);

#endif
