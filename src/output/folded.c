// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/folded.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"
#include "base/text.h"

/* What is kept at most: a target can have as many different stacks as it likes. */
static const size_t KEPT_BYTES_MAX = 512 << 20;

struct stack {
	uint64_t count;
	char frames[];
};

struct folded {
	void *tree; /* of struct stack, see tsearch() */
	size_t kept_bytes;
	uint64_t others;
	struct text comm;
	struct text frames; /* from the inside out, each with a NUL */
	struct text line;
	void (*each)(void *ctx, const char *stack, uint64_t count);
	void *ctx;
};

struct folded *folded_create(void)
{
	return calloc(1, sizeof(struct folded));
}

void folded_destroy(struct folded *folded)
{
	if (!folded)
		return;
	tdestroy(folded->tree, free);
	text_deinit(&folded->comm);
	text_deinit(&folded->frames);
	text_deinit(&folded->line);
	free(folded);
}

/* A name may have any letter, and the separator is one of them. */
static void add_part(struct text *to, const char *part)
{
	struct text printable = { 0 };

	text_add_printable(&printable, part);
	for (size_t i = 0; i < printable.length; i++) {
		char letter = text_chars(&printable)[i];

		text_add_char(to, (char)(letter == ';' ? ':' : letter));
	}
	text_deinit(&printable);
}

void folded_begin(struct folded *folded, const char *comm)
{
	text_clear(&folded->comm);
	text_clear(&folded->frames);
	add_part(&folded->comm, comm);
}

void folded_frame(struct folded *folded, const struct frame *frame)
{
	struct text *to = &folded->frames;

	if (frame->name) {
		add_part(to, frame->name);
	} else {
		text_add_char(to, '[');
		add_part(to, frame->module ? frame->module : frame_kind_name(frame->kind));
		text_add_char(to, ']');
	}
	if (frame->guessed)
		text_add(to, " [guessed]");
	text_add_bytes(to, "", 1);
}

static int by_frames(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	return strcmp(a->frames, b->frames);
}

/* Count the stack in folded->line; false if there is no room for one more. */
static bool count_line(struct folded *folded)
{
	size_t length = folded->line.length;
	struct stack *stack = malloc(sizeof(*stack) + length + 1);
	struct stack **found;

	if (!stack)
		return false;
	memcpy(stack->frames, text_chars(&folded->line), length + 1);
	stack->count = 1;
	found = folded->kept_bytes < KEPT_BYTES_MAX ? tsearch(stack, &folded->tree, by_frames) :
						      tfind(stack, &folded->tree, by_frames);
	if (found && *found == stack) {
		folded->kept_bytes += sizeof(*stack) + length + 1;
		return true;
	}
	free(stack);
	if (found)
		(*found)->count++;
	return found != NULL;
}

void folded_end(struct folded *folded, enum stack_end end)
{
	const char *frames = text_chars(&folded->frames);
	size_t at = folded->frames.length;

	text_clear(&folded->line);
	text_add(&folded->line, text_chars(&folded->comm));
	if (end != STACK_WHOLE)
		text_printf(&folded->line, ";[%s]", stack_end_name(end));
	while (at) {
		size_t last = at - 1; /* its NUL */

		for (at = last; at && frames[at - 1]; at--)
			;
		text_add_char(&folded->line, ';');
		text_add_bytes(&folded->line, frames + at, last - at);
	}
	if (!text_ok(&folded->line) || !text_ok(&folded->frames) || !count_line(folded))
		folded->others++;
}

static void hand_on(const void *node, VISIT visit, void *ctx)
{
	const struct stack *stack = *(struct stack *const *)node;
	const struct folded *folded = ctx;

	if (visit == postorder || visit == leaf)
		folded->each(folded->ctx, stack->frames, stack->count);
}

void folded_take(struct folded *folded, void (*each)(void *ctx, const char *stack, uint64_t count),
		 void *ctx)
{
	folded->each = each;
	folded->ctx = ctx;
	twalk_r(folded->tree, hand_on, folded);
	tdestroy(folded->tree, free);
	folded->tree = NULL;
	if (folded->others)
		each(ctx, "[other stacks]", folded->others);
	folded->kept_bytes = 0;
	folded->others = 0;
}
