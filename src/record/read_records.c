// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records of a record that is read, each to the output: what writer.c has made of those of
 * output.h is made to be these again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "latency/latency.h"
#include "record/numbers.h"
#include "record/reading.h"

static double take_double(struct cursor *c)
{
	uint64_t bits = number_take(c);
	double value;

	memcpy(&value, &bits, sizeof(value));
	/* A part of a whole. */
	return value >= 0 && value <= 1 ? value : 0;
}

/* Hits ---------------------------------------------------------------------------------------- */

static void count_stack(struct record_reader *reader, enum stack_end end, uint64_t guessed,
			uint64_t count)
{
	reader->stacks.ends[end] += count;
	reader->stacks.guessed += guessed * count;
}

static struct hit take_hit(struct record_reader *reader, struct cursor *c)
{
	struct hit hit = { 0 };
	const struct read_thread *thread;
	struct read_stack *stack;

	reader->last_ns += (uint64_t)number_take_signed(c);
	thread = read_thread(&reader->tables, c);
	hit.time_ns = reader->last_ns;
	hit.pid = thread->pid;
	hit.tid = thread->tid;
	hit.comm = thread->comm;
	hit.method = read_printable(&reader->tables, c);
	hit.tier = read_printable(&reader->tables, c);
	hit.duration_ns = number_take(c);
	stack = read_stack_or_null(&reader->tables, c);
	if (stack && reader->view->stacks) {
		/* The table may have moved. */
		stack->is.rendering = stack->renders ? &stack->rendering : NULL;
		hit.stack = &stack->is;
	}
	return hit;
}

static void read_hit(struct record_reader *reader, struct cursor *c)
{
	const struct hit hit = take_hit(reader, c);

	if (!cursor_ok(c) || read_is_counting(reader->view) ||
	    hit.duration_ns < reader->view->slow_ns)
		return;
	output_hit(reader->output, &hit);
	if (hit.stack)
		count_stack(reader, hit.stack->end, hit.stack->guessed, 1);
	reader->end->hits++;
	reader->kept = true;
}

static void release(struct record_reader *reader, struct read_kind *kind)
{
	if (kind->used && kind->is)
		output_kind_release(reader->output, kind->is);
	*kind = (struct read_kind){ 0 };
}

void read_release_kinds(struct record_reader *reader)
{
	for (size_t i = 0; i < reader->kind_count; i++)
		release(reader, &reader->kinds[i]);
	reader->kind_count = 0;
}

static void read_kind(struct record_reader *reader, struct cursor *c)
{
	uint64_t number = number_take(c);
	struct read_kind none = { 0 }, *kind;
	struct hit hit;

	/* They come in a row, or in the place of one that is gone. */
	if (number > reader->kind_count || number >= RECORD_KINDS_MAX) {
		c->bad = true;
		return;
	}
	hit = take_hit(reader, c);
	if (!cursor_ok(c) || read_is_counting(reader->view))
		return;
	if (number == reader->kind_count &&
	    !vector_add(&reader->kinds, &reader->kind_count, &reader->kind_capacity, none)) {
		reader->tables.no_memory = true;
		return;
	}
	kind = &reader->kinds[number];
	release(reader, kind);
	*kind = (struct read_kind){
		.is = output_kind(reader->output, &hit),
		.used = true,
		.has_stack = hit.stack != NULL,
		.stack_end = hit.stack ? hit.stack->end : STACK_WHOLE,
		.stack_guessed = hit.stack ? hit.stack->guessed : 0,
	};
}

static void read_kind_count(struct record_reader *reader, struct cursor *c)
{
	uint64_t number = number_take(c), count = number_take(c);
	const struct read_kind *kind = NULL;

	if (!cursor_ok(c) || read_is_counting(reader->view))
		return;
	if (number) {
		kind = number <= reader->kind_count ? &reader->kinds[number - 1] : NULL;
		c->bad |= !kind || !kind->used;
	}
	if (!cursor_ok(c))
		return;
	output_kind_count(reader->output, kind ? kind->is : NULL, count);
	if (kind && kind->has_stack)
		count_stack(reader, kind->stack_end, kind->stack_guessed, count);
	reader->end->hits += count;
	reader->kept = true;
}

static void read_kind_release(struct record_reader *reader, struct cursor *c)
{
	uint64_t number = number_take(c);

	if (!cursor_ok(c) || read_is_counting(reader->view))
		return;
	if (number >= reader->kind_count || !reader->kinds[number].used)
		c->bad = true;
	else
		release(reader, &reader->kinds[number]);
}

/* Counts -------------------------------------------------------------------------------------- */

