/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts: what they are called, and which line and column a position in their source is. Where
 * the engine has not counted a script's lines they are counted here once and kept, by isolate and
 * script id, which no collection changes; the least recently used are dropped.
 *
 * Source: V8's src/objects/script.tq, Script::GetPositionInfo(), String::CalculateLineEnds().
 */
#ifndef RUNTIME_V8_SCRIPT_H
#define RUNTIME_V8_SCRIPT_H

#include "base/text.h"
#include "runtime/v8/heap.h"

enum { V8_SCRIPTS_KEPT = 256 };

/* Those of one script. */
struct v8_lines {
	uint64_t isolate;
	int32_t id;
	uint32_t length; /* of the source, in characters */
	uint32_t *ends;	 /* where each line's terminator is, at the end of the source too */
	size_t count;
	size_t room;
	uint64_t used_at;
};

/* What is kept. Begins as zeros, and with v8_scripts_begin(). */
struct v8_scripts {
	struct v8_lines kept[V8_SCRIPTS_KEPT];
	size_t count;
	size_t line_count;
	uint64_t uses;
	uint32_t left; /* characters that may still be counted for this frame */
};

void v8_scripts_deinit(struct v8_scripts *scripts);

/*
 * What comes is for another frame: of all the scripts whose lines are counted for one V8_SOURCE_MAX
 * characters are read at most, however many functions were inlined into it.
 */
void v8_scripts_begin(struct v8_scripts *scripts);

/*
 * Line and column, from 1, of position @at in the source of @script, an object of @isolate (which
 * is any number that tells isolates apart). False if they cannot be told.
 */
bool v8_script_position(struct v8_scripts *scripts, const struct v8_heap *heap, uint64_t isolate,
			uint64_t script, int32_t at, uint32_t *line, uint32_t *column);

/* Append the name, or what "sourceURL=" calls it. False: it has none, as most of eval() have. */
bool v8_script_add_name(const struct v8_heap *heap, uint64_t script, struct text *out);

/* Is there a name that cannot be read any more? */
bool v8_script_has_lost_name(const struct v8_heap *heap, uint64_t script);

/* Is it what eval() was given? */
bool v8_script_is_eval(const struct v8_heap *heap, uint64_t script);

#endif
