/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of frames in code of the .NET runtime: precompiled, compiled at run time, and stubs. They
 * come from the images' metadata and from the runtime's own structures, for src/stack/; what cannot
 * be named is unknown, never guessed.
 */
#ifndef RUNTIME_DOTNET_FRAME_NAMES_H
#define RUNTIME_DOTNET_FRAME_NAMES_H

#include "runtime/frame.h"

struct dotnet_images;
struct error;
struct jit;
struct perf_map;

/* All must outlive the namer. */
struct dotnet_frame_sources {
	const struct dotnet_images *images;
	struct jit *jit; /* NULL: what is compiled at run time is not known */
	/* The perf map that the runtime writes, NULL if there is none (yet). */
	struct perf_map *(*perf_map)(void *ctx);
	void *ctx;
};

/* Fill @namer; its destroy() frees it. -ENOMEM with @err set. */
int dotnet_frame_namer_create(struct frame_namer *namer, const struct dotnet_frame_sources *sources,
			      struct error *err);

#endif
