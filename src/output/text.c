// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format for people: hits with their stacks, calls, traces, counts, and histograms
 * (text_histogram.c). Sites are in list.c and dry_run.c.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "output/ops.h"

enum {
	COMM_WIDTH = 15,
	KIND_WIDTH = 9, /* and a space */
	SECONDS_WIDTH = 5,
	MICROSECONDS_WIDTH = 6,
	DURATION_WIDTH = 12,

	/* With more bodies than this, methods without a call only fill the screen. */
	SHOW_ZERO_MAX = 50,

	/* Of fewer calls nothing can be said of all. */
	ESTIMATE_MIN = 10,
};

/* Hits ---------------------------------------------------------------------------------------- */

static void add_time(struct text *to, const struct output *output, uint64_t time_ns)
{
	uint64_t since = time_ns > output->start_ns ? time_ns - output->start_ns : 0;
	int64_t wall = (int64_t)time_ns + output->wall_offset_ns;
	time_t seconds = wall / NS_PER_S + output->zone_s;
	char clock[16];
	struct tm tm;

	if (!output->wall_clock) {
		text_add_number(to, since / NS_PER_S, SECONDS_WIDTH, ' ');
		text_add_char(to, '.');
		text_add_number(to, since % NS_PER_S / NS_PER_US, MICROSECONDS_WIDTH, '0');
		return;
	}
	gmtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	text_printf(to, "%s.%06" PRId64, clock, wall % NS_PER_S / NS_PER_US);
}

/* "NAME (SOURCE:LINE:COLUMN)", as the language's own stack traces have it. */
static void add_script_frame(struct text *to, const struct frame *frame)
{
	text_add_printable(to, frame->name ? frame->name : "?");
	if (!frame->source)
		return;
	text_add(to, " (");
	text_add_printable(to, frame->source);
	if (frame->line)
		text_printf(to, ":%" PRIu32 ":%" PRIu32, frame->line, frame->column);
	text_add_char(to, ')');
}

static void add_module(struct text *to, const struct frame *frame)
{
	text_add(to, " (");
	text_add_printable(to, frame->module ? frame->module : "run-time code");
	text_add_char(to, ')');
}

/* "Orders.cs:41": the directories, which are those of where it was built, are for JSON. */
static void add_line(struct text *to, const struct frame *frame)
{
	const char *slash = strrchr(frame->source, '/');
	const char *backslash = strrchr(slash ? slash : frame->source, '\\');
	const char *last = backslash ? backslash : slash;

	text_add_printable(to, last && last[1] ? last + 1 : frame->source);
	if (frame->line)
		text_printf(to, ":%" PRIu32, frame->line);
}

/*
 * "NAME (Orders.cs:41)"; without a line, what tells the place is the offset in the code. Behind it
 * in brackets, what a compiler has made it from.
 */
static void add_method(struct text *to, const struct frame *frame)
{
	text_add(to, frame->name);
	if (!frame->source) {
		if (!frame->inlined)
			text_printf(to, "+0x%" PRIx64, frame->offset);
		add_module(to, frame);
	} else {
		text_add(to, " (");
		add_line(to, frame);
		text_add_char(to, ')');
	}
	if (frame->made_from)
		text_printf(to, " [%s]", frame->made_from);
}

/*
 * "NAME+0xOFFSET (MODULE) file.c:12". One that was inlined has no beginning that anything could be
 * an offset of.
 */
static void add_function(struct text *to, const struct frame *frame)
{
	text_add(to, frame->name);
	if (!frame->inlined)
		text_printf(to, "+0x%" PRIx64, frame->offset);
	add_module(to, frame);
	if (!frame->source)
		return;
	text_add_char(to, ' ');
	add_line(to, frame);
}

/*
 * "        dotnet   NAME+0xOFFSET (MODULE)": what the code is stands first, so frames are aligned.
 */
