/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a file of the target: those that it has, or its debug file. */
#ifndef RUNTIME_NATIVE_FUNCTIONS_H
#define RUNTIME_NATIVE_FUNCTIONS_H

#include <stdbool.h>

#include "image/cursor.h"

struct debuginfod;
struct native;
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

/* Give back all that native_functions() and the like (native.h) have read. */
void native_functions_forget(struct native *native);

/*
 * What is in @file's .gnu_debugdata ("mini debug info"): a small ELF file, compressed by xz, in one
 * that was stripped, at @bytes; to be freed. It has the names of functions that .dynsym has not.
 * NULL: it has none that can be read.
 *
 * Source of the format: GDB manual, "Debugging information in a special section".
 */
uint8_t *debug_data_unpack(struct span file, struct span *bytes);

#endif
