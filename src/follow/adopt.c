// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is there when following begins: bodies that are probed or go without, and the registers for
 * what is to come.
 */
#include "probe/breakpoints.h"
#include "follow/follow_internal.h"
#include "method/pattern.h"
#include "plan/timed.h"

/* They were given out in the order of the site's probes, its entry last. */
static void adopt_slots(struct follow *follow, struct body *body)
{
	struct register_claim claim = body_claim(body);
	size_t next = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		bool exit = next < body->exit_count;

		if (follow->config.slots[i] != (int)body->number)
			continue;
		scheduler_adopt(&follow->scheduler, i, exit ? &body->exits[next] : &claim, exit);
		next++;
	}
}

/* It has that of the stub's first site, which has come before it. */
static void share_probe(struct follow *follow, const struct site *site, uint32_t number)
{
	const struct body *first = bodies_find_unreported(follow->bodies, site->address);

	if (first)
		sites_share(follow->sites, number, first->number);
	else
		sites_add_trouble(follow->sites, number, TROUBLE_NO_REGISTER);
}

/* @armed: it has its breakpoints already. */
static void adopt_site(struct follow *follow, const struct site *site, uint32_t number, bool armed)
{
	/* A timed body gets all that it needs at once or nothing, unless it gets it by turns. */
	bool waits = site->reason == REASON_NO_DEBUG_REGISTER &&
		     site_probe_count(site) <= BREAKPOINTS_MAX &&
		     (!follow->config.timed || follow->config.share_ns);
	struct body body = {
		.number = number,
		.address = site->address,
		.size = site->size,
		.method = site->method_desc,
		.rank = policy_rank(watch_rank(follow->watch, &site->id), follow->config.share_ns),
		.may_be_freed = site->may_be_freed,
		/* Nor is one probed that cannot be, whatever is free. */
		.entered_by_calls = site->tier != TIER_OSR &&
				    (site->mechanism == MECHANISM_BREAKPOINT || waits),
		.superseded = site->state == STATE_SUPERSEDED,
		.final = site->final,
	};

	if (site->stub)
		body.entry_flags = BREAKPOINT_STUB;
	if (site->stub || site->shares_probe)
		stubs_adopt(follow, site, number);
	if (follow->config.timed)
		timing_take_exits(&body, site);
	if (site->shares_probe) {
		share_probe(follow, site, number);
		return;
	}
	if (armed)
		adopt_slots(follow, &body);
	bodies_add(follow->bodies, &body);
}

/* Bodies with registers that will not be replaced, of methods of which no other body can come. */
static size_t final_count(const struct follow *follow)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		int site = follow->config.slots[i];

		if (site >= 0 && (i == 0 || follow->config.slots[i - 1] != site) &&
		    follow->config.plan->sites[site].final &&
		    !site_may_be_instance(&follow->config.plan->sites[site]))
			count++;
	}
	return count;
}

static bool has_slot(const struct follow *follow, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (follow->config.slots[i] == (int)site)
			return true;
	}
	return false;
}

void adopt_plan(struct follow *follow)
{
	const struct plan *plan = follow->config.plan;

	for (uint32_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->method_desc && site->file == BODY_NO_FILE)
			adopt_site(follow, site, i, has_slot(follow, i));
	}
}

void adopt_registers(struct follow *follow)
{
	size_t patterns = follow->config.methods->count;
	size_t rows = watch_row_count(follow->watch);
	const struct policy_demand demand = {
		.methods = rows > patterns ? rows : patterns,
		.final = final_count(follow),
		.open_ended = watch_is_open_ended(follow->watch),
		.multiplexed = follow->config.share_ns,
		.timed = follow->config.timed,
	};

	if (!scheduler_reserve(&follow->scheduler, policy_reservation(&demand)))
		atomic_store(&follow->without_registers,
			     scheduler_reserved(&follow->scheduler) == 0);
}

void follow_add(struct follow *follow, const struct site *site)
{
	struct body body = { .method = site->method_desc };

	if (!sites_add(follow->sites, site, false, &body.number))
		return;
	timing_describe(follow, &body, site);
	sites_publish(follow->sites);
	adopt_site(follow, site, body.number, false);
	/* It came when nobody could hold the thread that made it. */
	if (site->tier == TIER_OSR)
		timing_take_osr(follow, NULL, site->method_desc);
	if (site->shares_probe ||
	    (site->mechanism != MECHANISM_BREAKPOINT && site->reason != REASON_NO_DEBUG_REGISTER))
		return;
	if (site->tier != TIER_OSR && site->state != STATE_SUPERSEDED) {
		struct body *added = bodies_find_unreported(follow->bodies, site->address);
		struct follow_note unused = { 0 };

		if (added && site->state == STATE_CURRENT)
			bodies_replace(follow->bodies, added);
		if (added)
			answers_arm(follow, added, &unused);
	}
}
