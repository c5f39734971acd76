/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What frames were when all of it could be read, by what of them stays as it is wherever objects
 * are moved. So frame_names.c names a frame again whose objects cannot be found any more, without
 * what it was called on.
 */
#ifndef RUNTIME_V8_REMEMBERED_H
#define RUNTIME_V8_REMEMBERED_H

#include "runtime/v8/frame.h"

/* What tells one place in one function: zeros where that does not matter. No padding. */
struct v8_frame_id {
	uint64_t isolate;
	uint64_t pc;
	uint64_t code;	 /* what is before @pc, see event_v8_code() */
	uint64_t offset; /* of bytecode */
	int32_t script_id;
	int32_t literal_id;
	uint64_t construct;
};

enum { V8_REMEMBERED_SLOTS = 8192 };

/* Begins as zeros: it has none. */
struct v8_remembered {
	struct v8_kept *slots[V8_REMEMBERED_SLOTS];
};

void v8_remembered_deinit(struct v8_remembered *remembered);

/* Is it not known yet what frames @id is? */
bool v8_remembered_lacks(const struct v8_remembered *remembered, const struct v8_frame_id *id);

/* Keep them. What was kept under an @id by another name is not told any more. */
void v8_remembered_add(struct v8_remembered *remembered, const struct v8_frame_id *id,
		       const struct v8_frames *frames);

/*
 * The frames, and how many; NULL: not known. Valid until the next is added. They have no
 * .script_object, which may have moved.
 */
const struct v8_frame *v8_remembered_get(const struct v8_remembered *remembered,
					 const struct v8_frame_id *id, size_t *count);

#endif
