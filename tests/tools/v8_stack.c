// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * v8_stack PID [TID]: the JavaScript stack of a thread that waits in a system call, and is not stopped for it. First
 * what V8 it is, then a line a frame, the innermost first, fields separated by tabs: kind, tier, whether inlined,
 * name, the function's own name, script, line, column, reason, script id, literal id, whether the function is found
 * by these two as well. For tests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "runtime/v8/engine.h"
#include "runtime/v8/frame.h"
#include "runtime/v8/refind.h"
#include "target/memory.h"

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
	struct v8_frames frames;
	uint64_t isolate;
};

/* Thread control blocks begin with their own address; of each thread there is one. */
static uint64_t find_in(struct memory *memory, uint64_t begin, uint64_t end, uint32_t tid)
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
static uint64_t find_thread_pointer(const struct target *target, uint32_t tid)
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

static const char *or_none(const char *s)
{
	return s ? s : "-";
}

static void print(struct walk *walk, const struct v8_frame *frame)
{
	const struct v8_heap heap = { walk->target.memory, &walk->engine.layout };
	struct v8_function found;
	bool again =
		v8_function_find(&heap, walk->isolate, frame->script_id, frame->literal_id, &found);

	static const char *const kinds[] = { "unknown", "js", "stub" };

	printf("%s\t%s\t%d\t%s\t%s\t%s\t%u\t%u\t%s\t%d\t%d\t%d\n", kinds[frame->kind],
	       or_none(v8_tier_name(frame->tier)), frame->inlined, or_none(frame->name),
	       or_none(frame->function), or_none(frame->script), frame->line, frame->column,
	       v8_reason_name(frame->reason), frame->script_id, frame->literal_id, again);
}

/* One frame; the next frame pointer, or 0 behind the last. */
static uint64_t step(struct walk *walk, uint64_t fp, uint64_t pc)
{
	struct look look = look_into(walk->target.memory);
	const struct v8_layout *layout = &walk->engine.layout;
	struct v8_raw raw = { .pc = { pc }, .isolate = walk->isolate };
	uint64_t next;

	if (pc && !v8_engine_place(&walk->engine, &walk->target, &raw)) {
		printf("native\t%" PRIx64 "\n", pc);
		return look_u64(&look, fp);
	}
	v8_namer_read(walk->namer, (struct address){ fp }, &raw);
	v8_namer_name(walk->namer, &raw, &walk->frames);
	for (size_t i = 0; i < walk->frames.count; i++)
		print(walk, &walk->frames.frames[i]);
	next = look_u64(&look, fp);
	/* What is outside of an entry frame is C++, up to the call that JavaScript has made before. */
	if (v8_marker_is(layout, raw.marker, V8_FRAME_ENTRY) ||
	    v8_marker_is(layout, raw.marker, V8_FRAME_CONSTRUCT_ENTRY))
		next = look_u64(&look, fp - SAVED_C_ENTRY_FP);
	return look.bad ? 0 : next;
}

static void walk_all(struct walk *walk, uint64_t fp)
{
	struct look look = look_into(walk->target.memory);
	uint64_t pc = 0; /* of the first: in C++, which left the exit frame behind */

	for (unsigned int i = 0; i < FRAMES_MAX && fp && !look.bad; i++) {
		uint64_t next = step(walk, fp, pc);

		/* The return address of an entry frame is not that of what it leads to. */
		pc = next == look_u64(&look, fp) ? look_u64(&look, fp + 8) : 0;
		if (next <= fp)
			break;
		fp = next;
	}
}

/* Which version, and how much code of builtins there is. */
static void print_engine(const struct v8_engine *engine)
{
	const struct v8_version *version = &engine->layout.version;

	printf("V8 %u.%u.%u.%u%s, %" PRIu64 " bytes of builtins\n", version->major, version->minor,
	       version->build, version->patch, engine->layout.guessed ? " guessed" : "",
	       engine->blob_end.value - engine->blob_begin.value);
}

static int begin(struct walk *walk, pid_t pid, uint32_t tid, struct error *err)
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
		walk->isolate =
			v8_engine_isolate(&walk->engine, walk->target.memory, thread_pointer);
	if (!walk->isolate)
		return error_set(err, -ENOENT,
				 "thread %u is in no isolate (its block: %" PRIx64 ")", tid,
				 thread_pointer);
	if (!walk->engine.blob_end.value &&
	    !v8_engine_find_blob(&walk->engine, &walk->target, walk->isolate, V8_ISOLATE_BYTES))
		return error_set(err, -ENOENT, "the code of builtins was not found");
	if (!v8_layout_fits(&(struct v8_heap){ walk->target.memory, &walk->engine.layout },
			    walk->isolate))
		return error_set(err, -ENOTSUP, "its structures are not as expected");
	return v8_namer_create(&walk->namer, walk->target.memory, &walk->engine.layout, err);
}

int main(int argc, char **argv)
{
	struct walk walk = { .target = TARGET_NONE };
	struct error err = { .text = "" };
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	uint32_t tid = argc > 2 ? (uint32_t)atoi(argv[2]) : (uint32_t)pid;

	if (begin(&walk, pid, tid, &err)) {
		fprintf(stderr, "v8_stack: %s\n", err.text);
		return 1;
	}
	print_engine(&walk.engine);
	walk_all(&walk, v8_engine_c_entry_fp(&walk.engine, walk.target.memory, walk.isolate));
	v8_frames_deinit(&walk.frames);
	v8_namer_destroy(walk.namer);
	v8_engine_deinit(&walk.engine);
	target_deinit(&walk.target);
	return 0;
}
