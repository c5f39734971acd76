// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the live view knows, what keys do to it, and the view as lines: a header, the table or the
 * histograms, what was said last, and the keys. Those are a function of the view and of the size of
 * the screen.
 */
#include "output/live.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"
#include "latency/latency.h"
#include "output/ops.h"
#include "screen/columns.h"

void live_init(struct live *live, const struct options *options, bool utf8)
{
	*live = (struct live){
		.kind = options->top		    ? LIVE_TOP :
			options->mode == MODE_COUNT ? LIVE_COUNTS :
						      LIVE_HISTOGRAMS,
		.unit = options->unit,
		.linear = options->linear,
		.utf8 = utf8,
		.key = ROWS_CALLS,
	};
}

void live_deinit(struct live *live)
{
	method_rows_deinit(&live->rows);
	text_deinit(&live->title);
	text_deinit(&live->counts);
}

/* Records ------------------------------------------------------------------------------------- */

/* How many bodies are probed. */
static void add_tiers(struct text *to, const struct output_tier *tiers)
{
	bool any = false;

	text_add(to, "bodies:");
	for (const struct output_tier *tier = tiers; tier->tier; tier++) {
		if (!tier->probed)
			continue;
		text_printf(to, "%s %s %" PRIu64, any ? "," : "", tier->tier, tier->probed);
		any = true;
	}
	if (!any)
		text_add(to, " none");
}

/* "12 s   345 hits/s   lost: nothing   4000 hits", and below it what is probed, and by what. */
static void take_status(struct output *output, const struct output_status *status)
{
	struct live *live = output->state;
	uint64_t elapsed_ns = status->elapsed_ns - live->rows.elapsed_ns;
	uint64_t hits = status->hits > live->hits ? status->hits - live->hits : 0;

	text_clear(&live->title);
	text_printf(&live->title,
		    "%" PRIu64 " s   %.0f hits/s   lost: ", status->elapsed_ns / NS_PER_S,
		    elapsed_ns ? (double)hits * NS_PER_S / (double)elapsed_ns : 0);
	output_add_losses(&live->title, status->losses);
	text_printf(&live->title, "   %" PRIu64 " hits", status->hits);
	live->hits = status->hits;
	live->lossy = status->losses[0].reason != NULL;
	text_clear(&live->counts);
	add_tiers(&live->counts, status->tiers);
	text_printf(&live->counts, "   registers: %zu of %zu   %d ", status->registers,
		    status->registers_max, status->pid);
	output_add_utf8(&live->counts, status->comm);
	method_rows_begin(&live->rows, status->elapsed_ns);
}

static void take_counts(struct output *output, const struct output_count *counts, size_t count)
{
	struct live *live = output->state;

	for (size_t i = 0; i < count; i++)
		method_rows_add_count(&live->rows, &counts[i]);
}

static void take_hist(struct output *output, const struct output_hist *hist)
{
	struct live *live = output->state;

	method_rows_add_hist(&live->rows, hist, live->kind == LIVE_HISTOGRAMS);
}

static void settle(struct output *output)
{
	struct live *live = output->state;

	method_rows_settle(&live->rows, false);
	method_rows_sort(&live->rows, live->key);
}

static const struct output_ops ops = {
	.status = take_status,
	.counts = take_counts,
	.hist = take_hist,
	.kept = settle,
};

struct output live_output(struct live *live, const struct options *options)
{
	return (struct output){
		.ops = &ops,
		.state = live,
		.unit = options->unit,
		.linear = options->linear,
	};
}

/* Keys ---------------------------------------------------------------------------------------- */

static bool is_shown(const struct live *live, enum rows_key key)
{
	return live->kind != LIVE_COUNTS || key == ROWS_RATE || key == ROWS_CALLS ||
	       key == ROWS_NAME;
}

static enum live_action sort(struct live *live, enum rows_key key)
{
	if (!is_shown(live, key))
		return LIVE_NOTHING;
	live->key = key;
	live->first = 0;
	method_rows_sort(&live->rows, key);
	return LIVE_DRAW;
}

/* The next column to the right, or to the left, that there is. */
static enum live_action sort_beside(struct live *live, int step)
{
	int key = (int)live->key;

	do
		key = (key + step + ROWS_KEYS) % ROWS_KEYS;
	while (!is_shown(live, (enum rows_key)key));
	return sort(live, (enum rows_key)key);
}

static enum live_action scroll(struct live *live, size_t to)
{
	size_t last = live->body > live->page ? live->body - live->page : 0;

	live->first = to > last ? last : to;
	return LIVE_DRAW;
}

static size_t less(size_t number, size_t by)
{
	return number > by ? number - by : 0;
}

enum live_action live_key(struct live *live, int key)
{
	static const struct {
		int letter;
		enum rows_key key;
	} orders[] = {
		{ 'c', ROWS_CALLS }, { 'r', ROWS_RATE }, { 't', ROWS_TOTAL },	{ 'm', ROWS_MEAN },
		{ 'p', ROWS_P99 },   { 'x', ROWS_MAX },	 { 'u', ROWS_UNWOUND }, { 'n', ROWS_NAME },
	};

