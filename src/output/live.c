// SPDX-License-Identifier: GPL-2.0-or-later
/* What the live view knows, and what keys do to it; live_layout.c makes lines of it. */
#include "output/live.h"

#include <inttypes.h>

#include "base/clock.h"
#include "output/ops.h"

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
