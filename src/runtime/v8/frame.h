/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of V8 with names: what was captured of one, a few words of the stack, becomes the
 * functions that are active in it with their scripts, lines and columns; several where calls were
 * inlined. This is what the rest of the tree uses of this room, beside layout.h and engine.h.
 *
 * Source: V8's src/execution/frames.cc, frame-constants.h.
 */
#ifndef RUNTIME_V8_FRAME_H
#define RUNTIME_V8_FRAME_H

#include "base/text.h"
#include "image/space.h"
#include "runtime/v8/heap.h"

struct error;
struct memory;
struct v8_namer;

enum v8_tier {
	V8_TIER_NONE,
	V8_TIER_INTERPRETER,
	V8_TIER_BASELINE,
	V8_TIER_MAGLEV,
	V8_TIER_TURBOFAN,
	V8_TIER_BUILTIN,
};

/* As JSON and text have it; NULL of V8_TIER_NONE. */
const char *v8_tier_name(enum v8_tier tier);

/* Where the code at a frame's pc is. */
enum v8_place {
	V8_IN_BLOB, /* of builtins: in V8's file, mapped once or twice, or in a copy of it */
	V8_IN_HEAP, /* in memory of no file */
};

/* What is known of a frame that has no name yet. */
struct v8_raw {
	struct address pc;
	struct address lowest; /* with V8_IN_HEAP: where the mapping begins */
	uint64_t marker;
	uint64_t function;
	uint64_t bytecodes;
	uint64_t offset;
	uint64_t receiver;     /* 0: not captured */
	uint64_t shared;       /* of @function; 0: not captured */
	uint64_t receiver_map; /* likewise; the receiver may have moved since */
	uint64_t isolate;      /* its address, or another number that tells them apart */
	/* Of the next frame out, if it is of a function whose code is in memory of no file; 0. */
	struct address outer_pc;
	struct address outer_lowest;
	/*
	 * Which function it is, as captured with the address of @function: it is held against that,
	 * and found again by it. 0: not captured.
	 */
	int32_t script_id;
	int32_t literal_id;
	enum v8_place place;
	bool innermost; /* @pc is not where a call returns to */
	bool moved;	/* the function was captured, and has moved since */
	bool stale;	/* any object may have moved since */
	bool moving;	/* they are being moved while it is named */
	/*
	 * Old objects have moved since: what nothing refers to any more still looks as it did where
	 * what it refers to has been written over. What is found from the isolate's roots is alive.
	 */
	bool aged;
	bool unsure;	   /* old objects may have moved, and what was before @pc is not there */
	bool construct;	   /* the next frame out is of kind V8_FRAME_[FAST_]CONSTRUCT */
	bool outer_unsure; /* as .unsure, of the code at .outer_pc */
};

enum v8_frame_kind {
	V8_UNKNOWN,
	V8_FUNCTION, /* of JavaScript; V8_TIER_BUILTIN: one of the language */
	V8_STUB,     /* code of the engine that carries no function of the user's */
};

/* Why a frame, or what is missing in it, is not known. */
enum v8_reason {
	V8_NO_REASON,
	V8_MOVED,	/* what was captured is not there any more */
	V8_NO_CODE,	/* no code begins before the pc */
	V8_NO_POSITION, /* the function is known, the line is not */
	V8_NO_MEMORY,
};

struct v8_frame {
	enum v8_frame_kind kind;
	enum v8_reason reason;
	enum v8_tier tier;
	bool inlined;	      /* into the frame after it */
	const char *name;     /* as stack traces have it; NULL: not known */
	const char *function; /* the function's own name, "" if it has none; NULL: not known */
	const char *script;   /* NULL: it has none, or it has no name */
	uint32_t line;	      /* from 1; 0: not known */
	uint32_t column;
	uint64_t script_object; /* the Script; 0: none */
	int32_t script_id;	/* 0: none. With the next it says which function it is for ever */
	int32_t literal_id;
};

enum { V8_FRAMES_MAX = 32 };

/* Zeros before the first use; strings stay until it is used again, and go by text_deinit(). */
struct v8_frames {
	struct v8_frame frames[V8_FRAMES_MAX]; /* the innermost first */
	size_t count;
	bool by_pc;	/* .bytecodes and .offset of the raw frame did not matter */
	bool by_object; /* what its receiver holds did */
	bool by_outer;	/* what the caller's code says of the call did */
	bool plain;	/* what a call was on could not be read, and is left out of its name */
	struct text strings;
	size_t string_at[V8_FRAMES_MAX][3]; /* while it is filled */
};

/* Say of the frame no more than that what it was is lost. */
void v8_frames_lose(struct v8_frames *frames);

/*
 * Names frames of a process whose @memory is read as it is since memory_forget(). @layout and
 * @memory must outlive it. -ENOMEM with @err set.
 */
int v8_namer_create(struct v8_namer **namer, struct memory *memory, const struct v8_layout *layout,
		    struct error *err);
void v8_namer_destroy(struct v8_namer *namer);

/* Where scripts were is not believed any more: old objects have moved. */
void v8_namer_forget_places(struct v8_namer *namer);

/* Is the function with the numbers of @raw alive? */
bool v8_namer_has_function(struct v8_namer *namer, const struct v8_raw *raw);

/* At least one frame, if only one that is unknown. */
void v8_namer_name(struct v8_namer *namer, const struct v8_raw *raw, struct v8_frames *frames);

/* Append the source of a Script, as UTF-8. False if it is too long, or cannot be read. */
bool v8_namer_source(const struct v8_namer *namer, uint64_t script, struct text *source);

/* Is a frame with that marker one that calls of C++ functions by JavaScript leave behind? */
bool v8_marker_is(const struct v8_layout *layout, uint64_t marker, enum v8_field kind);

/* Is it one that stands between a call by new and who called it? */
bool v8_marker_constructs(const struct v8_layout *layout, uint64_t marker);

#endif
