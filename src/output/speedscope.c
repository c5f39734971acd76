// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --format=speedscope: one JSON document with a sampled profile for each thread, by the schema that
 * speedscope publishes. Hits weigh 1, calls what they took. It is written at the end, since threads
 * do not take turns in it; until then stacks are numbers, and equal ones in a row are one sample.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "output/interned.h"
#include "output/ops.h"

enum { OTHER_STACKS = 0 /* the number of a stack that stands for those without room */ };

struct sample {
	uint32_t stack;
	uint64_t weight;
};

struct thread {
	pid_t tid;
	char comm[EVENT_COMM_BYTES];
	struct sample *samples;
	size_t count;
	size_t capacity;
	uint64_t others; /* the weight of those that there was no room for */
};

struct speedscope {
	struct interned frames; /* as they are in the document, and so are */
	struct interned stacks;
	struct interned threads; /* by their tids */
	size_t room;
	struct thread others; /* of threads that there was no room for */
	struct text frame;    /* while a stack is made: */
	struct text stack;
	struct text name; /* of the document */
	bool any;	  /* there is something to write */
	bool timed;	  /* it is of calls */
};

/* Hits ---------------------------------------------------------------------------------------- */

static void add_frame(struct text *to, const void *item)
{
	const struct frame *frame = item;
	const char *file = frame->source ? frame->source : frame->module;
	_cleanup_(text_deinit) struct text name = { 0 };

	output_frame_name(&name, frame);
	text_add(&name, frame->guessed ? " [guessed]" : "");
	json_put_string(to, "{\"name\":", text_chars(&name));
	if (file)
		json_put_string(to, ",\"file\":", file);
	if (output_is_told_by_line(frame) && frame->line)
		text_printf(to, ",\"line\":%" PRIu32 ",\"col\":%" PRIu32, frame->line,
			    frame->column);
	text_add_char(to, '}');
}

/* Append the number of the frame that state->frame is; false if there is no room. */
static bool add_number(struct speedscope *state)
{
	uint32_t number = interned_add_text(&state->frames, &state->frame, &state->room);

	if (number == INTERNED_NONE)
		return false;
	text_printf(&state->stack, "%s%" PRIu32, state->stack.length > 1 ? "," : "", number);
	return true;
}

static bool add_one(struct speedscope *state, const struct frame *frame)
{
	text_clear(&state->frame);
	output_render(&state->frame, frame->guessed ? NULL : frame->rendering, frame, add_frame);
	return add_number(state);
}

static bool add_note(struct speedscope *state, const char *note)
{
	text_clear(&state->frame);
	text_printf(&state->frame, "{\"name\":\"[%s]\"}", note);
	return add_number(state);
}

/* "[FRAME,...]" into state->stack, the outermost first. */
static bool add_frames(struct speedscope *state, const struct hit *hit)
{
	const struct stack *stack = hit->stack;
	const struct frame method = { .name = hit->method };

	if (stack && stack->end != STACK_WHOLE && !add_note(state, stack_end_name(stack->end)))
		return false;
	for (size_t i = stack ? stack->count : 0; i > 0; i--) {
		if (!add_one(state, &stack->frames[i - 1]))
			return false;
	}
	return (stack && stack->count) || add_one(state, &method);
}

static uint32_t make_stack(void *ctx, const struct hit *hit)
{
	struct speedscope *state = ctx;
	struct text *stack = &state->stack;
	uint32_t number = INTERNED_NONE;

	text_clear(stack);
	text_add_char(stack, '[');
	if (add_frames(state, hit)) {
		text_add_char(stack, ']');
		number = interned_add_text(&state->stacks, stack, &state->room);
	}
	return number == INTERNED_NONE ? OTHER_STACKS : number;
}

static struct thread *find_thread(struct speedscope *state, const struct hit *hit)
{
	size_t known = state->threads.count;
	struct thread *thread = interned_row(&state->threads, &hit->tid, sizeof(hit->tid),
					     sizeof(*thread), &state->room);

	if (!thread)
		return &state->others;
	if (state->threads.count > known) {
		thread->tid = hit->tid;
		snprintf(thread->comm, sizeof(thread->comm), "%s", hit->comm);
	}
	return thread;
}

static bool add_sample(struct speedscope *state, struct thread *thread, uint32_t stack,
		       uint64_t weight)
{
	const struct sample sample = { stack, weight };

	if (stack == OTHER_STACKS || thread == &state->others)
		return false;
	if (thread->count && thread->samples[thread->count - 1].stack == stack) {
		thread->samples[thread->count - 1].weight += weight;
		return true;
	}
	return interned_take(&state->room, sizeof(sample)) &&
	       vector_add(&thread->samples, &thread->count, &thread->capacity, sample);
}

