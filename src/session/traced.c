// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The record of what is traced, for formats that say so themselves: which process, what was asked
 * for, for how long, and how many bodies of each tier that were. Between the attach and the report.
 */
#include "session/session_internal.h"
#include "target/launch.h"

void session_collect_tiers(const struct session *session, struct output_tier *tiers)
{
	struct output_tier all[SESSION_TIERS] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < session->plan.count; i++) {
		const struct site *site = &session->plan.sites[i];
		struct output_tier *tier = &all[site->tier];

		if (site->reason == REASON_OTHER_METHOD)
			continue;
		tier->bodies++;
		tier->probed += site->mechanism != MECHANISM_NONE;
		tier->calls += session->counts.counters ? session->counts.counters[i].hits : 0;
	}
	for (unsigned int i = 0; i < SESSION_TIERS; i++) {
		all[i].tier = tier_name((enum tier)i);
		if (all[i].bodies)
			tiers[count++] = all[i];
	}
}

void session_write_traced(struct session *session)
{
	const struct options *options = session->options;
	struct output_tier tiers[SESSION_TIERS + 1] = { 0 };
	struct output_run run = {
		.pid = session->pid,
		.name = session->command.launch ? launch_program(session->command.launch) :
						  session->target.process.comm,
		.patterns = options->request.patterns,
		.pattern_count = options->request.count,
		.command = options->command,
	};

	if (session->end_ns) {
		run.duration_ns = session->end_ns - session->start_ns;
		session_collect_tiers(session, tiers);
		run.tiers = tiers;
	}
	output_run(&session->output, &run);
}
