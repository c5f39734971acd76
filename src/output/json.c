// SPDX-License-Identifier: GPL-2.0-or-later
/* The format for programs: one object a line, "type" first; docs/json.md has the members. */
#include <string.h>

#include "base/cleanup.h"
#include "latency/latency.h"
#include "output/ops.h"

/* What was put into the line last tells whether something stands before what comes now. */
static void separate(struct text *line)
{
	char last = line->length ? line->chars[line->length - 1] : '\0';

	if (last && !strchr("{[", last))
		text_add_char(line, ',');
}

static void add_key(struct text *line, const char *key)
{
	separate(line);
	text_add_char(line, '"');
	text_add(line, key);
	text_add(line, "\":");
}

static void add_string(struct text *line, const char *key, const char *s)
{
	add_key(line, key);
	json_string(line, s);
}

static void add_number(struct text *line, const char *key, uint64_t number)
{
	add_key(line, key);
	text_add_number(line, number, 0, ' ');
}

static void add_number_if(struct text *line, bool known, const char *key, uint64_t number)
{
	if (known)
		add_number(line, key, number);
	else
		add_string(line, key, NULL);
}

/* A member's array or object begins; what begins without a key is one of an array's. */
static void open_as(struct text *line, const char *key, char bracket)
{
	if (key)
		add_key(line, key);
	else
		separate(line);
	text_add_char(line, bracket);
}

static void add_strings(struct text *line, const char *key, const char *const *list)
{
	open_as(line, key, '[');
	for (; *list; list++) {
		separate(line);
		json_string(line, *list);
	}
	text_add_char(line, ']');
}

static struct text *begin(struct output *output, const char *type)
{
	struct text *line = &output->line;

	text_add_char(line, '{');
	add_string(line, "type", type);
	return line;
}

static void end(struct output *output)
{
	text_add(&output->line, "}\n");
	output_line(output);
}

static void write_site(struct output *output, const struct output_site *site)
{
	struct text *line = begin(output, "site");

	add_string(line, "method", site->method);
	add_string(line, "made_from", site->made_from);
	add_string(line, "image", site->image);
	add_string(line, "tier", site->tier);
	add_string(line, "state", site->state);
	add_string(line, "mechanism", site->mechanism);
	add_string(line, "reason", site->reason);
	add_string(line, "file", site->file);
	add_number_if(line, site->file_offset, "file_offset", site->file_offset);
	add_number_if(line, site->address, "address", site->address);
	add_number_if(line, site->size, "size", site->size);
	add_strings(line, "names_from", site->names_from);
	/* null if it is not known in full. */
	if (site->inlined_whole)
		add_strings(line, "inlined_into", site->inlined_into);
	else
		add_string(line, "inlined_into", NULL);
	add_string(line, "native_function", site->native_function);
	end(output);
}

static void add_buckets(struct text *line, const struct histogram *histogram)
{
	uint64_t low, high;

	open_as(line, "buckets", '[');
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		if (histogram->buckets[i] == 0)
			continue;
		latency_bucket_bounds(i, &low, &high);
		open_as(line, NULL, '{');
		add_number(line, "low_ns", low);
		add_number(line, "high_ns", high);
		add_number(line, "count", histogram->buckets[i]);
		text_add_char(line, '}');
	}
	text_add_char(line, ']');
}

static void add_watched(struct text *line, double watched)
{
	add_key(line, "watched");
	text_printf(line, "%.6f", watched);
}

/* What a value is of; the value, which is JSON already; and what it is if it is none. */
static void add_value(struct text *line, const char *of, const char *value, const char *rest)
{
	add_string(line, "by", of);
	add_key(line, "value");
	text_add(line, of && !rest ? value : "null");
	add_string(line, "rest", rest);
}

static void write_values(struct output *output, const struct output_values *values)
{
	for (size_t i = 0; i < values->count; i++) {
		const struct output_value *value = &values->list[i];
		struct text *line = begin(output, "value");

		add_string(line, "method", values->method);
		add_number(line, "calls", value->calls);
		add_value(line, values->value_of, value->value, value->rest);
		end(output);
	}
}

