// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/script.h"

#include <stdlib.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "runtime/v8/js_string.h"

enum {
	LINES_MAX = 1 << 22,	  /* of one */
	KEPT_LINES_MAX = 1 << 23, /* of all */
	EVAL = 1,		  /* lowest bit of a script's flags */
};

void v8_scripts_begin(struct v8_scripts *scripts)
{
	scripts->left = V8_SOURCE_MAX;
}

static void drop(struct v8_scripts *scripts, size_t number)
{
	scripts->line_count -= scripts->kept[number].count;
	free(scripts->kept[number].ends);
	scripts->kept[number] = scripts->kept[--scripts->count];
}

void v8_scripts_deinit(struct v8_scripts *scripts)
{
	while (scripts->count)
		drop(scripts, scripts->count - 1);
}

/* Counting lines --------------------------------------------------------------------------- */

struct counting {
	struct v8_lines *lines;
	uint32_t at;
	bool after_return; /* the character before was \r, whose line may end with the next */
	bool failed;
};

static bool add_end(struct counting *counting, uint32_t at)
{
	struct v8_lines *lines = counting->lines;

	counting->failed = lines->count == LINES_MAX ||
			   !vector_add(&lines->ends, &lines->count, &lines->room, at);
	return !counting->failed;
}

static bool count_lines(void *ctx, const uint16_t *chars, size_t count)
{
	struct counting *counting = ctx;

	for (size_t i = 0; i < count; i++, counting->at++) {
		uint16_t c = chars[i];

		if (counting->after_return && c != '\n' && !add_end(counting, counting->at - 1))
			return false;
		counting->after_return = c == '\r';
		if ((c == '\n' || c == 0x2028 || c == 0x2029) && !add_end(counting, counting->at))
			return false;
	}
	return true;
}

static bool read_lines(const struct v8_heap *heap, uint64_t source, struct v8_lines *lines)
{
	struct counting counting = { .lines = lines };

	if (!v8_string_each(heap, source, V8_SOURCE_MAX, count_lines, &counting) || counting.failed)
		return false;
	if (counting.after_return && !add_end(&counting, counting.at - 1))
		return false;
	return add_end(&counting, counting.at);
}

static size_t least_used(const struct v8_scripts *scripts)
{
	size_t found = 0;

	for (size_t i = 1; i < scripts->count; i++) {
		if (scripts->kept[i].used_at < scripts->kept[found].used_at)
			found = i;
	}
	return found;
}

static struct v8_lines *find_lines(struct v8_scripts *scripts, const struct v8_lines *key)
{
	for (size_t i = 0; i < scripts->count; i++) {
		struct v8_lines *lines = &scripts->kept[i];

		if (lines->id == key->id && lines->isolate == key->isolate &&
		    lines->length == key->length)
			return lines;
	}
	return NULL;
}

static struct v8_lines *get_lines(struct v8_scripts *scripts, const struct v8_heap *heap,
				  uint64_t isolate, uint64_t script)
{
	uint64_t source = v8_field(heap, script, V8_SCRIPT_SOURCE);
	struct v8_lines lines = {
		.isolate = isolate,
		.id = v8_smi(v8_field(heap, script, V8_SCRIPT_ID)),
		.length = v8_string_length(heap, source),
	};
	struct v8_lines *found = find_lines(scripts, &lines);

	if (!found) {
		uint32_t counted = lines.length < V8_SOURCE_MAX ? lines.length : V8_SOURCE_MAX;

		if (counted > scripts->left)
			return NULL;
		scripts->left -= counted;
		if (!read_lines(heap, source, &lines)) {
			free(lines.ends);
			return NULL;
		}
		while (scripts->count == V8_SCRIPTS_KEPT ||
		       (scripts->count && scripts->line_count + lines.count > KEPT_LINES_MAX))
			drop(scripts, least_used(scripts));
		scripts->line_count += lines.count;
		found = &scripts->kept[scripts->count++];
		*found = lines;
	}
	found->used_at = ++scripts->uses;
	return found;
}

/* Finding one ------------------------------------------------------------------------------ */

/* Ends of lines, as the engine has them or as they are kept. */
struct ends {
	const struct v8_heap *heap;
	uint64_t array;
	const struct v8_lines *lines;
	uint32_t count;
};

static int64_t end_at(const struct ends *ends, uint32_t line)
{
	uint64_t value;

	if (ends->lines)
		return ends->lines->ends[line];
	value = v8_array_at(ends->heap, ends->array, line);
	return v8_is_smi(value) ? v8_smi(value) : -1;
}

static int32_t shift_of(const struct v8_heap *heap, uint64_t script, enum v8_field field)
{
	uint64_t value = v8_field(heap, script, field);

	return v8_is_smi(value) ? v8_smi(value) : 0;
}

bool v8_script_position(struct v8_scripts *scripts, const struct v8_heap *heap, uint64_t isolate,
			uint64_t script, int32_t at, uint32_t *line, uint32_t *column)
{
	struct ends ends = { .heap = heap };
	int64_t in_line;
	uint32_t found;

	if (at < 0 || !v8_is(heap, script, V8_TYPE_SCRIPT))
		return false;
	ends.array = v8_field(heap, script, V8_SCRIPT_LINE_ENDS);
	ends.count = v8_array_length(heap, ends.array);
	if (ends.count == 0) {
		ends.lines = get_lines(scripts, heap, isolate, script);
		ends.count = ends.lines ? (uint32_t)ends.lines->count : 0;
	}
	/* The first that does not end before @at. */
	found = (uint32_t)sorted_first(ends.count, i, end_at(&ends, (uint32_t)i) < at);
	if (found == ends.count)
		return false;
	in_line = at - (found > 0 ? end_at(&ends, found - 1) + 1 : 0);
	/* What was taken out of something larger is numbered as it was there. */
	if (found == 0)
		in_line += shift_of(heap, script, V8_SCRIPT_COLUMN_OFFSET);
	*line = found + 1 + (uint32_t)shift_of(heap, script, V8_SCRIPT_LINE_OFFSET);
	*column = (uint32_t)in_line + 1;
	return true;
}

bool v8_script_add_name(const struct v8_heap *heap, uint64_t script, struct text *out)
{
	uint64_t url, name;

	if (!v8_is(heap, script, V8_TYPE_SCRIPT))
		return false;
	url = v8_field(heap, script, V8_SCRIPT_SOURCE_URL);
	name = v8_is_string(heap, url) ? url : v8_field(heap, script, V8_SCRIPT_NAME);
	return v8_string_length(heap, name) > 0 && v8_string_add(heap, name, V8_NAME_MAX, out);
}

bool v8_script_has_lost_name(const struct v8_heap *heap, uint64_t script)
{
	return script && (!v8_is(heap, script, V8_TYPE_SCRIPT) ||
			  v8_is_lost(heap, v8_field(heap, script, V8_SCRIPT_SOURCE_URL)) ||
			  v8_is_lost(heap, v8_field(heap, script, V8_SCRIPT_NAME)));
}

bool v8_script_is_eval(const struct v8_heap *heap, uint64_t script)
{
	uint64_t flags = v8_field(heap, script, V8_SCRIPT_FLAGS);

	return v8_is_smi(flags) && v8_smi(flags) & EVAL;
}
