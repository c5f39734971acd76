// SPDX-License-Identifier: GPL-2.0-or-later
/* The format for programs: one object a line, "type" first; docs/json.md has the members. */
#include <json-c/json.h>
#include <string.h>

#include "base/text.h"
#include "latency/latency.h"
#include "output/ops.h"

/* Names are bytes of somebody's file: what is no UTF-8 would make the line no JSON. */
static struct json_object *string_or_null(const char *s)
{
	struct text clean = { 0 };
	struct json_object *string;
	size_t good, length;

	if (!s)
		return NULL;
	good = text_utf8_prefix(s);
	if (!s[good])
		return json_object_new_string_len(s, (int)good);
	for (; *s; s += good + length) {
		good = text_utf8_prefix(s);
		length = s[good] ? 1 : 0;
		text_add_bytes(&clean, s, good);
		text_add_bytes(&clean, "?", length);
	}
	string = json_object_new_string_len(text_chars(&clean), (int)clean.length);
	text_deinit(&clean);
	return string;
}

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add_ex(object, key, value,
				  JSON_C_OBJECT_ADD_CONSTANT_KEY | JSON_C_OBJECT_ADD_KEY_IS_NEW);
}

static struct json_object *number(uint64_t value)
{
	return json_object_new_uint64(value);
}

static struct json_object *begin(const char *type)
{
	struct json_object *object = json_object_new_object();

	add(object, "type", json_object_new_string(type));
	return object;
}

static void end(struct output *output, struct json_object *object)
{
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE),
	      output->to);
	fputc('\n', output->to);
	json_object_put(object);
}

static struct json_object *strings(const char *const *list)
{
	struct json_object *array = json_object_new_array();

	for (; *list; list++)
		json_object_array_add(array, string_or_null(*list));
	return array;
}

static void write_site(struct output *output, const struct output_site *site)
{
	struct json_object *object = begin("site");

	add(object, "method", string_or_null(site->method));
	add(object, "made_from", string_or_null(site->made_from));
	add(object, "image", string_or_null(site->image));
	add(object, "tier", json_object_new_string(site->tier));
	add(object, "state", string_or_null(site->state));
	add(object, "mechanism", json_object_new_string(site->mechanism));
	add(object, "reason", string_or_null(site->reason));
	add(object, "file", string_or_null(site->file));
	add(object, "file_offset", site->file_offset ? number(site->file_offset) : NULL);
	add(object, "address", site->address ? number(site->address) : NULL);
	add(object, "size", site->size ? number(site->size) : NULL);
	add(object, "names_from", strings(site->names_from));
	/* null if it is not known in full. */
	add(object, "inlined_into", site->inlined_whole ? strings(site->inlined_into) : NULL);
	add(object, "native_function", string_or_null(site->native_function));
	end(output, object);
}

static struct json_object *buckets_of(const struct histogram *histogram)
{
	struct json_object *buckets = json_object_new_array();
	uint64_t low, high;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		struct json_object *bucket;

		if (histogram->buckets[i] == 0)
			continue;
		latency_bucket_bounds(i, &low, &high);
		bucket = json_object_new_object();
		add(bucket, "low_ns", number(low));
		add(bucket, "high_ns", number(high));
		add(bucket, "count", number(histogram->buckets[i]));
		json_object_array_add(buckets, bucket);
	}
	return buckets;
}

static void add_watched(struct json_object *object, double watched)
{
	char text[16];

	snprintf(text, sizeof(text), "%.6f", watched);
	add(object, "watched", json_object_new_double_s(watched, text));
}

/* What a value is of; the value, which is JSON already; and what it is if it is none. */
static void add_value(struct json_object *object, const char *of, const char *value,
		      const char *rest)
{
	add(object, "by", string_or_null(of));
	add(object, "value", of && !rest ? json_tokener_parse(value) : NULL);
	add(object, "rest", string_or_null(rest));
}

static void write_values(struct output *output, const struct output_values *values)
{
	for (size_t i = 0; i < values->count; i++) {
		const struct output_value *value = &values->list[i];
		struct json_object *object = begin("value");

		add(object, "method", string_or_null(values->method));
		add(object, "calls", number(value->calls));
		add_value(object, values->value_of, value->value, value->rest);
		end(output, object);
	}
}