void read_counts_clear(struct read_counts *counts)
{
	for (size_t i = 0; i < counts->count; i++) {
		free((void *)counts->list[i].bodies);
		free((void *)counts->list[i].lower_bound);
	}
	counts->count = 0;
}

static struct output_body *take_bodies(struct record_reader *reader, struct cursor *c,
				       size_t *count)
{
	uint64_t number = number_take(c);
	struct output_body *bodies = read_list(&reader->tables, c, number, sizeof(*bodies));

	for (*count = 0; bodies && *count < number; ++*count) {
		bodies[*count].tier = read_printable(&reader->tables, c);
		bodies[*count].calls = number_take(c);
	}
	return bodies;
}

static void read_count(struct record_reader *reader, struct cursor *c)
{
	struct output_count count = { .method = read_printable(&reader->tables, c) };
	struct read_counts *counts = &reader->counts;

	count.calls = number_take(c);
	count.bodies = take_bodies(reader, c, &count.body_count);
	count.lower_bound = read_strings(&reader->tables, c, true);
	count.watched = take_double(c);
	count.all_calls = number_take(c);
	c->bad |= counts->count >= RECORD_LIST_MAX;
	if (cursor_ok(c) && !reader->tables.no_memory &&
	    vector_add(&counts->list, &counts->count, &counts->capacity, count))
		return;
	reader->tables.no_memory |= cursor_ok(c);
	free((void *)count.bodies);
	free((void *)count.lower_bound);
}

/* Is what is counted wanted now: of an interval, or of all? */
static bool is_wanted(const struct record_reader *reader)
{
	return reader->playing_totals != reader->view->intervals;
}

/* What the last counts have no room for comes too late for what is said of losses. */
static void judge(struct record_reader *reader, const char *const *lower_bound)
{
	if (lower_bound && !reader->judged) {
		reader->left_out = reader->output->left_out;
		reader->judged = true;
	}
}

static void read_counts_end(struct record_reader *reader, struct cursor *c)
{
	struct read_counts *counts = &reader->counts;

	(void)c;
	if (reader->view->mode == MODE_COUNT && is_wanted(reader)) {
		judge(reader, counts->count ? counts->list[0].lower_bound : NULL);
		output_counts(reader->output, counts->list, counts->count);
		reader->kept = true;
	}
	read_counts_clear(counts);
}

static void take_buckets(struct cursor *c, uint64_t *buckets, size_t count)
{
	uint64_t used = number_take(c), at = 0;

	for (uint64_t i = 0; i < used && cursor_ok(c); i++) {
		at += number_take(c);
		if (at >= count) {
			c->bad = true;
			return;
		}
		buckets[at] = number_take(c);
	}
}

static void take_histogram(struct record_reader *reader, struct cursor *c,
			   struct histogram *histogram)
{
	size_t ranges = hist_range_count(&reader->facts.linear);
	uint64_t linear;

	histogram->returned = number_take(c);
	histogram->unwound = number_take(c);
	histogram->untimed = number_take(c);
	histogram->unfinished = number_take(c);
	histogram->sum_ns = number_take(c);
	histogram->min_ns = number_take(c);
	histogram->max_ns = number_take(c);
	take_buckets(c, histogram->buckets, LATENCY_BUCKETS);
	linear = number_take(c);
	/* All have it, or none. */
	c->bad |= linear != (ranges ? ranges + 2 : 0);
	if (linear == 0 || !cursor_ok(c))
		return;
	histogram->linear_count = ranges;
	histogram->linear = calloc(ranges + 2, sizeof(*histogram->linear));
	reader->tables.no_memory |= !histogram->linear;
	if (histogram->linear)
		take_buckets(c, histogram->linear, ranges + 2);
}

static void give_hist(struct record_reader *reader, struct output_hist *hist,
		      struct histogram *histogram)
{
	uint64_t *linear = histogram->linear;

	if (!reader->view->linear)
		histogram->linear = NULL;
	hist->histogram = histogram;
	judge(reader, hist->lower_bound);
	output_hist(reader->output, hist);
	histogram->linear = linear;
	reader->kept = true;
}

static void read_hist(struct record_reader *reader, struct cursor *c)
{
	_cleanup_free_ struct histogram *histogram = calloc(1, sizeof(*histogram));
	struct output_hist hist = { .method = read_printable(&reader->tables, c) };
	uint64_t by = number_take(c);
	_cleanup_free_ const char **codes = NULL;

	c->bad |= by > LATENCY_BY_CALLER;
	hist.by = (enum latency_by)by;
	hist.caller = read_printable_or_null(&reader->tables, c);
	hist.caller = hist.caller ? hist.caller : "?";
	hist.tid = number_take(c);
	codes = read_strings(&reader->tables, c, true);
	hist.lower_bound = codes;
	hist.watched = take_double(c);
	reader->tables.no_memory |= !histogram;
	if (histogram) {
		take_histogram(reader, c, histogram);
		if (cursor_ok(c) && !reader->tables.no_memory && reader->view->mode == MODE_HIST &&
		    !reader->view->slow_ns && is_wanted(reader))
			give_hist(reader, &hist, histogram);
		free(histogram->linear);
	}
}

