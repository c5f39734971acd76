// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --top where nothing is drawn: a table of methods each time an interval is over, and one of the
 * whole run, as top -b has it. Drawn it is by live.c.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "output/method_rows.h"
#include "output/ops.h"

struct top {
	struct method_rows rows;
	uint64_t hits, before; /* of the run, and by the table before */
	struct text losses;
	bool over;
};

static void top_status(struct output *output, const struct output_status *status)
{
	struct top *top = output->state;

	method_rows_begin(&top->rows, status->elapsed_ns);
	top->before = top->hits;
	top->hits = status->hits;
	top->over = status->over;
	text_clear(&top->losses);
	output_add_losses(&top->losses, status->losses);
}

static void top_hist(struct output *output, const struct output_hist *hist)
{
	struct top *top = output->state;

	method_rows_add_hist(&top->rows, hist, false);
}

static void add_status(const struct top *top, struct text *to)
{
	uint64_t from = top->over ? 0 : top->rows.before_ns;
	uint64_t ns = top->rows.elapsed_ns - from, hits = top->hits - (top->over ? 0 : top->before);

	text_printf(to, "%.1f s: %" PRIu64 " hits, %.0f a second; lost: %s\n",
		    (double)top->rows.elapsed_ns / NS_PER_S, top->hits,
		    ns ? (double)hits * NS_PER_S / (double)ns : 0, text_chars(&top->losses));
}

static void top_kept(struct output *output)
{
	struct top *top = output->state;
	struct table table = { .unit = output->unit, .utf8 = true, .sorted_by = ROWS_KEYS };
	struct text *line = &output->line;

	method_rows_settle(&top->rows, top->over);
	method_rows_sort(&top->rows, ROWS_CALLS);
	if (top->rows.failed && !output->problem)
		output->problem = -ENOMEM;
	table_choose(&table, true, 0);
	add_status(top, line);
	table_add_heading(&table, line);
	text_add_char(line, '\n');
	for (size_t i = 0; i < top->rows.count; i++) {
		table_add_row(&table, &top->rows.list[i], 0, line);
		text_add_char(line, '\n');
	}
	text_add_char(line, '\n');
	output_line(output);
}

static void top_end(struct output *output)
{
	struct top *top = output->state;

	method_rows_deinit(&top->rows);
	text_deinit(&top->losses);
}

const struct output_ops top_output = {
	.state_bytes = sizeof(struct top),
	.status = top_status,
	.hist = top_hist,
	.kept = top_kept,
	.end = top_end,
};
