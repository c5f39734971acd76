/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What v8.c, ranges.c and frame_names.c share. */
#ifndef RUNTIME_V8_V8_INTERNAL_H
#define RUNTIME_V8_V8_INTERNAL_H

#include "base/error.h"
#include "runtime/v8/engine.h"
#include "runtime/v8/v8.h"

struct v8 {
	struct runtime runtime; /* first */
	struct target *target;
	const struct runtimes *others;
	bool present; /* there is an engine: */
	struct v8_engine engine;
	size_t files_seen;    /* of the target, when it was looked for last */
	struct error problem; /* why the V8 that is there is not understood; "": it is, or none */
	/* The programs' counts, which change at any time; NULL: nobody counts. */
	const struct moves_now *moves;
};

/* Is all code that lies in memory of no file V8's? */
bool v8_is_alone(const struct v8 *v8, const struct maps *maps);
int v8_ranges(struct runtime *runtime, code_range_fn fn, void *ctx);
enum unwinder v8_elsewhere(const struct runtime *runtime, struct unwind_layouts *layouts);
int v8_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err);

#endif
