// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Between follow/ and the plan, while consume.c consumes: sites that come up are taken over, named,
 * and retired when their modules are gone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "runtime/runtime.h"
#include "follow/follow.h"
#include "probe/breakpoint_event.h"
#include "session/session_internal.h"
#include "base/log.h"

enum {
	RETIRE_MS = 50,
	MISSING_LOOKS = 2,
};

/* Names are read of what is resolved: until then there are none. */
static bool is_resolved(const struct session *session)
{
	return session->known == TARGET_RESOLVED;
}

/* The one that came up as @number. */
static struct site *site_of(const struct session *session, size_t number)
{
	return &session->plan.sites[session->followed.first + number];
}

/* Names ----------------------------------------------------------------------------------- */

/* Which instantiation it is, or which dynamic method, only memory says. */
static bool needs_name(const struct site *site)
{
	return site->method_desc && site_may_be_instance(site);
}

/* Read the full name of @site. 1: one of the first @count patterns matches; 0; -1: it cannot be. */
static int read_name(const struct session *session, struct site *site, size_t count)
{
	struct runtime *runtime = is_resolved(session) ? runtimes_get(&session->resolution.runtimes,
								      site->id.runtime) :
							 NULL;
	const struct name_query query = {
		.patterns = session->asked.method_patterns,
		.count = count,
		.nested = session->asked.methods.nested,
	};
	_cleanup_(text_deinit) struct text spelled = { 0 };
	uint64_t instantiation = 0;
	int result = -1;

	if (runtime && runtime->ops->read_name)
		result = runtime->ops->read_name(runtime, site->method_desc, &query, &spelled,
						 &instantiation);
	if (result == 1 && text_ok(&spelled)) {
		free(site->method);
		site->method = strdup(text_chars(&spelled));
		site->id.instantiation = instantiation;
		result = site->method ? 1 : -1;
	}
	return result;
}

static void name_site(struct session *session, size_t number)
{
	struct site *site = site_of(session, number);
	struct sites *sites = follow_sites(session->followed.follow);
	bool undecided = sites_is_undecided(sites, number);
	int matches = read_name(session, site, session->asked.methods.count);

	/* What it is called is a root's name only in other instantiations. */
	if (matches == 1 && site->root &&
	    read_name(session, site, session->asked.methods.roots) == 0)
		site->root = false;
	/* It matched by the name that it was compiled by; what is read now may be another's. */
	if (matches == 1 || !undecided) {
		sites_decide(sites, number, true);
		return;
	}
	session->followed.unsure += matches < 0 || site->may_be_freed;
	sites_decide(sites, number, false);
	site_refuse(site, REASON_OTHER_METHOD, 0);
}

/*
 * The body's code was not in its place when it was compiled, so only now can be seen that it loops
 * to its entry. What was counted there were rounds as well as calls: better none of them.
 */
static void check_entry(const struct session *session, size_t number)
{
	struct site *site = site_of(session, number);

	if (!is_resolved(session) || site->mechanism != MECHANISM_BREAKPOINT ||
	    !session->target.memory ||
	    !resolution_jumps_to_entry(&session->resolution, site->address, site->size))
		return;
	sites_retire(follow_sites(session->followed.follow), session->followed.first + number);
	site_refuse(site, REASON_ENTRY_IS_LOOP_TARGET, 0);
}

/* Returns how many have a name that they did not have before. */
static size_t name_sites(struct session *session, bool last)
{
	size_t count = session->plan.count - session->followed.first, named = 0;

	for (; session->followed.named < count; session->followed.named++) {
		check_entry(session, session->followed.named);
		if (!needs_name(site_of(session, session->followed.named)))
			continue;
		if (!is_resolved(session) && !last)
			break;
		/* What was read before may have been of another method at that place. */
		if (named++ == 0 && is_resolved(session) &&
		    runtimes_recheck_begin(&session->resolution.runtimes, NULL))
			break;
		name_site(session, session->followed.named);
	}
	return named;
}

/* Sites ----------------------------------------------------------------------------------- */

int followed_absorb(struct session *session, bool last, struct error *err)
{
	struct plan *plan = &session->plan;
	size_t count, before = plan->count;
	const struct sites *sites;
	int result = 0;

	if (!session->followed.follow)
		return 0;
	sites = follow_sites(session->followed.follow);
	count = session->followed.first + sites_count(sites);
	while (plan->count < count && result == 0)
		result = plan_append(plan, sites_at(sites, plan->count - session->followed.first),
				     err);
	session->followed.unsorted |= plan->count != before;
	if (result)
		return result;
	/* By now all code is where it is run. */
	for (size_t i = 0; last && i < session->followed.named; i++)
		check_entry(session, i);
	session->followed.unsorted |= name_sites(session, last) != 0;
	if (!session->followed.unsorted)
		return 0;
	result = plan_sort_methods(plan, err);
	session->followed.unsorted = result != 0;
	return result ? result : 1;
}

