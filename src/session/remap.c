// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --remap: which sites in code compiled at run time get uprobes (a part of planning.c), its mapping
 * made private before they are attached (attach.c), a look at it now and then (consume.c), and all
 * undone once they are gone. What cannot be done so has debug registers as ever, and that is said.
 */
#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "follow/follow.h"
#include "inject/inject.h"
#include "inject/private.h"
#include "plan/timed.h"
#include "probe/breakpoint_event.h"
#include "probe/breakpoints.h"
#include "runtime/sealed.h"
#include "session/session_internal.h"
#include "target/settle.h"

enum {
	SETTLE_MS = 3000, /* all threads have had their turn by then, unless the machine is busy */
	CHECK_MS = 250,
};

/* Whether ------------------------------------------------------------------------------------- */

/* By perf events each probe takes tens of milliseconds to remove: nobody gets hundreds unasked. */
static bool may_by_itself(const struct session *session)
{
	const struct options *options = session->options;

	return options->remap == REMAP_AUTO && options->uprobe_by != UPROBE_BY_PERF &&
	       capture_opening_has_multi(session->opening);
}

bool session_wants_remap(struct session *session)
{
	int wanted, free_registers;

	if (!mode_attaches(session->options->mode) || !may_by_itself(session))
		return session->options->remap == REMAP_ALWAYS;
	session->remap.wanted = plan_lacks_registers(&session->plan) || !breakpoint_events_fire() ||
				session_wants_more_registers(session, &wanted, &free_registers);
	return session->remap.wanted;
}

/* One that had no register, at least for a time. */
static bool has_lacked_register(const struct session *session)
{
	const struct sites *sites = follow_sites(session->followed.follow);

	for (size_t i = 0; i < session->plan.count; i++) {
		if (sites_trouble(sites, i) & TROUBLE_NO_REGISTER)
			return true;
	}
	return session->followed.waiting != 0;
}

bool session_comes_to_want_remap(struct session *session)
{
	/* A hypervisor has a part in each debug exception: no reason to be late with the first. */
	if (!session->remap.wanted && may_by_itself(session))
		session->remap.wanted = debug_registers_are_virtual() ||
					!breakpoint_events_fire() || has_lacked_register(session);
	return session->options->remap == REMAP_ALWAYS || session->remap.wanted;
}

static bool is_asked_for(const struct session *session)
{
	return session->options->remap == REMAP_ALWAYS || session->options->verbose;
}

/* That something has no uprobe: it may have no register either. */
static bool is_worth_telling(const struct session *session)
{
	return is_asked_for(session) || plan_lacks_registers(&session->plan);
}

static void tell_registers_only(struct session *session, const struct error *why)
{
	if (!is_worth_telling(session))
		return;
	session->remap.told = true;
	log_print(
		"code compiled at run time has debug registers only (--share has all take turns): %s",
		why->text);
}

/* Planning ------------------------------------------------------------------------------------ */

static bool is_code_in_memory(const struct mapping *row)
{
	return row->executable && row->readable && !row->writable && row->inode != 0;
}

/*
 * The row with all probes of @site, if each is on a page that is never written again. Rows of one
 * file lie in memory as in the file only as far as they go: all in one row.
 */
static const struct mapping *find_row(const struct maps *maps, const struct sealed_pages *pages,
				      const struct site *site)
{
	const struct mapping *row = maps_find(maps, site->address);

	if (!row || !is_code_in_memory(row))
		return NULL;
	for (size_t i = 0; i < site_probe_count(site); i++) {
		struct address at = site_probe(site, 0, i).address;

		if (maps_find(maps, at) != row || !sealed_pages_have(pages, at.value))
			return NULL;
	}
	return row;
}

/* How many of those that could be are on sealed pages, how many are not, or are in no file. */
struct choice {
	size_t remapped;
	size_t open;
	size_t fileless;
};

static bool is_in_file(const struct maps *maps, const struct site *site)
{
	const struct mapping *row = maps_find(maps, site->address);

	return row && row->inode != 0;
}

static struct choice choose_sites(struct plan *plan, const struct maps *maps,
				  const struct sealed_pages *pages)
{
	const struct mapping *file = NULL;
	struct choice choice = { 0 };

	for (size_t i = 0; i < plan->count; i++) {
		struct site *site = &plan->sites[i];
		const struct mapping *row;

		if (!site_takes_remapped(plan, site))
			continue;
		row = find_row(maps, pages, site);
		if (!row || (file && !mapping_same_file(row, file))) {
			choice.open++;
			choice.fileless += !is_in_file(maps, site);
			continue;
		}
		file = row;
		site_remap(site, mapping_offset(row, site->address));
		choice.remapped++;
	}
	return choice;
}

static bool has_candidates(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (site_takes_remapped(plan, &plan->sites[i]))
			return true;
	}
	return false;
}