static void write_hist(struct output *output, const struct output_hist *hist)
{
	const struct histogram *histogram = hist->histogram;
	struct json_object *object = begin("hist");
	bool any = histogram->returned;

	add(object, "method", string_or_null(hist->method));
	add(object, "tid", hist->by == LATENCY_BY_TID ? number(hist->tid) : NULL);
	add(object, "caller", hist->by == LATENCY_BY_CALLER ? string_or_null(hist->caller) : NULL);
	if (hist->value_of)
		add_value(object, hist->value_of, hist->caller, hist->rest);
	add(object, "count", number(histogram->returned));
	add(object, "sum_ns", number(histogram->sum_ns));
	add(object, "min_ns", any ? number(histogram->min_ns) : NULL);
	add(object, "max_ns", any ? number(histogram->max_ns) : NULL);
	for (size_t i = 0; i < HIST_SHARES; i++)
		add(object, hist_shares[i].key,
		    any ? number(histogram_percentile(histogram, hist_shares[i].share)) : NULL);
	add(object, "unwound", number(histogram->unwound));
	add(object, "unfinished",
	    hist->by == LATENCY_BY_SITE ? number(histogram->unfinished) : NULL);
	add(object, "not_timed", number(histogram->untimed));
	add(object, "buckets", buckets_of(histogram));
	if (histogram->linear) {
		struct json_object *linear = json_object_new_array();

		for (size_t i = 0; i < histogram->linear_count + 2; i++)
			json_object_array_add(linear, number(histogram->linear[i]));
		add(object, "linear", linear);
	}
	if (hist->lower_bound) {
		add(object, "lower_bound", strings(hist->lower_bound));
		add_watched(object, hist->watched);
	}
	end(output, object);
}

void json_folded(struct output *output, const char *stack, uint64_t count)
{
	struct json_object *object = begin("folded"), *parts = json_object_new_array();
	struct text part = { 0 };

	add(object, "stack", parts);
	while (*stack) {
		size_t length = strcspn(stack, ";");

		text_clear(&part);
		text_add_bytes(&part, stack, length);
		json_object_array_add(parts, string_or_null(text_chars(&part)));
		stack += length + (stack[length] == ';');
	}
	text_deinit(&part);
	add(object, "count", number(count));
	end(output, object);
}

static void write_count(struct output *output, const struct output_count *count)
{
	struct json_object *object = begin("count"), *bodies = json_object_new_array();

	add(object, "method", string_or_null(count->method));
	add(object, "calls", number(count->calls));
	for (size_t i = 0; i < count->body_count; i++) {
		struct json_object *body = json_object_new_object();

		add(body, "tier", json_object_new_string(count->bodies[i].tier));
		add(body, "calls", number(count->bodies[i].calls));
		json_object_array_add(bodies, body);
	}
	add(object, "bodies", bodies);
	if (count->lower_bound) {
		add(object, "lower_bound", strings(count->lower_bound));
		add_watched(object, count->watched);
		add(object, "estimate",
		    output_has_estimate(count->watched) ? number(output_estimate(count)) : NULL);
	}
	end(output, object);
}

static void write_counts(struct output *output, const struct output_count *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		write_count(output, &counts[i]);
}

static void add_stacks(struct json_object *summary, const struct output_stacks *stacks)
{
	struct json_object *ends = stacks ? json_object_new_object() : NULL;

	for (enum stack_end end = 0; ends && end < STACK_ENDS; end++) {
		if (stacks->ends[end])
			add(ends, stack_end_name(end), number(stacks->ends[end]));
	}
	add(summary, "stack_ends", ends);
	add(summary, "guessed_frames", stacks ? number(stacks->guessed) : NULL);
}

static struct json_object *shed_of(const struct output_shed *shed)
{
	struct json_object *array = json_object_new_array(), *entry;

	for (; shed && shed->method; shed++) {
		entry = json_object_new_object();
		add(entry, "method", string_or_null(shed->method));
		add(entry, "sampled_out", number(shed->sampled_out));
		add(entry, "over_rate", number(shed->shed));
		json_object_array_add(array, entry);
	}
	return array;
}

static struct json_object *filtered_of(const struct output_filtered *filtered)
{
	struct json_object *array = json_object_new_array(), *entry;

	for (; filtered && filtered->method; filtered++) {
		entry = json_object_new_object();
		add(entry, "method", string_or_null(filtered->method));
		add(entry, "calls", number(filtered->calls));
		add(entry, "undecided", number(filtered->undecided));
		json_object_array_add(array, entry);
	}
	return array;
}

void json_summary(struct output *output, const struct output_summary *summary)
{
	struct json_object *object = begin("summary"), *lost = json_object_new_object();

	add(object, "hits", number(summary->hits));
	for (const struct output_loss *loss = summary->losses; loss->reason; loss++)
		add(lost, loss->reason, number(loss->count));
	add(object, "lost", lost);
	add(object, "not_shown", shed_of(summary->shed));
	add(object, "filtered", filtered_of(summary->filtered));
	add(object, "lower_bound", strings(summary->lower_bound));
	add_stacks(object, summary->stacks);
	end(output, object);
}

const struct output_ops json_output = {
	.site = write_site,
	.hit = json_hit,
	.call = json_call,
	.async = json_async,
	.async_total = json_async_total,
	.trace = json_trace,
	.counts = write_counts,
	.values = write_values,
	.hist = write_hist,
	.summary = json_summary,
};
