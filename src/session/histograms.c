// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The latencies of a run, on their way from capture/ to output/: which durations belong together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "base/sorted.h"
#include "latency/latency.h"
#include "bpf/by.h"
#include "session/counts.h"
#include "session/session_internal.h"
#include "session/values.h"
#include "base/text.h"
#include "base/vector.h"
#include "value/by.h"

/* With more methods than this, those without a call only fill the screen. */
enum { SHOW_ZERO_MAX = 20 };

/* The durations of one site, or of those of its calls that are kept apart; part of a histogram. */
struct part {
	size_t method; /* where its sites begin in plan->by_method */
	char *caller;  /* by caller */
	struct latency_key key;
};

struct parts {
	struct part *list;
	size_t count;
};

static void parts_deinit(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		free(parts->list[i].caller);
	free(parts->list);
}

/* A value of --by=EXPR that calls were kept apart by. */
struct by_value {
	uint64_t number; /* of bpf/by.h; first: base/sorted.h */
	char *text;	 /* in the words of the format; NULL: there was no memory */
};

/* All that have come by now. */
struct by_values {
	const struct session *session;
	struct by_value *list; /* by number */
	size_t count;
	size_t capacity;
	bool no_memory;
};

static char *text_of(const struct session *session, const struct by_key *key)
{
	const struct method_values *method = values_of_program(session->values, key->program);
	struct text text = { 0 };
	char *copy;

	if (!method || !method->by)
		return NULL;
	value_by_add(method->by, key,
		     session->options->format == FORMAT_JSON ? VALUE_JSON : VALUE_TEXT, &text);
	copy = text_ok(&text) ? strdup(text_chars(&text)) : NULL;
	text_deinit(&text);
	return copy;
}

static void take_value(void *ctx, uint64_t number, const struct by_key *key)
{
	struct by_values *values = ctx;
	const struct by_value value = { number, text_of(values->session, key) };

	if (vector_add(&values->list, &values->count, &values->capacity, value))
		return;
	free(value.text);
	values->no_memory = true;
}

static int read_values(struct by_values *values)
{
	capture_each_by_value(values->session->capture, take_value, values);
	if (values->count)
		qsort(values->list, values->count, sizeof(*values->list), by_leading_number);
	return values->no_memory ? -ENOMEM : 0;
}

static void by_values_deinit(struct by_values *values)
{
	for (size_t i = 0; i < values->count; i++)
		free(values->list[i].text);
	free(values->list);
}

/* A copy of the text of @number; NULL: it has none. */
static char *value_text(const struct by_values *values, uint64_t number)
{
	const struct by_value *value = values->count ?
					       bsearch(&number, values->list, values->count,
						       sizeof(*values->list), by_leading_number) :
					       NULL;

	return value && value->text ? strdup(value->text) : NULL;
}

/* What @number is if it is no value; NULL: it is one. */
static const char *rest_name(uint64_t number)
{
	return number == BY_OTHER ? "other" : number == BY_UNKNOWN ? "unknown" : NULL;
}

/* The function that a call returns to; what has no name is told by its place. */
static char *name_caller(struct session *session, uint64_t return_address)
{
	const struct frame frame =
		stack_caller(session->symbols, (struct address){ return_address });
	struct text text = { 0 };
	char *name;

	if (frame.name)
		text_add_printable(&text, frame.name);
	else if (frame.module)
		text_printf(&text, "%s+0x%" PRIx64, frame.module, frame.offset);
	else
		text_printf(&text, "0x%" PRIx64, return_address);
	name = strdup(text_chars(&text));
	text_deinit(&text);
	return name;
}

/* What calls are kept apart by, if that has a name. */
static char *name_of(struct session *session, const struct by_values *values,
		     const struct latency_key *key)
{
	if (session->options->by == LATENCY_BY_CALLER)
		return name_caller(session, key->by);
	return session->options->by == LATENCY_BY_VALUE ? value_text(values, key->by) : NULL;
}

/* By site: where those of its method begin in plan->by_method. */
static size_t *methods_of_sites(const struct plan *plan)
{
	size_t *methods = calloc(plan->count + 1, sizeof(*methods)), end;

	for (size_t first = 0; methods && first < plan->count; first = end) {
		end = plan_method_end(plan, first);
		for (size_t i = first; i < end; i++)
			methods[plan->by_method[i] - plan->sites] = first;
	}
	return methods;
}

static int by_label(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->method != b->method)
		return a->method < b->method ? -1 : 1;
	if (a->caller && b->caller)
		return strverscmp(a->caller, b->caller);
	return a->key.by < b->key.by ? -1 : a->key.by > b->key.by;
}

