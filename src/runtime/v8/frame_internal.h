/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What frame.c and optimized.c share, with code.c and names.c: a frame that is being named. */
#ifndef RUNTIME_V8_FRAME_INTERNAL_H
#define RUNTIME_V8_FRAME_INTERNAL_H

#include "runtime/v8/frame.h"
#include "runtime/v8/function.h"
#include "runtime/v8/script.h"

/* code.c. */
struct v8_code {
	uint64_t object;   /* the Code */
	uint64_t start;	   /* of its instructions */
	uint32_t size;	   /* of them, in bytes; what is behind them describes them */
	enum v8_tier tier; /* V8_TIER_NONE: no function's */
};

/* Powers of two. */
enum { V8_CODES_KEPT = 1024, V8_CODES_ISOLATES = 64 };

/* What was found. Begins as zeros. */
struct v8_codes {
	/* By the pc, of which each leads to its own. */
	struct {
		uint64_t pc;
		uint64_t stream;
	} kept[V8_CODES_KEPT];
	/* What objects with instructions begin with in an isolate; 0: not seen yet. */
	struct {
		uint64_t isolate;
		uint64_t word;
	} first[V8_CODES_ISOLATES];
};

/*
 * The code that @pc is in, or behind the last instruction of; it begins not before @lowest. Objects
 * of an @isolate begin alike; 0: it is not known which it is.
 */
bool v8_code_find(struct v8_codes *codes, const struct v8_heap *heap, uint64_t isolate,
		  struct address pc, struct address lowest, struct v8_code *code);

/* names.c. */
struct v8_call {
	const struct v8_function *function;
	uint64_t closure;  /* the JSFunction; 0: not known, as of one that was inlined */
	uint64_t receiver; /* what it was called on; 0: not known, but perhaps its Map */
	uint64_t receiver_map;
	bool construct; /* by new */
	bool moved;	/* the closure was known, and is found by the receiver if it can be */
	bool stale;	/* objects have moved since: what is not found may have been there */
};

/*
 * Append the name to the strings of @out, or "<anonymous>"; of what was called on something of
 * which only the Map is known what that says. False if a part of it could not be read. @moving:
 * objects are being moved, so what is not found may be there. Sets .by_object of @out if the name
 * is of a call on that very object, whose Map others have too, and .plain if what that is may just
 * have been moved, so nothing is said of it.
 */
bool v8_add_call_name(const struct v8_heap *heap, const struct v8_call *call, bool moving,
		      struct v8_frames *out);

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