static void add_frame(struct text *to, const void *item)
{
	const struct frame *frame = item;
	const char *kind = frame->kind == FRAME_V8 ? "js" : frame_kind_name(frame->kind);

	text_printf(to, "        %-*s", KIND_WIDTH, kind);
	if (frame_is_script(frame)) {
		add_script_frame(to, frame);
	} else if (frame->name && frame->name[0] == '[') {
		/* A kind of frame, and no function that anything could be an offset of. */
		text_add(to, frame->name);
		add_module(to, frame);
	} else if (frame->name && frame->kind == FRAME_DOTNET) {
		add_method(to, frame);
	} else if (frame->name) {
		add_function(to, frame);
	} else if (frame->module) {
		text_add_printable(to, frame->module);
		text_printf(to, "+0x%" PRIx64, frame->offset);
	} else {
		text_printf(to, "0x%" PRIx64, frame->address.value);
	}
}

static void add_stack(struct text *to, const void *item)
{
	static const char *const notes[] = {
		[STACK_WHOLE] = "",
		[STACK_TRUNCATED] = "        [more frames than asked for]\n",
		[STACK_UNREADABLE] = "        [callers unknown: stack not readable]\n",
		[STACK_BROKEN] = "        [callers unknown: no way up the stack]\n",
		[STACK_UNSUPPORTED] =
			"        [callers unknown: unwind information of no known kind]\n",
		[STACK_UNSURE] = "        [callers unsure: code was loaded meanwhile]\n",
		[STACK_BUSY] = "        [stack unknown: too many hits at a time]\n",
	};
	const struct stack *stack = item;

	for (size_t i = 0; i < stack->count; i++) {
		const struct frame *frame = &stack->frames[i];

		output_render(to, frame->rendering, frame, add_frame);
		/* Of JavaScript its own stack traces do not say it. */
		if (frame->inlined && !frame_is_script(frame))
			text_add(to, " [inlined]");
		text_add(to, frame->guessed ? " [guessed]\n" : "\n");
	}
	text_add(to, notes[stack->end]);
	text_add_char(to, '\n');
}

/* What lines of hits begin with: when, and which thread. */
static void begin_line(struct output *output, const struct hit *hit)
{
	struct text *line = &output->line;
	size_t comm;

	add_time(line, output, hit->time_ns);
	text_add(line, "  ");
	comm = line->length;
	text_add_printable(line, hit->comm);
	while (line->length < comm + COMM_WIDTH && text_ok(line))
		text_add_char(line, ' ');
	text_add_char(line, ' ');
	text_add_number(line, (uint64_t)hit->pid, 0, ' ');
	text_add_char(line, '/');
	text_add_number(line, (uint64_t)hit->tid, 0, ' ');
	text_add(line, "  ");
}

static void write_hit(struct output *output, const struct hit *hit)
{
	struct text *line = &output->line;

	begin_line(output, hit);
	text_add(line, hit->method);
	text_add(line, " [");
	text_add(line, hit->tier);
	text_add_char(line, ']');
	if (hit->duration_ns)
		text_printf(line, " took %.6g ms", (double)hit->duration_ns / NS_PER_MS);
	text_add_char(line, '\n');
	if (hit->stack)
		output_render(line, hit->stack->rendering, hit->stack, add_stack);
	output_line(output);
}

/* "1.25 ms": in the unit in which it is neither long nor less than 1. */
static void add_duration(struct text *to, uint64_t ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "s", NS_PER_S }, { "ms", NS_PER_MS }, { "us", NS_PER_US } };
	size_t i = 0;

	while (i < 2 && (double)ns < units[i].ns)
		i++;
	text_printf(to, "%.*f %s", i == 0 ? 3 : 2, (double)ns / units[i].ns, units[i].name);
}

/* How it ended, and after how long. */
static void add_end(struct text *to, const struct output_call *call)
{
	static const char *const words[WATCH_FATES] = {
		[WATCH_RETURNED] = " took ",
		[WATCH_UNWOUND] = " threw an exception that is not known after ",
		[WATCH_ENTERED] = " (its end is not followed)",
		[WATCH_NOT_KEPT] = " (its end was not kept)",
		[WATCH_UNSEEN] = " (its end was not seen)",
		[WATCH_THREAD_ENDED] = " was under way when its thread ended, after ",
		[WATCH_RUNNING] = " is still running, after ",
		[WATCH_TAIL_CALL] = " ended in a tail call after ",
	};

	if (call->exception)
		text_printf(to, " threw %s after ", call->exception);
	else if (call->fate == WATCH_UNWOUND && call->native)
		text_add(to, " left by an exception or a jump after ");
	else
		text_add(to, words[call->fate]);
	if (call->hit->duration_ns)
		add_duration(to, call->hit->duration_ns);
}

