// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long calls took, for the page of --flame: for each method how many in which bucket of
 * duration in which slice of the run, of which its histogram and its heat map are drawn. With -H a
 * slice is an interval, with --min, where each call comes with its time, it is SLICE_NS long.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vector.h"
#include "latency/latency.h"
#include "output/flame.h"

enum {
	SLICE_NS = 100000000,
	/* Four buckets for each power of two are as many as can be told apart in a picture. */
	FINE = LATENCY_SUBS / 4,
	BUCKETS = LATENCY_BUCKETS / FINE,
};

struct flame_row {
	uint64_t returned;
	uint64_t unwound;
	uint64_t untimed;
	uint64_t unfinished;
	uint64_t sum_ns;
	uint64_t min_ns; /* of those that have returned */
	uint64_t max_ns;
	double watched;
	struct text lower_bound; /* codes, in JSON */
};

struct place {
	uint32_t row;
	uint32_t slice;
	uint32_t bucket;
};

static uint32_t bucket_of(uint64_t duration_ns)
{
	uint32_t shift = 0;

	while (duration_ns >> shift >= 2 * LATENCY_SUBS)
		shift++;
	if (duration_ns < LATENCY_SUBS)
		return (uint32_t)duration_ns / FINE;
	return (uint32_t)(shift * LATENCY_SUBS + (duration_ns >> shift)) / FINE;
}

/* The row of the label in times->label; NULL if there is no room for one more. */
static struct flame_row *find_row(struct flame_times *times, uint32_t *number, size_t *room)
{
	struct flame_row *row = NULL;

	if (text_ok(&times->label))
		row = interned_row(&times->rows, text_chars(&times->label), times->label.length,
				   sizeof(*row), room);
	if (row)
		*number = (uint32_t)(row - (struct flame_row *)times->rows.rows);
	return row;
}

static void count(struct flame_times *times, const struct place *place, uint64_t calls,
		  size_t *room)
{
	uint64_t *cell = interned_row(&times->cells, place, sizeof(*place), sizeof(*cell), room);

	*(cell ? cell : &times->dropped) += calls;
}

static void label(struct flame_times *times, enum flame_run run, const char *method)
{
	text_clear(&times->label);
	text_printf(&times->label, "\"run\":%d,\"method\":", run);
	flame_string(&times->label, method);
}

static void note_bounds(struct flame_row *row, const struct output_hist *hist)
{
	row->watched = hist->watched;
	text_clear(&row->lower_bound);
	for (size_t i = 0; hist->lower_bound[i]; i++) {
		text_add(&row->lower_bound, i ? "," : "");
		flame_string(&row->lower_bound, hist->lower_bound[i]);
	}
}

static void add_returned(struct flame_row *row, uint64_t calls, uint64_t sum_ns, uint64_t min_ns,
			 uint64_t max_ns)
{
	if (calls && (!row->returned || min_ns < row->min_ns))
		row->min_ns = min_ns;
	if (calls && max_ns > row->max_ns)
		row->max_ns = max_ns;
	row->returned += calls;
	row->sum_ns += sum_ns;
}

static void add_buckets(struct flame_times *times, const struct histogram *histogram,
			struct place place, size_t *room)
{
	if (histogram->linear) {
		for (place.bucket = 0; place.bucket < histogram->linear_count + 2; place.bucket++) {
			if (histogram->linear[place.bucket])
				count(times, &place, histogram->linear[place.bucket], room);
		}
		return;
	}
	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint64_t calls = 0;

		for (uint32_t j = 0; j < FINE; j++)
			calls += histogram->buckets[i * FINE + j];
		place.bucket = i;
		if (calls)
			count(times, &place, calls, room);
	}
}

void flame_times_add(struct flame_times *times, const struct output *output,
		     const struct output_hist *hist, size_t *room)
{
	const struct histogram *histogram = hist->histogram;
	enum flame_run run = flame_run_of(output);
	struct flame_row *row;
	uint32_t number;

	label(times, run, hist->method);
	if (hist->by == LATENCY_BY_TID) {
		text_printf(&times->label, ",\"of\":\"thread %" PRIu64 "\"", hist->tid);
	} else if (hist->by == LATENCY_BY_CALLER) {
		text_add(&times->label, ",\"of\":");
		flame_string(&times->label, hist->caller);
	}
	row = find_row(times, &number, room);
	if (!row) {
		times->dropped += histogram->returned;
		return;
	}
	row->unwound += histogram->unwound;
	row->untimed += histogram->untimed;
	row->unfinished = histogram->unfinished;
	add_returned(row, histogram->returned, histogram->sum_ns, histogram->min_ns,
		     histogram->max_ns);
	if (hist->lower_bound)
		note_bounds(row, hist);
	add_buckets(times, histogram,
		    (struct place){ number, (uint32_t)times->slices[run].count, 0 }, room);
}

