/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a SharedFunctionInfo says of a function: its names as its source has them, its script and
 * the number that it has there, where it begins and ends. It is what all closures of one function
 * have in common, and script id and literal id stay the same wherever the collector moves it: by
 * these it is found again, and whether a layout is right is seen by them.
 *
 * Source: V8's src/objects/shared-function-info.tq, scope-info.tq, script.tq; its script_list root
 * (src/roots/roots.h).
 */
#ifndef RUNTIME_V8_FUNCTION_H
#define RUNTIME_V8_FUNCTION_H

#include "runtime/v8/heap.h"

struct v8_function {
	uint64_t shared;
	uint64_t script;   /* 0: none, so a builtin's */
	int32_t script_id; /* 0: none */
	int32_t literal_id;
	int32_t builtin; /* its number; -1: it is none */
	int32_t start;	 /* in the script's source; -1: it does not say */
	int32_t end;
	int32_t kind;	   /* FunctionKind */
	bool native;	   /* one of the language, which stack traces show */
	bool external;	   /* it is written in C++, outside of V8 */
	uint64_t name;	   /* a string; 0: it has none; if v8_is_lost(): not known */
	uint64_t inferred; /* what it is assigned to, likewise */
};

/* Read the one at @shared. False if there is none any more. */
bool v8_function_read(const struct v8_heap *heap, uint64_t shared, struct v8_function *function);

/* Of a JSFunction. */
bool v8_function_of(const struct v8_heap *heap, uint64_t closure, struct v8_function *function);

/* Its BytecodeArray; 0: it has none. */
uint64_t v8_function_bytecodes(const struct v8_heap *heap, const struct v8_function *function);

/* Is it the constructor of a class? */
bool v8_function_is_class(const struct v8_function *function);

/* The string that people know it by: its name, else what it is assigned to; 0: neither. */
uint64_t v8_function_known_as(const struct v8_function *function);

/* Where scripts were found last; each is looked at again before it is believed. Begins as zeros. */
struct v8_script_places {
	struct v8_script_place {
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
