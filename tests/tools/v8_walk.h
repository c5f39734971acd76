/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JavaScript stack of a thread that waits in a system call, frame by frame, without stopping it: from the last call
 * out of V8, which the isolate knows, over each entry into it to the one before. For tools.
 */
#ifndef TESTS_TOOLS_V8_WALK_H
#define TESTS_TOOLS_V8_WALK_H

#include <inttypes.h>

#include "base/error.h"
#include "runtime/v8/engine.h"
#include "runtime/v8/frame.h"
#include "runtime/v8/function.h"
#include "target/memory.h"
#include "tests/tools/v8_read.h"

enum {
	FRAMES_MAX = 100000,
	SAVED_C_ENTRY_FP =
		64,	 /* below the frame pointer of an entry frame: that of the calls before */
	TCB_TID = 0x2d0, /* struct pthread of glibc 2.36 */
	TCB_SELF = 0x10,
	SCAN_MAX_BYTES = 1 << 20,
};

struct walk {
	struct target target;
	struct v8_engine engine;
	struct v8_namer *namer;
	uint64_t isolate;
	/* Called for each frame; with NULL for one at @pc that is not V8's. */
	void (*on_frame)(struct walk *walk, uint64_t pc, const struct v8_raw *raw);
	void *ctx;
};

/* Thread control blocks begin with their own address; of each thread there is one. */
static inline uint64_t find_in(struct memory *memory, uint64_t begin, uint64_t end, uint32_t tid)
{
	for (uint64_t at = begin; at + TCB_TID + 4 <= end; at += 16) {
		struct look look = look_into(memory);

		if (look_u64(&look, at) == at && look_u64(&look, at + TCB_SELF) == at &&
		    look_u32(&look, at + TCB_TID) == tid && !look.bad)
			return at;
	}
	return 0;
}

/* The end of each mapping, for those of threads are above their stacks. */
static inline uint64_t find_thread_pointer(const struct target *target, uint32_t tid)
{
	const struct maps *maps = target_maps(target);

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *row = &maps->rows[i];
		uint64_t begin = row->start.value, found;

		if (row->inode || !row->writable || row->executable)
			continue;
		if (row->end.value - begin > SCAN_MAX_BYTES)
			begin = row->end.value - SCAN_MAX_BYTES;
		found = find_in(target->memory, begin, row->end.value, tid);
		if (found)
			return found;
	}
	return 0;
}

/* The isolate that a thread is in, by its @thread_pointer (the register fs); 0: in none, or that cannot be told. */
static inline uint64_t find_isolate(const struct walk *walk, uint64_t thread_pointer)
{
	struct look look = look_into(walk->target.memory);
	int32_t at;

	return v8_engine_isolate_at(&walk->engine, &at) ?
		       look_u64(&look, thread_pointer + (uint64_t)(int64_t)at) :
		       0;
}

/* One frame; the next frame pointer, or 0 behind the last. */
static inline uint64_t walk_step(struct walk *walk, uint64_t fp, uint64_t pc)
{
	struct look look = look_into(walk->target.memory);
	const struct v8_layout *layout = &walk->engine.layout;
	struct v8_raw raw = { .pc = { pc }, .isolate = walk->isolate };
	uint64_t next;

	if (pc && !v8_engine_place(&walk->engine, &raw)) {
		walk->on_frame(walk, pc, NULL);
		return look_u64(&look, fp);
	}
	read_frame(walk->target.memory, layout, (struct address){ fp }, &raw);
	walk->on_frame(walk, pc, &raw);
	next = look_u64(&look, fp);
	/* What is outside of an entry frame is C++, up to the call that JavaScript has made before. */
	if (v8_marker_is(layout, raw.marker, V8_FRAME_ENTRY) ||
	    v8_marker_is(layout, raw.marker, V8_FRAME_CONSTRUCT_ENTRY))
		next = look_u64(&look, fp - SAVED_C_ENTRY_FP);
	return look.bad ? 0 : next;
}

/* From the last call of JavaScript out of V8. */
static inline void walk_all(struct walk *walk)
{
	struct look look = look_into(walk->target.memory);
	uint64_t fp = look_u64(
		&look, walk->isolate + (uint64_t)walk->engine.layout.at[V8_ISOLATE_C_ENTRY_FP]);
	uint64_t pc = 0; /* of the first: in C++, which left the exit frame behind */

	for (unsigned int i = 0; i < FRAMES_MAX && fp && !look.bad; i++) {
		uint64_t next = walk_step(walk, fp, pc);

		/* The return address of an entry frame is not that of what it leads to. */
		pc = next == look_u64(&look, fp) ? look_u64(&look, fp + 8) : 0;
		if (next <= fp)
			break;
		fp = next;
	}
}

static inline int walk_begin(struct walk *walk, pid_t pid, uint32_t tid, struct error *err)
{
	uint64_t thread_pointer;
	int result = target_init(&walk->target, pid, err);

	if (result == 0)
		result = target_look(&walk->target, err);
	if (result >= 0)
		result = target_open_memory(&walk->target, err);
	if (result == 0)
		result = v8_engine_init(&walk->engine, &walk->target, err);
	if (result)
		return result;
	thread_pointer = find_thread_pointer(&walk->target, tid);
	if (thread_pointer)
		walk->isolate = find_isolate(walk, thread_pointer);
	if (!walk->isolate)
		return error_set(err, -ENOENT,
				 "thread %u is in no isolate (its block: %" PRIx64 ")", tid,
				 thread_pointer);
	if (!v8_engine_find_blob(&walk->engine))
		return error_set(err, -ENOENT, "the code of builtins was not found");
	if (!v8_layout_fits(&(struct v8_heap){ walk->target.memory, &walk->engine.layout },
			    walk->isolate))
		return error_set(err, -ENOTSUP, "its structures are not as expected");
	return v8_namer_create(&walk->namer, walk->target.memory, &walk->engine.layout, err);
}

static inline void walk_end(struct walk *walk)
{
	v8_namer_destroy(walk->namer);
	v8_symbols_deinit(&walk->engine.symbols);
	target_deinit(&walk->target);
}

#endif
