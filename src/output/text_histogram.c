// SPDX-License-Identifier: GPL-2.0-or-later
/* The histograms of text.c, in the look of bcc's funclatency. */

#include <inttypes.h>

#include "base/clock.h"
#include "latency/latency.h"
#include "output/ops.h"

enum {
	STARS = 40,
	ROWS_MAX = 64,
};

const struct hist_share hist_shares[HIST_SHARES] = {
	{ "p50", "p50_ns", 0.5 },
	{ "p90", "p90_ns", 0.9 },
	{ "p99", "p99_ns", 0.99 },
	{ "p99.9", "p99_9_ns", 0.999 },
};

static const struct time_scale scales[] = {
	{ "nsecs", "ns", 1 },
	{ "usecs", "us", NS_PER_US },
	{ "msecs", "ms", NS_PER_MS },
	{ "secs", "s", NS_PER_S },
};

const struct time_scale *text_time_scale(enum time_unit unit, uint64_t ns)
{
	size_t fitting = 0;

	if (unit != TIME_UNIT_FITTING)
		return &scales[unit - TIME_UNIT_US + 1];
	while (fitting + 1 < sizeof(scales) / sizeof(scales[0]) &&
	       ns >= 10 * scales[fitting + 1].ns)
		fitting++;
	return &scales[fitting];
}

/* Rows ---------------------------------------------------------------------------------------- */

/* Powers of two of the unit: each of the finer buckets goes where its middle is. */
static void rows_of_powers(const struct histogram *histogram, const struct time_scale *scale,
			   hist_row_fn row, void *ctx)
{
	uint64_t rows[ROWS_MAX] = { 0 }, most = 0, low, high;
	size_t last = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		uint64_t in_units;
		size_t at = 0;

		if (histogram->buckets[i] == 0)
			continue;
		latency_bucket_bounds(i, &low, &high);
		in_units = (low + (high - 1 - low) / 2) / scale->ns;
		while (at + 1 < ROWS_MAX && in_units >> (at + 1))
			at++;
		rows[at] += histogram->buckets[i];
		most = rows[at] > most ? rows[at] : most;
		last = at > last ? at : last;
	}
	for (size_t i = 0; i <= last; i++) {
		const struct hist_row power = {
			.low = i ? 1ULL << i : 0,
			.high = i + 1 < ROWS_MAX ? (2ULL << i) - 1 : UINT64_MAX,
			.count = rows[i],
			.most = most,
		};

		row(ctx, &power);
	}
}

static void linear_rows(const struct histogram *histogram, const struct time_scale *scale,
			const struct hist_range *range, hist_row_fn row, void *ctx)
{
	size_t last = histogram->linear_count + 1;
	uint64_t most = 0;

	for (size_t i = 0; i <= last; i++)
		most = histogram->linear[i] > most ? histogram->linear[i] : most;
	for (size_t i = 0; i <= last; i++) {
		uint64_t low = i ? range->min_ns + (i - 1) * range->step_ns : 0;
		uint64_t high = i == 0 ? range->min_ns : low + range->step_ns;
		struct hist_row step = { .count = histogram->linear[i], .most = most };

		if (histogram->linear[i] == 0 && (i == 0 || i == last))
			continue;
		if (i == last)
			high = histogram->max_ns + 1;
		step.low = low / scale->ns;
		step.high = (high - 1) / scale->ns;
		row(ctx, &step);
	}
}

void text_hist_rows(const struct histogram *histogram, const struct time_scale *scale,
		    const struct hist_range *linear, hist_row_fn row, void *ctx)
{
	if (histogram->linear)
		linear_rows(histogram, scale, linear, row, ctx);
	else
		rows_of_powers(histogram, scale, row, ctx);
}

/* As text ------------------------------------------------------------------------------------- */

static void text_row(void *ctx, const struct hist_row *row)
{
	const struct output *output = ctx;
	int stars = row->most ? (int)((double)row->count / (double)row->most * STARS + 0.5) : 0;

	fprintf(output->to, "%10" PRIu64 " -> %-10" PRIu64 " : %-9" PRIu64 "|%.*s%*s|\n", row->low,
		row->high, row->count, stars, "****************************************",
		STARS - stars, "");
}

/* Each duration in the unit, with as many digits as its buckets are sure of. */
static void add_duration(struct text *to, const char *name, uint64_t ns,
			 const struct time_scale *scale)
{
	text_printf(to, "%s %.4g %s", name, (double)ns / (double)scale->ns, scale->name);
}

void text_add_numbers(struct text *to, const struct histogram *histogram,
		      const struct time_scale *scale)
{
	text_printf(to, "     count %" PRIu64, histogram->returned);
	if (histogram->unwound)
		text_printf(to, ", unwound %" PRIu64, histogram->unwound);
	if (histogram->unfinished)
		text_printf(to, ", unfinished %" PRIu64, histogram->unfinished);
	if (histogram->untimed)
		text_printf(to, ", not timed %" PRIu64, histogram->untimed);
	if (histogram->returned) {
		add_duration(to, "; total", histogram->sum_ns, scale);
		add_duration(to, ", avg", histogram->sum_ns / histogram->returned, scale);
		add_duration(to, ", min", histogram->min_ns, scale);
		add_duration(to, ", max", histogram->max_ns, scale);
		text_add(to, "\n     ");
		for (size_t i = 0; i < HIST_SHARES; i++) {
			text_add(to, i ? ", " : "");
			add_duration(to, hist_shares[i].name,
				     histogram_percentile(histogram, hist_shares[i].share), scale);
		}
	}
	text_add_char(to, '\n');
}

void text_add_hist_name(struct text *to, const struct output_hist *hist)
{
	text_add(to, hist->method);
	if (hist->by == LATENCY_BY_TID) {
		text_printf(to, ", thread %" PRIu64, hist->tid);
	} else if (hist->by == LATENCY_BY_CALLER) {
		text_printf(to, ", called by %s", hist->caller);
	} else if (hist->by == LATENCY_BY_VALUE) {
		text_add(to, ", ");
		text_add_printable(to, hist->value_of);
		text_printf(to, ": %s", hist->rest ? text_rest(hist->rest) : hist->caller);
	}
}

void text_hist(struct output *output, const struct output_hist *hist)
{
	const struct histogram *histogram = hist->histogram;
	const struct time_scale *scale =
		text_time_scale(output->unit, histogram_percentile(histogram, 0.5));

	text_add_hist_name(&output->line, hist);
	text_add_char(&output->line, '\n');
	output_line(output);
	if (histogram->returned) {
		fprintf(output->to, "     %-19s : %-8s %s\n", scale->heading, "count",
			"distribution");
		text_hist_rows(histogram, scale, &output->linear, text_row, output);
	}
	text_add_numbers(&output->line, histogram, scale);
	text_add_char(&output->line, '\n');
	output_line(output);
}
