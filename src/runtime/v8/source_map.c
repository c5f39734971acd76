// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/source_map.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vector.h"
#include "runtime/v8/source_map_url.h"

CLEANUP_POINTER(json_object_put, struct json_object)
CLEANUP_POINTER(source_map_destroy, struct source_map)

enum {
	VERSION = 3,
	JSON_MAX_DEPTH = 8,
	/* Values in the JSON: each takes json-c some hundred bytes, but in the text only one. */
	VALUES_MAX = 1 << 20,
	MAPPINGS_MAX = 1 << 22,
	STRINGS_MAX_BYTES =
		1 << 26, /* of all sources, with what is in front of each; of all names */
	NONE = -1,
};

/* A place in the script, from 0. */
struct place {
	uint32_t line;
	uint32_t column;
};

/* From this place of the script on; all from 0. */
struct mapping {
	struct place at;
	int32_t source; /* NONE: it is made of nothing */
	int32_t source_line;
	int32_t source_column;
	int32_t name; /* NONE: it has none */
	uint32_t order;
};

/* Strings, one behind the other. */
struct strings {
	struct text text;
	size_t *at;
	size_t count;
	size_t room;
};

struct source_map {
	struct mapping *mappings; /* by line and column */
	size_t count;
	size_t room;
	struct strings sources;
	struct strings names;
};

/* One map, which may be a section of another. */
struct section {
	struct json_object *json;
	struct place begin;
	struct place end; /* that of the next section */
};

static void strings_deinit(struct strings *strings)
{
	text_deinit(&strings->text);
	free(strings->at);
}

void source_map_destroy(struct source_map *map)
{
	if (!map)
		return;
	strings_deinit(&map->sources);
	strings_deinit(&map->names);
	free(map->mappings);
	free(map);
}

static int compare_places(struct place a, struct place b)
{
	if (a.line != b.line)
		return a.line < b.line ? -1 : 1;
	return a.column < b.column ? -1 : a.column > b.column;
}

static int no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "no memory for a source map");
}

static int damaged(struct error *err, const char *what)
{
	return error_set(err, -EBADMSG, "the source map is not understood: %s", what);
}

/* Strings ---------------------------------------------------------------------------------- */

static bool end_string(struct strings *strings, size_t begin)
{
	text_add_char(&strings->text, '\0');
	return text_ok(&strings->text) &&
	       vector_add(&strings->at, &strings->count, &strings->room, begin);
}

static const char *string_at(const struct strings *strings, int32_t number)
{
	return text_chars(&strings->text) + strings->at[number];
}

/* NULL: there is none of that name and type. */
static struct json_object *member(struct json_object *json, const char *name, enum json_type type)
{
	struct json_object *found;

	return json_object_object_get_ex(json, name, &found) && json_object_is_type(found, type) ?
		       found :
		       NULL;
}

/* @prefix: what each of them is below; NULL: nothing. A source may be null: it is "" then. */
static int add_strings(struct strings *strings, struct json_object *list, const char *prefix,
		       struct error *err)
{
	size_t count = list ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		size_t begin = strings->text.length;

		if (json_object_is_type(item, json_type_string) && prefix)
			source_map_join(prefix, json_object_get_string(item), &strings->text);
		else if (json_object_is_type(item, json_type_string))
			text_add(&strings->text, json_object_get_string(item));
		if (strings->text.length > STRINGS_MAX_BYTES)
			return damaged(err, "it is too large");
		if (!end_string(strings, begin))
			return no_memory(err);
	}
	return 0;
}

/* Mappings --------------------------------------------------------------------------------- */

/* A number, the lowest digits first, of which the lowest bit is the sign. */
static int64_t read_number(struct cursor *c)
{
	enum { MORE = 32, DIGIT_BITS = 5, BITS_MAX = 33 };
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < BITS_MAX; shift += DIGIT_BITS) {
		int digit = source_map_base64(cursor_u8(c));

		if (digit < 0)
			break;
		value |= (uint64_t)(digit & (MORE - 1)) << shift;
		if (!(digit & MORE))
			return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	}
	c->bad = true;
	return 0;
}

static bool at_separator(const struct cursor *c)
{
	return cursor_left(c) == 0 || *c->pos == ',' || *c->pos == ';';
}

/* While the mappings of a section are read: what numbers are counted from. */
struct reading {
	struct source_map *map;
	const struct section *section;
	size_t first_source; /* of its own, among all */
	size_t first_name;
	uint64_t line;
	int64_t column, source, source_line, source_column, name;
};

static bool is_within(int64_t value, size_t count)
{
	return value >= 0 && (uint64_t)value < count;
}

