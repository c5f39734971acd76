// SPDX-License-Identifier: GPL-2.0-or-later
/* See filtered.h; for report.c. */
#include "session/filtered.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "output/output.h"
#include "session/session_internal.h"
#include "session/values.h"

enum { NAMED = 4 };

struct output_filtered *filtered_collect(const struct session *session)
{
	const struct plan *plan = &session->plan;
	const struct site_counters *counters = session->counts.counters;
	struct output_filtered *list = NULL;
	size_t count = 0;

	if (session->options->filter)
		list = calloc(plan->count + 1, sizeof(*list));
	for (size_t first = 0, end; list && first < plan->count; first = end) {
		struct output_filtered *of = &list[count];

		end = plan_method_end(plan, first);
		for (size_t i = first; i < end; i++) {
			of->calls += counters[plan->by_method[i] - plan->sites].filtered;
			of->undecided += counters[plan->by_method[i] - plan->sites].undecided;
		}
		if (!of->calls && !of->undecided)
			continue;
		of->method = plan->by_method[first]->method;
		count++;
	}
	return list;
}

static void log_undecided(const struct session *session, const struct output_filtered *filtered)
{
	const char *why = session_values_why(session, filtered->method);

	if (!why && session->options->filter_types)
		why = session->thrown.why_not;
	log_print("%s: %" PRIu64 " calls are undecided%s%s (leave --if out to see them)",
		  filtered->method, filtered->undecided, why ? ": " : "", why ? why : "");
}

void filtered_log(const struct session *session, const struct output_filtered *filtered)
{
	uint64_t calls = 0, undecided = 0;
	size_t named = 0, methods = 0;

	if (!filtered)
		return;
	for (const struct output_filtered *of = filtered; of->method; of++) {
		calls += of->calls;
		undecided += of->undecided;
		methods += of->undecided != 0;
	}
	log_print("%" PRIu64 " calls were not what --if asks for, and are counted only", calls);
	if (undecided)
		log_print(
			"%" PRIu64
			" calls are not shown since it could not be told whether they are what --if asks for: something was not in memory, not known yet, or had not ended (leave --if out to see them)",
			undecided);
	for (const struct output_filtered *of = filtered; of->method; of++) {
		if (!of->undecided || (named >= NAMED && !session->options->verbose))
			continue;
		log_undecided(session, of);
		named++;
	}
	if (methods > named)
		log_print("and so are calls of %zu more methods (-v names them)", methods - named);
}
