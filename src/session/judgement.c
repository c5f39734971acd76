// SPDX-License-Identifier: GPL-2.0-or-later
/* Words for the verdict: between verdict.c, which tells each site, and the log; for report.c. */
#include "session/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "follow/follow.h"
#include "probe/breakpoint_event.h"
#include "probe/breakpoints.h"
#include "session/session_internal.h"

/* Which part of the time methods were watched -------------------------------------------------- */

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

/* Likewise of the body of one site. */
static double watched_share(const struct session *session, const struct site *site)
{
	struct body_time time =
		follow_watched(session->followed.follow, (size_t)(site - session->plan.sites));

	return time.called_ns ? (double)time.watched_ns / (double)time.called_ns : 0;
}

/*
 * Along plan->by_method, where bodies take turns on the debug registers; from the clocks of bodies
 * (registers/bodies.h). NULL without memory.
 */
static double *watched_shares(const struct session *session, const struct verdict *verdict)
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

/* Words --------------------------------------------------------------------------------------- */

/* A probe on the native function has them all. */
static void describe_call_inlined(const struct session *session, const struct site *site,
				  struct text *out)
{
	_cleanup_(text_deinit) struct text function = { 0 };
	bool known = session->known == TARGET_RESOLVED &&
		     runtimes_native_function(&session->resolution.runtimes, &site->id, &function);

	text_printf(out,
		    "%s: callers that were compiled ahead of time or optimised may call its native "
		    "function themselves, and those calls were not seen%s%s%s",
		    site->method, known ? " ('" : "", known ? text_chars(&function) : "",
		    known ? "' has all calls)" : "");
}

static const char *const missed[VERDICT_REASONS] = {
	[VERDICT_NEW_CODE] = "was compiled during the run, and calls that ran it were not seen "
			     "(run again, now that it is there)",
	[VERDICT_CANNOT_TELL] = "may have had other code that nobody has seen; calls that ran that "
				"were not counted (run again to have them)",
	[VERDICT_TIMED_OUT] = "could be called before the probe was on it: its thread was not held "
			      "long enough (--hold gives more)",
	[VERDICT_NOT_HELD] = "could be called before the probe was on it: its thread was not held "
			     "(--hold has it wait)",
	[VERDICT_REPORT_LOST] = "may have been compiled anew without a report of it: calls that "
				"ran that were not seen (run again to have them)",
};

static const char *without_registers(const struct session *session)
{
	return options_may_remap(session->options) ? "" : " (--remap needs none)";
}

static void describe_no_register(const struct session *session, const struct site *site,
				 struct text *out)
{
	double share = watched_share(session, site);

	if (!breakpoint_events_fire())
		text_printf(out, "had no probe, at least for a time: %s%s", BREAKPOINTS_DEAD,
			    without_registers(session));
	else if (session->plan.timed && !session->options->share_ns)
		text_printf(out,
			    "had no debug register, at least for a time: there are %d, and other "
			    "bodies had them (--share has all take turns)",
			    session_registers(session));
	else if (output_is_whole(share))
		text_printf(
			out,
			"has lost its debug register to another body while calls may still have "
			"been on their way to it%s",
			without_registers(session));
	else
		text_printf(out,
			    "took turns on the debug registers with others, and had its own for "
			    "%.0f %% of the time%s",
			    100 * share, without_registers(session));
}

static void describe(const struct session *session, const struct site *site,
		     enum verdict_reason reason, struct text *out)
{
	enum reason why = site->reason ? site->reason : REASON_KERNEL_REFUSED;

	if (reason == VERDICT_CALL_INLINED) {
		describe_call_inlined(session, site, out);
		return;
	}
	text_printf(out, "%s [%s] ", site->method, tier_name(site->tier));
	if (missed[reason])
		text_add(out, missed[reason]);
	else if (reason == VERDICT_NOT_PROBED)
		text_printf(out, "is not probed: %s; %s", reason_text(why), reason_next(why));
	else if (reason == VERDICT_LOADED_LATER)
		text_printf(out,
			    "is in %s, which was loaded during the run: calls of it were not seen",
			    site->image);
	else
		describe_no_register(session, site, out);
}