static void write_call(struct output *output, const struct output_call *call)
{
	struct text *line = &output->line;

	begin_line(output, call->hit);
	text_add_printable(line, call->name);
	text_add_char(line, '(');
	text_add(line, call->arguments ? call->arguments : call->why ? "..." : "");
	text_add_char(line, ')');
	if (call->result) {
		text_add(line, " = ");
		text_add(line, call->result);
	}
	add_end(line, call);
	if (call->why)
		text_printf(line, " [no values: %s]", call->why);
	if (call->why_not)
		text_printf(line, " [no exception: %s]", call->why_not);
	text_add_char(line, '\n');
	if (call->hit->stack)
		output_render(line, call->hit->stack->rendering, call->hit->stack, add_stack);
	output_line(output);
}

/* Asynchronous calls as a whole ---------------------------------------------------------------- */

const char *const async_outcome_names[ASYNC_OUTCOMES] = {
	[ASYNC_COMPLETED] = "completed",
	[ASYNC_FAULTED] = "faulted",
	[ASYNC_CANCELED] = "canceled",
};

static void write_async(struct output *output, const struct output_async *async)
{
	struct text *line = &output->line;

	begin_line(output, async->hit);
	text_add_printable(line, async->name);
	text_add_char(line, '(');
	text_add(line, async->arguments ? async->arguments : async->why ? "..." : "");
	text_printf(line, ") %s ", async_outcome_names[async->outcome]);
	if (async->exception) {
		text_add(line, "by ");
		text_add_printable(line, async->exception);
		text_add_char(line, ' ');
	}
	text_add(line, "after ");
	add_duration(line, async->took_ns);
	text_add(line, " [async]");
	if (async->why)
		text_printf(line, " [no values: %s]", async->why);
	text_add_char(line, '\n');
	output_line(output);
}

static void write_async_total(struct output *output, const struct output_async_total *total)
{
	struct text *line = &output->line;

	text_add_printable(line, total->method);
	text_printf(line, ": %" PRIu64 " started (%" PRIu64 " synchronous)", total->started,
		    total->synchronous);
	for (int i = 0; i < ASYNC_OUTCOMES; i++)
		text_printf(line, ", %" PRIu64 " %s", total->ended[i], async_outcome_names[i]);
	if (total->open_known)
		text_printf(line, ", %" PRIu64 " open", total->open);
	if (total->not_paired)
		text_printf(line, ", %" PRIu64 " not-paired", total->not_paired);
	if (total->unknown)
		text_printf(line, ", %" PRIu64 " steps of unknown outcome", total->unknown);
	if (total->no_room)
		text_printf(line, ", %" PRIu64 " without room", total->no_room);
	if (total->mean_ns) {
		text_add(line, ", mean ");
		add_duration(line, total->mean_ns);
	}
	text_add_char(line, '\n');
	output_line(output);
}

/* Traces: a call of a root, and as a tree what was called below it ----------------------------- */

/* The units stand below each other. */
static void add_aligned(struct text *to, uint64_t ns)
{
	_cleanup_(text_deinit) struct text duration = { 0 };

	add_duration(&duration, ns);
	text_printf(to, "%*s", DURATION_WIDTH, text_chars(&duration));
}

/* ", 2 left by an exception": of one that is only @what. */
static void add_ends(struct text *to, uint64_t count, uint64_t calls, const char *what)
{
	if (count && calls == 1)
		text_printf(to, ", %s", what);
	else if (count)
		text_printf(to, ", %" PRIu64 " %s", count, what);
}

/* ", self 1.10 ms, 2 left by an exception". What has nothing within it is all its own. */
static void add_notes(struct text *to, const struct output_traced *call, bool has_calls)
{
	if (has_calls) {
		text_add(to, ", self ");
		add_duration(to, call->self_ns);
	}
	add_ends(to, call->unwound, call->calls,
		 call->native ? "left by an exception or a jump" : "left by an exception");
	add_ends(to, call->thread_ended, call->calls, "under way when the thread ended");
	add_ends(to, call->unseen, call->calls, "not seen to end");
}

