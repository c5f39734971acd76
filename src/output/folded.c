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

#include "base/shortage.h"
#include "base/vector.h"
#include "output/ops.h"

struct output_kind {
	uint64_t count; /* since it was written last */
	uint32_t users; /* who may count more of it */
	char frames[];
};

struct folded {
	void *tree;	   /* of struct output_kind, see tsearch() */
	size_t kept_bytes; /* a target can have as many different stacks as it likes */
	uint64_t others;
	struct output_kind **idle; /* to be forgotten */
	size_t idle_count;
	size_t idle_capacity;
	struct text line;
	struct output *output; /* while stacks are written: */
	void (*write)(struct output *output, const char *stack, uint64_t count);
};

static void folded_end(struct output *output)
{
	struct folded *folded = output->state;

	tdestroy(folded->tree, free);
	text_deinit(&folded->line);
	free(folded->idle);
}

/* A name may have any letter, and the separator is one of them. */
static void add_part(struct text *to, const char *part)
{
	size_t from = to->length;

	text_add_printable(to, part);
	output_swap(to, from, ";", ':');
}

static void add_frame(struct text *to, const void *item)
{
	const struct frame *frame = item;
	size_t from;

	text_add_char(to, ';');
	from = to->length;
	output_frame_name(to, frame);
	output_swap(to, from, ";", ':');
	if (output_is_told_by_line(frame)) {
		text_add(to, " (");
		add_part(to, frame->source);
		if (frame->line)
			text_printf(to, ":%" PRIu32, frame->line);
		text_add_char(to, ')');
	}
}

static void add_stack(struct text *to, const void *item)
{
	const struct stack *stack = item;

	if (stack->end != STACK_WHOLE)
		text_printf(to, ";[%s]", stack_end_name(stack->end));
	for (size_t i = stack->count; i > 0; i--) {
		const struct frame *frame = &stack->frames[i - 1];

		output_render(to, frame->rendering, frame, add_frame);
		if (frame->guessed)
			text_add(to, " [guessed]");
	}
}

static int by_frames(const void *left, const void *right)
{
	const struct output_kind *a = left, *b = right;

	return strcmp(a->frames, b->frames);
}

static size_t bytes_of(const struct output_kind *kind)
{
	return sizeof(*kind) + strlen(kind->frames) + 1;
}

/* The stack in folded->line; NULL if there is no room for one more. */
static struct output_kind *find_line(const struct output *output)
{
	struct folded *folded = output->state;
	size_t length = folded->line.length;
	struct output_kind *kind = malloc(sizeof(*kind) + length + 1);
	const bool may_add = folded->kept_bytes < output->memory_bytes;
	struct output_kind **found, *is;

	if (!kind) {
		shortage_note();
		return NULL;
	}
	memcpy(kind->frames, text_chars(&folded->line), length + 1);
	kind->count = 0;
	kind->users = 0;
	found = may_add ? tsearch(kind, &folded->tree, by_frames) :
			  tfind(kind, &folded->tree, by_frames);
	if (may_add && !found)
		shortage_note();
	is = found ? *found : NULL;
	if (is == kind)
		folded->kept_bytes += bytes_of(kind);
	else
		free(kind);
	return is;
}

static struct output_kind *find_hit(const struct output *output, const struct hit *hit)
{
	struct text *line = &((struct folded *)output->state)->line;

	text_clear(line);
	add_part(line, hit->comm);
	if (output->by_tid)
		text_printf(line, "-%d", (int)hit->tid);
	if (hit->stack)
		output_render(line, hit->stack->rendering, hit->stack, add_stack);
	return text_ok(line) ? find_line(output) : NULL;
}

static void folded_count(struct output *output, struct output_kind *kind, uint64_t count)
{
	struct folded *folded = output->state;

	*(kind ? &kind->count : &folded->others) += count;
}

static void folded_hit(struct output *output, const struct hit *hit)
{
	folded_count(output, find_hit(output, hit), 1);
}

static struct output_kind *folded_kind(struct output *output, const struct hit *hit)
{
	struct output_kind *kind = find_hit(output, hit);

	if (kind)
		kind->users++;
	return kind;
}

static void folded_release(struct output *output, struct output_kind *kind)
{
	(void)output;
	kind->users--;
}

static void write_node(const void *node, VISIT visit, void *ctx)
{
	struct output_kind *kind = *(struct output_kind *const *)node;
	struct folded *folded = ctx;

	if (visit != postorder && visit != leaf)
		return;
	if (kind->count)
		folded->write(folded->output, kind->frames, kind->count);
	kind->count = 0;
	/* A tree loses nothing while it is walked. */
	if (!kind->users)
		(void)vector_add(&folded->idle, &folded->idle_count, &folded->idle_capacity, kind);
}

static void forget_idle(struct folded *folded)
{
	while (folded->idle_count) {
		struct output_kind *kind = folded->idle[--folded->idle_count];

		tdelete(kind, &folded->tree, by_frames);
		folded->kept_bytes -= bytes_of(kind);
		free(kind);
	}
}

/*
 * In alphabetical order; then those are forgotten that nobody counts. Those that there was no room
 * for are one.
 */
static void write_kept(struct output *output,
		       void (*write)(struct output *output, const char *stack, uint64_t count))
{
	struct folded *folded = output->state;

	folded->output = output;
	folded->write = write;
	twalk_r(folded->tree, write_node, folded);
	forget_idle(folded);
	if (folded->others)
		write(output, "[other stacks]", folded->others);
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
	.state_bytes = sizeof(struct folded),
	.hit = folded_hit,
	.kind = folded_kind,
	.kind_count = folded_count,
	.kind_release = folded_release,
	.kept = folded_kept,
	.end = folded_end,
};

const struct output_ops folded_json_output = {
	.state_bytes = sizeof(struct folded),
	.hit = folded_hit,
	.kind = folded_kind,
	.kind_count = folded_count,
	.kind_release = folded_release,
	.kept = folded_json_kept,
	.summary = json_summary,
	.end = folded_end,
};
