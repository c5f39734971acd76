// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Judging the counts: the target is read once more when probes are gone (consume.c), and what that
 * and following tell is held against the plan, for report.c.
 */
#include "session/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "follow/follow.h"
#include "session/session_internal.h"

enum { SNAPSHOTS_MAX = 3 };

struct last_snapshot {
	struct resolution resolution;
	bool is_of_target;
};

static void blame(struct verdict *verdict, const struct site *site, enum verdict_reason reason)
{
	const struct plan *plan = &verdict->session->plan;
	const struct site *marked = site;

	/* One that the plan does not have counts against its method. */
	if (site < plan->sites || site >= plan->sites + plan->count)
		marked = plan_find_method(plan, site);
	if (marked)
		verdict->of_sites[marked - plan->sites] |= 1u << reason;
	verdict->sites[reason]++;
	verdict_doubt(verdict, site, reason);
}

/* Each of @plan that @is_so. */
static void blame_each(struct verdict *verdict, const struct plan *plan,
		       bool (*is_so)(const struct verdict *verdict, const struct site *site),
		       enum verdict_reason reason)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (is_so(verdict, &plan->sites[i]))
			blame(verdict, &plan->sites[i], reason);
	}
}

static bool is_missed(const struct verdict *verdict, const struct site *site)
{
	(void)verdict;
	return site_is_missed(site);
}

/* Nothing tells which callers of a P/Invoke come by no body of it, and how often. */
static void what_callers_have(struct verdict *verdict)
{
	const struct site *told = NULL;

	for (size_t i = 0; i < verdict->session->plan.count; i++) {
		const struct site *site = verdict->session->plan.by_method[i];

		/* Once of each method. */
		if (told && plan_same_method(told, site))
			continue;
		if ((site->mechanism == MECHANISM_NONE && site->reason != REASON_NOT_COMPILED) ||
		    !site->traits.call_inlined)
			continue;
		blame(verdict, site, VERDICT_CALL_INLINED);
		told = site;
	}
}

/* What went wrong as bodies came up. */
static void what_was_trouble(struct verdict *verdict)
{
	static const struct {
		enum follow_trouble trouble;
		enum verdict_reason reason;
	} reasons[] = {
		{ TROUBLE_TIMED_OUT, VERDICT_TIMED_OUT },
		{ TROUBLE_NOT_HELD, VERDICT_NOT_HELD },
		{ TROUBLE_NO_REGISTER, VERDICT_NO_REGISTER },
		{ TROUBLE_REFUSED, VERDICT_NOT_PROBED },
	};

	for (size_t i = 0; i < verdict->session->plan.count; i++) {
		const struct site *site = &verdict->session->plan.sites[i];
		unsigned int trouble =
			sites_trouble(follow_sites(verdict->session->followed.follow), i);

		if (site->reason == REASON_OTHER_METHOD)
			continue;
		for (size_t r = 0; r < sizeof(reasons) / sizeof(reasons[0]); r++) {
			if (trouble & reasons[r].trouble)
				blame(verdict, site, reasons[r].reason);
		}
	}
}

/*
 * No site has it, so it is every count's; a native function's only if what it is about is
 * @of_native, too.
 */
static void blame_all(struct verdict *verdict, enum verdict_reason reason, bool of_native)
{
	verdict->sites[reason]++;
	for (size_t i = 0; i < verdict->session->plan.count; i++) {
		if (of_native || verdict->session->plan.sites[i].tier != TIER_NATIVE)
			verdict->of_sites[i] |= 1u << reason;
	}
	verdict_doubt(verdict, NULL, reason);
}

/*
 * Can calls that the pattern means have gone to a body that nobody has seen? Final code of a
 * generic method is that of one instantiation, and names of dynamic methods are used again.
 */
static bool may_have_more(const struct site *site)
{
	if (site->mechanism == MECHANISM_NONE)
		return site->reason == REASON_NOT_COMPILED;
	return !site->final || site_may_be_instance(site);
}

