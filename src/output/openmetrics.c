// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --format=openmetrics: what -c and -H count, as one exposition of the OpenMetrics text format:
 * totals of the run so far. With a file it is written anew after each interval, and at the end;
 * else at the end. With --listen whoever asks gets it as it is then (serve.c). Prometheus' older
 * text format reads it too, which the textfile collector of node_exporter wants.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "latency/latency.h"
#include "output/interned.h"
#include "output/ops.h"

enum {
	/* The bounds of buckets: 1 us, 2 us, ... some 68 s, to the nanosecond below 2^N. */
	POWER_FIRST = 10,
	POWER_LAST = 36,
	POWERS = POWER_LAST - POWER_FIRST + 1,

	SAID_BYTES = 1024, /* for saying that there was no room */
	WATCHED_DIGITS = 6,
	WATCHED_UNIT = 1000000,
};

enum family_id {
	CALLS,
	WATCHED,
	LOWER_BOUND,
	DURATIONS,
	UNWOUND,
	UNTIMED,
	UNFINISHED,
	LOST,
	FAMILIES
};

static const struct {
	const char *name;
	const char *type;
	const char *unit; /* NULL: it has none */
	const char *help;
	const char *suffix; /* of a sample's name */
} families[FAMILIES] = {
	[CALLS] = { "place_probe_calls", "counter", NULL, "Calls that were counted.", "_total" },
	[WATCHED] = { "place_probe_watched_ratio", "gauge", "ratio",
		      "For which part of the run the method was probed.", "" },
	[LOWER_BOUND] = { "place_probe_lower_bound", "gauge", NULL,
			  "There may be more calls than were counted, for this reason.", "" },
	[DURATIONS] = { "place_probe_call_duration_seconds", "histogram", "seconds",
			"How long calls took that have returned.", "" },
	[UNWOUND] = { "place_probe_unwound_calls", "counter", NULL,
		      "Calls that an exception or the like has left.", "_total" },
	[UNTIMED] = { "place_probe_untimed_calls", "counter", NULL,
		      "Calls whose end could not be told.", "_total" },
	[UNFINISHED] = { "place_probe_unfinished_calls", "gauge", NULL,
			 "Calls that have begun and not ended.", "" },
	[LOST] = { "place_probe_lost", "counter", NULL, "What was lost, by its reason.", "_total" },
};

struct openmetrics {
	/* Each series is known by its labels, and has as many numbers as its family is wide. */
	struct interned families[FAMILIES];
	struct text labels; /* of the series that is looked for */
	bool any;
	bool said; /* that there was no room, for which there is some */
};

/* Of a histogram: a number for each bucket, the last without a bound, and the sum of durations. */
static size_t bucket_count(const struct output *output)
{
	const struct hist_range *range = &output->linear;

	return range->step_ns ? hist_range_count(range) + 2 : POWERS + 1;
}

static size_t width_of(const struct output *output, enum family_id id)
{
	return id == DURATIONS ? bucket_count(output) + 1 : 1;
}

/* The longest duration in a bucket that has a bound. */
static uint64_t bound_of(const struct output *output, size_t bucket)
{
	const struct hist_range *range = &output->linear;

	if (range->step_ns)
		return range->min_ns + bucket * range->step_ns - 1;
	return (UINT64_C(1) << (POWER_FIRST + bucket)) - 1;
}

/* Records ------------------------------------------------------------------------------------- */

static void add_label(struct text *to, const char *key, const char *value)
{
	_cleanup_(text_deinit) struct text clean = { 0 };

	output_add_utf8(&clean, value);
	text_printf(to, "%s%s=\"", to->length ? "," : "", key);
	for (const char *at = text_chars(&clean); *at; at++) {
		if (*at == '"' || *at == '\\')
			text_add_char(to, '\\');
		text_add_char(to, *at);
	}
	text_add_char(to, '"');
}

static struct text *labels_of(struct output *output, const char *method)
{
	struct openmetrics *state = output->state;

	text_clear(&state->labels);
	if (method)
		add_label(&state->labels, "method", method);
	return &state->labels;
}

/* The numbers of the series with state->labels; NULL if there is no room for it. */
static uint64_t *series(struct output *output, enum family_id id)
{
	struct openmetrics *state = output->state;

	state->any = true;
	if (!text_ok(&state->labels))
		return NULL;
	return interned_row(&state->families[id], text_chars(&state->labels), state->labels.length,
			    width_of(output, id) * sizeof(uint64_t), &output->memory_bytes);
}

static void set(struct output *output, enum family_id id, uint64_t value)
{
	uint64_t *number = series(output, id);

	if (number)
		*number = value;
}

static void add(struct output *output, enum family_id id, uint64_t value)
{
	uint64_t *number = series(output, id);

	*(number ? number : &output->left_out) += value;
}

/* What is known at the end of the run only. */
static void add_bounds(struct output *output, const char *method, const char *const *reasons,
		       double watched)
{
	if (!reasons)
		return;
	labels_of(output, method);
	set(output, WATCHED, (uint64_t)(watched * WATCHED_UNIT + 0.5));
	for (; *reasons; reasons++) {
		add_label(labels_of(output, method), "reason", *reasons);
		set(output, LOWER_BOUND, 1);
	}
}

static void add_counts(struct output *output, const struct output_count *counts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < counts[i].body_count; j++) {
			const struct output_body *body = &counts[i].bodies[j];

			add_label(labels_of(output, counts[i].method), "tier", body->tier);
			add(output, CALLS, body->calls);
		}
		add_bounds(output, counts[i].method, counts[i].lower_bound, counts[i].watched);
	}
}