static void write_hit(struct output *output, const struct hit *hit)
{
	struct speedscope *state = output->state;
	uint64_t weight = hit->duration_ns ? hit->duration_ns : 1;
	struct thread *thread = find_thread(state, hit);

	state->any = true;
	state->timed |= hit->duration_ns > 0;
	if (add_sample(state, thread, output_stack_number(hit, state, make_stack), weight))
		return;
	thread->others += weight;
	output->left_out++;
}

/* The document -------------------------------------------------------------------------------- */

static void write_list(struct output *output, const struct interned *list)
{
	for (size_t i = 0; i < list->count; i++) {
		text_add(&output->line, i ? ",\n" : "\n");
		text_add_bytes(&output->line, list->items[i].bytes, list->items[i].length);
		output_line(output);
	}
}

static void write_samples(struct output *output, const struct thread *thread)
{
	const struct interned *stacks = &((struct speedscope *)output->state)->stacks;

	for (size_t i = 0; i < thread->count; i++) {
		text_add(&output->line, i ? ",\n" : "\n");
		text_add(&output->line, stacks->items[thread->samples[i].stack].bytes);
		output_line(output);
	}
	if (thread->others)
		fprintf(output->to, "%s\n%s", thread->count ? "," : "",
			stacks->items[OTHER_STACKS].bytes);
}

static void write_weights(struct output *output, const struct thread *thread)
{
	for (size_t i = 0; i < thread->count; i++)
		fprintf(output->to, "%s%" PRIu64, i ? "," : "", thread->samples[i].weight);
	if (thread->others)
		fprintf(output->to, "%s%" PRIu64, thread->count ? "," : "", thread->others);
}

static void write_profile(struct output *output, const struct thread *thread, const char *name,
			  bool first)
{
	const struct speedscope *state = output->state;
	struct text *line = &output->line;
	uint64_t sum = thread->others;

	for (size_t i = 0; i < thread->count; i++)
		sum += thread->samples[i].weight;
	text_add(line, first ? "\n" : ",\n");
	json_put_string(line, "{\"type\":\"sampled\",\"name\":", name);
	text_printf(line,
		    ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
		    state->timed ? "nanoseconds" : "none", sum);
	output_line(output);
	write_samples(output, thread);
	fputs("],\n\"weights\":[", output->to);
	write_weights(output, thread);
	fputs("]}", output->to);
}

static void write_profiles(struct output *output)
{
	const struct speedscope *state = output->state;
	const struct thread *threads = state->threads.rows;
	_cleanup_(text_deinit) struct text name = { 0 };

	for (size_t i = 0; i < state->threads.count; i++) {
		text_clear(&name);
		text_printf(&name, "%s (%d)", threads[i].comm, threads[i].tid);
		write_profile(output, &threads[i], text_chars(&name), i == 0);
	}
	/* Of no profile at all its viewer can make nothing. */
	if (state->others.others || state->threads.count == 0)
		write_profile(output, &state->others,
			      state->others.others ? "[other threads]" : "no hits",
			      state->threads.count == 0);
}

static void write_document(struct output *output)
{
	const struct speedscope *state = output->state;
	const char *name = state->name.length ? text_chars(&state->name) : "the run has failed";

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"place-probe " PLACE_PROBE_VERSION "\",\n\"name\":",
	      output->to);
	json_string(&output->line, name);
	output_line(output);
	fputs(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", output->to);
	write_list(output, &state->frames);
	fputs("]},\n\"profiles\":[", output->to);
	write_profiles(output);
	fputs("]}\n", output->to);
}

static void write_summary(struct output *output, const struct output_summary *summary)
{
	struct speedscope *state = output->state;

	state->any = true;
	text_printf(&state->name, "%" PRIu64 " %s; lost: ", summary->hits,
		    state->timed ? "calls" : "hits");
	output_add_losses(&state->name, summary->losses);
}

static bool begin(struct output *output)
{
	struct speedscope *state = output->state;
	size_t any = SIZE_MAX;

	state->room = output->memory_bytes;
	text_add(&state->frame, "{\"name\":\"[other stacks]\"}");
	return interned_add_text(&state->frames, &state->frame, &any) == 0 &&
	       interned_add(&state->stacks, "[0]", 3, &any) == OTHER_STACKS;
}

static void end(struct output *output)
{
	struct speedscope *state = output->state;
	struct thread *threads = state->threads.rows;

	if (state->any)
		write_document(output);
	for (size_t i = 0; i < state->threads.count; i++)
		free(threads[i].samples);
	interned_deinit(&state->frames);
	interned_deinit(&state->stacks);
	interned_deinit(&state->threads);
	text_deinit(&state->frame);
	text_deinit(&state->stack);
	text_deinit(&state->name);
}

const struct output_ops speedscope_output = {
	.state_bytes = sizeof(struct speedscope),
	.begin = begin,
	.hit = write_hit,
	.summary = write_summary,
	.end = end,
};