/*
 * What was probed and is gone may have come again in between, and other code may have stood in its
 * place; what only a map file names is not found by its name once the runtime has compiled it; and
 * an instantiation is precompiled in one image, and counts as another's when it is compiled anew.
 */
static bool cannot_be_compared(const struct verdict *verdict, const struct site *site,
			       const struct plan *later)
{
	/* A native function's probe is on its file, and stays. */
	if (site->mechanism == MECHANISM_NONE || site->tier == TIER_NATIVE)
		return false;
	if (site->tier != TIER_R2R)
		return !plan_find(later, site);
	for (size_t i = 0; i < verdict->session->options->request.count; i++) {
		if (pattern_has_image(verdict->session->asked.patterns[i]) &&
		    site_may_be_instance(site))
			return true;
	}
	return !(site->sources & 1u << NAME_SOURCE_METADATA);
}

/* @later: of the last snapshot, NULL if there was none; then only what cannot change is sure. */
static void what_is_not_sure(struct verdict *verdict, const struct plan *later, bool whole)
{
	for (size_t i = 0; i < verdict->session->plan.count; i++) {
		const struct site *site = &verdict->session->plan.sites[i];

		if ((!whole && may_have_more(site)) ||
		    (later && cannot_be_compared(verdict, site, later)))
			blame(verdict, site, VERDICT_CANNOT_TELL);
	}
}

/* Something came up that was not reported, or for which there was no room. */
static bool was_lost(const struct verdict *verdict)
{
	const struct follow_losses losses = follow_losses(verdict->session->followed.follow);

	return losses.compilations || losses.unreadable || losses.others || losses.sites;
}

/* Something may have come up that looks like other code, or passes by all probes. */
static bool was_unseen(const struct verdict *verdict)
{
	const struct follow_losses losses = follow_losses(verdict->session->followed.follow);

	return losses.unnamed || losses.blind || losses.libraries_unseen ||
	       verdict->session->followed.unsure;
}

static bool saw_all(const struct verdict *verdict)
{
	return verdict->session->followed.follow && !was_lost(verdict) && !was_unseen(verdict);
}

/* What only a map file names is not known again when the runtime compiles it. */
static bool has_no_row(const struct verdict *verdict, const struct site *site)
{
	(void)verdict;
	return site->mechanism != MECHANISM_NONE && site->tier == TIER_R2R &&
	       !(site->sources & 1u << NAME_SOURCE_METADATA);
}

/* It was probed if it could be, or there were no calls of it that should have been counted. */
static bool is_known(const struct verdict *verdict, const struct site *site)
{
	return plan_find(&verdict->session->plan, site) ||
	       (verdict->session->followed.follow &&
		follow_came_late(verdict->session->followed.follow, site));
}

static bool is_loaded_later(const struct verdict *verdict, const struct site *site)
{
	return site->tier == TIER_NATIVE && site->mechanism != MECHANISM_NONE &&
	       !is_known(verdict, site);
}

static bool is_new(const struct verdict *verdict, const struct site *site)
{
	return site->tier != TIER_NATIVE && site->address.value && site->tier != TIER_OSR &&
	       site->state != STATE_REJECTED && !is_known(verdict, site);
}

static int what_came_up(struct verdict *verdict, struct resolution *later, struct error *err)
{
	_cleanup_(plan_deinit) struct plan plan = { 0 };
	const struct resolution_query query = {
		.patterns = verdict->session->asked.patterns,
		.count = verdict->session->options->request.count,
		.nested = verdict->session->options->request.nested,
		.known = verdict->session->asked.planned,
		.known_count = verdict->session->asked.planned_count,
	};
	struct runtime_reach reach;
	size_t dropped;
	int result = resolution_plan(later, &query, &plan, &dropped, err);

	if (result)
		return result;
	reach = runtimes_reach(&later->runtimes);
	blame_each(verdict, &plan, is_loaded_later, VERDICT_LOADED_LATER);
	if (saw_all(verdict) || reach.compiled)
		blame_each(verdict, &plan, is_new, VERDICT_NEW_CODE);
	/* What could not be read, or is no more, may have been a body that was run. */
	if (!saw_all(verdict))
		what_is_not_sure(verdict, reach.compiled ? &plan : NULL,
				 reach.compiled && reach.unreadable == 0 && dropped == 0);
	return 0;
}

