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
 * An exception handler runs while its method's frame is still on the stack, and with it frames
 * that the exception has left for good. In a managed stack the handler stands for its method's
 * frame, and what is between the two is left out. A filter runs before anything has been left.
 */
struct handler {
	const char *name; /* NULL: none waits for its method's frame */
	uint32_t frame_pointer;
};

static bool is_handler(const struct event_frame *at, const struct frame *frame)
{
	return frame->funclet || (at->flags & EVENT_FRAME_FUNCLET);
}

static bool is_before_method(struct handler *handler, const struct event_frame *at,
			     const struct frame *frame)
{
	bool before = handler->name != NULL;
	bool funclet = is_handler(at, frame);

	if (before && at->frame_pointer == handler->frame_pointer && frame->name &&
	    strcmp(frame->name, handler->name) == 0 && !funclet)
		handler->name = NULL;
	if (!before && funclet && !frame->filter) {
		handler->name = frame->name;
		handler->frame_pointer = at->frame_pointer;
	}
	return before;
}

static void add(struct stack *stack, const struct frame *frame, bool guessed, bool unmanaged)
{
	if (!vector_reserve(&stack->frames, &stack->capacity, stack->count + 1)) {
		stack->end = STACK_TRUNCATED;
		return;
	}
	stack->frames[stack->count] = *frame;
	stack->frames[stack->count].unmanaged = unmanaged;
	stack->frames[stack->count++].guessed = guessed;
	stack->moved += frame->moved;
	stack->unnamed += !frame->name && !frame->module;
}

/* What has no name is a frame all the same. */
static size_t name(struct stack *stack, struct symbols *symbols, const struct event_frame *at,
		   const struct raw_v8 *v8, bool return_address, struct frame *unknown,
		   const struct frame **frames)
{
	struct symbols_answer *answer =
		symbols ? symbols_name(symbols, at, v8, return_address) : NULL;

	if (answer &&
	    vector_reserve(&stack->answers, &stack->answer_capacity, stack->answer_count + 1)) {
		stack->answers[stack->answer_count++] = answer;
		stack->lasting &= answer->kept && !v8;
		*frames = answer->frames;
		return answer->count;
	}
	symbols_release(answer);
	stack->lasting = false;
	*unknown = (struct frame){ .kind = FRAME_UNKNOWN, .address.value = at->pc };
	*frames = unknown;
	return 1;
}

/* Leave no frames in it; its memory is for the next. */
static void clear(struct stack *stack)
{
	while (stack->answer_count > 0)
		symbols_release(stack->answers[--stack->answer_count]);
	stack->count = stack->guessed = stack->moved = stack->unnamed = 0;
}

/* What a frame of V8's is told by is also in the one at @i, which is the next out. */
static void read_outer(const struct hit_event *event, uint32_t i, struct raw_v8 *v8)
{
	const struct event_frame *at = &event->frames[i];
	uint32_t slots = event_frame_slots(at);
	struct event_v8 noted;

	if (at->flags & EVENT_FRAME_MARKED) {
		v8->outer_marker = at->offset;
	} else if (slots > 1 && slots <= event->frame_count - i) {
		memcpy(&noted, at + 1, sizeof(noted));
		v8->outer_pc = at->pc;
		v8->outer_code = noted.code;
	}
}

/* What is noted of the frame at @i as one of V8's; false: it was not left as such. */
static bool read_v8(const struct hit_event *event, uint32_t i, struct raw_v8 *v8)
{
	const struct event_frame *at = &event->frames[i];
	uint32_t slots = event_frame_slots(at), next = i + slots;

	if (!(at->flags & EVENT_FRAME_V8) || next > event->frame_count)
		return false;
	*v8 = (struct raw_v8){
		.offset = at->offset,
		.outer_marker = RAW_V8_NO_MARKER,
		.moves = event->moves,
		.isolate = event->isolate,
		.marked = (at->flags & EVENT_FRAME_MARKED) != 0,
		.has_function = slots > 1,
	};
	if (next < event->frame_count)
		read_outer(event, next, v8);
	if (v8->has_function) {
		v8->function = at->method;
		memcpy(&v8->noted, at + 1, sizeof(v8->noted));
	}
	return true;
}

void stack_resolve(struct stack *stack, struct symbols *symbols, const struct hit_event *event,
		   struct address entry, enum stack_frames frames)
{
	struct event_frame first = { .pc = 0 };
	struct handler handler = { .name = NULL };
	bool managed = frames == STACK_FRAMES_MANAGED, framed = false;
	bool tells = frames != STACK_FRAMES_ALL;

	clear(stack);
	stack->end = (enum stack_end)event->stack_end;
	stack->lasting = true;
	if (symbols)
		symbols_begin(symbols);
	/* An event without frames ends before them. */
	if (event->frame_count)
		first = event->frames[0];
	if (event->duration_ns && entry.value) {
		first.pc = entry.value;
		first.offset = 0;
	}
	for (uint32_t i = 0; i < event->frame_count; i += event_frame_slots(&event->frames[i])) {
		const struct event_frame *at = i ? &event->frames[i] : &first;
		const struct frame *named;
		struct frame unknown;
		struct raw_v8 v8;
		size_t count = name(stack, symbols, at, read_v8(event, i, &v8) ? &v8 : NULL, i > 0,
				    &unknown, &named);

		bool guessed = at->flags & EVENT_FRAME_GUESSED && !framed, left;

		framed = at->flags & EVENT_FRAME_V8 && named[count - 1].framed;
		stack->guessed += guessed;
		/* Then frame pointers decide. */
		stack->lasting &= !tells || !is_handler(at, &named[count - 1]);
		/* What is inlined is in the frame of the last. */
		left = tells && is_before_method(&handler, at, &named[count - 1]);
		for (size_t j = 0; j < count; j++) {
			bool unmanaged = left || named[j].kind == FRAME_NATIVE;

			if (!managed || !unmanaged)
				add(stack, &named[j], symbols && guessed, unmanaged);
		}
	}
}

bool stack_narrow(struct stack *managed, const struct stack *marked)
{
	managed->count = 0;
	managed->guessed = marked->guessed;
	managed->end = marked->end;
	if (!vector_reserve(&managed->frames, &managed->capacity, marked->count))
		return false;
	for (size_t i = 0; i < marked->count; i++) {
		if (!marked->frames[i].unmanaged)
			managed->frames[managed->count++] = marked->frames[i];
	}
	return true;
}

void stack_deinit(struct stack *stack)
{
	clear(stack);
	free(stack->frames);
	free(stack->answers);
	*stack = (struct stack){ 0 };
}

struct frame stack_caller(struct symbols *symbols, struct address return_address)
{
	const struct event_frame at = { .pc = return_address.value };
	struct frame frame = { .kind = FRAME_UNKNOWN, .address = return_address };
	struct symbols_answer *answer = NULL;

	if (symbols) {
		symbols_begin(symbols);
		answer = symbols_name(symbols, &at, NULL, true);
	}
	if (answer)
		frame = answer->frames[0];
	/* It is remembered as long as no other takes its place. */
	symbols_release(answer);
	return frame;
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
	static const char *const names[] = {
		[FRAME_UNKNOWN] = "unknown", [FRAME_NATIVE] = "native", [FRAME_DOTNET] = "dotnet",
		[FRAME_STUB] = "stub",	     [FRAME_V8] = "v8",
	};

	return names[kind];
}