/* Loader heaps are unmapped with what was in them, so a method that cannot be read is gone. */
void followed_retire(struct session *session)
{
	const struct runtimes *runtimes = &session->resolution.runtimes;
	bool begun = false;

	if (!is_resolved(session) || !session->followed.follow ||
	    clock_now_ns() - session->followed.retired_ns < (uint64_t)RETIRE_MS * NS_PER_MS)
		return;
	session->followed.retired_ns = clock_now_ns();
	for (size_t i = 0; i < session->plan.count; i++) {
		struct site *site = &session->plan.sites[i];

		if (!site->may_be_freed || !site->method_desc)
			continue;
		if (!begun && runtimes_recheck_begin(runtimes, NULL))
			break;
		begun = true;
		if (runtimes_have_method(runtimes, &site->id, site->method_desc)) {
			site->missing = 0;
			continue;
		}
		/* Once may have been a moment in which it was changed. */
		if (++site->missing < MISSING_LOOKS)
			continue;
		/* Its calls count; there will be no more. */
		site->may_be_freed = false;
		sites_retire(follow_sites(session->followed.follow), i);
	}
}

void followed_clear_others(struct session *session)
{
	for (size_t i = session->followed.first; i < session->plan.count; i++) {
		enum reason reason = session->plan.sites[i].reason;

		if (reason == REASON_OTHER_METHOD || reason == REASON_ENTRY_IS_LOOP_TARGET)
			session->counts.counters[i] = (struct site_counters){ 0 };
	}
}

/* Talk ------------------------------------------------------------------------------------ */

static void log_body(const struct follow_note *note, const struct site *site, const char *end)
{
	uint64_t took_us = note->took_ns / NS_PER_US;

	log_print("%s [%s] at 0x%" PRIx64 ": compiled in %" PRIu64 " us, %s %" PRIu64 " us%s, %s",
		  site->method, tier_name(site->tier), site->address.value,
		  note->compiled_ns / NS_PER_US, note->held ? "held for" : "not held,", took_us,
		  note->timed_out ? " (too late)" : "", end);
}

static const char *armed(const struct session *session, const struct follow_note *note)
{
	if (!session->plan.timed)
		return "armed";
	if (note->timed)
		return "armed at its entry and its exits";
	if (note->not_timed == REASON_NO_DEBUG_REGISTER)
		return "armed at its entry, not timed: it has more exits than there are debug registers";
	if (note->not_timed)
		return "armed at its entry, not timed: its exits cannot have probes";
	return "armed at its entry, not timed yet";
}

static void log_note(const struct session *session, const struct follow_note *note)
{
	const struct site *site =
		note->site < session->plan.count ? &session->plan.sites[note->site] : NULL;

	if (note->type == NOTE_HOLDING_STOPPED)
		log_print(
			"nobody is held any more, since %d times in a row the time was up before the probe was there (--hold gives more): what is compiled from now on may miss its first calls",
			FOLLOW_TIMEOUTS_MAX);
	if (note->type == NOTE_NO_ROOM)
		log_print(
			"there are more bodies than can be followed in one run (%d); the others are not probed: ask for fewer methods",
			FOLLOW_SITES_MAX);
	if (!site || !session->options->verbose)
		return;
	switch (note->type) {
	case NOTE_ARMED:
		log_body(note, site, armed(session, note));
		break;
	case NOTE_OSR:
		log_body(note, site, "not entered by calls");
		break;
	case NOTE_NO_REGISTER:
		log_body(note, site, "no debug register is left for it");
		break;
	case NOTE_REFUSED:
		log_body(note, site, "the kernel refused the breakpoint");
		break;
	case NOTE_DRAINED:
	case NOTE_LOST_REGISTER:
		log_print(
			"%s [%s] at 0x%" PRIx64 ": %s", site->method, tier_name(site->tier),
			site->address.value,
			note->type == NOTE_DRAINED ?
				"nobody comes by any more, so its debug register goes to another" :
				"gave its debug register to another");
		break;
	case NOTE_UPROBES:
		log_print("%s is loaded: %u site%s, held for %" PRIu64 " us%s", site->image,
			  note->count, text_plural(note->count), note->took_ns / NS_PER_US,
			  note->timed_out ? " (too late)" : "");
		break;
	default:
		break;
	}
}

void followed_warn(struct session *session)
{
	if (!session->followed.warned && debug_registers_are_virtual() && breakpoint_events_fire())
		log_print(
			"this is a virtual machine: on a host with KVM before Linux 6.14 a breakpoint can, very rarely, end the target with SIGTRAP: %s (docs/limits.md)",
			options_may_remap(session->options) ?
				"only code on pages that are not full yet has some" :
				"--remap uses none for code that is final");
	session->followed.warned = true;
}

void followed_log_notes(struct session *session)
{
	struct follow_note note;

	while (session->followed.follow && follow_read_note(session->followed.follow, &note)) {
		if (note.type == NOTE_ARMED)
			followed_warn(session);
		log_note(session, &note);
	}
}

void followed_log_times(const struct session *session)
{
	struct follow_times times = follow_times(session->followed.follow);

	if (times.count)
		log_print(
			"%zu compilation%s followed: from compiled to probed and let go median %" PRIu64
			" us, 99 %% %" PRIu64 " us, longest %" PRIu64 " us",
			times.count, text_plural(times.count), times.median_ns / NS_PER_US,
			times.p99_ns / NS_PER_US, times.max_ns / NS_PER_US);
	if (times.longest_hold_ns)
		log_print("longest hold %" PRIu64 " us", times.longest_hold_ns / NS_PER_US);
}
