// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --remap while it goes on: what comes up has a debug register first, or none, and moves to a
 * uprobe once its page is sealed. Called now and then (consume.c), and never waits: what takes its
 * time, that all threads settle, is looked at again the next time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "code/insn.h"
#include "follow/follow.h"
#include "inject/inject.h"
#include "inject/private.h"
#include "plan/timed.h"
#include "runtime/sealed.h"
#include "session/session_internal.h"
#include "target/memory.h"
#include "target/settle.h"

enum {
	LOOK_MS = 250,
	IDLE_MS = 1000,		/* where the last look has found none */
	GIVE_UP_MS = 10000,	/* for threads to settle before probes come */
	INSTRUCTION_BYTES = 16, /* the longest, and more */
};

/* Candidates ---------------------------------------------------------------------------------- */

/* Is its name known for sure, if it came up while the target was followed? */
static bool is_named(const struct session *session, size_t number)
{
	const struct followed *followed = &session->followed;

	return number < followed->first || number - followed->first < followed->named;
}

/* What came up was not in its place when the plan got it: see what its first instruction is. */
static bool is_probeable(const struct session *session, struct site *site)
{
	_cleanup_free_ uint8_t *bytes =
		memory_read_once(session->target.memory, site->address.value, INSTRUCTION_BYTES);
	const struct span code = { bytes, INSTRUCTION_BYTES };

	if (!bytes)
		return false;
	site->cost = insn_probe_cost(code);
	site->patchable = insn_is_patchable(code);
	return site_takes_remapped(&session->plan, site) &&
	       !resolution_jumps_to_entry(&session->resolution, site->address, site->size);
}

static bool may_move(const struct session *session, size_t number)
{
	const struct site *site = &session->plan.sites[number];

	return site->method_desc && !site_is_remapped(site) && is_named(session, number) &&
	       site_has_breakpoint(site) && site->file == BODY_NO_FILE && !site->may_be_freed &&
	       (site->final || !session->plan.timed);
}

static size_t count_candidates(const struct session *session)
{
	size_t count = 0;

	for (size_t i = 0; i < session->plan.count; i++)
		count += may_move(session, i);
	return count;
}

static void end_settling(struct session_remap *remap)
{
	settling_end(remap->settling);
	remap->settling = NULL;
}

/* All places in it that get probes. */
static bool is_sealed(const struct site *site, const struct sealed_pages *pages)
{
	for (size_t i = 0; i < site_probe_count(site); i++) {
		if (!sealed_pages_have(pages, site_probe(site, 0, i).address.value))
			return false;
	}
	return true;
}

/* They stay where they are. */
static void abandon(struct session *session)
{
	struct session_remap *remap = &session->remap;

	if (remap->count == 0)
		return;
	capture_recall_move(session->capture, remap->numbers, remap->count);
	capture_moved(session->capture);
	remap->count = 0;
}

/* Those on sealed pages: they can move once all threads have settled. */
static int choose(struct session *session)
{
	struct session_remap *remap = &session->remap;
	_cleanup_(sealed_pages_deinit) struct sealed_pages pages = { 0 };
	size_t most = count_candidates(session);
	int result;

	free(remap->numbers);
	remap->count = 0;
	remap->numbers = calloc(most + 1, sizeof(*remap->numbers));
	result = remap->numbers ?
			 runtimes_read_sealed(&session->resolution.runtimes, &pages, NULL) :
			 -ENOMEM;
	for (size_t i = 0; i < session->plan.count && result == 0 && remap->count < most; i++) {
		struct site *site = &session->plan.sites[i];

		if (may_move(session, i) && is_sealed(site, &pages) && is_probeable(session, site))
			remap->numbers[remap->count++] = (uint32_t)i;
	}
	if (result == 0 && remap->count)
		result =
			capture_announce_move(session->capture, remap->numbers, remap->count, NULL);
	if (result == 0 && remap->count)
		result = settling_begin(&remap->settling, &session->target.process, NULL);
	if (result)
		abandon(session);
	return result;
}

/* Moving -------------------------------------------------------------------------------------- */

static size_t count_probes(const struct session *session)
{
	size_t count = 0;

	for (size_t i = 0; i < session->remap.count; i++)
		count += site_probe_count(&session->plan.sites[session->remap.numbers[i]]);
	return count;
}

/* All of its probes to *@places, and where they are in the file; false if they are in none. */
static bool find_places(const struct site *site, const struct maps *maps,
			struct private_place **places)
{
	const struct mapping *row = maps_find(maps, site->address);
	size_t count = site_probe_count(site);

	if (!row || !row->executable || row->writable || !row->inode)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct address at = site_probe(site, 0, i).address;

		if (maps_find(maps, at) != row)
			return false;
		(*places)[i] = (struct private_place){ at.value, mapping_offset(row, at).value };
	}
	*places += count;
	return true;
}