	switch (key) {
	case 'q':
		return LIVE_QUIT;
	case ' ':
		live->paused = !live->paused;
		return LIVE_DRAW;
	case SCREEN_KEY_RIGHT:
		return sort_beside(live, 1);
	case SCREEN_KEY_LEFT:
		return sort_beside(live, -1);
	case SCREEN_KEY_UP:
		return scroll(live, less(live->first, 1));
	case SCREEN_KEY_DOWN:
		return scroll(live, live->first + 1);
	case SCREEN_KEY_PAGE_UP:
		return scroll(live, less(live->first, live->page));
	case SCREEN_KEY_PAGE_DOWN:
		return scroll(live, live->first + live->page);
	case SCREEN_KEY_HOME:
		return scroll(live, 0);
	case SCREEN_KEY_END:
		return scroll(live, live->body);
	case SCREEN_KEY_REDRAW:
		return LIVE_DRAW;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (orders[i].letter == key)
			return sort(live, orders[i].key);
	}
	return LIVE_NOTHING;
}

/* What is drawn ------------------------------------------------------------------------------ */

enum {
	BAR_COLUMNS = 40, /* of histograms, as text has it */
	BAR_LEAST = 4,
	/* "         8 -> 15         : 12345    |" */
	BAR_AT = 37,
	NARROW_AT = 22, /* "        8 : 12345    |" */
};

/* What is laid out, and as what. */
struct layout {
	const struct live *live;
	struct live_lines *lines;
	size_t columns;
};

/* Lines --------------------------------------------------------------------------------------- */

/* A line with what of @s there is room for, as @look has it. */
static void add_look(const struct layout *layout, const char *s, struct screen_line look)
{
	struct live_lines *lines = layout->lines;
	struct text line = { 0 };
	size_t used = columns_add_head(&line, s, layout->columns, layout->live->utf8);

	/* A heading is as wide as the screen. */
	if (look.style == SCREEN_HEADING)
		columns_add_blanks(&line, layout->columns - used);
	/* One that is empty has characters only once something was added. */
	text_add_bytes(&line, "", 0);
	look.text = line.chars;
	if (text_ok(&line) && vector_add(&lines->list, &lines->count, &lines->capacity, look))
		return;
	text_deinit(&line);
	lines->failed = true;
}

static void add_line(const struct layout *layout, const char *s, enum screen_style style)
{
	add_look(layout, s, (struct screen_line){ .style = style });
}

static void drop_lines(struct live_lines *lines, size_t from, size_t count)
{
	for (size_t i = from; i < from + count; i++)
		free(lines->list[i].text);
	memmove(lines->list + from, lines->list + from + count,
		(lines->count - from - count) * sizeof(*lines->list));
	lines->count -= count;
}

void live_lines_deinit(struct live_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->list[i].text);
	free(lines->list);
	*lines = (struct live_lines){ 0 };
}

/* The table ----------------------------------------------------------------------------------- */

static uint64_t most_calls(const struct method_rows *rows)
{
	uint64_t most = 0;

	for (size_t i = 0; i < rows->count; i++) {
		uint64_t calls = rows->list[i].numbers[ROWS_CALLS];

		most = calls > most ? calls : most;
	}
	return most;
}

static void add_table(const struct layout *layout)
{
	const struct live *live = layout->live;
	struct table table = { .unit = live->unit, .utf8 = live->utf8, .sorted_by = live->key };
	uint64_t most = most_calls(&live->rows);
	_cleanup_(text_deinit) struct text text = { 0 };

	table_choose(&table, live->kind == LIVE_TOP, layout->columns);
	table_add_heading(&table, &text);
	add_line(layout, text_chars(&text), SCREEN_HEADING);
	for (size_t i = 0; i < live->rows.count; i++) {
		text_clear(&text);
		table_add_row(&table, &live->rows.list[i], most, &text);
		add_look(layout, text_chars(&text),
			 (struct screen_line){ .bar_at = table.bar_at,
					       .bar_columns = table.bar_columns });
	}
}

/* Histograms ---------------------------------------------------------------------------------- */

/* "         8 -> 15         : 12345    |bar"; where there is no room for that without its end. */
static void draw_row(void *ctx, const struct hist_row *row)
{
	const struct layout *layout = ctx;
	bool narrow = layout->columns < BAR_AT + BAR_LEAST, utf8 = layout->live->utf8;
	size_t at = narrow ? NARROW_AT : BAR_AT, bar = layout->columns;
	_cleanup_(text_deinit) struct text text = { 0 };

	bar = bar > at ? bar - at : 0;
	bar = bar > BAR_COLUMNS ? BAR_COLUMNS : bar;
	if (narrow)
		text_printf(&text, "%9" PRIu64 " : %-9" PRIu64 "|", row->low, row->count);
	else
		text_printf(&text, "%10" PRIu64 " -> %-10" PRIu64 " : %-9" PRIu64 "|", row->low,
			    row->high, row->count);
	columns_add_bar(&text, row->most ? (double)row->count / (double)row->most : 0, bar, utf8);
	add_look(layout, text_chars(&text),
		 (struct screen_line){ .bar_at = at, .bar_columns = bar });
}