static void add_linear(struct text *line, const struct histogram *histogram)
{
	open_as(line, "linear", '[');
	for (size_t i = 0; i < histogram->linear_count + 2; i++) {
		separate(line);
		text_add_number(line, histogram->linear[i], 0, ' ');
	}
	text_add_char(line, ']');
}

static void write_hist(struct output *output, const struct output_hist *hist)
{
	const struct histogram *histogram = hist->histogram;
	struct text *line = begin(output, "hist");
	bool any = histogram->returned;

	add_string(line, "method", hist->method);
	add_number_if(line, hist->by == LATENCY_BY_TID, "tid", hist->tid);
	add_string(line, "caller", hist->by == LATENCY_BY_CALLER ? hist->caller : NULL);
	if (hist->value_of)
		add_value(line, hist->value_of, hist->caller, hist->rest);
	add_number(line, "count", histogram->returned);
	add_number(line, "sum_ns", histogram->sum_ns);
	add_number_if(line, any, "min_ns", histogram->min_ns);
	add_number_if(line, any, "max_ns", histogram->max_ns);
	for (size_t i = 0; i < HIST_SHARES; i++)
		add_number_if(line, any, hist_shares[i].key,
			      any ? histogram_percentile(histogram, hist_shares[i].share) : 0);
	add_number(line, "unwound", histogram->unwound);
	add_number_if(line, hist->by == LATENCY_BY_SITE, "unfinished", histogram->unfinished);
	add_number(line, "not_timed", histogram->untimed);
	add_buckets(line, histogram);
	if (histogram->linear)
		add_linear(line, histogram);
	if (hist->lower_bound) {
		add_strings(line, "lower_bound", hist->lower_bound);
		add_watched(line, hist->watched);
	}
	end(output);
}

void json_folded(struct output *output, const char *stack, uint64_t count)
{
	_cleanup_(text_deinit) struct text part = { 0 };
	struct text *line = begin(output, "folded");

	open_as(line, "stack", '[');
	while (*stack) {
		size_t length = strcspn(stack, ";");

		text_clear(&part);
		text_add_bytes(&part, stack, length);
		line->failed |= !text_ok(&part);
		separate(line);
		json_string(line, text_chars(&part));
		stack += length + (stack[length] == ';');
	}
	text_add_char(line, ']');
	add_number(line, "count", count);
	end(output);
}

static void write_count(struct output *output, const struct output_count *count)
{
	struct text *line = begin(output, "count");

	add_string(line, "method", count->method);
	add_number(line, "calls", count->calls);
	open_as(line, "bodies", '[');
	for (size_t i = 0; i < count->body_count; i++) {
		open_as(line, NULL, '{');
		add_string(line, "tier", count->bodies[i].tier);
		add_number(line, "calls", count->bodies[i].calls);
		text_add_char(line, '}');
	}
	text_add_char(line, ']');
	if (count->lower_bound) {
		bool known = output_has_estimate(count->watched);

		add_strings(line, "lower_bound", count->lower_bound);
		add_watched(line, count->watched);
		add_number_if(line, known, "estimate", known ? output_estimate(count) : 0);
	}
	end(output);
}

static void write_counts(struct output *output, const struct output_count *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		write_count(output, &counts[i]);
}

static void write_async(struct output *output, const struct output_async *async)
{
	struct text *line = &output->line;

	json_begin_hit(output, "async", async->hit);
	add_number(line, "id", async->id);
	add_string(line, "outcome", async_outcome_names[async->outcome]);
	add_key(line, "arguments");
	text_add(line, async->arguments ? async->arguments : "null");
	add_string(line, "no_values", async->why);
	add_string(line, "exception", async->exception);
	end(output);
}