static bool read_source(struct reading *reading, struct cursor *c, struct mapping *mapping)
{
	reading->source += read_number(c);
	reading->source_line += read_number(c);
	reading->source_column += read_number(c);
	mapping->source = (int32_t)(reading->source + (int64_t)reading->first_source);
	mapping->source_line = (int32_t)reading->source_line;
	mapping->source_column = (int32_t)reading->source_column;
	return is_within(reading->source, reading->map->sources.count - reading->first_source) &&
	       is_within(reading->source_line, INT32_MAX) &&
	       is_within(reading->source_column, INT32_MAX);
}

static bool read_name(struct reading *reading, struct cursor *c, struct mapping *mapping)
{
	reading->name += read_number(c);
	mapping->name = (int32_t)(reading->name + (int64_t)reading->first_name);
	return is_within(reading->name, reading->map->names.count - reading->first_name);
}

/* One mapping: one number, four or five. */
static bool read_mapping(struct reading *reading, struct cursor *c, struct mapping *mapping)
{
	const struct place *begin = &reading->section->begin;
	uint64_t shift = reading->line == 0 ? begin->column : 0;

	*mapping = (struct mapping){ .source = NONE, .name = NONE };
	reading->column += read_number(c);
	if (!is_within(reading->column, INT32_MAX - shift) ||
	    reading->line >= INT32_MAX - (uint64_t)begin->line ||
	    (!at_separator(c) && !read_source(reading, c, mapping)) ||
	    (!at_separator(c) && !read_name(reading, c, mapping)))
		return false;
	mapping->at.line = (uint32_t)reading->line + begin->line;
	mapping->at.column = (uint32_t)(reading->column + (int64_t)shift);
	return cursor_ok(c) && at_separator(c);
}

static int add_mapping(struct source_map *map, const struct mapping *mapping, struct error *err)
{
	if (map->count == MAPPINGS_MAX)
		return damaged(err, "it has too many mappings");
	if (!vector_reserve(&map->mappings, &map->room, map->count + 1))
		return no_memory(err);
	map->mappings[map->count] = *mapping;
	map->mappings[map->count].order = (uint32_t)map->count;
	map->count++;
	return 0;
}

static int read_mappings(struct reading *reading, struct span text, struct error *err)
{
	struct cursor c = cursor_over(text);

	while (cursor_left(&c) > 0) {
		struct mapping mapping;
		int result = 0;

		if (at_separator(&c)) {
			if (cursor_u8(&c) == ';') {
				reading->line++;
				reading->column = 0;
			}
			continue;
		}
		if (!read_mapping(reading, &c, &mapping))
			return damaged(err, "its mappings");
		/* What is the next section's is not this one's. */
		if (compare_places(mapping.at, reading->section->end) < 0)
			result = add_mapping(reading->map, &mapping, err);
		if (result)
			return result;
	}
	return 0;
}

/* Maps and sections ------------------------------------------------------------------------ */

static int read_section(struct source_map *map, const struct section *section, struct error *err)
{
	struct reading reading = {
		.map = map,
		.section = section,
		.first_source = map->sources.count,
		.first_name = map->names.count,
	};
	struct json_object *mappings = member(section->json, "mappings", json_type_string);
	struct json_object *sources = member(section->json, "sources", json_type_array);
	struct json_object *prefix = member(section->json, "sourceRoot", json_type_string);
	/* What is said of the place in front of a section is not said of the section. */
	const struct mapping nothing = {
		.at = section->begin,
		.source = NONE,
		.name = NONE,
	};
	struct span text;
	int result;

	if (!mappings || !sources)
		return damaged(err, "it has no mappings or no sources");
	text.start = (const uint8_t *)json_object_get_string(mappings);
	text.size = (size_t)json_object_get_string_len(mappings);
	result = add_strings(&map->sources, sources, prefix ? json_object_get_string(prefix) : NULL,
			     err);
	if (result == 0)
		result = add_strings(&map->names, member(section->json, "names", json_type_array),
				     NULL, err);
	if (result == 0)
		result = read_mappings(&reading, text, err);
	return result ? result : add_mapping(map, &nothing, err);
}

/* A number of @json; NONE if it has none, or one that is out of bounds. */
static int64_t number(struct json_object *json, const char *name)
{
	struct json_object *found = member(json, name, json_type_int);
	int64_t value = found ? json_object_get_int64(found) : NONE;

	return value < INT32_MAX ? value : NONE;
}

static bool is_version(struct json_object *json)
{
	return number(json, "version") == VERSION;
}

static bool find_section(struct json_object *list, size_t index, struct section *section)
{
	struct json_object *item = json_object_array_get_idx(list, index);
	struct json_object *offset = member(item, "offset", json_type_object);
	int64_t line = number(offset, "line"), column = number(offset, "column");

	section->json = member(item, "map", json_type_object);
	section->begin = (struct place){ (uint32_t)line, (uint32_t)column };
	return section->json && is_version(section->json) && line >= 0 && column >= 0;
}

