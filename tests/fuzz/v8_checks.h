/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must hold of frames that are named, whatever they were named from. For all fuzzers of V8. */
#ifndef TESTS_FUZZ_V8_CHECKS_H
#define TESTS_FUZZ_V8_CHECKS_H

#include <string.h>

#include "runtime/v8/frame.h"
#include "tests/tools/v8_read.h"
#include "tests/fuzz/fuzz.h"

enum { STRINGS_MAX = 1 << 20 };

static inline void check_frames(const struct v8_frames *frames)
{
	check(frames->count >= 1 && frames->count <= V8_FRAMES_MAX);
	check(frames->strings.length < STRINGS_MAX);
	for (size_t i = 0; i < frames->count; i++) {
		const struct v8_frame *frame = &frames->frames[i];

		check(frame->kind != V8_UNKNOWN || frame->reason != V8_NO_REASON);
		check(reason_name(frame->reason) != NULL);
		(void)v8_tier_name(frame->tier);
		check(!frame->name || strlen(frame->name) < STRINGS_MAX);
		check(!frame->function || strlen(frame->function) < STRINGS_MAX);
		check(!frame->script || strlen(frame->script) < STRINGS_MAX);
	}
}

#endif