static void add_missing(struct text *to, uint64_t count, const char *why)
{
	if (count)
		text_printf(to, "        [%" PRIu64 " call%s missing: %s]\n", count,
			    count == 1 ? " is" : "s are", why);
}

static void write_trace(struct output *output, const struct output_trace *trace)
{
	struct text *line = &output->line;

	begin_line(output, trace->hit);
	for (size_t i = 0; i < trace->count; i++) {
		const struct output_traced *call = &trace->calls[i];
		bool has_calls = i + 1 < trace->count && call[1].depth > call->depth;

		if (i)
			add_aligned(line, call->took_ns);
		text_printf(line, "%*s", i ? 2 * (int)call->depth : 0, "");
		text_add(line, call->method);
		if (i == 0) {
			text_add(line, " took ");
			add_duration(line, call->took_ns);
		}
		if (call->calls > 1)
			text_printf(line, " x%" PRIu64, call->calls);
		add_notes(line, call, has_calls);
		text_add_char(line, '\n');
	}
	add_missing(line, trace->missing, "the ring buffer was full (--buffer makes it larger)");
	add_missing(line, trace->not_followed,
		    "too deep, or their exits had no probes when they began");
	add_missing(line, trace->left_out, "there was no room for more in one trace");
	text_add_char(line, '\n');
	output_line(output);
}

/* Counts -------------------------------------------------------------------------------------- */

/* Where registers are too few: what the count is of, and what it may be of all. */
static void write_watched(const struct output *output, const struct output_count *count)
{
	fprintf(output->to, "  watched %.3g %% of the time", 100 * count->watched);
	if (count->all_calls >= ESTIMATE_MIN && output_has_estimate(count->watched))
		fprintf(output->to, ": about %" PRIu64 " in all", output_estimate(count));
}

/* "Method [r2r 12, tier1 30]"; the number is left out where it is the only one. */
static void write_count(const struct output *output, const struct output_count *count)
{
	const char *separator = " [";

	fprintf(output->to, "%12" PRIu64 "  %s", count->calls, count->method);
	for (size_t i = 0; i < count->body_count; i++) {
		const struct output_body *body = &count->bodies[i];

		fprintf(output->to, "%s%s", separator, body->tier);
		if (count->body_count > 1)
			fprintf(output->to, " %" PRIu64, body->calls);
		separator = ", ";
	}
	fputc(']', output->to);
	if (count->lower_bound && !output_is_whole(count->watched))
		write_watched(output, count);
	fputc('\n', output->to);
}

static void write_counts(struct output *output, const struct output_count *counts, size_t count)
{
	size_t bodies = 0, silent = 0;

	for (size_t i = 0; i < count; i++)
		bodies += counts[i].body_count;
	fprintf(output->to, "%12s  METHOD\n", "CALLS");
	for (size_t i = 0; i < count; i++) {
		if (counts[i].calls || bodies <= SHOW_ZERO_MAX)
			write_count(output, &counts[i]);
		else
			silent++;
	}
	if (silent)
		fprintf(output->to, "%12s  (%zu more method%s without a call)\n", "0", silent,
			text_plural(silent));
	fputc('\n', output->to);
}

/* Of what is no value: in brackets, as no value is. */
const char *text_rest(const char *rest)
{
	return strcmp(rest, "other") == 0 ? "[other values, for which there was no room]" :
					    "[not known]";
}

static void write_values(struct output *output, const struct output_values *values)
{
	fprintf(output->to, "%12s  ", "CALLS");
	output_printable(output, values->value_of);
	fprintf(output->to, "  of %s\n", values->method);
	for (size_t i = 0; i < values->count; i++) {
		const struct output_value *value = &values->list[i];

		fprintf(output->to, "%12" PRIu64 "  %s\n", value->calls,
			value->rest ? text_rest(value->rest) : value->value);
	}
	fputc('\n', output->to);
}

const struct output_ops text_output = {
	.hit = write_hit,
	.call = write_call,
	.async = write_async,
	.async_total = write_async_total,
	.trace = write_trace,
	.counts = write_counts,
	.values = write_values,
	.hist = text_hist,
};
