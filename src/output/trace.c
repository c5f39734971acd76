// SPDX-License-Identifier: GPL-2.0-or-later
/* Traces, for text.c and json.c: a call of a root, and as a tree what was called below it. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/ops.h"

enum { DURATION_WIDTH = 12 };

/* Text ---------------------------------------------------------------------------------------- */

/* The units stand below each other. */
static void add_aligned(struct text *to, uint64_t ns)
{
	_cleanup_(text_deinit) struct text duration = { 0 };

	text_add_duration(&duration, ns);
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
		text_add_duration(to, call->self_ns);
	}
	add_ends(to, call->unwound, call->calls,
		 call->native ? "left by an exception or a jump" : "left by an exception");
	add_ends(to, call->thread_ended, call->calls, "under way when the thread ended");
	add_ends(to, call->unseen, call->calls, "not seen to end");
}

static void add_missing(struct text *to, uint64_t count, const char *why)
{
	if (count)
		text_printf(to, "        [%" PRIu64 " calls are missing: %s]\n", count, why);
}

void text_trace(struct output *output, const struct output_trace *trace)
{
	struct text *line = &output->line;

	text_begin_line(output, trace->hit);
	for (size_t i = 0; i < trace->count; i++) {
		const struct output_traced *call = &trace->calls[i];
		bool has_calls = i + 1 < trace->count && call[1].depth > call->depth;

		if (i)
			add_aligned(line, call->took_ns);
		text_printf(line, "%*s", i ? 2 * (int)call->depth : 0, "");
		text_add(line, call->method);
		if (i == 0) {
			text_add(line, " took ");
			text_add_duration(line, call->took_ns);
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

/* JSON ---------------------------------------------------------------------------------------- */

/* But for the end of what is within it. */
static void begin_call(struct text *to, const struct output_traced *call)
{
	text_add(to, "{\"method\":");
	json_string(to, call->method);
	json_add_number(to, "calls", call->calls);
	json_add_number(to, "took_ns", call->took_ns);
	json_add_number(to, "self_ns", call->self_ns);
	json_add_number(to, "unwound", call->unwound);
	json_add_number(to, "not_seen", call->unseen);
	json_add_number(to, "thread_ended", call->thread_ended);
	text_add(to, ",\"children\":[");
}

void json_trace(struct output *output, const struct output_trace *trace)
{
	struct text *line = &output->line;

	json_begin_hit(output, "trace", trace->hit);
	json_add_number(line, "missing", trace->missing);
	json_add_number(line, "not_followed", trace->not_followed);
	json_add_number(line, "left_out", trace->left_out);
	text_add(line, ",\"root\":");
	for (size_t i = 0; i < trace->count; i++) {
		const struct output_traced *call = &trace->calls[i];
		uint32_t next = i + 1 < trace->count ? call[1].depth : 0;

		begin_call(line, call);
		if (next > call->depth)
			continue;
		for (uint32_t depth = call->depth + 1; depth > next; depth--)
			text_add(line, "]}");
		if (i + 1 < trace->count)
			text_add_char(line, ',');
	}
	text_add(line, "}\n");
	output_line(output);
}