static int read_sections(struct source_map *map, struct json_object *list, struct error *err)
{
	size_t count = json_object_array_length(list);
	struct section section, next;
	int result = 0;

	if (count == 0)
		return 0;
	if (!find_section(list, 0, &next))
		return damaged(err, "its sections");
	for (size_t i = 0; i < count && result == 0; i++) {
		section = next;
		next.begin = (struct place){ UINT32_MAX, UINT32_MAX };
		if (i + 1 < count && (!find_section(list, i + 1, &next) ||
				      compare_places(section.begin, next.begin) >= 0))
			return damaged(err, "its sections");
		section.end = next.begin;
		result = read_section(map, &section, err);
	}
	return result;
}

static int compare(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;
	int places = compare_places(a->at, b->at);

	return places ? places : a->order < b->order ? -1 : a->order > b->order;
}

/* Within a line they may be in any order. Of those of one place the first counts. */
static void sort(struct source_map *map)
{
	size_t kept = 0;

	if (map->count)
		qsort(map->mappings, map->count, sizeof(*map->mappings), compare);
	for (size_t i = 0; i < map->count; i++) {
		if (kept == 0 ||
		    compare_places(map->mappings[kept - 1].at, map->mappings[i].at) != 0)
			map->mappings[kept++] = map->mappings[i];
	}
	map->count = kept;
}

static int read_map(struct source_map *map, struct json_object *json, struct error *err)
{
	struct json_object *sections = member(json, "sections", json_type_array);
	const struct section whole = { .json = json, .end = { UINT32_MAX, UINT32_MAX } };
	int result;

	if (!json_object_is_type(json, json_type_object) || !is_version(json))
		return damaged(err, "it is no JSON object of version 3");
	result = sections ? read_sections(map, sections, err) : read_section(map, &whole, err);
	if (result == 0)
		sort(map);
	return result;
}

/* JSON ------------------------------------------------------------------------------------- */

/* Has the text so few values that they may be made into objects? */
static bool is_bounded(struct span json)
{
	size_t values = 0;
	bool in_string = false;

	for (size_t i = 0; i < json.size && values <= VALUES_MAX; i++) {
		uint8_t c = json.start[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == ',' || c == '[' || c == '{'))
			values++;
	}
	return values <= VALUES_MAX;
}

/* Servers may put a line in front, so that it is no script. */
static struct span without_guard(struct span json)
{
	static const char guard[] = { ')', ']', '}', '\'' };
	const uint8_t *end;

	if (json.size < sizeof(guard) || memcmp(json.start, guard, sizeof(guard)) != 0)
		return json;
	end = memchr(json.start, '\n', json.size);
	return end ? (struct span){ end, json.size - (size_t)(end - json.start) } : json;
}

static int parse(struct span bytes, struct json_object **json, struct error *err)
{
	struct json_tokener *tokener;

	if (bytes.size == 0)
		return damaged(err, "it is empty");
	if (bytes.size > SOURCE_MAP_MAX_BYTES || !is_bounded(bytes))
		return damaged(err, "it is too large");
	tokener = json_tokener_new_ex(JSON_MAX_DEPTH);
	if (!tokener)
		return no_memory(err);
	*json = json_tokener_parse_ex(tokener, (const char *)bytes.start, (int)bytes.size);
	json_tokener_free(tokener);
	return *json ? 0 : damaged(err, "it is no JSON object of version 3");
}

int source_map_create(struct source_map **out, struct span bytes, struct error *err)
{
	_cleanup_(json_object_put_at) struct json_object *json = NULL;
	_cleanup_(source_map_destroy_at) struct source_map *map = calloc(1, sizeof(*map));
	int result;

	if (!map)
		return no_memory(err);
	result = parse(without_guard(bytes), &json, err);
	if (result == 0)
		result = read_map(map, json, err);
	if (result == 0)
		*out = cleanup_take(map);
	return result;
}

bool source_map_translate(const struct source_map *map, uint32_t line, uint32_t column,
			  struct source_position *position)
{
	const struct place at = { line - 1, column - 1 };
	const size_t behind =
		sorted_first(map->count, i, compare_places(map->mappings[i].at, at) <= 0);
	const struct mapping *found;

	/* The last that is not behind it; an earlier line's end is not said of this one. */
	if (line == 0 || column == 0 || behind == 0)
		return false;
	found = &map->mappings[behind - 1];
	if (found->at.line != at.line || found->source == NONE)
		return false;
	*position = (struct source_position){
		.source = string_at(&map->sources, found->source),
		.line = (uint32_t)found->source_line + 1,
		.column = (uint32_t)found->source_column + 1,
		.name = found->name == NONE ? NULL : string_at(&map->names, found->name),
	};
	return *position->source != '\0';
}
