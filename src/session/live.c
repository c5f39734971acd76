// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live view of a run, between the counters, src/output/live.h, which makes lines of them, and
 * src/screen/. consume.c starts, tends and stops it.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "output/live.h"
#include "probe/breakpoints.h"
#include "screen/screen.h"
#include "session/counts.h"
#include "session/session_internal.h"

enum { REFRESH_NS = NS_PER_S /* if --interval does not say */ };

struct session_live {
	struct screen *screen;
	struct live view;
	struct output output; /* to the view */
	struct live_lines lines;
	uint64_t refresh_ns;
	uint64_t next_ns; /* when that is due */
};

/* The status ---------------------------------------------------------------------------------- */

void session_write_status(struct session *session, struct output *output, uint64_t elapsed_ns,
			  bool over)
{
	struct output_loss output_losses[LOSSES_MAX + 1];
	struct output_tier tiers[SESSION_TIERS + 1] = { 0 };
	struct output_status status = {
		.elapsed_ns = elapsed_ns,
		.losses = output_losses,
		.tiers = tiers,
		.registers = capture_registers(session->capture),
		.registers_max = BREAKPOINTS_MAX,
		.pid = session->pid,
		.comm = session->target.process.comm,
		.over = over,
	};
	struct loss losses[LOSSES_MAX];

	losses_collect(session, losses, output_losses, &status.hits);
	session_collect_tiers(session, tiers);
	output_status(output, &status);
}

/* The view ------------------------------------------------------------------------------------ */

static bool is_wanted(const struct options *options)
{
	return options->format == FORMAT_TEXT && !options->format_chosen && !options->verbose &&
	       !options->output_path && !options->command && !options_report_hits(options);
}

void session_live_start(struct session *session)
{
	const struct options *options = session->options;
	struct session_live *live;

	if (!is_wanted(options) || !screen_is_possible())
		return;
	live = calloc(1, sizeof(*live));
	if (!live || screen_open(&live->screen, NULL)) {
		free(live);
		return;
	}
	live_init(&live->view, options, screen_is_utf8(live->screen));
	live->output = live_output(&live->view, options);
	live->refresh_ns = options->interval_ns ? options->interval_ns : REFRESH_NS;
	log_hold();
	session->live = live;
}

void session_live_stop(struct session *session)
{
	struct session_live *live = session->live;

	if (!live)
		return;
	screen_close(live->screen);
	log_release();
	live_deinit(&live->view);
	live_lines_deinit(&live->lines);
	free(live);
	session->live = NULL;
}

const int *session_live_input(const struct session *session)
{
	return session->live ? screen_input(session->live->screen) : NULL;
}

/* All that was counted, since nothing of it has been printed. */
static int read_totals(struct session *session)
{
	struct session_live *live = session->live;
	uint64_t elapsed_ns = clock_now_ns() - session->start_ns;
	int result;

	session_read_totals(session);
	session_write_status(session, &live->output, elapsed_ns, false);
	if (session->options->mode == MODE_COUNT)
		result = counts_write(&live->output, &session->plan, session->counts.fresh, NULL,
				      NULL);
	else
		result = session_write_latencies(session, &live->output, NULL, NULL);
	output_kept(&live->output);
	return result;
}

static bool draw(struct session_live *live)
{
	size_t columns, lines;

	screen_size(live->screen, &columns, &lines);
	if (!live_lay_out(&live->view, columns, lines, log_last(), &live->lines))
		return false;
	screen_draw(live->screen, live->lines.list, live->lines.count);
	return true;
}

int session_live_tend(struct session *session)
{
	struct session_live *live = session->live;
	bool changed = false;
	int key;

	if (!live)
		return 0;
	while ((key = screen_key(live->screen)) != SCREEN_KEY_NONE) {
		enum live_action action = live_key(&live->view, key);

		if (action == LIVE_QUIT)
			return -1;
		changed |= action == LIVE_DRAW;
	}
	if (!live->view.paused && clock_now_ns() >= live->next_ns) {
		live->next_ns = clock_now_ns() + live->refresh_ns;
		if (read_totals(session))
			return -1;
		changed = true;
	}
	return changed && !draw(live) ? -1 : 0;
}