/* What is still so. Returns how many places that are. */
static size_t keep_places(struct session *session, const struct maps *maps,
			  struct private_place *places)
{
	struct session_remap *remap = &session->remap;
	struct private_place *end = places;
	size_t kept = 0;

	for (size_t i = 0; i < remap->count; i++) {
		uint32_t number = remap->numbers[i];

		if (may_move(session, number) &&
		    find_places(&session->plan.sites[number], maps, &end))
			remap->numbers[kept++] = number;
		else
			capture_recall_move(session->capture, &number, 1);
	}
	remap->count = kept;
	return (size_t)(end - places);
}

static int make_private(struct session *session, const struct private_place *places, size_t count,
			struct error *err)
{
	struct session_remap *remap = &session->remap;
	struct inject_outcome outcome = { 0 };
	int result;

	if (remap->code) {
		result = private_code_widen(remap->code, places, count, NULL, err);
	} else {
		result = private_code_create(&remap->code, &session->target.process, places, count,
					     &outcome, err);
		if (result == 0)
			session_log_private(count, &outcome);
	}
	return result ? result : session_note_copies(session, places, count, err);
}

/* From here on it is all or nothing: a failure ends the run. */
static int attach(struct session *session, const struct private_place *places, size_t count,
		  struct error *err)
{
	struct session_remap *remap = &session->remap;
	const struct private_place *end = places;
	int result;

	for (size_t i = 0; i < remap->count; i++) {
		struct site *site = &session->plan.sites[remap->numbers[i]];

		/* The one at the entry is the last. */
		end += site_probe_count(site);
		site_remap(site, (struct file_offset){ end[-1].offset });
	}
	result = capture_move(session->capture, remap->numbers, remap->count,
			      private_code_fd(remap->code), err);
	if (result == 0)
		result = private_code_watch(remap->code, places, count, err);
	if (result == 0)
		result = private_code_check(remap->code, err);
	return result;
}

/* All threads have settled since the pages were read. */
static int move(struct session *session)
{
	struct session_remap *remap = &session->remap;
	_cleanup_free_ struct private_place *places =
		calloc(count_probes(session) + 1, sizeof(*places));
	_cleanup_(maps_deinit) struct maps maps = { 0 };
	struct error why = { .text = "" };
	size_t count = 0;
	int result = places ? maps_read(&maps, &session->target.process, &why) : -ENOMEM;

	if (result == 0) {
		count = keep_places(session, &maps, places);
		result = count ? make_private(session, places, count, &why) : -ENOENT;
	}
	if (result) {
		if (why.text[0] && !remap->told && process_is_alive(&session->target.process))
			log_print("what was compiled last keeps its debug registers: %s", why.text);
		remap->told |= why.text[0] != 0;
		abandon(session);
		return 0;
	}
	result = attach(session, places, count, &session->problem);
	if (result)
		return private_code_is_gone(remap->code) ? 0 : result;
	remap->moving = true;
	/* If that cannot be begun it is tried again. */
	(void)settling_begin(&remap->settling, &session->target.process, NULL);
	return 0;
}

/* No thread is between a breakpoint and its uprobe any more. */
static void finish(struct session *session)
{
	struct session_remap *remap = &session->remap;

	capture_moved(session->capture);
	for (size_t i = 0; i < remap->count; i++) {
		capture_time_moved(session->capture, remap->numbers[i]);
		sites_retire(follow_sites(session->followed.follow), remap->numbers[i]);
	}
	if (session->options->verbose)
		log_print("%zu bod%s moved to uprobes", remap->count,
			  remap->count == 1 ? "y has" : "ies have");
	remap->count = 0;
	remap->moving = false;
}

int session_tend_remap(struct session *session)
{
	struct session_remap *remap = &session->remap;
	uint64_t now = clock_now_ns();
	bool settled;

	if (!options_may_remap(session->options) || !session->followed.follow)
		return 0;
	if (remap->moving && !remap->settling &&
	    settling_begin(&remap->settling, &session->target.process, NULL))
		return 0;
	if (!remap->settling) {
		if (now - remap->looked_ns <
			    (uint64_t)(remap->idle ? IDLE_MS : LOOK_MS) * NS_PER_MS ||
		    !session->target.memory || !count_candidates(session))
			return 0;
		remap->looked_ns = now;
		if (session_comes_to_want_remap(session))
			remap->idle = choose(session) || remap->count == 0;
		return 0;
	}
	settled = settling_look(remap->settling);
	if (!settled &&
	    (remap->moving || now - remap->looked_ns < (uint64_t)GIVE_UP_MS * NS_PER_MS))
		return 0;
	end_settling(remap);
	if (remap->moving)
		finish(session);
	else if (settled)
		return move(session);
	else
		abandon(session);
	return 0;
}

void session_remap_deinit(struct session *session)
{
	end_settling(&session->remap);
	free(session->remap.numbers);
	private_code_destroy(session->remap.code);
}
