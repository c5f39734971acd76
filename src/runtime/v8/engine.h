/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The V8 of a process: the file that it is in, its layout, where the code of its builtins is, and
 * which isolate a thread is in. From here the words of a frame go to frame.h.
 *
 * Source: V8's src/execution/isolate.cc, src/snapshot/embedded/embedded-data.h; glibc's
 * nptl/descr.h.
 */
#ifndef RUNTIME_V8_ENGINE_H
#define RUNTIME_V8_ENGINE_H

#include "runtime/v8/frame.h"
#include "runtime/v8/symbols.h"
#include "target/target.h"

struct error;

struct v8_engine {
	const struct target *target;
	const struct target_file *file;
	struct v8_symbols symbols;
	struct v8_layout layout;
	uint64_t bias; /* from where the file was linked to where it is */
	/* The code of builtins in the file; empty: not found yet, see v8_engine_find_blob(). */
	struct file_offset blob_begin;
	struct file_offset blob_end;
};

/*
 * Find V8 in what @target has mapped; target_look() has been made, and it must outlive the engine.
 * -ENOENT: there is none; -ENOTSUP: its version is not understood; with @err set. Its symbols end
 * with v8_symbols_deinit().
 */
int v8_engine_init(struct v8_engine *engine, const struct target *target, struct error *err);

/* From a thread's pointer, where its isolate is. False: that cannot be told of this file. */
bool v8_engine_isolate_at(const struct v8_engine *engine, int32_t *at);

/*
 * Where a file does not say which code is of builtins, its data does, once there is an isolate.
 * False: it does not yet.
 */
bool v8_engine_find_blob(struct v8_engine *engine);

/* Fill in the place of @raw->pc. False: that is no code of V8's. */
bool v8_engine_place(const struct v8_engine *engine, struct v8_raw *raw);

#endif