static void write_async_total(struct output *output, const struct output_async_total *total)
{
	struct text *line = begin(output, "async_total");

	add_string(line, "method", total->method);
	add_number(line, "started", total->started);
	add_number(line, "synchronous", total->synchronous);
	for (int i = 0; i < ASYNC_OUTCOMES; i++)
		add_number(line, async_outcome_names[i], total->ended[i]);
	add_number(line, "paired", total->paired);
	add_number(line, "not_paired", total->not_paired);
	add_number(line, "unknown_steps", total->unknown);
	add_number(line, "no_room", total->no_room);
	add_number_if(line, total->open_known, "open", total->open);
	add_number_if(line, total->mean_ns, "mean_ns", total->mean_ns);
	end(output);
}

/* But for the end of what is within it. */
static void begin_traced(struct text *to, const struct output_traced *call)
{
	text_add_char(to, '{');
	add_string(to, "method", call->method);
	add_number(to, "calls", call->calls);
	add_number(to, "took_ns", call->took_ns);
	add_number(to, "self_ns", call->self_ns);
	add_number(to, "unwound", call->unwound);
	add_number(to, "not_seen", call->unseen);
	add_number(to, "thread_ended", call->thread_ended);
	open_as(to, "children", '[');
}

static void write_trace(struct output *output, const struct output_trace *trace)
{
	struct text *line = &output->line;

	json_begin_hit(output, "trace", trace->hit);
	add_number(line, "missing", trace->missing);
	add_number(line, "not_followed", trace->not_followed);
	add_number(line, "left_out", trace->left_out);
	add_key(line, "root");
	for (size_t i = 0; i < trace->count; i++) {
		const struct output_traced *call = &trace->calls[i];
		uint32_t next = i + 1 < trace->count ? call[1].depth : 0;

		begin_traced(line, call);
		if (next > call->depth)
			continue;
		for (uint32_t depth = call->depth + 1; depth > next; depth--)
			text_add(line, "]}");
		if (i + 1 < trace->count)
			text_add_char(line, ',');
	}
	end(output);
}

static void add_stacks(struct text *line, const struct output_stacks *stacks)
{
	if (!stacks) {
		add_string(line, "stack_ends", NULL);
		add_string(line, "guessed_frames", NULL);
		return;
	}
	open_as(line, "stack_ends", '{');
	for (enum stack_end end = 0; end < STACK_ENDS; end++) {
		if (stacks->ends[end])
			add_number(line, stack_end_name(end), stacks->ends[end]);
	}
	text_add_char(line, '}');
	add_number(line, "guessed_frames", stacks->guessed);
}

static void add_unshown(struct text *line, const char *key, const struct output_unshown *list,
			const char *first_key, const char *second_key)
{
	open_as(line, key, '[');
	for (; list && list->method; list++) {
		open_as(line, NULL, '{');
		add_string(line, "method", list->method);
		add_number(line, first_key, list->sampled_out);
		add_number(line, second_key, list->shed);
		text_add_char(line, '}');
	}
	text_add_char(line, ']');
}

void json_summary(struct output *output, const struct output_summary *summary)
{
	struct text *line = begin(output, "summary");

	add_number(line, "hits", summary->hits);
	open_as(line, "lost", '{');
	for (const struct output_loss *loss = summary->losses; loss->reason; loss++)
		add_number(line, loss->reason, loss->count);
	text_add_char(line, '}');
	add_unshown(line, "not_shown", summary->shed, "sampled_out", "over_rate");
	add_unshown(line, "filtered", summary->filtered, "calls", "undecided");
	add_strings(line, "lower_bound", summary->lower_bound);
	add_stacks(line, summary->stacks);
	end(output);
}

const struct output_ops json_output = {
	.site = write_site,
	.hit = json_hit,
	.call = json_call,
	.async = write_async,
	.async_total = write_async_total,
	.trace = write_trace,
	.counts = write_counts,
	.values = write_values,
	.hist = write_hist,
	.summary = json_summary,
};
