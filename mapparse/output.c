// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

/* Length of the UTF-8 sequence at @s, 0 if it is none. */
static size_t utf8_length(const char *s, size_t left)
{
	unsigned char c = (unsigned char)s[0];
	size_t length = c < 0x80	      ? 1 :
			c >= 0xc2 && c < 0xe0 ? 2 :
			c >= 0xe0 && c < 0xf0 ? 3 :
			c >= 0xf0 && c < 0xf5 ? 4 :
						0;

	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((c == 0xe0 && (unsigned char)s[1] < 0xa0) ||
	    (c == 0xed && (unsigned char)s[1] > 0x9f) ||
	    (c == 0xf0 && (unsigned char)s[1] < 0x90) || (c == 0xf4 && (unsigned char)s[1] > 0x8f))
		return 0;
	return length;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/* What was in a file must not steer the terminal. */
static void print_plain(FILE *file, struct mapparse_slice s)
{
	size_t i = 0;

	while (i < s.length) {
		size_t length = utf8_length(s.start + i, s.length - i);

		if (length == 0 || is_control(s.start[i])) {
			fprintf(file, "\\x%02x", (unsigned char)s.start[i]);
			i++;
		} else {
			fwrite(s.start + i, 1, length, file);
			i += length;
		}
	}
}

/* Methods by their canonical name, all else as the file has it. */
static struct mapparse_slice shown_name(const struct mapparse_row *row)
{
	return row->name ? row->name->canonical : row->raw_name;
}

static uint64_t shown_address(const struct output *out, const struct mapparse_row *row)
{
	return row->is_absolute ? row->address : row->address + out->base;
}

static void text_row(const struct output *out, const struct mapparse_row *row)
{
	fprintf(out->file, "%#14" PRIx64 " %8" PRIx64 " %-7s %-12s ", shown_address(out, row),
		row->size, mapparse_kind_name(row->kind),
		row->tier == MAPPARSE_TIER_UNKNOWN ? "-" : mapparse_tier_name(row->tier));
	print_plain(out->file, shown_name(row));
	if (row->name && row->name->ambiguous)
		fputs("  (ambiguous)", out->file);
	fputc('\n', out->file);
}

/* What the runtime would write, so that all that is known of the method survives. */
static int perf_map_row(const struct output *out, const struct mapparse_row *row)
{
	char *name = NULL;

	if (row->kind == MAPPARSE_KIND_SECTION || row->kind == MAPPARSE_KIND_IMAGE)
		return 0;
	if (row->name && row->name->has_params && row->name->assembly.length) {
		name = mapparse_name_render(row->name, MAPPARSE_SPELLING_IL);
		if (!name)
			return -ENOMEM;
	}
	fprintf(out->file, "%" PRIx64 " %" PRIx64 " ", shown_address(out, row), row->size);
	print_plain(out->file,
		    name ? (struct mapparse_slice){ name, strlen(name) } : shown_name(row));
	if (row->kind == MAPPARSE_KIND_METHOD && row->tier_name.length) {
		fputc('[', out->file);
		print_plain(out->file, row->tier_name);
		fputc(']', out->file);
	} else if (row->kind == MAPPARSE_KIND_METHOD && row->tier == MAPPARSE_TIER_R2R &&
		   (!row->name || row->name->has_params)) {
		fputs("[ReadyToRun]", out->file);
	}
	fputc('\n', out->file);
	free(name);
	return 0;
}

static void csv_field(FILE *file, struct mapparse_slice s)
{
	bool quote = s.length && (memchr(s.start, ',', s.length) || memchr(s.start, '"', s.length));

	if (quote)
		fputc('"', file);
	for (;;) {
		const char *mark = s.length ? memchr(s.start, '"', s.length) : NULL;
		size_t part = mark ? (size_t)(mark + 1 - s.start) : s.length;

		print_plain(file, (struct mapparse_slice){ s.start, part });
		s = (struct mapparse_slice){ s.start + part, s.length - part };
		if (!mark)
			break;
		fputc('"', file);
	}
	fputs(quote ? "\"" : "", file);
	fputc(',', file);
}

static struct mapparse_slice slice_of(const char *s)
{
	return (struct mapparse_slice){ s, strlen(s) };
}

static void csv_row(const struct output *out, const char *file_name, const struct mapparse_row *row)
{
	static const struct mapparse_name nothing;
	const struct mapparse_name *name = row->name ? row->name : &nothing;

	csv_field(out->file, slice_of(file_name));
	fprintf(out->file, "%" PRIu64 ",%s,%s,0x%" PRIx64 ",%" PRIu64 ",", row->line,
		mapparse_kind_name(row->kind), mapparse_tier_name(row->tier),
		shown_address(out, row), row->size);
	csv_field(out->file, shown_name(row));
	csv_field(out->file, name->assembly);
	csv_field(out->file, name->return_type);
	fprintf(out->file, "%s\n",
		name->instance == MAPPARSE_INSTANCE ? "instance" :
		name->instance == MAPPARSE_STATIC   ? "static" :
						      "");
}

/* JSON --------------------------------------------------------------------------------------- */

/* JSON is UTF-8: what is not becomes U+FFFD. */
static struct json_object *json_text(struct mapparse_slice s)
{
	struct json_object *object;
	char *clean = malloc(s.length * 3 + 1);
	size_t length = 0, i = 0;

	if (!clean)
		return NULL;
	while (i < s.length) {
		size_t bytes = utf8_length(s.start + i, s.length - i);

		memcpy(clean + length, bytes ? s.start + i : "\xef\xbf\xbd", bytes ? bytes : 3);
		length += bytes ? bytes : 3;
		i += bytes ? bytes : 1;
	}
	object = json_object_new_string_len(clean, (int)length);
	free(clean);
	return object;
}

static void json_add(struct json_object *object, const char *key, struct mapparse_slice s)
{
	if (s.length)
		json_object_object_add(object, key, json_text(s));
}

static struct json_object *json_list(struct mapparse_slice list)
{
	struct json_object *array = json_object_new_array();
	struct mapparse_slice element;

	while (mapparse_list_next(&list, &element))
		json_object_array_add(array, json_text(element));
	return array;
}

static void json_name(struct json_object *object, const struct mapparse_name *name)
{
	json_add(object, "assembly", name->assembly);
	json_add(object, "type_name", name->type);
	if (name->type_args.length)
		json_object_object_add(object, "type_args", json_list(name->type_args));
	json_add(object, "method_name", name->method);
	if (name->method_args.length)
		json_object_object_add(object, "method_args", json_list(name->method_args));
	if (name->has_params)
		json_object_object_add(object, "params", json_list(name->params));
	if (name->has_return)
		json_add(object, "return_type", name->return_type);
	if (name->instance != MAPPARSE_INSTANCE_UNKNOWN)
		json_object_object_add(
			object, "instance",
			json_object_new_boolean(name->instance == MAPPARSE_INSTANCE));
	if (name->ambiguous)
		json_object_object_add(object, "ambiguous", json_object_new_boolean(1));
}

static void json_js(struct json_object *object, const struct mapparse_js *js)
{
	json_object_object_add(object, "function", json_text(js->function));
	json_add(object, "script", js->script);
	if (js->line)
		json_object_object_add(object, "script_line", json_object_new_int64(js->line));
	if (js->column)
		json_object_object_add(object, "script_column", json_object_new_int64(js->column));
}

static int json_row(const struct output *out, const char *file_name, const struct mapparse_row *row)
{
	struct json_object *object = json_object_new_object();
	bool absolute = row->is_absolute || out->base;

	if (!object)
		return -ENOMEM;
	json_add(object, "type", slice_of("row"));
	json_add(object, "file", slice_of(file_name));
	json_object_object_add(object, "line", json_object_new_uint64(row->line));
	json_add(object, "kind", slice_of(mapparse_kind_name(row->kind)));
	json_object_object_add(object, absolute ? "address" : "rva",
			       json_object_new_uint64(shown_address(out, row)));
	json_object_object_add(object, "size", json_object_new_uint64(row->size));
	if (row->tier != MAPPARSE_TIER_UNKNOWN)
		json_add(object, "tier", slice_of(mapparse_tier_name(row->tier)));
	json_object_object_add(object, "name", json_text(shown_name(row)));
	json_add(object, "section", row->section);
	json_add(object, "node_type", row->node_type);
	json_add(object, "mvid", row->mvid);
	if (row->name)
		json_name(object, row->name);
	if (row->kind == MAPPARSE_KIND_JS)
		json_js(object, &row->js);
	if (row->is_cut)
		json_object_object_add(object, "cut", json_object_new_boolean(1));
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE),
	      out->file);
	fputc('\n', out->file);
	json_object_put(object);
	return 0;
}

