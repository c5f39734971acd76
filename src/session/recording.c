// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What --record needs beside the records that go to the output: which process it is, and totals
 * that are there whatever is printed, and even if place-probe is killed. For consume.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "record/record.h"
#include "session/counts.h"
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

static int record_latencies(struct session *session, const struct count_bounds *bounds,
			    struct error *err)
{
	int result;

	record_totals_begin(session->record);
	result = session_write_latencies(session, record_output(session->record), bounds, err);
	record_totals_end(session->record);
	return result;
}

int session_record_totals(struct session *session, const struct count_bounds *bounds,
			  struct error *err)
{
	if (!session->record)
		return 0;
	return is_timing(session) ? record_latencies(session, bounds, err) :
				    record_counts(session, session->counts.printed, bounds, err);
}

static int record_counts_so_far(struct session *session, struct error *err)
{
	const struct plan *plan = &session->plan;
	uint64_t *calls = calloc(plan->count + 1, sizeof(*calls));
	int result;

	if (!calls)
		return error_set(err, -ENOMEM, "no memory for the counts");
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].mechanism != MECHANISM_NONE)
			calls[i] = session->counts.counters[i].hits;
	}
	result = record_counts(session, calls, NULL, err);
	free(calls);
	return result;
}

static int record_totals_so_far(struct session *session, struct error *err)
{
	session_read_counters(session);
	return is_timing(session) ? record_latencies(session, NULL, err) :
				    record_counts_so_far(session, err);
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
