// SPDX-License-Identifier: GPL-2.0-or-later
/* From the clocks of bodies (registers/body_time.h) to shares of methods, for report.c. */
#include "session/watched.h"

#include <stdint.h>
#include <stdlib.h>

#include "follow/follow.h"
#include "session/session_internal.h"
#include "session/verdict.h"

/* Calls enter no code that is made for the middle of one. */
static bool is_called(const struct site *site)
{
	return site->reason != REASON_OTHER_METHOD && site->file == BODY_NO_FILE &&
	       site->tier != TIER_OSR;
}

/*
 * Of the sites [first, end) of plan->by_method. A uprobe is there all the time: of its method, when
 * no code compiled at run time was in use.
 */
static double share(const struct session *session, size_t first, size_t end)
{
	const struct plan *plan = &session->plan;
	const struct follow *follow = session->followed.follow;
	uint64_t run_ns = session->end_ns - session->start_ns;
	struct body_time all = { 0 };
	bool has_uprobe = false;

	for (size_t i = first; follow && i < end; i++) {
		const struct site *site = plan->by_method[i];
		struct body_time of_site = { 0 };

		has_uprobe |= site->mechanism == MECHANISM_UPROBE;
		if (is_called(site))
			of_site = follow_watched(follow, (size_t)(site - plan->sites));
		all.called_ns += of_site.called_ns;
		all.watched_ns += of_site.watched_ns;
	}
	if (has_uprobe && all.called_ns < run_ns) {
		all.watched_ns += run_ns - all.called_ns;
		all.called_ns = run_ns;
	}
	return all.called_ns ? (double)all.watched_ns / (double)all.called_ns : 1;
}

double watched_share(const struct session *session, const struct site *site)
{
	struct body_time time =
		follow_watched(session->followed.follow, (size_t)(site - session->plan.sites));

	return time.called_ns ? (double)time.watched_ns / (double)time.called_ns : 0;
}

double *watched_shares(const struct session *session, const struct verdict *verdict)
{
	const struct plan *plan = &session->plan;
	double *shares = calloc(plan->count + 1, sizeof(*shares));
	size_t end;

	for (size_t first = 0; shares && first < plan->count; first = end) {
		uint32_t reasons = 0;

		end = plan_method_end(plan, first);
		for (size_t i = first; i < end; i++)
			reasons |= verdict->of_sites[plan->by_method[i] - plan->sites];
		shares[first] = reasons >> VERDICT_NO_REGISTER & 1 ? share(session, first, end) : 1;
	}
	return shares;
}
