// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of perf-PID.map and perfinfo-PID.map, which many programs write. */
#include "rows.h"

#include <ctype.h>

static const struct {
	const char *name;
	enum mapparse_tier tier;
} tiers[] = {
	{ "QuickJitted", MAPPARSE_TIER_TIER0 },
	{ "OptimizedTier1", MAPPARSE_TIER_TIER1 },
	{ "InstrumentedTierOptimized", MAPPARSE_TIER_INSTRUMENTED },
	{ "InstrumentedTier", MAPPARSE_TIER_INSTRUMENTED },
	{ "OptimizedTier1OSR", MAPPARSE_TIER_OSR },
	{ "Optimized", MAPPARSE_TIER_OPTIMIZED },
	{ "MinOptJitted", MAPPARSE_TIER_MINOPT },
	{ "ReadyToRun", MAPPARSE_TIER_R2R },
	{ "PreJIT", MAPPARSE_TIER_R2R },
	{ "Tier0", MAPPARSE_TIER_TIER0 },
	{ "Tier1", MAPPARSE_TIER_TIER1 },
};

/* "...)[QuickJitted]": a word in brackets behind the parameters. */
static void cut_tier(struct mapparse_row *row)
{
	struct mapparse_slice name = row->raw_name;
	const char *open;

	if (!slice_ends(name, "]"))
		return;
	open = memrchr(name.start, '[', name.length);
	if (!open || open == name.start || open[-1] != ')')
		return;
	row->tier_name = slice_of(open + 1, slice_end(name) - 1);
	row->raw_name = slice_of(name.start, open);
	for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++) {
		if (slice_is(row->tier_name, tiers[i].name)) {
			row->tier = tiers[i].tier;
			break;
		}
	}
}

/* "stub Kind<Name>" and, in .NET 8, "stub<12> Kind<Name>". */
static bool is_stub(struct mapparse_row *row)
{
	struct mapparse_slice rest = row->raw_name, number;
	const char *open;

	if (!line_skip(&rest, "stub"))
		return false;
	if (line_skip(&rest, "<") && !line_field(&rest, '>', &number))
		return false;
	if (!line_skip(&rest, " "))
		return false;
	open = rest.length ? memchr(rest.start, '<', rest.length) : NULL;
	row->kind = MAPPARSE_KIND_STUB;
	row->node_type = open ? slice_of(rest.start, open) : rest;
	return true;
}

/* ":12:34" at the end, cut off. */
static bool cut_number(struct mapparse_slice *s, uint32_t *number)
{
	struct mapparse_slice rest = *s, digits;
	uint64_t value;

	if (!line_last_field(&rest, ':', &digits) ||
	    line_number(&digits, 10, &value) != MAPPARSE_NUMBER_OK || digits.length ||
	    value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	*s = rest;
	return true;
}

/* Cut the first of @words, up to a NULL, that @s begins with off it. */
static bool skip_any(struct mapparse_slice *s, const char *const *words)
{
	while (*words && !line_skip(s, *words))
		words++;
	return *words != NULL;
}

/*
 * Where the script begins: names and paths may both have spaces, so at the first that is
 * followed by what a script's name begins with, else at the first.
 */
static size_t script_begin(struct mapparse_slice s)
{
	static const char *const fronts[] = {
		"/", "node:", "file:", "http:", "https:", "internal/", "evalmachine.", "[eval", NULL
	};
	size_t first = s.length;

	for (size_t i = 0; i < s.length; i++) {
		struct mapparse_slice script = slice_of(s.start + i + 1, slice_end(s));

		if (s.start[i] != ' ')
			continue;
		if (first == s.length)
			first = i;
		if (skip_any(&script, fronts))
			return i;
	}
	return first;
}

/* "*name script.js:12:34", what stands behind "JS:" and the like. */
static void read_js(struct mapparse_row *row, struct mapparse_slice rest)
{
	static const char markers[] = "~^+*";
	static const enum mapparse_tier marker_tiers[] = {
		MAPPARSE_TIER_INTERPRETER,
		MAPPARSE_TIER_BASELINE,
		MAPPARSE_TIER_MAGLEV,
		MAPPARSE_TIER_TURBOFAN,
	};
	const char *marker = rest.length && rest.start[0] ? strchr(markers, rest.start[0]) : NULL;
	struct mapparse_slice at;
	size_t begin;

	row->kind = MAPPARSE_KIND_JS;
	if (marker) {
		row->tier = marker_tiers[marker - markers];
		row->tier_name = (struct mapparse_slice){ rest.start, 1 };
		rest = slice_of(rest.start + 1, slice_end(rest));
	}
	at = rest;
	/* If there is only one number, as of older V8s, it is the line. */
	if (cut_number(&at, &row->js.column) && !cut_number(&at, &row->js.line)) {
		row->js.line = row->js.column;
		row->js.column = 0;
	}
	begin = script_begin(at);
	row->js.function = (struct mapparse_slice){ at.start, begin };
	if (begin < at.length)
		row->js.script = slice_of(at.start + begin + 1, slice_end(at));
}

static bool is_v8(struct mapparse_row *row)
{
	static const char *const functions[] = {
		"JS:",	 "LazyCompile:",       "Function:",	  "Script:",
		"Eval:", "NativeLazyCompile:", "NativeFunction:", "NativeScript:",
		NULL
	};
	static const char *const others[] = { "Builtin:", "BytecodeHandler:", "RegExp:", "Stub:",
					      "Handler:", "Callback:",	      NULL };
	struct mapparse_slice rest = row->raw_name;

	if (skip_any(&rest, functions))
		read_js(row, rest);
	else if (skip_any(&rest, others))
		row->kind = MAPPARSE_KIND_BUILTIN;
	else
		return false;
	return true;
}

void mapparse_rows_classify_perf(struct mapparse_row *row)
{
	char c = row->raw_name.length ? row->raw_name.start[0] : '\0';

	if (c == 's' && is_stub(row))
		return;
	if (c >= 'A' && c <= 'Z' && is_v8(row))
		return;
	cut_tier(row);
	row->kind = slice_ends(row->raw_name, ")") ? MAPPARSE_KIND_METHOD : MAPPARSE_KIND_OTHER;
}

static bool is_mvid(struct mapparse_slice s)
{
	if (s.length != MAPPARSE_MVID_LENGTH)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s.start[i] != '-' : !isxdigit((unsigned char)s.start[i]))
			return false;
	}
	return true;
}