void flame_times_add_call(struct flame_times *times, enum flame_run run, const struct hit *hit,
			  uint64_t after_ns, size_t *room)
{
	struct place place = { .slice = (uint32_t)(after_ns / SLICE_NS),
			       .bucket = bucket_of(hit->duration_ns) };
	struct flame_row *row;

	times->single = true;
	label(times, run, hit->method);
	row = find_row(times, &place.row, room);
	if (!row) {
		times->dropped++;
		return;
	}
	row->watched = 1;
	add_returned(row, 1, hit->duration_ns, hit->duration_ns, hit->duration_ns);
	count(times, &place, 1, room);
}

void flame_times_cut(struct flame_times *times, const struct output *output)
{
	struct flame_slices *slices = &times->slices[flame_run_of(output)];
	uint64_t after_ns = output->interval_ns ? (slices->count + 1) * output->interval_ns :
						  clock_now_ns() - output->start_ns;

	if (times->rows.count && !times->single)
		(void)vector_add(&slices->ends_ns, &slices->count, &slices->capacity, after_ns);
}

void flame_times_deinit(struct flame_times *times)
{
	struct flame_row *rows = times->rows.rows;

	for (size_t i = 0; i < times->rows.count; i++)
		text_deinit(&rows[i].lower_bound);
	interned_deinit(&times->rows);
	interned_deinit(&times->cells);
	for (enum flame_run run = 0; run < FLAME_RUNS; run++)
		free(times->slices[run].ends_ns);
	text_deinit(&times->label);
	*times = (struct flame_times){ 0 };
}

/* Writing ------------------------------------------------------------------------------------- */

/* Where each bucket begins, and where the last one ends. */
static void write_bounds(const struct output *output)
{
	const struct hist_range *range = &output->linear;
	uint64_t low, high;

	fputs("\"bounds\":[0", output->to);
	if (range->step_ns) {
		for (low = range->min_ns; low < range->max_ns; low += range->step_ns)
			fprintf(output->to, ",%" PRIu64, low);
		fprintf(output->to, ",%" PRIu64 ",null]", range->max_ns);
		return;
	}
	for (uint32_t i = 0; i < BUCKETS; i++) {
		latency_bucket_bounds(i * FINE + FINE - 1, &low, &high);
		fprintf(output->to, ",%" PRIu64, high);
	}
	fputc(']', output->to);
}

static void write_row(const struct flame_times *times, struct output *output, size_t i)
{
	const struct flame_row *row = (struct flame_row *)times->rows.rows + i;

	fprintf(output->to,
		"{%s,\"returned\":%" PRIu64 ",\"unwound\":%" PRIu64 ",\"not_timed\":%" PRIu64
		",\"unfinished\":%" PRIu64 ",\"sum_ns\":%" PRIu64 ",\"min_ns\":%" PRIu64
		",\"max_ns\":%" PRIu64 ",\"watched\":%.4f,\"lower_bound\":[%s]}",
		times->rows.items[i].bytes, row->returned, row->unwound, row->untimed,
		row->unfinished, row->sum_ns, row->min_ns, row->max_ns, row->watched,
		text_chars(&row->lower_bound));
}

static void write_ends(const struct flame_slices *slices, const char *key, struct output *output)
{
	fprintf(output->to, ",\n\"%s\":[", key);
	for (size_t i = 0; i < slices->count; i++)
		fprintf(output->to, "%s%" PRIu64, i ? "," : "", slices->ends_ns[i]);
	fputc(']', output->to);
}

void flame_times_write(const struct flame_times *times, struct output *output)
{
	const uint64_t *calls = times->cells.rows;

	fputs("\"latency\":{", output->to);
	write_bounds(output);
	if (times->single)
		fprintf(output->to, ",\n\"slice_ns\":%d", SLICE_NS);
	write_ends(&times->slices[RUN_NOW], "ends_ns", output);
	write_ends(&times->slices[RUN_BASE], "base_ends_ns", output);
	fprintf(output->to, ",\n\"dropped\":%" PRIu64 ",\n\"rows\":[", times->dropped);
	for (size_t i = 0; i < times->rows.count; i++) {
		fputs(i ? ",\n" : "\n", output->to);
		write_row(times, output, i);
	}
	fputs("],\n\"cells\":[", output->to);
	for (size_t i = 0; i < times->cells.count; i++) {
		struct place place;

		memcpy(&place, times->cells.items[i].bytes, sizeof(place));
		fprintf(output->to, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64, i ? "," : "",
			place.row, place.slice, place.bucket, calls[i]);
	}
	fputs("]}", output->to);
}