static size_t bucket_of(const struct output *output, uint64_t longest_ns)
{
	size_t bucket = 0, last = bucket_count(output) - 1;

	while (bucket < last && longest_ns > bound_of(output, bucket))
		bucket++;
	return bucket;
}

static void add_durations(struct output *output, const struct histogram *histogram)
{
	uint64_t *numbers = series(output, DURATIONS), low, high;
	size_t count = bucket_count(output);

	if (!numbers) {
		output->left_out += histogram->returned;
		return;
	}
	for (size_t i = 0; histogram->linear && i < count && i < histogram->linear_count + 2; i++)
		numbers[i] += histogram->linear[i];
	for (uint32_t i = 0; !histogram->linear && i < LATENCY_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		latency_bucket_bounds(i, &low, &high);
		numbers[bucket_of(output, high - 1)] += histogram->buckets[i];
	}
	numbers[count] += histogram->sum_ns;
}

static void add_hist(struct output *output, const struct output_hist *hist)
{
	struct text *labels = labels_of(output, hist->method);

	if (hist->by == LATENCY_BY_TID)
		text_printf(labels, ",tid=\"%" PRIu64 "\"", hist->tid);
	else if (hist->by == LATENCY_BY_CALLER)
		add_label(labels, "caller", hist->caller);
	add_durations(output, hist->histogram);
	add(output, UNWOUND, hist->histogram->unwound);
	add(output, UNTIMED, hist->histogram->untimed);
	if (hist->by == LATENCY_BY_SITE)
		set(output, UNFINISHED, hist->histogram->unfinished);
	add_bounds(output, hist->method, hist->lower_bound, hist->watched);
}

static void add_summary(struct output *output, const struct output_summary *summary)
{
	struct openmetrics *state = output->state;

	state->any = true;
	for (const struct output_loss *loss = summary->losses; loss->reason; loss++) {
		add_label(labels_of(output, NULL), "reason", loss->reason);
		set(output, LOST, loss->count);
	}
}

/* The exposition ------------------------------------------------------------------------------ */

static void write_seconds(struct text *to, uint64_t ns)
{
	text_printf(to, "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
}

static void write_histogram(const struct output *output, struct text *to, const char *labels,
			    const uint64_t *numbers)
{
	const char *name = families[DURATIONS].name;
	size_t last = bucket_count(output) - 1;
	uint64_t sum = 0;

	for (size_t i = 0; i <= last; i++) {
		sum += numbers[i];
		/* Nothing is shorter than 0. */
		if (i == 0 && output->linear.step_ns && output->linear.min_ns == 0)
			continue;
		text_printf(to, "%s_bucket{%s,le=\"", name, labels);
		if (i < last)
			write_seconds(to, bound_of(output, i));
		else
			text_add(to, "+Inf");
		text_printf(to, "\"} %" PRIu64 "\n", sum);
	}
	text_printf(to, "%s_count{%s} %" PRIu64 "\n%s_sum{%s} ", name, labels, sum, name, labels);
	write_seconds(to, numbers[last + 1]);
	text_add_char(to, '\n');
}

static void write_series(const struct output *output, struct text *to, enum family_id id,
			 size_t number)
{
	const struct openmetrics *state = output->state;
	const struct interned *family = &state->families[id];
	const char *labels = family->items[number].bytes;
	const uint64_t *numbers = (uint64_t *)family->rows + number * width_of(output, id);

	if (id == DURATIONS) {
		write_histogram(output, to, labels, numbers);
		return;
	}
	text_printf(to, "%s%s{%s} ", families[id].name, families[id].suffix, labels);
	if (id == WATCHED)
		text_printf(to, "%" PRIu64 ".%0*" PRIu64 "\n", *numbers / WATCHED_UNIT,
			    WATCHED_DIGITS, *numbers % WATCHED_UNIT);
	else
		text_printf(to, "%" PRIu64 "\n", *numbers);
}

static void write_family(const struct output *output, struct text *to, enum family_id id)
{
	const struct openmetrics *state = output->state;

	if (!state->families[id].count)
		return;
	text_printf(to, "# TYPE %s %s\n", families[id].name, families[id].type);
	if (families[id].unit)
		text_printf(to, "# UNIT %s %s\n", families[id].name, families[id].unit);
	text_printf(to, "# HELP %s %s\n", families[id].name, families[id].help);
	for (size_t i = 0; i < state->families[id].count; i++)
		write_series(output, to, id, i);
}

static void expose(struct output *output, struct text *to)
{
	struct openmetrics *state = output->state;

	/* It is not known before what there was no room for. */
	if (output->left_out) {
		output->memory_bytes += state->said ? 0 : SAID_BYTES;
		state->said = true;
		add_label(labels_of(output, NULL), "reason", "no-room-in-format");
		set(output, LOST, output->left_out);
	}
	for (enum family_id id = 0; id < FAMILIES; id++)
		write_family(output, to, id);
	text_add(to, "# EOF\n");
}

static void write_exposition(struct output *output)
{
	_cleanup_(text_deinit) struct text all = { 0 };

	expose(output, &all);
	output_whole(output, &all);
}

static void write_interval(struct output *output)
{
	if (output->whole_path)
		write_exposition(output);
}

static void end(struct output *output)
{
	struct openmetrics *state = output->state;

	if (state->any)
		write_exposition(output);
	for (enum family_id id = 0; id < FAMILIES; id++)
		interned_deinit(&state->families[id]);
	text_deinit(&state->labels);
}

const struct output_ops openmetrics_output = {
	.whole = true,
	.state_bytes = sizeof(struct openmetrics),
	.counts = add_counts,
	.hist = add_hist,
	.kept = write_interval,
	.expose = expose,
	.summary = add_summary,
	.end = end,
};
