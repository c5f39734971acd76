// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --format=perf-script: hits as `perf script -F comm,pid,tid,time,period,event,ip,sym,symoff,dso`
 * prints samples, for what reads those. Readers go by blanks and by the last parenthesis, so there
 * are none of them where they have a meaning.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "output/ops.h"

/* A word of @s: a reader takes what comes after a blank for the next column. */
static void add_word(struct text *to, const char *s)
{
	size_t from = to->length;

	text_add_printable(to, *s ? s : "?");
	output_swap(to, from, " ", '_');
}

/* What readers find at the end of a line by its parentheses. */
static void add_place(struct text *to, const char *place, uint32_t line)
{
	size_t from;

	text_add(to, " (");
	from = to->length;
	add_word(to, place);
	output_swap(to, from, "()", '_');
	if (line)
		text_printf(to, ":%" PRIu32, line);
	text_add(to, ")\n");
}

/* "\t         ADDRESS NAME+0xOFFSET (MODULE)" */
static void add_frame(struct text *to, const void *item)
{
	const struct frame *frame = item;
	bool has_source = output_is_told_by_line(frame);
	/* Else it is a kind of frame, or told by its line. */
	bool has_offset = frame->name && frame->name[0] != '[' && frame->kind != FRAME_V8;
	const char *module = frame->module ? frame->module : "[unknown]";

	text_printf(to, "\t%16" PRIx64 " ", frame->address.value);
	text_add_printable(to, frame->name ? frame->name : "[unknown]");
	if (has_offset && !frame->inlined)
		text_printf(to, "+0x%" PRIx64, frame->offset);
	if (frame->inlined && !has_source)
		text_add(to, " (inlined)\n");
	else
		add_place(to, has_source ? frame->source : module, has_source ? frame->line : 0);
}

static void add_stack(struct text *to, const void *item)
{
	const struct stack *stack = item;

	for (size_t i = 0; i < stack->count; i++)
		output_render(to, stack->frames[i].rendering, &stack->frames[i], add_frame);
	/* What is said of it is a frame of no code. */
	if (stack->end != STACK_WHOLE)
		text_printf(to, "\t%16x [%s] ([unknown])\n", 0, stack_end_name(stack->end));
	text_add_char(to, '\n');
}

/*
 * All hits are one event: stackcollapse-perf takes those of the first alone. The period of a call
 * that has ended is its duration, so pictures show where time goes.
 */
static void write_hit(struct output *output, const struct hit *hit)
{
	uint64_t offset_ns = output->wall_clock ? (uint64_t)output->wall_offset_ns : 0;
	uint64_t time_ns = hit->time_ns + offset_ns;
	struct text *line = &output->line;

	add_word(line, hit->comm);
	/* Readers take a name of one letter for none, unless two blanks follow. */
	text_add(line, line->length < 2 ? "  " : " ");
	text_printf(line, "%5d/%-5d %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " %s: \n", hit->pid,
		    hit->tid, time_ns / NS_PER_S, time_ns % NS_PER_S / NS_PER_US,
		    hit->duration_ns ? hit->duration_ns : 1,
		    hit->duration_ns ? "place_probe:call" : "place_probe:hit");
	if (!hit->stack || hit->stack->count == 0) {
		const struct frame frame = { .name = hit->method };

		add_frame(line, &frame);
	}
	if (hit->stack)
		output_render(line, hit->stack->rendering, hit->stack, add_stack);
	else
		text_add_char(line, '\n');
	output_line(output);
}

static void write_summary(struct output *output, const struct output_summary *summary)
{
	struct text *line = &output->line;

	text_printf(line, "# %" PRIu64 " hits; lost: ", summary->hits);
	output_add_losses(line, summary->losses);
	text_add_char(line, '\n');
	output_line(output);
}

const struct output_ops perf_script_output = {
	.hit = write_hit,
	.summary = write_summary,
};
