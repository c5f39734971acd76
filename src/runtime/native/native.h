/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Native code in a target: functions of the ELF files that it has mapped, by their symbols or those
 * of their debug files. It is a struct runtime; src/session/resolve.c makes it.
 */
#ifndef RUNTIME_NATIVE_NATIVE_H
#define RUNTIME_NATIVE_NATIVE_H

#include "runtime/runtime.h"

struct debuginfod;

struct native {
	struct runtime runtime;
	struct target *target;
	const struct runtimes *others; /* whose images may have the names of files */
	void *functions;	       /* by file; see native_functions() */
};

extern const struct runtime_ops native_ops;

/*
 * The functions of @file, by its symbols or those of its debug file; read when they are first asked
 * for. NULL if they cannot be had. For the one thread that names things.
 */
struct native_symbols *native_functions(struct native *native, const struct target_file *file);

/* Likewise its source lines. */
struct native_lines *native_debug_information(struct native *native,
					      const struct target_file *file);

/* Give back all that these have read. */
void native_functions_forget(struct native *native);

/*
 * What the function at @address, as linked, which its symbol calls @name (NULL: it has none), is
 * given and gives back, by its debug information, and where that is by the calling convention. What
 * cannot be told says why. -ENOMEM.
 */
int native_signature(struct native_lines *lines, uint64_t address, const char *name,
		     struct value_types *types, struct value_signature *signature);

/* As runtime_ops has it (frame_names.c). */
int native_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err);

/* Functions of a file of the target: those that it has, or its debug file (functions.c). */
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

/*
 * What is in @file's .gnu_debugdata ("mini debug info"): a small ELF file, compressed by xz, in one
 * that was stripped, at @bytes; to be freed. It has the names of functions that .dynsym has not.
 * NULL: it has none that can be read.
 *
 * Source of the format: GDB manual, "Debugging information in a special section".
 */
uint8_t *debug_data_unpack(struct span file, struct span *bytes);

#endif
