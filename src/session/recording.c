// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What --record needs beside the records that go to the output: which process it is, and totals
 * that are there whatever is printed, and even if place-probe is killed. For consume.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "record/record.h"
#include "session/counts.h"
#include "session/followed.h"
#include "session/session_internal.h"

void session_record_target(struct session *session)
{
	if (session->record && session->known == TARGET_RESOLVED)
		record_target(session->record, &session->target);
}

static bool is_timing(const struct session *session)
{
	return session->options->mode == MODE_HIST && !options_report_hits(session->options);
}

/* @calls: of each site, in the whole run. */
static int record_counts(struct session *session, const uint64_t *calls,
			 const struct count_bounds *bounds, struct error *err)
{
	int result;

	record_totals_begin(session->record);
	result = counts_write(record_output(session->record), &session->plan, calls, bounds, err);
	record_totals_end(session->record);
	return result;
}

int session_record_totals(struct session *session, const struct count_bounds *bounds,
			  struct error *err)
{
	if (!session->record)
		return 0;
	return is_timing(session) ? session_record_latencies(session, bounds, err) :
				    record_counts(session, session->counts.printed, bounds, err);
}

/* As consume.c's read_counts(), but the next interval shows them all the same. */
static int record_totals_so_far(struct session *session, struct error *err)
{
	_cleanup_free_ uint64_t *calls = calloc(session->plan.count + 1, sizeof(*calls));
	struct site_counters *counters = session->counts.counters;
	int result = calls ? capture_read_counters(session->capture, counters, err) : -ENOMEM;

	if (result)
		return result;
	followed_clear_others(&session->followed, counters);
	if (is_timing(session))
		return session_record_latencies(session, NULL, err);
	for (size_t i = 0; i < session->plan.count; i++)
		calls[i] =
			session->plan.sites[i].mechanism == MECHANISM_NONE ? 0 : counters[i].hits;
	return record_counts(session, calls, NULL, err);
}

int session_tend_record(struct session *session, struct error *err)
{
	int result = 0;

	if (!session->record || !record_is_due(session->record))
		return 0;
	session_record_target(session);
	if (options_report_hits(session->options))
		session_count_merged(session, false);
	else
		result = record_totals_so_far(session, err);
	record_flush(session->record);
	return result;
}
