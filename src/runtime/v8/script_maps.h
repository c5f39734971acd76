/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source maps of scripts in the target, each read once: from the script itself, or from beside
 * it. Between frame_names.c, which asks for a line, and source_map.h, which reads what was found.
 */
#ifndef RUNTIME_V8_SCRIPT_MAPS_H
#define RUNTIME_V8_SCRIPT_MAPS_H

#include "runtime/v8/frame.h"
#include "runtime/v8/source_map.h"

/* Begins as zeros, but for the first two. */
struct script_maps {
	const struct v8_namer *namer;
	struct process *process;
	struct script_map *list;
	size_t count;
	size_t capacity;
};

void script_maps_deinit(struct script_maps *maps);

/*
 * What the line of @frame, of a script of @isolate (any number that tells isolates apart), was made
 * of: the file goes into @source. False: there is no map, or it does not say.
 */
bool script_maps_translate(struct script_maps *maps, uint64_t isolate, const struct v8_frame *frame,
			   struct source_position *position, struct text *source);

#endif
