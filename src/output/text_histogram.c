// SPDX-License-Identifier: GPL-2.0-or-later
/* The histograms of text.c, in the look of bcc's funclatency. */

#include <inttypes.h>
#include <string.h>

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

struct unit {
	const char *heading;
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{ "nsecs", "ns", 1 },
	{ "usecs", "us", NS_PER_US },
	{ "msecs", "ms", NS_PER_MS },
	{ "secs", "s", NS_PER_S },
};

/* One in which the middle of the durations has two digits, if none was asked for. */
static const struct unit *choose_unit(const struct output *output,
				      const struct histogram *histogram)
{
	uint64_t middle = histogram_percentile(histogram, 0.5);
	size_t fitting = 0;

	if (output->unit != TIME_UNIT_FITTING)
		return &units[output->unit - TIME_UNIT_US + 1];
	while (fitting + 1 < sizeof(units) / sizeof(units[0]) &&
	       middle >= 10 * units[fitting + 1].ns)
		fitting++;
	return &units[fitting];
}

static void text_row(struct output *output, uint64_t low, uint64_t high, uint64_t count,
		     uint64_t most)
{
	int stars = most ? (int)((double)count / (double)most * STARS + 0.5) : 0;

	fprintf(output->to, "%10" PRIu64 " -> %-10" PRIu64 " : %-9" PRIu64 "|%.*s%*s|\n", low, high,
		count, stars, "****************************************", STARS - stars, "");
}

static void text_heading(struct output *output, const struct unit *unit)
{
	fprintf(output->to, "     %-19s : %-8s %s\n", unit->heading, "count", "distribution");
}

/* Powers of two of the unit: each of the finer buckets goes where its middle is. */
static void text_powers(struct output *output, const struct histogram *histogram,
			const struct unit *unit)
{
	uint64_t rows[ROWS_MAX] = { 0 }, most = 0, low, high;
	size_t last = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		uint64_t in_units;
		size_t row = 0;

		if (histogram->buckets[i] == 0)
			continue;
		latency_bucket_bounds(i, &low, &high);
		in_units = (low + (high - 1 - low) / 2) / unit->ns;
		while (row + 1 < ROWS_MAX && in_units >> (row + 1))
			row++;
		rows[row] += histogram->buckets[i];
		most = rows[row] > most ? rows[row] : most;
		last = row > last ? row : last;
	}
	text_heading(output, unit);
	for (size_t row = 0; row <= last; row++)
		text_row(output, row ? 1ULL << row : 0,
			 row + 1 < ROWS_MAX ? (2ULL << row) - 1 : UINT64_MAX, rows[row], most);
}

/* Each duration in the unit, with as many digits as its buckets are sure of. */
static void text_duration(struct output *output, const char *name, uint64_t ns,
			  const struct unit *unit)
{
	fprintf(output->to, "%s %.4g %s", name, (double)ns / (double)unit->ns, unit->name);
}

static void text_linear(struct output *output, const struct histogram *histogram,
			const struct unit *unit)
{
	const struct hist_range *range = &output->linear;
	size_t last = histogram->linear_count + 1;
	uint64_t most = 0;

	for (size_t i = 0; i <= last; i++)
		most = histogram->linear[i] > most ? histogram->linear[i] : most;
	text_heading(output, unit);
	for (size_t i = 0; i <= last; i++) {
		uint64_t low = i ? range->min_ns + (i - 1) * range->step_ns : 0;
		uint64_t high = i == 0 ? range->min_ns : low + range->step_ns;

		if (histogram->linear[i] == 0 && (i == 0 || i == last))
			continue;
		if (i == last)
			high = histogram->max_ns + 1;
		text_row(output, low / unit->ns, (high - 1) / unit->ns, histogram->linear[i], most);
	}
}

static void text_numbers(struct output *output, const struct histogram *histogram,
			 const struct unit *unit)
{
	fprintf(output->to, "     count %" PRIu64, histogram->returned);
	if (histogram->unwound)
		fprintf(output->to, ", unwound %" PRIu64, histogram->unwound);
	if (histogram->unfinished)
		fprintf(output->to, ", unfinished %" PRIu64, histogram->unfinished);
	if (histogram->untimed)
		fprintf(output->to, ", not timed %" PRIu64, histogram->untimed);
	if (histogram->returned) {
		text_duration(output, "; total", histogram->sum_ns, unit);
		text_duration(output, ", avg", histogram->sum_ns / histogram->returned, unit);
		text_duration(output, ", min", histogram->min_ns, unit);
		text_duration(output, ", max", histogram->max_ns, unit);
		fputs("\n     ", output->to);
		for (size_t i = 0; i < HIST_SHARES; i++) {
			fputs(i ? ", " : "", output->to);
			text_duration(output, hist_shares[i].name,
				      histogram_percentile(histogram, hist_shares[i].share), unit);
		}
	}
	fputc('\n', output->to);
}

void text_hist(struct output *output, const struct output_hist *hist)
{
	const struct histogram *histogram = hist->histogram;
	const struct unit *unit = choose_unit(output, histogram);

	fputs(hist->method, output->to);
	if (hist->by == LATENCY_BY_TID)
		fprintf(output->to, ", thread %" PRIu64, hist->tid);
	else if (hist->by == LATENCY_BY_CALLER)
		fprintf(output->to, ", called by %s", hist->caller);
	fputc('\n', output->to);
	if (histogram->returned && histogram->linear)
		text_linear(output, histogram, unit);
	else if (histogram->returned)
		text_powers(output, histogram, unit);
	text_numbers(output, histogram, unit);
	fputc('\n', output->to);
}