/* The lines of text_add_numbers(). */
static void add_numbers(const struct layout *layout, const struct histogram *histogram,
			const struct time_scale *scale)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	text_add_numbers(&text, histogram, scale);
	for (char *rest = text.chars, *line; rest && (line = strsep(&rest, "\n")) && *line;)
		add_line(layout, line, SCREEN_PLAIN);
}

static void add_histogram(struct layout *layout, const struct method_row *row)
{
	const struct live *live = layout->live;
	const struct histogram *histogram = row->histogram;
	const struct time_scale *scale =
		text_time_scale(live->unit, histogram_percentile(histogram, 0.5));
	_cleanup_(text_deinit) struct text text = { 0 };

	columns_add(&text, row->name, layout->columns, live->utf8);
	add_line(layout, text_chars(&text), SCREEN_TITLE);
	text_clear(&text);
	text_printf(&text, "     %-19s : %-8s distribution", scale->heading, "count");
	if (histogram->returned && layout->columns >= BAR_AT + BAR_LEAST)
		add_line(layout, text_chars(&text), SCREEN_PLAIN);
	if (histogram->returned)
		text_hist_rows(histogram, scale, &live->linear, draw_row, layout);
	add_numbers(layout, histogram, scale);
	add_line(layout, "", SCREEN_PLAIN);
}

static void add_histograms(struct layout *layout)
{
	static const char *const orders[ROWS_KEYS] = {
		[ROWS_RATE] = "calls a second", [ROWS_CALLS] = "calls", [ROWS_TOTAL] = "total time",
		[ROWS_MEAN] = "mean",		[ROWS_P99] = "p99",	[ROWS_MAX] = "max",
		[ROWS_UNWOUND] = "unwound",	[ROWS_NAME] = "name",
	};
	const struct live *live = layout->live;
	_cleanup_(text_deinit) struct text text = { 0 };

	text_printf(&text, "METHODS, by %s", orders[live->key]);
	add_line(layout, text_chars(&text), SCREEN_HEADING);
	for (size_t i = 0; i < live->rows.count; i++) {
		if (live->rows.list[i].histogram)
			add_histogram(layout, &live->rows.list[i]);
	}
}

/* All of it ----------------------------------------------------------------------------------- */

/* What was said last, and the keys, as many as there is room for. */
static void add_foot(const struct layout *layout, const char *note)
{
	const char *help = "q quit  space pause  c calls  r rate  n name  arrows";

	if (layout->live->kind != LIVE_COUNTS)
		help = "q quit  space pause  c calls  r rate  t total  m mean  p p99  x max  "
		       "u unwound  n name  arrows";
	add_line(layout, note ? note : "", SCREEN_PLAIN);
	add_line(layout, help, SCREEN_HELP);
}

/* Keep of the lines of the body, from @from on, those that are to be seen. */
static void cut_body(struct live *live, struct live_lines *lines, size_t from, size_t room)
{
	size_t last;

	if (lines->count < from)
		return;
	live->body = lines->count - from;
	live->page = room;
	last = live->body > room ? live->body - room : 0;
	if (live->first > last)
		live->first = last;
	drop_lines(lines, from, live->first);
	if (lines->count > from + room)
		drop_lines(lines, from + room, lines->count - from - room);
}

bool live_lay_out(struct live *live, size_t columns, size_t height, const char *note,
		  struct live_lines *lines)
{
	enum { HEADER = 3, FOOT = 2 };
	struct layout layout = { .live = live, .lines = lines, .columns = columns };
	_cleanup_(text_deinit) struct text title = { 0 };

	live_lines_deinit(lines);
	if (live->paused)
		text_add(&title, "PAUSED   ");
	text_add(&title, text_chars(&live->title));
	add_line(&layout, text_chars(&title), live->lossy ? SCREEN_ALERT : SCREEN_TITLE);
	add_line(&layout, text_chars(&live->counts), SCREEN_PLAIN);
	if (live->kind == LIVE_HISTOGRAMS)
		add_histograms(&layout);
	else
		add_table(&layout);
	cut_body(live, lines, HEADER, height > HEADER + FOOT ? height - HEADER - FOOT : 0);
	while (!lines->failed && lines->count + FOOT < height)
		add_line(&layout, "", SCREEN_PLAIN);
	add_foot(&layout, note);
	if (lines->count > height)
		drop_lines(lines, height, lines->count - height);
	return !lines->failed && !live->rows.failed;
}
