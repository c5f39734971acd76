/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stack as outputs get it, made from what BPF has captured: the records at the end of a hit's
 * way. They are plain values; what they are made from, the event and what is mapped, goes no
 * further.
 */
#ifndef STACK_STACK_H
#define STACK_STACK_H

#include <sys/types.h>

#include "bpf/event.h"
#include "runtime/frame.h"

struct symbols;
struct symbols_answer;

struct stack {
	struct frame *frames; /* from the inside out */
	size_t count;
	size_t capacity;
	struct symbols_answer **answers; /* which have the frames' strings */
	size_t answer_count;
	size_t answer_capacity;
	/*
	 * Of all that were captured: found by a frame pointer, for want of anything better. A frame
	 * is none where its callee is of code that keeps one, as is known by now.
	 */
	size_t guessed;
	size_t moved;	/* frames whose names had moved by the time they were read */
	size_t unnamed; /* frames of which nothing is known yet, but where they are */
	enum stack_end end;
	/*
	 * It is the same for every hit with the same raw frames, whatever their frame pointers, as
	 * long as the version of its symbols is.
	 */
	bool lasting;
	struct rendering *rendering; /* to be filled in by whoever writes it; NULL: not kept */
};

/* One hit, or one call that has ended. */
struct hit {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid;
	pid_t tid;
	const char *comm;
	const char *method;
	const char *tier;	   /* of the body, as in JSON */
	uint64_t duration_ns;	   /* of a call that has ended; 0: it begins */
	const struct stack *stack; /* NULL: none was asked for */
};

enum stack_frames {
	STACK_FRAMES_ALL,
	/* Without native code, and without what an exception has left whose handler runs. */
	STACK_FRAMES_MANAGED,
	/* All, each with whether a managed stack has it: see stack_narrow(). */
	STACK_FRAMES_MARKED,
};

/*
 * Make @stack, which is used again for each, of what @event was captured with. @entry is where the
 * method that was hit begins, 0 if that is not known: the stack of a call that has ended is that of
 * its beginning. Without @symbols (NULL) frames have no names.
 */
void stack_resolve(struct stack *stack, struct symbols *symbols, const struct hit_event *event,
		   struct address entry, enum stack_frames frames);

/*
 * Make @managed, which is used again for each, what STACK_FRAMES_MANAGED would have come to of
 * @marked, whose strings it borrows. False for want of memory.
 */
bool stack_narrow(struct stack *managed, const struct stack *marked);

void stack_deinit(struct stack *stack);

/* The function that a call returns to, valid until the next is named. @symbols as above. */
struct frame stack_caller(struct symbols *symbols, struct address return_address);

/* Is it of what V8 has told? Only there it may be without a name. */
static inline bool frame_is_script(const struct frame *frame)
{
	return frame->kind == FRAME_V8 || frame->tier ||
	       (frame->source && frame->kind != FRAME_DOTNET && frame->kind != FRAME_NATIVE);
}

/* Words for them, as in JSON. */
const char *stack_end_name(enum stack_end end);
const char *frame_kind_name(enum frame_kind kind);

#endif