/* ImageLoad;PATH;{MVID};BASE; from the right, for a path may hold anything. */
enum mapparse_line mapparse_rows_read_perfinfo(struct mapparse_rows *rows,
					       struct mapparse_slice line, struct mapparse_row *row)
{
	struct mapparse_slice base = { NULL, 0 }, mvid = { NULL, 0 };

	row->kind = MAPPARSE_KIND_IMAGE;
	row->is_absolute = true;
	rows->reason = "the row is no ImageLoad;PATH;{MVID};BASE;";
	if (!line_skip(&line, "ImageLoad;") || !slice_ends(line, ";"))
		return MAPPARSE_LINE_BAD;
	line.length--;
	if (!line_last_field(&line, ';', &base) || !line_last_field(&line, ';', &mvid))
		return MAPPARSE_LINE_BAD;
	row->raw_name = line;
	if (!line.length || mvid.length != MAPPARSE_MVID_LENGTH + 2 || mvid.start[0] != '{')
		return MAPPARSE_LINE_BAD;
	row->mvid = (struct mapparse_slice){ mvid.start + 1, MAPPARSE_MVID_LENGTH };
	if (!is_mvid(row->mvid) || mvid.start[mvid.length - 1] != '}')
		return MAPPARSE_LINE_BAD;
	if (slice_is(base, "(nil)"))
		return MAPPARSE_LINE_ROW;
	line_skip(&base, "0x");
	rows->reason = "the base is no address";
	return line_number(&base, 16, &row->address) == MAPPARSE_NUMBER_OK && !base.length ?
		       MAPPARSE_LINE_ROW :
		       MAPPARSE_LINE_BAD;
}

void mapparse_file_name_parse(struct mapparse_file_name *name, const char *path)
{
	static const char *const endings[] = { ".nodestats.csv", ".map.csv", ".ni.r2rmap",
					       ".r2rmap",	 ".map",     ".csv" };
	const char *slash = strrchr(path, '/');
	struct mapparse_slice file = { slash ? slash + 1 : path, 0 }, number;
	uint64_t pid;

	*name = (struct mapparse_file_name){ .pid = 0 };
	file.length = strlen(file.start);
	number = file;
	if ((line_skip(&number, "perf-") || line_skip(&number, "perfinfo-")) &&
	    line_number(&number, 10, &pid) == MAPPARSE_NUMBER_OK && slice_is(number, ".map") &&
	    pid <= INT32_MAX) {
		name->pid = (pid_t)pid;
		return;
	}
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!slice_ends(file, endings[i]))
			continue;
		file.length -= strlen(endings[i]);
		break;
	}
	if (slice_ends(file, "}") && file.length > MAPPARSE_MVID_LENGTH + 2) {
		const char *end = slice_end(file) - 1;
		struct mapparse_slice mvid = slice_of(end - MAPPARSE_MVID_LENGTH, end);

		if (is_mvid(mvid) && mvid.start[-1] == '{' && mvid.start[-2] == '.') {
			name->mvid = mvid;
			file = slice_of(file.start, mvid.start - 2);
		}
	}
	if (slice_ends(file, ".ni"))
		file.length -= strlen(".ni");
	name->image = file;
}
