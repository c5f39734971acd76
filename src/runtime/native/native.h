/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Native code in a target: functions of the ELF files that it has mapped, by their symbols or those
 * of their debug files. It is a struct runtime; src/session/resolve.c makes it.
 */
#ifndef RUNTIME_NATIVE_NATIVE_H
#define RUNTIME_NATIVE_NATIVE_H

#include "runtime/runtime.h"

struct native_lines;
struct native_symbols;
struct target;

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

/* Likewise its source lines; NULL also if none are asked for. */
struct native_lines *native_file_lines(struct native *native, const struct target_file *file);

/* As runtime_ops has them (ranges.c, frame_names.c). */
int native_ranges(struct runtime *runtime, code_range_fn fn, void *ctx);
int native_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err);

#endif
