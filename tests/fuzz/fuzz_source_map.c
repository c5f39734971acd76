// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a source map; as the end of a script, whose map may be in it; and as a path that is
 * seen from another.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "base/cleanup.h"
#include "runtime/v8/source_map.h"
#include "runtime/v8/source_map_url.h"

static void check_place(const struct source_map *map, uint32_t line, uint32_t column)
{
	struct source_position position;

	if (!source_map_translate(map, line, column, &position))
		return;
	check(line > 0 && column > 0 && position.line > 0 && position.column > 0);
	check(strlen(position.source) > 0);
	check(!position.name || strlen(position.name) <= SOURCE_MAP_MAX_BYTES);
}

static void try_map(struct span json)
{
	struct source_map *map = NULL;

	if (source_map_create(&map, json, NULL)) {
		check(!map);
		return;
	}
	for (uint32_t line = 0; line < 8; line++) {
		for (uint32_t column = 0; column < 64; column++)
			check_place(map, line, column);
	}
	check_place(map, UINT32_MAX, UINT32_MAX);
	check_place(map, 1, INT32_MAX);
	source_map_destroy(map);
}

static void try_script(struct span tail)
{
	_cleanup_(text_deinit) struct text json = { 0 };
	struct span url;

	if (source_map_url_of(tail, &url)) {
		check(url.size > 0 && url.size < tail.size);
		check(url.start > tail.start && url.start + url.size <= tail.start + tail.size);
		if (source_map_decode(url, &json)) {
			check(source_map_is_inline(url) && json.length <= url.size);
			try_map((struct span){ (const uint8_t *)text_chars(&json), json.length });
		}
	}
}

/* The second half of them, as it is seen from the first. */
static void try_paths(struct span bytes)
{
	_cleanup_free_ char *base = strndup((const char *)bytes.start, bytes.size / 2);
	_cleanup_free_ char *path =
		strndup((const char *)bytes.start + bytes.size / 2, bytes.size - bytes.size / 2);
	_cleanup_(text_deinit) struct text joined = { 0 };

	check(base && path);
	source_map_join(base, path, &joined);
	check(joined.length <= bytes.size + 1);
	text_clear(&joined);
	source_map_beside(base, path, &joined);
	check(joined.length <= bytes.size + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span bytes = { data, size };

	try_map(bytes);
	try_script(bytes);
	if (size > 0)
		try_paths(bytes);
	return 0;
}