/* Where there is a record of a method, or a rest, without a duration. */
static bool lists_all(const struct session *session)
{
	return session->options->by == LATENCY_BY_SITE || session->options->mode == MODE_COUNT;
}

static int collect_parts(struct session *session, const struct latencies *latencies,
			 const struct by_values *values, struct parts *parts)
{
	const struct plan *plan = &session->plan;
	size_t *methods = methods_of_sites(plan);
	bool *listed = calloc(plan->count + 1, sizeof(*listed));

	parts->list = calloc(latencies->total_count + plan->count + 1, sizeof(*parts->list));
	if (!methods || !listed || !parts->list) {
		free(methods);
		free(listed);
		return -ENOMEM;
	}
	for (size_t i = 0; i < latencies->total_count; i++) {
		const struct latency_key *key = &latencies->totals[i].key;
		struct part *part = &parts->list[parts->count];

		if (key->site >= plan->count ||
		    plan->sites[key->site].reason == REASON_OTHER_METHOD)
			continue;
		*part = (struct part){ .method = methods[key->site], .key = *key };
		part->caller = name_of(session, values, key);
		parts->count++;
		listed[key->site] = true;
	}
	/* Those without a call, and those of which none has ended. */
	for (uint32_t i = 0; lists_all(session) && i < plan->count; i++) {
		if (plan->sites[i].mechanism != MECHANISM_NONE && !listed[i])
			parts->list[parts->count++] =
				(struct part){ .method = methods[i], .key = { .site = i } };
	}
	free(methods);
	free(listed);
	qsort(parts->list, parts->count, sizeof(*parts->list), by_label);
	return 0;
}

/* Those of parts[first, end) in one: of @latencies, but what is unfinished is so of @all. */
static void add_parts(struct session *session, const struct latencies *latencies,
		      const struct latencies *all, const struct parts *parts, size_t first,
		      size_t end, struct histogram *histogram)
{
	uint64_t begun = 0, over = 0;

	for (size_t i = first; i < end; i++) {
		histogram_add(histogram, latencies, &parts->list[i].key);
		if (session->options->by == LATENCY_BY_SITE)
			begun += session->counts.counters[parts->list[i].key.site].hits;
		over += latencies_over(all, &parts->list[i].key);
	}
	histogram->unfinished = begun > over ? begun - over : 0;
}

static void print_part(struct session *session, struct output *to, const struct part *part,
		       const struct histogram *histogram, const struct count_bounds *bounds)
{
	const char *codes[COUNT_BOUNDS_MAX + 1];
	const struct output_hist hist = {
		.method = session->plan.by_method[part->method]->method,
		.by = session->options->by,
		.caller = part->caller ? part->caller : "?",
		.tid = part->key.by,
		.value_of = session->options->by_value,
		.rest = part->caller ? NULL : rest_name(part->key.by),
		.histogram = histogram,
		.lower_bound = bounds ? codes : NULL,
		.watched = count_watched(bounds, part->method),
	};

	if (bounds)
		count_bound_codes(&session->plan, part->method, bounds, codes);
	output_hist(to, &hist);
}

/* Calls by value ------------------------------------------------------------------------------- */

static int by_calls(const void *left, const void *right)
{
	const struct output_value *a = left, *b = right;

	return a->calls > b->calls ? -1 : a->calls < b->calls;
}

/* Those of a method are parts[first, end): one value a label, the rest by what it is. */
static size_t values_of_parts(const struct latencies *latencies, const struct parts *parts,
			      size_t first, size_t end, struct output_value *list,
			      uint64_t rest[BY_FIRST])
{
	size_t count = 0;

	for (size_t i = first; i < end; i++) {
		const struct part *part = &parts->list[i];
		uint64_t calls = latencies_over(latencies, &part->key);

		if (!part->caller)
			rest[part->key.by < BY_FIRST ? part->key.by : BY_UNKNOWN] += calls;
		else if (count && strcmp(list[count - 1].value, part->caller) == 0)
			list[count - 1].calls += calls;
		else if (calls)
			list[count++] =
				(struct output_value){ .value = part->caller, .calls = calls };
	}
	if (count)
		qsort(list, count, sizeof(*list), by_calls);
	return count;
}

/*
 * At the end each call of @method, whose parts are parts[first, end) of @all, is of a value, or of
 * the rest. Where calls are followed to their end, those that have had none are unknown; else there
 * was no room for what is missing.
 */
