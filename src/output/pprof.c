// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --format=pprof: equal stacks of a thread, counted, with the time that calls took, as a profile
 * that pprof opens; pprof_write.c writes it at the end.
 */
#include "output/pprof.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "output/ops.h"

uint32_t pprof_string(struct pprof *pprof, const char *s)
{
	text_clear(&pprof->string);
	output_add_utf8(&pprof->string, s);
	return interned_add_text(&pprof->strings, &pprof->string, &pprof->room);
}

/* Locations ----------------------------------------------------------------------------------- */

static uint32_t function_of(struct pprof *pprof, const struct frame *frame)
{
	struct pprof_function function = { 0 };
	_cleanup_(text_deinit) struct text name = { 0 };

	output_frame_name(&name, frame);
	text_add(&name, frame->guessed ? " [guessed]" : "");
	function.name = text_ok(&name) ? pprof_string(pprof, text_chars(&name)) : INTERNED_NONE;
	function.file = frame->source ? pprof_string(pprof, frame->source) : 0;
	if (function.name == INTERNED_NONE || function.file == INTERNED_NONE)
		return INTERNED_NONE;
	return interned_add(&pprof->functions, &function, sizeof(function), &pprof->room);
}

/* The id of @module; 0: it has none. False if there is no room. */
static bool mapping_of(struct pprof *pprof, const char *module, uint32_t *id)
{
	uint32_t number;

	*id = 0;
	if (!module)
		return true;
	number = pprof_string(pprof, module);
	if (number != INTERNED_NONE)
		number = interned_add(&pprof->mappings, &number, sizeof(number), &pprof->room);
	*id = number + 1;
	return number != INTERNED_NONE;
}

static bool add_line(struct pprof *pprof, const struct frame *frame)
{
	const struct pprof_line line = {
		.function = function_of(pprof, frame),
		.line = frame->line,
		.column = frame->column,
	};

	text_add_bytes(&pprof->location, (const char *)&line, sizeof(line));
	return line.function != INTERNED_NONE;
}

/* Add to pprof->stack the location of @count frames, of which the last has inlined the others. */
static bool add_location(struct pprof *pprof, const struct frame *frames, size_t count)
{
	const struct frame *last = &frames[count - 1];
	struct pprof_location location = { .address = last->address.value,
					   .line_count = (uint32_t)count };
	uint32_t number;

	if (!mapping_of(pprof, last->module, &location.mapping))
		return false;
	text_clear(&pprof->location);
	text_add_bytes(&pprof->location, (const char *)&location, sizeof(location));
	for (size_t i = 0; i < count; i++) {
		if (!add_line(pprof, &frames[i]))
			return false;
	}
	number = interned_add_text(&pprof->locations, &pprof->location, &pprof->room);
	text_add_bytes(&pprof->stack, (const char *)&number, sizeof(number));
	return number != INTERNED_NONE;
}

/* What is said of a stack, as a frame of its own at its root. */
static bool add_note(struct pprof *pprof, const char *note)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	text_printf(&name, "[%s]", note);
	return add_location(pprof, &(struct frame){ .name = text_chars(&name) }, 1);
}

/* Stacks -------------------------------------------------------------------------------------- */

static bool add_frames(struct pprof *pprof, const struct hit *hit)
{
	const struct frame method = { .name = hit->method };
	const struct stack *stack = hit->stack;
	size_t count = stack ? stack->count : 0, from = 0;

	if (count == 0 && !add_location(pprof, &method, 1))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (stack->frames[i].inlined && i + 1 < count)
			continue;
		if (!add_location(pprof, &stack->frames[from], i + 1 - from))
			return false;
		from = i + 1;
	}
	return !stack || stack->end == STACK_WHOLE || add_note(pprof, stack_end_name(stack->end));
}

static uint32_t make_stack(void *state, const struct hit *hit)
{
	struct pprof *pprof = state;
	uint32_t number = INTERNED_NONE;

	text_clear(&pprof->stack);
	if (add_frames(pprof, hit))
		number = interned_add_text(&pprof->stacks, &pprof->stack, &pprof->room);
	return number == INTERNED_NONE ? PPROF_OTHER_STACKS : number;
}

/* The values of what is alike in all but its time; NULL if there is no room. */
static struct pprof_values *values_of(struct pprof *pprof, const struct hit *hit)
{
	const struct pprof_sample sample = {
		.stack = output_stack_number(hit, pprof, make_stack),
		.comm = pprof_string(pprof, hit->comm),
		.tid = hit->tid,
	};

	if (sample.stack == PPROF_OTHER_STACKS || sample.comm == INTERNED_NONE)
		return NULL;
	return interned_row(&pprof->samples, &sample, sizeof(sample), sizeof(struct pprof_values),
			    &pprof->room);
}

static void add_hit(struct output *output, const struct hit *hit)
{
	struct pprof *pprof = output->state;
	struct pprof_values *values = values_of(pprof, hit);

	pprof->any = true;
	pprof->timed |= hit->duration_ns > 0;
	if (!values) {
		output->left_out++;
		values = &pprof->others;
	}
	values->count++;
	values->time_ns += hit->duration_ns;
}

static void add_summary(struct output *output, const struct output_summary *summary)
{
	struct pprof *pprof = output->state;

	pprof->any = true;
	text_printf(&pprof->comment, "%" PRIu64 " %s; lost: ", summary->hits,
		    pprof->timed ? "calls" : "hits");
	output_add_losses(&pprof->comment, summary->losses);
}

/* What is there before any hit: the empty string, and the stack of those without room. */
static bool begin(struct output *output)
{
	struct pprof *pprof = output->state;
	bool good;

	pprof->room = SIZE_MAX;
	good = pprof_string(pprof, "") == 0 && add_note(pprof, "other stacks") &&
	       interned_add_text(&pprof->stacks, &pprof->stack, &pprof->room) == PPROF_OTHER_STACKS;
	pprof->room = output->memory_bytes;
	return good;
}

static void end(struct output *output)
{
	struct pprof *pprof = output->state;

	if (pprof->any)
		pprof_write(output);
	interned_deinit(&pprof->strings);
	interned_deinit(&pprof->mappings);
	interned_deinit(&pprof->functions);
	interned_deinit(&pprof->locations);
	interned_deinit(&pprof->stacks);
	interned_deinit(&pprof->samples);
	text_deinit(&pprof->string);
	text_deinit(&pprof->location);
	text_deinit(&pprof->stack);
	text_deinit(&pprof->comment);
}

const struct output_ops pprof_output = {
	.state_bytes = sizeof(struct pprof),
	.begin = begin,
	.hit = add_hit,
	.summary = add_summary,
	.end = end,
};