int session_plan_remap(struct session *session, struct error *err)
{
	_cleanup_(sealed_pages_deinit) struct sealed_pages pages = { 0 };
	_cleanup_(maps_deinit) struct maps maps = { 0 };
	struct error why = { .text = "" };
	struct choice choice;
	int result;

	if (!has_candidates(&session->plan))
		return 0;
	result = runtimes_read_sealed(&session->resolution.runtimes, &pages, err);
	if (result)
		return result;
	/* What was just being written when that was read is written by now. */
	if (process_settle(&session->target.process, SETTLE_MS, &why) ||
	    maps_read(&maps, &session->target.process, &why)) {
		tell_registers_only(session, &why);
		return 0;
	}
	choice = choose_sites(&session->plan, &maps, &pages);
	plan_give_registers(&session->plan, BREAKPOINTS_MAX);
	if (choice.fileless && is_worth_telling(session))
		log_print(
			"%zu bod%s in plain memory, where no uprobe can be (W^X is off): %s debug registers, as far as there are (--share has all take turns)",
			choice.fileless,
			choice.fileless == 1 ? "y compiled at run time is" :
					       "ies compiled at run time are",
			choice.fileless == 1 ? "it has" : "they have");
	else if (choice.open && is_asked_for(session))
		log_print(
			"%zu of %zu bodies compiled at run time are on pages that the runtime may still write to: %s",
			choice.open, choice.open + choice.remapped,
			breakpoint_events_fire() ?
				"they have debug registers, as far as there are (--share has all take turns)" :
				"run on until those are full, since debug registers do not work here");
	return 0;
}

/* Attaching ----------------------------------------------------------------------------------- */

static size_t list_places(const struct plan *plan, struct private_place *places)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		for (size_t j = 0; site_is_remapped(site) && j < site_probe_count(site); j++) {
			struct site_probe probe = site_probe(site, 0, j);

			if (places)
				places[count] = (struct private_place){ probe.address.value,
									probe.offset.value };
			count++;
		}
	}
	return count;
}

static void do_without(struct session *session, const struct error *why)
{
	struct plan *plan = &session->plan;

	for (size_t i = 0; i < plan->count; i++) {
		if (site_is_remapped(&plan->sites[i]))
			site_unmap(&plan->sites[i]);
	}
	plan_give_registers(plan, BREAKPOINTS_MAX);
	tell_registers_only(session, why);
}

int session_note_copies(struct session *session, const struct private_place *places, size_t count,
			struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++)
		result = capture_add_copy(session->capture, places[i].address, err);
	return result;
}

void session_log_private(size_t probes, const struct inject_outcome *outcome)
{
	log_print(
		"its mapping of code compiled at run time is private until the end, for %zu probe%s: one thread of it was stopped for %llu us",
		probes, text_plural(probes), (unsigned long long)(outcome->stopped_ns / NS_PER_US));
}

int session_make_private(struct session *session, struct error *err)
{
	size_t count = list_places(&session->plan, NULL);
	_cleanup_free_ struct private_place *places = NULL;
	struct inject_outcome outcome = { 0 };
	struct error why = { .text = "" };

	if (count == 0)
		return 0;
	places = calloc(count, sizeof(*places));
	if (!places)
		return error_set(err, -ENOMEM, "no memory for %zu probes", count);
	list_places(&session->plan, places);
	if (private_code_create(&session->remap.code, &session->target.process, places, count,
				&outcome, &why)) {
		do_without(session, &why);
		return 0;
	}
	if (session_note_copies(session, places, count, err))
		return -ENOMEM;
	session_log_private(count, &outcome);
	return 0;
}

/* Watching ------------------------------------------------------------------------------------ */

/* Whoever compiles it waits until all is shared again. */
static int check_compiled(struct session *session)
{
	uint64_t at = capture_overwritten(session->capture);

	if (!at || !process_is_alive(&session->target.process))
		return 0;
	return error_set(
		&session->problem, -ESTALE,
		"the probes of process %d were removed: it has compiled a method to 0x%llx, where code was thought to be final; run again, with --no-remap if it comes back",
		session->pid, (unsigned long long)at);
}

static int look_at_copies(struct session *session)
{
	struct session_remap *remap = &session->remap;
	uint64_t now = clock_now_ns(), compilations = capture_compilations(session->capture);
	int result = check_compiled(session);

	if (result || (compilations == remap->compilations &&
		       now - remap->checked_ns < (uint64_t)CHECK_MS * NS_PER_MS))
		return result;
	remap->compilations = compilations;
	remap->checked_ns = now;
	return private_code_check(remap->code, &session->problem);
}

int session_check_private(struct session *session)
{
	int result = session->remap.code ? look_at_copies(session) : 0;

	/*
	 * At once: the probes vanish with the copies. To remove them first takes until whoever is
	 * held goes on, and that is what this is to be done before.
	 */
	if (result && private_code_share(session->remap.code, NULL) == 0)
		capture_forget_copies(session->capture);
	return result;
}

int session_share_again(struct session *session, struct error *err)
{
	uint64_t late;
	int result;

	if (!session->remap.code)
		return 0;
	result = private_code_share(session->remap.code, err);
	late = capture_forget_copies(session->capture);
	if (late)
		log_print(
			"%llu thread%s not waited until the probes were gone: %s may have run code that was not as it should be (docs/safety.md says what that means)",
			(unsigned long long)late, late == 1 ? " has" : "s have",
			late == 1 ? "it" : "they");
	private_code_destroy(session->remap.code);
	session->remap.code = NULL;
	return result;
}
