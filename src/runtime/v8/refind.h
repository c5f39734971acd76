/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding a function again by what the collector cannot change: the isolate, the script's id and
 * the function's number in it. For frames whose function was moved since they were captured, and
 * to see whether a layout is right.
 *
 * Source: V8's script_list root (src/roots/roots.h), src/objects/script.tq.
 */
#ifndef RUNTIME_V8_REFIND_H
#define RUNTIME_V8_REFIND_H

#include "runtime/v8/function.h"

/* Where scripts were found last; each is looked at again before it is believed. Begins as zeros. */
struct v8_script_places {
	struct {
		uint64_t isolate;
		uint64_t script;
		int32_t id;
	} places[256]; /* a power of two */
};

/*
 * The function of @isolate (its address) with that number in that script. False: it is not there,
 * or no more. @known may be NULL.
 */
bool v8_function_find(const struct v8_heap *heap, struct v8_script_places *known, uint64_t isolate,
		      int32_t script_id, int32_t literal_id, struct v8_function *function);

/*
 * Does the layout fit the isolate? Its scripts are read: each function must have the number there
 * that it has in its script, and be of that script. False: so no name that is read can be trusted.
 */
bool v8_layout_fits(const struct v8_heap *heap, uint64_t isolate);

#endif
