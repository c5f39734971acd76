// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --format=trace-event: the JSON that chrome://tracing and Perfetto open, an array of events, each
 * written when it happens: readers take it without its end, too. Hits are instants on their
 * threads; calls are asynchronous slices, since probes cost time that durations leave out, and so
 * calls of one thread need not lie within each other to the nanosecond.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "output/interned.h"
#include "output/ops.h"

struct trace_event {
	struct interned threads; /* those that have been named: tid and comm */
	uint64_t calls;
	uint64_t last_ns; /* of a hit */
	bool any;
};

/* The head of an event, up to its members that are not the same for all. */
static void add_event(struct output *output, const char *phase, const char *name)
{
	struct trace_event *state = output->state;
	struct text *line = &output->line;

	text_add(line, state->any ? ",\n{\"ph\":\"" : "[\n{\"ph\":\"");
	state->any = true;
	text_add(line, phase);
	json_put_string(line, "\",\"name\":", name);
}

/* Microseconds; three digits behind the point are nanoseconds. */
static void add_time(const struct output *output, struct text *to, uint64_t time_ns)
{
	time_ns += output->wall_clock ? (uint64_t)output->wall_offset_ns : 0;
	json_put_number(to, ",\"ts\":", time_ns / NS_PER_US);
	text_add_char(to, '.');
	text_add_number(to, time_ns % NS_PER_US, 3, '0');
}

static void add_ids(struct text *to, pid_t pid, pid_t tid)
{
	json_put_number(to, ",\"pid\":", (uint64_t)pid);
	json_put_number(to, ",\"tid\":", (uint64_t)tid);
}

/* Threads have the names that they had at their first hit, or at the first with a new one. */
static void name_thread(struct output *output, const struct hit *hit)
{
	struct trace_event *state = output->state;
	size_t count = state->threads.count;
	_cleanup_(text_deinit) struct text key = { 0 };

	text_printf(&key, "%d %s", hit->tid, hit->comm);
	interned_add_text(&state->threads, &key, &output->memory_bytes);
	if (state->threads.count == count)
		return;
	add_event(output, "M", "thread_name");
	add_ids(&output->line, hit->pid, hit->tid);
	json_put_string(&output->line, ",\"args\":{\"name\":", hit->comm);
	text_add(&output->line, "}}");
	output_line(output);
}

static void add_frame(struct text *to, const void *item)
{
	const struct frame *frame = item;
	_cleanup_(text_deinit) struct text name = { 0 };

	output_frame_name(&name, frame);
	if (frame->source && frame->name && frame->line)
		text_printf(&name, " (%s:%" PRIu32 ")", frame->source, frame->line);
	else if (frame->source && frame->name)
		text_printf(&name, " (%s)", frame->source);
	else if (frame->module && frame->name)
		text_printf(&name, " (%s)", frame->module);
	text_add(&name, frame->guessed ? " [guessed]" : "");
	json_string(to, text_chars(&name));
}

static void add_stack(struct text *to, const void *item)
{
	const struct stack *stack = item;

	text_add(to, ",\"stack\":[");
	for (size_t i = 0; i < stack->count; i++) {
		const struct frame *frame = &stack->frames[i];

		text_add(to, i ? "," : "");
		output_render(to, frame->guessed ? NULL : frame->rendering, frame, add_frame);
	}
	json_put_string(to, "],\"stack_end\":", stack_end_name(stack->end));
}

/* What a viewer shows of an event that is clicked on. */
static void add_args(struct output *output, const struct hit *hit)
{
	struct text *line = &output->line;

	json_put_string(line, ",\"args\":{\"tier\":", hit->tier);
	if (hit->duration_ns) {
		json_put_number(line, ",\"duration_ns\":", hit->duration_ns);
		json_put_number(line, ",\"tid\":", (uint64_t)hit->tid);
		json_put_string(line, ",\"comm\":", hit->comm);
	}
	if (hit->stack)
		output_render(line, hit->stack->rendering, hit->stack, add_stack);
	text_add(line, "}}");
	output_line(output);
}

/* What is alike in a slice's beginning and its end. */
static void add_call(struct output *output, const char *phase, const struct hit *hit,
		     uint64_t time_ns)
{
	const struct trace_event *state = output->state;
	struct text *line = &output->line;

	add_event(output, phase, hit->method);
	text_add(line, ",\"cat\":\"call\"");
	json_put_number(line, ",\"id\":\"", state->calls);
	text_add_char(line, '"');
	add_ids(line, hit->pid, hit->tid);
	add_time(output, line, time_ns);
}

/* It is known by its end. */
static void write_call(struct output *output, const struct hit *hit)
{
	uint64_t took_ns = hit->duration_ns < hit->time_ns ? hit->duration_ns : hit->time_ns;
	struct trace_event *state = output->state;

	state->calls++;
	add_call(output, "b", hit, hit->time_ns - took_ns);
	add_args(output, hit);
	add_call(output, "e", hit, hit->time_ns);
	text_add_char(&output->line, '}');
	output_line(output);
}

static void write_hit(struct output *output, const struct hit *hit)
{
	struct trace_event *state = output->state;
	struct text *line = &output->line;

	state->last_ns = hit->time_ns > state->last_ns ? hit->time_ns : state->last_ns;
	name_thread(output, hit);
	if (hit->duration_ns) {
		write_call(output, hit);
		return;
	}
	add_event(output, "i", hit->method);
	text_add(line, ",\"cat\":\"hit\",\"s\":\"t\"");
	add_ids(line, hit->pid, hit->tid);
	add_time(output, line, hit->time_ns);
	add_args(output, hit);
}

/* An instant of all, with the last hit: a viewer shows nothing of an array but its events. */
static void write_summary(struct output *output, const struct output_summary *summary)
{
	const struct trace_event *state = output->state;
	struct text *line = &output->line;

	add_event(output, "i", "place-probe: the end");
	text_add(line, ",\"cat\":\"summary\",\"s\":\"g\",\"pid\":0,\"tid\":0");
	add_time(output, line, state->last_ns ? state->last_ns : output->start_ns);
	json_put_number(line, ",\"args\":{\"hits\":", summary->hits);
	text_add(line, ",\"lost\":{");
	for (size_t i = 0; summary->losses[i].reason; i++) {
		json_put_string(line, i ? "," : "", summary->losses[i].reason);
		json_put_number(line, ":", summary->losses[i].count);
	}
	text_add(line, "}}}");
	output_line(output);
}

static void end(struct output *output)
{
	struct trace_event *state = output->state;

	if (state->any)
		fputs("\n]\n", output->to);
	interned_deinit(&state->threads);
}

const struct output_ops trace_event_output = {
	.state_bytes = sizeof(struct trace_event),
	.hit = write_hit,
	.summary = write_summary,
	.end = end,
};
