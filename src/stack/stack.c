// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an event's raw frames to a stack: names come from symbols.c, and which frames are part of it
 * is decided here. What comes out goes to src/output/.
 */
#include "stack/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "stack/symbols.h"

/*
 * A handler is called by the runtime, while its method's frame is still there, and with it frames
 * that an exception has left for good: to who looks for methods it is that frame, and what is
 * between is nothing. But a filter runs when nothing has been left yet.
 */
struct handler {
	const char *name; /* NULL: none waits for its method's frame */
	uint32_t frame_pointer;
};

static bool is_before_method(struct handler *handler, const struct event_frame *at,
			     const struct frame *frame)
{
	bool before = handler->name != NULL;

	if (before && at->frame_pointer == handler->frame_pointer && frame->name &&
	    strcmp(frame->name, handler->name) == 0 && !frame->funclet)
		handler->name = NULL;
	if (!before && frame->funclet && !frame->filter) {
		handler->name = frame->name;
		handler->frame_pointer = at->frame_pointer;
	}
	return before;
}

static void name(struct symbols *symbols, const struct event_frame *at, bool return_address,
		 struct named_frames *named)
{
	if (symbols)
		symbols_name(symbols, at, return_address, named);
	else
		named_frames_only(named)->address.value = at->pc;
}

static void add(struct stack *stack, const struct frame *frame)
{
	if (vector_reserve(&stack->frames, &stack->capacity, stack->count + 1))
		stack->frames[stack->count++] = *frame;
	else
		stack->end = STACK_TRUNCATED;
}

void stack_resolve(struct stack *stack, struct symbols *symbols, const struct hit_event *event,
		   struct address entry, enum stack_frames frames)
{
	struct event_frame first = { .pc = 0 };
	struct handler handler = { .name = NULL };
	struct named_frames named;

	stack->count = 0;
	stack->end = (enum stack_end)event->stack_end;
	if (symbols)
		symbols_begin(symbols);
	/* An event without frames ends before them. */
	if (event->frame_count)
		first = event->frames[0];
	if (event->duration_ns && entry.value) {
		first.pc = entry.value;
		first.offset = 0;
	}
	for (uint16_t i = 0; i < event->frame_count; i++) {
		const struct event_frame *at = i ? &event->frames[i] : &first;
		bool managed = frames == STACK_FRAMES_MANAGED;

		name(symbols, at, i > 0, &named);
		/* What is inlined is in the frame of the last. */
		if (managed && is_before_method(&handler, at, &named.frames[named.count - 1]))
			continue;
		for (size_t j = 0; j < named.count; j++) {
			if (!managed || named.frames[j].kind != FRAME_NATIVE)
				add(stack, &named.frames[j]);
		}
	}
}

void stack_deinit(struct stack *stack)
{
	free(stack->frames);
	*stack = (struct stack){ 0 };
}

struct frame stack_caller(struct symbols *symbols, struct address return_address)
{
	const struct event_frame at = { .pc = return_address.value };
	struct named_frames named;

	if (symbols)
		symbols_begin(symbols);
	name(symbols, &at, true, &named);
	return named.frames[0];
}

const char *stack_end_name(enum stack_end end)
{
	static const char *const names[] = {
		[STACK_WHOLE] = "whole",
		[STACK_TRUNCATED] = "truncated",
		[STACK_UNREADABLE] = "unreadable",
		[STACK_BROKEN] = "broken",
		[STACK_UNSUPPORTED] = "unsupported",
		[STACK_UNSURE] = "unsure",
		[STACK_BUSY] = "busy",
	};

	return names[end];
}

const char *frame_kind_name(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_NATIVE:
		return "native";
	case FRAME_DOTNET:
		return "dotnet";
	case FRAME_STUB:
		return "stub";
	case FRAME_V8:
		return "v8";
	default:
		return "unknown";
	}
}