static const char *const anywhere[VERDICT_REASONS] = {
	[VERDICT_REPORT_LOST] =
		"code came up that was not reported, or for which there was no room: which methods it "
		"was of is not known",
	[VERDICT_CANNOT_TELL] =
		"code may have come up that cannot be told from other code, or that no "
		"probe reaches when it is loaded (docs/limits.md says which)",
	[VERDICT_ENDED_EARLY] =
		"the run has ended early: calls of its last moments may not have been "
		"seen",
};

static void say(const char *what)
{
	log_print("lower bound: %s", what);
}

void verdict_doubt(struct verdict *verdict, const struct site *site, enum verdict_reason reason)
{
	const struct session *session = verdict->session;
	_cleanup_(text_deinit) struct text what = { 0 };
	struct text *first = &verdict->first[reason];

	if (!site) {
		verdict->anywhere[reason] = true;
	} else if (session->options->verbose) {
		describe(session, site, reason, &what);
		say(text_chars(&what));
	} else if (first->length == 0) {
		describe(session, site, reason, first);
	}
}

static size_t count_methods(const struct session *session, const struct verdict *verdict,
			    enum verdict_reason reason)
{
	const struct plan *plan = &session->plan;
	const struct site *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = plan->by_method[i];

		if (!(verdict->of_sites[site - plan->sites] >> reason & 1) ||
		    (last && plan_same_method(last, site)))
			continue;
		last = site;
		count++;
	}
	return count;
}

/* Where bodies have taken turns each count says of how much of the time it is. */
static void describe_turns(const struct session *session, size_t methods, struct text *out)
{
	text_printf(out, "%zu method%s watched for a part of the time%s: ", methods,
		    methods == 1 ? " was" : "s were",
		    options_report_hits(session->options) ? " (-v tells which)" :
							    ", which each count tells");
	if (!breakpoint_events_fire()) {
		text_printf(out, "%s%s", BREAKPOINTS_DEAD, without_registers(session));
		return;
	}
	text_add(out, "more code compiled at run time was in use than there are debug registers, ");
	session_add_registers(session, out);
	if (!options_may_remap(session->options))
		text_printf(out, " (--remap takes none of them%s)",
			    session_registers(session) == BREAKPOINTS_MAX ?
				    "; those named first keep theirs" :
				    "");
}

static void say_together(struct verdict *verdict, enum verdict_reason reason)
{
	const struct session *session = verdict->session;
	size_t count = verdict->sites[reason] - verdict->anywhere[reason];
	_cleanup_(text_deinit) struct text what = { 0 };
	struct text *first = &verdict->first[reason];

	if (verdict->anywhere[reason])
		say(anywhere[reason]);
	if (count && reason == VERDICT_NO_REGISTER &&
	    (!session->plan.timed || session->options->share_ns)) {
		describe_turns(session, count_methods(session, verdict, reason), &what);
		say(text_chars(&what));
	} else if (count && !session->options->verbose &&
		   !(reason == VERDICT_NOT_PROBED && count == session->not_probed)) {
		if (count > 1)
			text_printf(first, "; so it is with %zu more (-v names them)", count - 1);
		say(text_chars(first));
	}
}

int verdict_reach(struct verdict *verdict, const struct session *session, struct error *err)
{
	int result;
	size_t count = 0;

	*verdict = (struct verdict){ .session = session };
	result = verdict_find(verdict, err);
	if (result == 0)
		verdict->watched = watched_shares(session, verdict);
	if (!verdict->watched) {
		verdict->codes[0] = verdict_reason_code(VERDICT_ENDED_EARLY);
		return result ? result : error_set(err, -ENOMEM, "no memory for the report");
	}
	for (enum verdict_reason reason = 0; reason < VERDICT_REASONS; reason++) {
		const char *code = verdict_reason_code(reason);

		if (!verdict->sites[reason])
			continue;
		say_together(verdict, reason);
		if (count == 0 || strcmp(verdict->codes[count - 1], code) != 0)
			verdict->codes[count++] = code;
	}
	return 0;
}

void verdict_deinit(struct verdict *verdict)
{
	for (size_t i = 0; i < VERDICT_REASONS; i++)
		text_deinit(&verdict->first[i]);
	free(verdict->watched);
	free(verdict->of_sites);
}
