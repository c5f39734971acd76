// SPDX-License-Identifier: GPL-2.0-or-later
/* Asynchronous calls as a whole, as text and as JSON. */
#include <inttypes.h>

#include "base/text.h"
#include "output/ops.h"

const char *const async_outcome_names[ASYNC_OUTCOMES] = {
	[ASYNC_COMPLETED] = "completed",
	[ASYNC_FAULTED] = "faulted",
	[ASYNC_CANCELED] = "canceled",
};

void text_async(struct output *output, const struct output_async *async)
{
	struct text *line = &output->line;

	text_begin_line(output, async->hit);
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
	text_add_duration(line, async->took_ns);
	text_add(line, " [async]");
	if (async->why)
		text_printf(line, " [no values: %s]", async->why);
	text_add_char(line, '\n');
	output_line(output);
}

void text_async_total(struct output *output, const struct output_async_total *total)
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
		text_add_duration(line, total->mean_ns);
	}
	text_add_char(line, '\n');
	output_line(output);
}

void json_async(struct output *output, const struct output_async *async)
{
	struct text *line = &output->line;

	json_begin_hit(output, "async", async->hit);
	text_printf(line, ",\"id\":%" PRIu64 ",\"outcome\":\"%s\",\"arguments\":", async->id,
		    async_outcome_names[async->outcome]);
	text_add(line, async->arguments ? async->arguments : "null");
	text_add(line, ",\"no_values\":");
	json_string(line, async->why);
	text_add(line, ",\"exception\":");
	json_string(line, async->exception);
	text_add(line, "}\n");
	output_line(output);
}

static void add_or_null(struct text *line, const char *name, uint64_t value, bool known)
{
	text_printf(line, ",\"%s\":", name);
	if (known)
		text_printf(line, "%" PRIu64, value);
	else
		text_add(line, "null");
}

void json_async_total(struct output *output, const struct output_async_total *total)
{
	struct text *line = &output->line;

	text_add(line, "{\"type\":\"async_total\",\"method\":");
	json_string(line, total->method);
	text_printf(line, ",\"started\":%" PRIu64 ",\"synchronous\":%" PRIu64, total->started,
		    total->synchronous);
	for (int i = 0; i < ASYNC_OUTCOMES; i++)
		text_printf(line, ",\"%s\":%" PRIu64, async_outcome_names[i], total->ended[i]);
	text_printf(line,
		    ",\"paired\":%" PRIu64 ",\"not_paired\":%" PRIu64 ",\"unknown_steps\":%" PRIu64
		    ",\"no_room\":%" PRIu64,
		    total->paired, total->not_paired, total->unknown, total->no_room);
	add_or_null(line, "open", total->open, total->open_known);
	add_or_null(line, "mean_ns", total->mean_ns, total->mean_ns);
	text_add(line, "}\n");
	output_line(output);
}
