/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings of V8 out of the target's memory: one and two bytes a character, and those that are made
 * of others (cons, sliced, thin) or lie outside of the heap (external). However they refer to each
 * other, reading one ends.
 *
 * Source: V8's src/objects/string.tq, instance-type.h; alike in all versions.
 */
#ifndef RUNTIME_V8_JS_STRING_H
#define RUNTIME_V8_JS_STRING_H

#include "base/text.h"
#include "runtime/v8/heap.h"

enum {
	V8_NAME_MAX = 2048,	 /* characters of a name; longer ones are cut */
	V8_SOURCE_MAX = 1 << 25, /* of a script that lines are counted in */
};

/* Some of its characters, UTF-16. False: that is enough. */
typedef bool (*v8_chars_fn)(void *ctx, const uint16_t *chars, size_t count);

bool v8_is_string(const struct v8_heap *heap, uint64_t value);

/* Characters; 0 if it is no string. */
uint32_t v8_string_length(const struct v8_heap *heap, uint64_t value);

/* Call @fn for the first @most characters, piece by piece. False if not all could be read. */
bool v8_string_each(const struct v8_heap *heap, uint64_t value, uint32_t most, v8_chars_fn fn,
		    void *ctx);

/* Append the first @most characters as UTF-8; false, and maybe a part, if they cannot be read. */
bool v8_string_add(const struct v8_heap *heap, uint64_t value, uint32_t most, struct text *out);

/* Does it consist of these characters, which are ASCII? */
bool v8_string_is(const struct v8_heap *heap, uint64_t value, const char *chars);

#endif