void output_begin(const struct output *out)
{
	if (out->style == OUTPUT_CSV)
		fputs("file,line,kind,tier,address,size,name,assembly,return_type,instance\n",
		      out->file);
}

int output_row(const struct output *out, const char *file_name, const struct mapparse_row *row)
{
	switch (out->style) {
	case OUTPUT_JSON:
		return json_row(out, file_name, row);
	case OUTPUT_CSV:
		csv_row(out, file_name, row);
		return 0;
	case OUTPUT_PERF_MAP:
		return perf_map_row(out, row);
	default:
		text_row(out, row);
		return 0;
	}
}

static const char *name_of(const char *const names[], size_t count, uint32_t value)
{
	return value < count && names[value] ? names[value] : "unknown";
}

void output_header(const struct output *out, const char *file_name,
		   const struct mapparse_header *header)
{
	static const char *const systems[] = { NULL,	  "Windows", "Linux", "macOS",
					       "FreeBSD", "NetBSD",  "SunOS" };
	static const char *const machines[] = { NULL, "ARM", "ARM64", "x64", "x86" };
	struct mapparse_file_name from_name;

	print_plain(out->file, slice_of(file_name));
	fprintf(out->file, ": %s", mapparse_format_name(header->format));
	if (header->format == MAPPARSE_FORMAT_CROSSGEN2)
		fprintf(out->file, " version %u, %s, %s", header->perfmap_version,
			name_of(systems, sizeof(systems) / sizeof(systems[0]), header->os),
			name_of(machines, sizeof(machines) / sizeof(machines[0]), header->arch));
	if (header->has_signature) {
		fputs(", signature ", out->file);
		for (size_t i = 0; i < sizeof(header->signature); i++)
			fprintf(out->file, "%02X", header->signature[i]);
	}
	mapparse_file_name_parse(&from_name, file_name);
	if (from_name.mvid.length)
		fprintf(out->file, ", MVID %.*s", (int)from_name.mvid.length, from_name.mvid.start);
	if (from_name.pid)
		fprintf(out->file, ", process %d", (int)from_name.pid);
	if (header->assembly[0]) {
		fputs(", assembly ", out->file);
		print_plain(out->file, slice_of(header->assembly));
	}
	fputc('\n', out->file);
}
