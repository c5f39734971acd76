/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What frame.c and optimized.c share: a frame that is being named, and how functions are added. */
#ifndef RUNTIME_V8_FRAME_INTERNAL_H
#define RUNTIME_V8_FRAME_INTERNAL_H

#include "runtime/v8/frame.h"
#include "runtime/v8/names.h"
#include "runtime/v8/script.h"

struct v8_namer {
	struct v8_heap heap;
	struct v8_codes codes;
	struct v8_scripts scripts;
	struct v8_script_places places;
};

/* What is being named. */
struct v8_naming {
	struct v8_namer *namer;
	const struct v8_raw *raw;
	const struct v8_function *function; /* the one on the stack */
	struct v8_frames *out;
};

/* One that is active, at @at of its script's source; -1: that is not known. */
void v8_add_function(const struct v8_naming *naming, const struct v8_call *call, enum v8_tier tier,
		     int32_t at, bool inlined);

/* The same of the one on the stack. */
void v8_add_outermost(const struct v8_naming *naming, enum v8_tier tier, int32_t at);
void v8_add_unknown(struct v8_frames *out, enum v8_tier tier, enum v8_reason reason);

/* Is it the function that was captured, as far as was captured which it is? */
bool v8_is_captured(const struct v8_raw *raw, const struct v8_function *function);

/*
 * Where in the source the bytecode at @offset of a BytecodeArray of @function is, before the first
 * that is anywhere: where the function begins; -1: that is not known.
 */
int32_t v8_bytecode_position(const struct v8_heap *heap, const struct v8_function *function,
			     uint64_t bytecodes, int64_t offset);

/*
 * Does the caller's code, if it is optimised, say that the frame was called by new? False: that
 * code may be dead, so nothing it says is known.
 */
bool v8_is_constructed(const struct v8_naming *naming, bool *constructed);

/* Those that are active in optimised @code, whether or not the function is what it was. */
void v8_name_optimized(const struct v8_naming *on_stack, const struct v8_code *code);

#endif
