/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8, the engine of Node.js, as a runtime: what session/resolve.c registers. JavaScript frames are
 * walked and named; functions are no methods to probe yet.
 */
#ifndef RUNTIME_V8_V8_H
#define RUNTIME_V8_V8_H

#include "base/error.h"
#include "runtime/runtime.h"
#include "runtime/v8/engine.h"

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

extern const struct runtime_ops v8_ops;

/* Is all code that lies in memory of no file V8's? */
bool v8_is_alone(const struct v8 *v8, const struct maps *maps);

/* As runtime_ops has it (frame_names.c). */
int v8_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err);

#endif
