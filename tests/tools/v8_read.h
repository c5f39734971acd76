/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is on the stack of a frame of V8, from the target's memory: as the walk captures it (bpf/unwind_v8.bpf.h). And why
 * a frame, or what is missing in it, is not known, in a few words.
 */
#ifndef TESTS_TOOLS_V8_READ_H
#define TESTS_TOOLS_V8_READ_H

#include "runtime/v8/frame.h"
#include "target/memory.h"

/* Offsets from a frame's frame pointer of what is captured. */
enum {
	V8_SLOT_MARKER = -8, /* a small integer: the kind of frame; else a Context */
	V8_SLOT_FUNCTION = -16,
	V8_SLOT_BYTECODES = -32,
	V8_SLOT_OFFSET = -40,
	V8_SLOT_RECEIVER = 16,
	V8_SLOT_EXIT_FUNCTION =
		24, /* of V8_FRAME_BUILTIN_EXIT; so V8_EXIT_RECEIVER of the layout */
};

/* Fill what is on the stack of the frame at @fp in @raw, which the target has not left yet. */
static inline void read_frame(struct memory *memory, const struct v8_layout *layout,
			      struct address fp, struct v8_raw *raw)
{
	struct look look = look_into(memory);
	uint64_t marker, next;
	bool exits;

	raw->marker = look_u64(&look, fp.value + (uint64_t)V8_SLOT_MARKER);
	exits = v8_marker_is(layout, raw->marker, V8_FRAME_BUILTIN_EXIT);
	raw->function = look_u64(
		&look, fp.value + (uint64_t)(exits ? V8_SLOT_EXIT_FUNCTION : V8_SLOT_FUNCTION));
	raw->receiver = look_u64(&look, fp.value + (uint64_t)(exits ? layout->at[V8_EXIT_RECEIVER] :
								      V8_SLOT_RECEIVER));
	raw->bytecodes = look_u64(&look, fp.value + (uint64_t)V8_SLOT_BYTECODES);
	raw->offset = look_u64(&look, fp.value + (uint64_t)V8_SLOT_OFFSET);
	next = look_u64(&look, fp.value);
	marker = look_u64(&look, next + (uint64_t)V8_SLOT_MARKER);
	raw->construct = v8_marker_constructs(layout, marker);
}

static inline const char *reason_name(enum v8_reason reason)
{
	static const char *const names[] = {
		[V8_NO_REASON] = "",	      [V8_MOVED] = "moved",
		[V8_NO_CODE] = "no code",     [V8_NO_POSITION] = "no position",
		[V8_NO_MEMORY] = "no memory",
	};

	return names[reason];
}

#endif
