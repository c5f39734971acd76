// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What --record needs beside the records that go to the output: which process it is, and totals
 * that are there whatever is printed, and even if place-probe is killed. For consume.c.
 */
#include "record/record.h"
#include "session/counts.h"
#include "session/session_internal.h"

void session_record_target(struct session *session)
{
	if (session->record && session->known == TARGET_RESOLVED)
		record_target(session->record, &session->target);
}

int session_record_totals(struct session *session, const uint64_t *calls,
			  const struct count_bounds *bounds, struct error *err)
{
	struct output *to = record_output(session->record);
	int result;

	record_totals_begin(session->record);
	if (session->options->mode == MODE_HIST && !options_report_hits(session->options))
		result = session_write_latencies(session, to, bounds, err);
	else
		result = counts_write(to, &session->plan, calls, bounds, err);
	record_totals_end(session->record);
	return result;
}

int session_tend_record(struct session *session, struct error *err)
{
	int result = 0;

	if (!session->record || !record_is_due(session->record))
		return 0;
	session_record_target(session);
	if (options_report_hits(session->options)) {
		session_count_merged(session, false);
	} else {
		session_read_totals(session);
		result = session_record_totals(session, session->counts.fresh, NULL, err);
	}
	record_flush(session->record);
	return result;
}
