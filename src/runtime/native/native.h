/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Native code in a target: functions of the ELF files that it has mapped, by their symbols or those
 * of their debug files. It is a struct runtime; src/session/resolve.c makes it.
 */
#ifndef RUNTIME_NATIVE_NATIVE_H
#define RUNTIME_NATIVE_NATIVE_H

#include "runtime/runtime.h"

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

/* Likewise its source lines; of the second NULL also if none are asked for. */
struct native_lines *native_debug_information(struct native *native,
					      const struct target_file *file);
struct native_lines *native_file_lines(struct native *native, const struct target_file *file);

/*
 * What the function at @address, as linked, which its symbol calls @name (NULL: it has none), is
 * given and gives back, by its debug information, and where that is by the calling convention. What
 * cannot be told says why. -ENOMEM.
 */
int native_signature(struct native_lines *lines, uint64_t address, const char *name,
		     struct value_types *types, struct value_signature *signature);

/* As runtime_ops has it (frame_names.c). */
int native_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err);

#endif
