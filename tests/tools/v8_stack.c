// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * v8_stack PID [TID]: the JavaScript stack of a thread that waits in a system call, and is not stopped for it. First
 * what V8 it is, then a line a frame, the innermost first, fields separated by tabs: kind, tier, whether inlined,
 * name, the function's own name, script, line, column, reason, script id, literal id, whether the function is found
 * by these two as well. For tests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/tools/v8_walk.h"

static const char *or_none(const char *s)
{
	return s ? s : "-";
}

static void print(struct walk *walk, const struct v8_frame *frame)
{
	const struct v8_heap heap = { walk->target.memory, &walk->engine.layout };
	struct v8_function found;
	bool again = v8_function_find(&heap, NULL, walk->isolate, frame->script_id,
				      frame->literal_id, &found);

	static const char *const kinds[] = { "unknown", "js", "stub" };

	printf("%s\t%s\t%d\t%s\t%s\t%s\t%u\t%u\t%s\t%d\t%d\t%d\n", kinds[frame->kind],
	       or_none(v8_tier_name(frame->tier)), frame->inlined, or_none(frame->name),
	       or_none(frame->function), or_none(frame->script), frame->line, frame->column,
	       reason_name(frame->reason), frame->script_id, frame->literal_id, again);
}

static void on_frame(struct walk *walk, uint64_t pc, const struct v8_raw *raw)
{
	struct v8_frames *frames = walk->ctx;

	if (!raw) {
		printf("native\t%" PRIx64 "\n", pc);
		return;
	}
	v8_namer_name(walk->namer, raw, frames);
	for (size_t i = 0; i < frames->count; i++)
		print(walk, &frames->frames[i]);
}

/* Which version, and how much code of builtins there is. */
static void print_engine(const struct v8_engine *engine)
{
	const struct v8_version *version = &engine->layout.version;

	printf("V8 %u.%u.%u.%u%s, %" PRIu64 " bytes of builtins\n", version->major, version->minor,
	       version->build, version->patch, engine->layout.guessed ? " guessed" : "",
	       engine->blob_end.value - engine->blob_begin.value);
}

int main(int argc, char **argv)
{
	struct v8_frames frames = { .count = 0 };
	struct walk walk = { .target = TARGET_NONE, .on_frame = on_frame, .ctx = &frames };
	struct error err = { .text = "" };
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	uint32_t tid = argc > 2 ? (uint32_t)atoi(argv[2]) : (uint32_t)pid;

	if (walk_begin(&walk, pid, tid, &err)) {
		fprintf(stderr, "v8_stack: %s\n", err.text);
		return 1;
	}
	print_engine(&walk.engine);
	walk_all(&walk);
	text_deinit(&frames.strings);
	walk_end(&walk);
	return 0;
}
