// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The latencies of a run, on their way from capture/ to output/: which durations belong together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "base/error.h"
#include "stack/stack.h"
#include "latency/latency.h"
#include "plan/timed.h"
#include "record/record.h"
#include "session/counts.h"
#include "session/session_internal.h"
#include "base/text.h"

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
		return strcmp(a->caller, b->caller);
	return a->key.by < b->key.by ? -1 : a->key.by > b->key.by;
}

static int collect_parts(struct session *session, const struct latencies *latencies,
			 struct parts *parts)
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
		if (session->options->by == LATENCY_BY_CALLER)
			part->caller = name_caller(session, key->by);
		parts->count++;
		listed[key->site] = true;
	}
	/* Those without a call, and those of which none has ended. */
	for (uint32_t i = 0; session->options->by == LATENCY_BY_SITE && i < plan->count; i++) {
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
		.histogram = histogram,
		.lower_bound = bounds ? codes : NULL,
		.watched = bounds ? bounds->watched[part->method] : 0,
	};

	if (bounds)
		count_bound_codes(&session->plan, part->method, bounds, codes);
	output_hist(to, &hist);
}

/* @latencies are what is new of @all. */
static int print(struct session *session, struct output *to, const struct latencies *latencies,
		 const struct latencies *all, const struct count_bounds *bounds)
{
	bool show_zero = plan_placeable(&session->plan) <= SHOW_ZERO_MAX;
	struct histogram *histogram = calloc(1, sizeof(*histogram));
	size_t linear_count = options_linear_count(session->options), end;
	uint64_t *linear = calloc(linear_count + 2, sizeof(*linear));
	struct parts parts = { 0 };
	int result = histogram && linear ? collect_parts(session, latencies, &parts) : -ENOMEM;

	for (size_t first = 0; result == 0 && first < parts.count; first = end) {
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
