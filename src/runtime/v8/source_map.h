/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source maps: which line of TypeScript, or of whatever else a script was made of, a line of the
 * script is. The bytes of a map come from whoever may open files; source_map_url.h says where a
 * script's map is.
 *
 * Source: ECMA-426.
 */
#ifndef RUNTIME_V8_SOURCE_MAP_H
#define RUNTIME_V8_SOURCE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cursor.h"

struct error;
struct source_map;

enum { SOURCE_MAP_MAX_BYTES = 1 << 26 };

struct source_position {
	const char *source; /* a path or URL, with the map's own prefix; see source_map_join() */
	uint32_t line;	    /* from 1 */
	uint32_t column;
	const char *name; /* what is there is called, in the source; NULL: the map does not say */
};

/*
 * Read the map that @json is. -EBADMSG with @err set if any of it is not understood: then nothing
 * in it can be trusted, as each number is counted from the one before; -ENOMEM.
 */
int source_map_create(struct source_map **map, struct span json, struct error *err);
void source_map_destroy(struct source_map *map);

/*
 * What a line and column of the script are made of, both from 1. False: the map does not say.
 * Strings belong to the map.
 */
bool source_map_translate(const struct source_map *map, uint32_t line, uint32_t column,
			  struct source_position *position);

#endif
