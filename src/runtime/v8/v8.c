// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8 as a runtime: the table of runtime/runtime.h. It has code in its builtins, in the file and
 * where V8 has mapped that again, and in memory of no file that code is compiled into.
 */
#include "runtime/v8/v8.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

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
	v8_engine_find_blob(&v8->engine);
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
		v8_engine_find_blob(&v8->engine);
	return 0;
}

static void add_unreadable(const struct v8 *v8, struct text *line)
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
}

static void add_summary(const struct v8 *v8, struct text *line)
{
	const struct v8_version *version = &v8->engine.layout.version;

	if (v8->present)
		text_printf(line, "V8 %u.%u.%u.%u in %s", version->major, version->minor,
			    version->build, version->patch, v8->engine.file->name);
}

static void log_topic(const struct runtime *runtime, enum runtime_topic topic,
		      const struct runtime_log *log)
{
	const struct v8 *v8 = (const struct v8 *)runtime;
	struct text line = { 0 };

	if (topic == RUNTIME_LOG_UNREADABLE)
		add_unreadable(v8, &line);
	else if (topic == RUNTIME_LOG_SUMMARY)
		add_summary(v8, &line);
	if (line.length)
		log->line(log->ctx, text_chars(&line));
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

/* Where there is code ------------------------------------------------------------------------ */

/* So much of a mapping of V8's file as is code of builtins. */
static int tell_builtins(const struct v8_engine *engine, const struct mapping *row,
			 code_range_fn fn, void *ctx)
{
	uint64_t begin = row->offset.value, end = begin + (row->end.value - row->start.value);
	struct code_range range = { .unwinder = UNWINDER_V8 };

	if (begin < engine->blob_begin.value)
		begin = engine->blob_begin.value;
	if (end > engine->blob_end.value)
		end = engine->blob_end.value;
	if (begin >= end)
		return 0;
	range.begin = row->start.value + (begin - row->offset.value);
	range.end = range.begin + (end - begin);
	return fn(&range, ctx);
}

/* Memory that is reserved for code has other rights page by page, and none where there is none. */
static size_t end_of_run(const struct maps *maps, size_t first)
{
	size_t i = first + 1;

	while (i < maps->count && maps->rows[i].inode == 0 && maps->rows[i].path[0] == '\0' &&
	       maps->rows[i].start.value == maps->rows[i - 1].end.value)
		i++;
	return i;
}

static bool has_code(const struct maps *maps, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		if (maps->rows[i].executable)
			return true;
	}
	return false;
}

/*
 * Code of another runtime's that lies in memory of no file, too: which is whose, only the walk can
 * tell. .NET's does not, unless it is told to.
 */
bool v8_is_alone(const struct v8 *v8, const struct maps *maps)
{
	const struct runtime *dotnet = runtimes_get(v8->others, RUNTIME_DOTNET);

	if (!dotnet || !dotnet->ops->is_present(dotnet))
		return true;
	for (size_t i = 0; i < maps->count; i++) {
		if (maps->rows[i].shared && maps->rows[i].executable)
			return true;
	}
	return false;
}

static int tell_compiled(const struct maps *maps, code_range_fn fn, void *ctx)
{
	int result = 0;

	for (size_t i = 0, end; i < maps->count && result == 0; i = end) {
		struct code_range range = { .unwinder = UNWINDER_V8 };

		end = i + 1;
		if (maps->rows[i].inode || maps->rows[i].path[0])
			continue;
		end = end_of_run(maps, i);
		range.begin = maps->rows[i].start.value;
		range.end = maps->rows[end - 1].end.value;
		if (has_code(maps, i, end))
			result = fn(&range, ctx);
	}
	return result;
}

static int ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
{
	const struct v8 *v8 = (const struct v8 *)runtime;
	const struct maps *maps = target_maps(v8->target);
	int result = 0;

	if (!v8->present)
		return 0;
	for (size_t i = 0; i < maps->count && result == 0; i++) {
		if (maps->rows[i].executable &&
		    mapping_same_file(&maps->rows[i], &v8->engine.file->mapping))
			result = tell_builtins(&v8->engine, &maps->rows[i], fn, ctx);
	}
	return result || !v8_is_alone(v8, maps) ? result : tell_compiled(maps, fn, ctx);
}

/* Of an object, as the programs want it. */
static int32_t offset(const struct v8_layout *layout, enum v8_field field)
{
	return v8_layout_has(layout, field) ? layout->at[field] - 1 : (int32_t)UNWIND_NO_FIELD;
}

static uint32_t marker(const struct v8_layout *layout, enum v8_field field)
{
	return v8_layout_has(layout, field) ? (uint32_t)layout->at[field] << 1 : UNWIND_NO_FIELD;
}

static enum unwinder elsewhere(const struct runtime *runtime, struct unwind_layouts *layouts)
{
	const struct v8 *v8 = (const struct v8 *)runtime;
	const struct v8_layout *layout = &v8->engine.layout;
	int32_t isolate_at;

	if (!v8->present)
		return UNWINDER_FRAME_POINTER;
	if (!v8_engine_isolate_at(&v8->engine, &isolate_at))
		isolate_at = UNWIND_NO_ISOLATE;
	layouts->v8 = (struct unwind_v8){
		.present = 1,
		.function_shared_at = offset(layout, V8_FUNCTION_SHARED),
		.shared_data_at = offset(layout, V8_SHARED_DATA),
		.shared_untrusted_at = offset(layout, V8_SHARED_UNTRUSTED_DATA),
		.shared_script_at = offset(layout, V8_SHARED_SCRIPT),
		.shared_literal_at = offset(layout, V8_SHARED_LITERAL_ID),
		.script_id_at = offset(layout, V8_SCRIPT_ID),
		.isolate_at = isolate_at,
		.marker_entry = marker(layout, V8_FRAME_ENTRY),
		.marker_construct_entry = marker(layout, V8_FRAME_CONSTRUCT_ENTRY),
		.marker_builtin_exit = marker(layout, V8_FRAME_BUILTIN_EXIT),
		.exit_receiver_at = layout->at[V8_EXIT_RECEIVER],
	};
	return UNWINDER_V8;
}

/* As struct runtime -------------------------------------------------------------------------- */

static void destroy(struct runtime *runtime)
{
	struct v8 *v8 = (struct v8 *)runtime;

	if (v8->present)
		v8_symbols_deinit(&v8->engine.symbols);
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

const struct runtime_ops v8_ops = {
	.id = RUNTIME_V8,
	.create = create,
	.destroy = destroy,
	.read = read_target,
	.log = log_topic,
	.refresh = refresh,
	.ranges = ranges,
	.elsewhere = elsewhere,
	.moves = tell_moves,
	.watch_moves = watch_moves,
	.host = host,
	.frame_namer = v8_frame_namer,
};
