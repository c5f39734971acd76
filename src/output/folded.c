// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --folded: equal stacks, merged and counted: "comm;outermost;...;innermost COUNT", the form that
 * flame graphs are drawn from. Hits are kept until an interval or the run is over; with -j they
 * come out as JSON.
 */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "output/ops.h"

/* What is kept at most: a target can have as many different stacks as it likes. */
static const size_t KEPT_BYTES_MAX = 512 << 20;

struct folded_stack {
	uint64_t count;
	char frames[];
};

struct folded {
	void *tree; /* of struct folded_stack, see tsearch() */
	size_t kept_bytes;
	uint64_t others;
	struct text line;
	struct output *output; /* while stacks are written: */
	void (*write)(struct output *output, const char *stack, uint64_t count);
};

static bool folded_begin(struct output *output)
{
	output->state = calloc(1, sizeof(struct folded));
	return output->state != NULL;
}

static void folded_end(struct output *output)
{
	struct folded *folded = output->state;

	if (!folded)
		return;
	tdestroy(folded->tree, free);
	text_deinit(&folded->line);
	free(folded);
	output->state = NULL;
}

/* A name may have any letter, and the separator is one of them. */
static void add_part(struct text *to, const char *part)
{
	size_t from = to->length;

	text_add_printable(to, part);
	for (size_t i = from; i < to->length; i++) {
		if (to->chars[i] == ';')
			to->chars[i] = ':';
	}
}

static void add_frame(struct text *to, const struct frame *frame)
{
	text_add_char(to, ';');
	if (frame->name) {
		add_part(to, frame->name);
	} else {
		text_add_char(to, '[');
		add_part(to, frame->module ? frame->module : frame_kind_name(frame->kind));
		text_add_char(to, ']');
	}
	if (frame->source && frame->name) {
		text_add(to, " (");
		add_part(to, frame->source);
		if (frame->line)
			text_printf(to, ":%" PRIu32, frame->line);
		text_add_char(to, ')');
	}
	if (frame->guessed)
		text_add(to, " [guessed]");
}

static int by_frames(const void *left, const void *right)
{
	const struct folded_stack *a = left, *b = right;

	return strcmp(a->frames, b->frames);
}

/* Count the stack in folded->line; false if there is no room for one more. */
static bool count_line(struct folded *folded)
{
	size_t length = folded->line.length;
	struct folded_stack *stack = malloc(sizeof(*stack) + length + 1);
	struct folded_stack **found;

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

static void folded_hit(struct output *output, const struct hit *hit)
{
	struct folded *folded = output->state;
	const struct stack *stack = hit->stack;
	struct text *line = &folded->line;

	text_clear(line);
	add_part(line, hit->comm);
	if (stack && stack->end != STACK_WHOLE)
		text_printf(line, ";[%s]", stack_end_name(stack->end));
	for (size_t i = stack ? stack->count : 0; i > 0; i--)
		add_frame(line, &stack->frames[i - 1]);
	if (!text_ok(line) || !count_line(folded))
		folded->others++;
}

static void write_node(const void *node, VISIT visit, void *ctx)
{
	const struct folded_stack *stack = *(struct folded_stack *const *)node;
	const struct folded *folded = ctx;

	if (visit == postorder || visit == leaf)
		folded->write(folded->output, stack->frames, stack->count);
}

/* In alphabetical order; then they are forgotten. Those that there was no room for are one. */
static void write_kept(struct output *output,
		       void (*write)(struct output *output, const char *stack, uint64_t count))
{
	struct folded *folded = output->state;

	folded->output = output;
	folded->write = write;
	twalk_r(folded->tree, write_node, folded);
	tdestroy(folded->tree, free);
	folded->tree = NULL;
	if (folded->others)
		write(output, "[other stacks]", folded->others);
	folded->kept_bytes = 0;
	folded->others = 0;
}

static void write_text(struct output *output, const char *stack, uint64_t count)
{
	fprintf(output->to, "%s %" PRIu64 "\n", stack, count);
}

static void folded_kept(struct output *output)
{
	write_kept(output, write_text);
}

static void folded_json_kept(struct output *output)
{
	write_kept(output, json_folded);
}

const struct output_ops folded_output = {
	.begin = folded_begin,
	.hit = folded_hit,
	.kept = folded_kept,
	.end = folded_end,
};

const struct output_ops folded_json_output = {
	.begin = folded_begin,
	.hit = folded_hit,
	.kept = folded_json_kept,
	.summary = json_summary,
	.end = folded_end,
};
