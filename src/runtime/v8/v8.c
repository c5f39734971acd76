// SPDX-License-Identifier: GPL-2.0-or-later
/* V8 as a runtime: the table of runtime/runtime.h, filled from the other files here. */
#include "runtime/v8/v8.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/v8/v8_internal.h"

/* What is known of V8 before any isolate is: from the file, and from its data in memory. */
static void look_for_engine(struct v8 *v8)
{
	int result;

	if (v8->present || v8->files_seen == v8->target->files.count)
		return;
	v8->files_seen = v8->target->files.count;
	result = v8_engine_init(&v8->engine, v8->target, &v8->problem);
	if (result == -ENOENT)
		v8->problem.text[0] = '\0';
	if (result || target_open_memory(v8->target, NULL))
		return;
	v8->present = true;
	v8_engine_find_blob(&v8->engine, v8->target);
}

static int read_target(struct runtime *runtime, struct error *err)
{
	(void)err;
	look_for_engine((struct v8 *)runtime);
	return 0;
}

/* Its code comes by mappings only, which tell it themselves. */
static int refresh(struct runtime *runtime, bool mapped, struct error *err)
{
	struct v8 *v8 = (struct v8 *)runtime;

	(void)err;
	if (mapped)
		look_for_engine(v8);
	if (mapped && v8->present)
		v8_engine_find_blob(&v8->engine, v8->target);
	return 0;
}

static void log_unreadable(const struct v8 *v8, const struct runtime_log *log, struct text *line)
{
	const struct v8_version *version = &v8->engine.layout.version;

	if (v8->problem.text[0])
		text_printf(
			line,
			"JavaScript frames have no names (probe a Node.js 16 to 26 to have them): %s",
			v8->problem.text);
	else if (v8->present && v8->engine.layout.guessed)
		text_printf(
			line,
			"V8 %u.%u is newer than this place-probe knows: what JavaScript frames are called is told by older versions' structures; look for a later place-probe if they are wrong",
			version->major, version->minor);
	else
		return;
	log->line(log->ctx, text_chars(line));
}

static void log_summary(const struct v8 *v8, const struct runtime_log *log, struct text *line)
{
	const struct v8_version *version = &v8->engine.layout.version;

	if (!v8->present)
		return;
	text_printf(line, "V8 %u.%u.%u.%u in %s", version->major, version->minor, version->build,
		    version->patch, v8->engine.file->name);
	log->line(log->ctx, text_chars(line));
}

static void log_topic(const struct runtime *runtime, enum runtime_topic topic,
		      const struct runtime_log *log)
{
	const struct v8 *v8 = (const struct v8 *)runtime;
	struct text line = { 0 };

	if (topic == RUNTIME_LOG_UNREADABLE)
		log_unreadable(v8, log, &line);
	else if (topic == RUNTIME_LOG_SUMMARY)
		log_summary(v8, log, &line);
	text_deinit(&line);
}

static void tell_moves(const struct runtime *runtime, code_place_fn fn, void *ctx)
{
	const struct v8 *v8 = (const struct v8 *)runtime;
	struct file_offset offset;

	for (size_t i = 0; v8->present && i < V8_MOVES; i++) {
		uint64_t address = v8->engine.symbols.moves[i];

		if (address && elf_code_offset(&v8->engine.symbols.elf, address, &offset))
			fn(ctx, v8->engine.file->number, offset, i);
	}
}

static void watch_moves(struct runtime *runtime, const struct moves_now *moves)
{
	((struct v8 *)runtime)->moves = moves;
}

static const char *host(const struct runtime *runtime)
{
	const struct v8 *v8 = (const struct v8 *)runtime;

	return v8->present ? v8->engine.file->name : NULL;
}

static void destroy(struct runtime *runtime)
{
	struct v8 *v8 = (struct v8 *)runtime;

	if (v8->present)
		v8_engine_deinit(&v8->engine);
	free(v8);
}

static int create(struct runtime **out, struct target *target, const struct runtimes *others,
		  struct error *err)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));

	if (!v8)
		return error_set(err, -ENOMEM, "no memory to look for V8");
	v8->runtime.ops = &v8_ops;
	v8->target = target;
	v8->others = others;
	*out = &v8->runtime;
	return 0;
}

/* It finds nothing to probe. */
static int find(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		struct error *err)
{
	(void)runtime;
	(void)query;
	(void)fn;
	(void)ctx;
	(void)err;
	return 0;
}

const struct runtime_ops v8_ops = {
	.id = RUNTIME_V8,
	.create = create,
	.destroy = destroy,
	.read = read_target,
	.log = log_topic,
	.refresh = refresh,
	.find = find,
	.ranges = v8_ranges,
	.elsewhere = v8_elsewhere,
	.moves = tell_moves,
	.watch_moves = watch_moves,
	.host = host,
	.frame_namer = v8_frame_namer,
};
