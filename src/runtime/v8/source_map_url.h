/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the source map of a script is: what the comment at the end of its source says, which is the
 * map itself or where it lies beside the script. All of it is text; nothing is opened here.
 *
 * Source: ECMA-426; RFC 2397 (data URLs).
 */
#ifndef RUNTIME_V8_SOURCE_MAP_URL_H
#define RUNTIME_V8_SOURCE_MAP_URL_H

#include <stdbool.h>

#include "base/text.h"
#include "image/cursor.h"

/*
 * What the last comment "sourceMappingURL=" in the end of a source says, a part of @tail. False:
 * there is none, or it may have begun before @tail.
 */
bool source_map_url_of(struct span tail, struct span *url);

/* Is the map in the URL itself? Then append its bytes, if they can be decoded. */
bool source_map_is_inline(struct span url);
bool source_map_decode(struct span url, struct text *json);

/*
 * Append @path, as it is seen from directory @base, without "." and "..": a path as it is if it
 * begins with "/" or with a scheme, such as "webpack:"; "file:" is left out.
 */
void source_map_join(const char *base, const char *path, struct text *out);

/* The same, as seen from beside @file: from a script to its map, from a map to a source. */
void source_map_beside(const char *file, const char *path, struct text *out);

/* The six bits of a character in base64; -1: it is none. */
int source_map_base64(uint8_t c);

#endif