static void complete_rest(struct session *session, const struct latencies *all,
			  const struct parts *parts, size_t first, size_t end,
			  uint64_t rest[BY_FIRST])
{
	const struct plan *plan = &session->plan;
	size_t method = parts->list[first].method;
	uint64_t calls = 0, told = 0;

	for (size_t i = method, last = plan_method_end(plan, method); i < last; i++)
		calls += session->counts.counters[plan->by_method[i] - plan->sites].hits;
	for (size_t i = first; i < end; i++)
		told += latencies_over(all, &parts->list[i].key);
	if (calls > told)
		rest[plan->timed ? BY_UNKNOWN : BY_OTHER] += calls - told;
}

/* @latencies are what is new of @all. */
static int print_values(struct session *session, struct output *to,
			const struct latencies *latencies, const struct latencies *all,
			const struct parts *parts, bool last)
{
	const struct plan *plan = &session->plan;
	struct output_value *list = calloc(parts->count + BY_FIRST, sizeof(*list));
	int result = list ? 0 : -ENOMEM;
	size_t end = 0;

	for (size_t first = 0; list && first < parts->count; first = end) {
		size_t method = parts->list[first].method, count;
		uint64_t rest[BY_FIRST] = { 0 };

		while (end < parts->count && parts->list[end].method == method)
			end++;
		count = values_of_parts(latencies, parts, first, end, list, rest);
		if (last)
			complete_rest(session, all, parts, first, end, rest);
		for (size_t i = 0; i < BY_FIRST; i++) {
			if (rest[i])
				list[count++] = (struct output_value){ .rest = rest_name(i),
								       .calls = rest[i] };
		}
		if (count)
			output_values(to, &(struct output_values){
						  .method = plan->by_method[method]->method,
						  .value_of = session->options->by_value,
						  .list = list,
						  .count = count,
					  });
	}
	free(list);
	return result;
}

/* @latencies are what is new of @all. */
static int print(struct session *session, struct output *to, const struct latencies *latencies,
		 const struct latencies *all, const struct count_bounds *bounds)
{
	bool show_zero = plan_placeable(&session->plan) <= SHOW_ZERO_MAX;
	bool counts = session->options->mode == MODE_COUNT;
	struct histogram *histogram = calloc(1, sizeof(*histogram));
	size_t linear_count = hist_range_count(&session->options->linear), end;
	uint64_t *linear = calloc(linear_count + 2, sizeof(*linear));
	struct by_values values = { .session = session };
	struct parts parts = { 0 };
	int result = histogram && linear ? 0 : -ENOMEM;

	if (result == 0 && session->options->by_value)
		result = read_values(&values);
	if (result == 0)
		result = collect_parts(session, latencies, &values, &parts);
	if (result == 0 && counts)
		result = print_values(session, to, latencies, all, &parts, bounds);
	for (size_t first = 0; result == 0 && !counts && first < parts.count; first = end) {
		end = first + 1;
		while (end < parts.count && by_label(&parts.list[first], &parts.list[end]) == 0)
			end++;
		*histogram = (struct histogram){ 0 };
		memset(linear, 0, (linear_count + 2) * sizeof(*linear));
		histogram->linear = linear_count ? linear : NULL;
		histogram->linear_count = linear_count;
		add_parts(session, latencies, all, &parts, first, end, histogram);
		if (histogram->returned || histogram->unwound || histogram->untimed ||
		    histogram->unfinished || show_zero)
			print_part(session, to, &parts.list[first], histogram, bounds);
	}
	by_values_deinit(&values);
	parts_deinit(&parts);
	free(linear);
	free(histogram);
	return result;
}

int session_print_latencies(struct session *session, const struct count_bounds *bounds,
			    struct error *err)
{
	struct latencies latencies, printed = { 0 };
	int result = capture_read_latencies(session->capture, &latencies, err);

	if (result == 0)
		result = latencies_copy(&printed, &latencies) ? 0 : -ENOMEM;
	if (result == 0) {
		latencies_subtract(&latencies, &session->counts.latencies);
		result = print(session, &session->output, &latencies, &printed, bounds);
		latencies_deinit(&session->counts.latencies);
		session->counts.latencies = printed;
	}
	latencies_deinit(&latencies);
	return result ? error_set(err, result, "no memory for the histograms") : 0;
}

int session_write_latencies(struct session *session, struct output *to,
			    const struct count_bounds *bounds, struct error *err)
{
	struct latencies latencies;
	int result = capture_read_latencies(session->capture, &latencies, err);

	if (result == 0)
		result = print(session, to, &latencies, &latencies, bounds);
	latencies_deinit(&latencies);
	return result ? error_set(err, result, "no memory for the histograms") : 0;
}