/* The target as it is now. A snapshot that met with changes is taken again. */
static int read_snapshot(struct resolution *later, struct target *target)
{
	struct error why = { .text = "" };

	for (int taken = 1;; taken++) {
		int result = resolution_init(later, target, &why);

		if (result || taken == SNAPSHOTS_MAX ||
		    !runtimes_reach(&later->runtimes).unreadable)
			return result;
		resolution_deinit(later);
	}
}

struct last_snapshot *last_snapshot_take(struct target *target, struct follow *follow)
{
	struct last_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot || read_snapshot(&snapshot->resolution, target)) {
		free(snapshot);
		return NULL;
	}
	if (follow)
		follow_look_back(follow);
	/* If it has exited meanwhile the snapshot may be of less than there was. */
	snapshot->is_of_target = process_is_alive(&target->process);
	return snapshot;
}

void last_snapshot_destroy(struct last_snapshot *snapshot)
{
	if (!snapshot)
		return;
	resolution_deinit(&snapshot->resolution);
	free(snapshot);
}

static int compare_snapshots(struct verdict *verdict, struct error *err)
{
	if (verdict->session->snapshot && verdict->session->snapshot->is_of_target)
		return what_came_up(verdict, &verdict->session->snapshot->resolution, err);
	if (!saw_all(verdict))
		what_is_not_sure(verdict, NULL, false);
	if (!verdict->session->snapshot && verdict->session->followed.follow && was_unseen(verdict))
		blame_all(verdict, VERDICT_CANNOT_TELL,
			  follow_losses(verdict->session->followed.follow).libraries_unseen);
	return 0;
}

int verdict_find(struct verdict *verdict, struct error *err)
{
	const struct follow *follow = verdict->session->followed.follow;

	verdict->of_sites = calloc(verdict->session->plan.count + 1, sizeof(*verdict->of_sites));
	if (!verdict->of_sites)
		return error_set(err, -ENOMEM, "no memory to judge the counts");
	if (verdict->session->problem.text[0])
		blame_all(verdict, VERDICT_ENDED_EARLY, true);
	blame_each(verdict, &verdict->session->plan, is_missed, VERDICT_NOT_PROBED);
	what_callers_have(verdict);
	if (follow) {
		what_was_trouble(verdict);
		blame_each(verdict, &verdict->session->plan, has_no_row, VERDICT_CANNOT_TELL);
		/* Of which method it was is not known; libraries may be among it. */
		if (was_lost(verdict))
			blame_all(verdict, VERDICT_REPORT_LOST,
				  follow_losses(follow).others || follow_losses(follow).sites);
	}
	return compare_snapshots(verdict, err);
}

const char *verdict_reason_code(unsigned int reason)
{
	static const char *const codes[VERDICT_REASONS] = {
		[VERDICT_NOT_PROBED] = "not-probed",
		[VERDICT_NEW_CODE] = "run-time-compiled-code",
		[VERDICT_CANNOT_TELL] = "run-time-compiled-code",
		[VERDICT_TIMED_OUT] = "hold-timed-out",
		[VERDICT_NOT_HELD] = "not-held",
		[VERDICT_NO_REGISTER] = "no-debug-register",
		[VERDICT_REPORT_LOST] = "compile-event-lost",
		[VERDICT_CALL_INLINED] = "call-inlined",
		[VERDICT_LOADED_LATER] = "loaded-later",
		[VERDICT_ENDED_EARLY] = "ended-early",
	};

	return codes[reason];
}