bool read_play_totals(struct record_reader *reader)
{
	const struct span totals = { (const uint8_t *)text_chars(&reader->totals),
				     reader->totals.length };
	struct cursor c = cursor_over(totals), body;
	enum record_tag tag;
	bool good = true;

	reader->playing_totals = true;
	while (good && read_next(&c, &tag, &body)) {
		read_record(reader, tag, &body);
		good = cursor_ok(&body);
	}
	reader->playing_totals = false;
	text_clear(&reader->totals);
	return good;
}

/* Sites --------------------------------------------------------------------------------------- */

static void take_flags(struct output_site *site, uint64_t flags)
{
	site->first = flags & RECORD_SITE_FIRST;
	site->inlined_whole = flags & RECORD_SITE_INLINED_WHOLE;
	site->placed = flags & RECORD_SITE_PLACED;
	site->by_address = flags & RECORD_SITE_BY_ADDRESS;
	site->remapped = flags & RECORD_SITE_REMAPPED;
	site->by_stub = flags & RECORD_SITE_BY_STUB;
	site->file_has_path = flags & RECORD_SITE_FILE_HAS_PATH;
	site->file_is_here = flags & RECORD_SITE_FILE_IS_HERE;
}

/* What formats take for granted. */
static bool is_complete(const struct output_site *site)
{
	bool needs_file = site->file_offset ||
			  (site->placed && !site->by_stub && !site->by_address && !site->remapped);

	return (site->image || site->file_offset) && site->names_from &&
	       (site->file || !needs_file) &&
	       (!site->reason || (site->reason_text && site->reason_next)) &&
	       (site->reason || site->placed) &&
	       (site->inlined_into || (!site->inlined_count && !site->inlined_whole));
}

static void read_site(struct record_reader *reader, struct cursor *c)
{
	struct read_tables *tables = &reader->tables;
	struct output_site site = { 0 };
	_cleanup_free_ const char **names = NULL, **inliners = NULL;

	take_flags(&site, number_take(c));
	site.pid = (pid_t)number_take(c);
	site.method = read_printable(tables, c);
	site.made_from = read_printable_or_null(tables, c);
	site.image = read_string_or_null(tables, c);
	site.tier = read_printable(tables, c);
	site.state = read_printable_or_null(tables, c);
	site.mechanism = read_printable(tables, c);
	site.cost = read_printable_or_null(tables, c);
	site.reason = read_printable_or_null(tables, c);
	site.reason_text = read_printable_or_null(tables, c);
	names = read_strings(tables, c, false);
	site.names_from = names;
	inliners = read_strings(tables, c, true);
	site.inlined_into = inliners;
	site.inlined_count = number_take(c);
	site.native_function = read_printable_or_null(tables, c);
	site.file = read_string_or_null(tables, c);
	site.file_offset = number_take(c);
	site.address = number_take(c);
	site.size = (uint32_t)number_take(c);
	site.reason_next = read_printable_or_null(tables, c);
	c->bad |= cursor_ok(c) && !tables->no_memory && !is_complete(&site);
	if (cursor_ok(c) && !tables->no_memory &&
	    (reader->view->mode == MODE_LIST || reader->view->mode == MODE_DRY_RUN))
		output_site(reader->output, &site);
}

/* --------------------------------------------------------------------------------------------- */

static void read_kept(struct record_reader *reader, struct cursor *c)
{
	(void)c;
	if (!reader->view->intervals)
		return;
	output_kept(reader->output);
	reader->kept = false;
}

void read_record(struct record_reader *reader, enum record_tag tag, struct cursor *c)
{
	static void (*const readers[])(struct record_reader * reader, struct cursor * c) = {
		[RECORD_HIT] = read_hit,
		[RECORD_KIND] = read_kind,
		[RECORD_KIND_COUNT] = read_kind_count,
		[RECORD_KIND_RELEASE] = read_kind_release,
		[RECORD_COUNT] = read_count,
		[RECORD_COUNTS_END] = read_counts_end,
		[RECORD_HIST] = read_hist,
		[RECORD_KEPT] = read_kept,
		[RECORD_SITE] = read_site,
		[RECORD_RUN] = read_run,
	};

	/* Else it is of a later version of the format. */
	if (tag < sizeof(readers) / sizeof(readers[0]) && readers[tag])
		readers[tag](reader, c);
}
