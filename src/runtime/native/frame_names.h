/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of native frames, for src/stack/: functions of the files that the target has mapped, and of
 * the vdso.
 */
#ifndef RUNTIME_NATIVE_FRAME_NAMES_H
#define RUNTIME_NATIVE_FRAME_NAMES_H

#include "runtime/frame.h"

struct error;
struct maps;
struct memory;
struct native_symbols;
struct target_file;

struct native_frame_sources {
	const struct maps *maps; /* of the target as it is now */
	struct memory *memory;	 /* likewise; NULL: the vdso has no names */
	/* The functions of a file, which outlive the namer; NULL if they cannot be had. */
	const struct native_symbols *(*functions)(void *ctx, const struct target_file *file);
	void *ctx;
};

/* Fill @namer; its destroy() frees it. The vdso is read here and now. -ENOMEM with @err set. */
int native_frame_namer_create(struct frame_namer *namer, const struct native_frame_sources *sources,
			      struct error *err);

#endif
