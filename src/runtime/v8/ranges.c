// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where V8 has code: that of its builtins, in the file and where V8 has mapped that again, and
 * memory of no file that code is compiled into. Told to unwind/, and with it what the walk needs.
 */
#include <string.h>

#include "runtime/v8/v8_internal.h"

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

int v8_ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
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

enum unwinder v8_elsewhere(const struct runtime *runtime, struct unwind_layouts *layouts)
{
	const struct v8 *v8 = (const struct v8 *)runtime;
	const struct v8_layout *layout = &v8->engine.layout;
	int32_t isolate_at;

	if (!v8->present)
		return UNWINDER_FRAME_POINTER;
	if (!v8_engine_isolate_at(&v8->engine, v8->target->memory, &isolate_at))
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
