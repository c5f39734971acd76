// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/script_maps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "runtime/v8/source_map_url.h"
#include "target/process.h"

enum { SCRIPTS_MAX = 4096 };

struct script_map {
	uint64_t isolate;
	int32_t script_id;
	struct source_map *map; /* NULL: there is none that can be read */
	char *path;		/* what sources are beside of */
};

void script_maps_deinit(struct script_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		source_map_destroy(maps->list[i].map);
		free(maps->list[i].path);
	}
	free(maps->list);
}

/* All of a file that names are read of; it may be written meanwhile. */
static bool read_file(struct process *process, const char *path, struct text *json)
{
	_cleanup_close_ int fd = -1;
	char bytes[1 << 14];
	ssize_t got;

	if (path[0] != '/')
		return false;
	fd = process_open_owned(process, path + 1, SOURCE_MAP_MAX_BYTES, NULL);
	if (fd < 0)
		return false;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0 && json->length <= SOURCE_MAP_MAX_BYTES)
		text_add_bytes(json, bytes, (size_t)got);
	return got == 0 && text_ok(json);
}

/* The map that the script's source names, and where sources are as seen from. */
static void read_map(const struct script_maps *maps, const struct v8_frame *frame,
		     struct script_map *script)
{
	_cleanup_(text_deinit) struct text source = { 0 }, json = { 0 }, path = { 0 };
	struct span url;
	bool found = false;

	if (v8_namer_source(maps->namer, frame->script_object, &source) &&
	    source_map_url_of((struct span){ (const uint8_t *)text_chars(&source), source.length },
			      &url)) {
		if (source_map_is_inline(url)) {
			found = source_map_decode(url, &json);
			source_map_join("/", frame->script, &path);
		} else {
			_cleanup_free_ char *beside = strndup((const char *)url.start, url.size);

			if (beside)
				source_map_beside(frame->script, beside, &path);
			found = beside && text_ok(&path) &&
				read_file(maps->process, text_chars(&path), &json);
		}
	}
	if (found && text_ok(&json) && text_ok(&path) &&
	    source_map_create(&script->map,
			      (struct span){ (const uint8_t *)text_chars(&json), json.length },
			      NULL) == 0)
		script->path = strdup(text_chars(&path));
}

static const struct script_map *find(struct script_maps *maps, uint64_t isolate,
				     const struct v8_frame *frame)
{
	struct script_map *script;

	for (size_t i = 0; i < maps->count; i++) {
		if (maps->list[i].isolate == isolate && maps->list[i].script_id == frame->script_id)
			return &maps->list[i];
	}
	if (!frame->script_object || maps->count >= SCRIPTS_MAX ||
	    !vector_reserve(&maps->list, &maps->capacity, maps->count + 1))
		return NULL;
	script = &maps->list[maps->count++];
	*script = (struct script_map){ .isolate = isolate, .script_id = frame->script_id };
	read_map(maps, frame, script);
	return script;
}

bool script_maps_translate(struct script_maps *maps, uint64_t isolate, const struct v8_frame *frame,
			   struct source_position *position, struct text *source)
{
	const struct script_map *script;

	if (!frame->script || !frame->line)
		return false;
	script = find(maps, isolate, frame);
	if (!script || !script->map || !script->path ||
	    !source_map_translate(script->map, frame->line, frame->column, position) ||
	    !position->source)
		return false;
	source_map_beside(script->path, position->source, source);
	return text_ok(source);
}
