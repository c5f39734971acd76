// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The beginning: what is there already is taken over, bodies that are probed or go without, and the
 * registers for what is to come. From then on compilations.c answers events.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "follow/jit/compilations_internal.h"
#include "follow/messages/snapshot.h"
#include "method/pattern.h"
#include "plan/timed.h"

/* Creating -------------------------------------------------------------------------------- */

/* What the main thread has found to be of another method, or gone, is not wanted. */
static bool is_wanted(void *ctx, uint32_t number)
{
	return sites_is_ours(ctx, number);
}

static void note_missed(void *ctx, uint32_t number)
{
	sites_add_trouble(ctx, number, TROUBLE_NO_REGISTER);
}

int compilations_create(struct compilations **out, const struct compilations_config *config,
			struct error *err)
{
	struct compilations *jit = calloc(1, sizeof(*jit));
	struct bodies_config bodies = {
		.is_wanted = is_wanted,
		.note_missed = note_missed,
	};
	int result;

	if (!jit)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	jit->config = *config;
	jit->messages = config->messages;
	atomic_init(&jit->registers, BREAKPOINTS_MAX);
	jit->turns = policy_turns(config->share_ns, config->timed);
	scheduler_init(&jit->scheduler, config->breakpoints, jit->messages->shared);
	jit->scheduler.timed = config->timed;
	bodies.scheduler = &jit->scheduler;
	bodies.capacity = sites_capacity(jit->messages->sites);
	bodies.ctx = jit->messages->sites;
	result = watch_create(&jit->watch, config->methods, &config->snapshot->runtime,
			      &config->maps, err);
	if (result == 0)
		result = bodies_create(&jit->bodies, &bodies, err);
	if (result) {
		compilations_destroy(jit);
		return result;
	}
	*out = jit;
	return 0;
}

void compilations_destroy(struct compilations *jit)
{
	if (!jit)
		return;
	bodies_destroy(jit->bodies);
	watch_destroy(jit->watch);
	copies_deinit(&jit->copies);
	exits_deinit(&jit->exits);
	text_deinit(&jit->stub_params);
	free(jit);
}

/* Adopting ------------------------------------------------------------------------------------ */

/* Those it has already, if any. They were given out in the order of its probes, its entry last. */
static void adopt_slots(struct compilations *jit, struct body *body)
{
	struct register_claim claim = body_claim(body);
	size_t next = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		bool exit = next < body->exit_count;

		if (jit->config.slots[i] != (int)body->number)
			continue;
		scheduler_adopt(&jit->scheduler, i, exit ? &body->exits[next] : &claim, exit);
		next++;
	}
}

static void adopt_site(struct compilations *jit, const struct site *site, uint32_t number)
{
	/*
	 * A timed body gets all that it needs at once or nothing, unless registers are multiplexed.
	 */
	bool waits = site->reason == REASON_NO_DEBUG_REGISTER &&
		     site_probe_count(site) <= BREAKPOINTS_MAX &&
		     (!jit->config.timed || jit->config.share_ns);
	struct body body = {
		.number = number,
		.address = site->address,
		.size = site->size,
		.method = site->method_desc,
		.may_be_freed = site->may_be_freed,
		/* Nor is one probed that cannot be, whatever is free. */
		.entered_by_calls = site->tier != TIER_OSR &&
				    (site->mechanism == MECHANISM_BREAKPOINT || waits),
		.superseded = site->state == STATE_SUPERSEDED,
		.final = site->final,
		.promoted = tier_is_promoted(site->tier),
	};

	compilations_rank(jit, watch_row_of(jit->watch, &site->id), &body);
	if (site->stub)
		body.entry_flags = BREAKPOINT_STUB;
	if (site->stub || site->shares_probe)
		stubs_adopt(jit, site, number);
	if (jit->config.timed)
		timing_take_exits(&body, site);
	if (site->shares_probe) {
		/* That of the stub's first site, which has come before it. */
		const struct body *first = bodies_find_unreported(jit->bodies, site->address);

		if (first)
			sites_share(jit->messages->sites, number, first->number);
		else
			sites_add_trouble(jit->messages->sites, number, TROUBLE_NO_REGISTER);
		return;
	}
	adopt_slots(jit, &body);
	bodies_add(jit->bodies, &body);
}

/* Bodies with registers that will not be replaced, of methods of which no other body can come. */
static size_t final_count(const struct compilations *jit)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		int site = jit->config.slots[i];

		if (site >= 0 && (i == 0 || jit->config.slots[i - 1] != site) &&
		    jit->config.plan->sites[site].final &&
		    !site_may_be_instance(&jit->config.plan->sites[site]))
			count++;
	}
	return count;
}

void compilations_adopt_plan(struct compilations *jit)
{
	const struct plan *plan = jit->config.plan;

	for (uint32_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->method_desc && site->file == BODY_NO_FILE)
			adopt_site(jit, site, i);
	}
}

void compilations_adopt_registers(struct compilations *jit)
{
	size_t patterns = jit->config.methods->count;
	size_t rows = watch_row_count(jit->watch);
	const struct policy_demand demand = {
		.methods = rows > patterns ? rows : patterns,
		.final = final_count(jit),
		.open_ended = watch_is_open_ended(jit->watch),
		.multiplexed = jit->config.share_ns,
		.timed = jit->config.timed,
	};

	if (!scheduler_reserve(&jit->scheduler, policy_reservation(&demand), true))
		atomic_store(&jit->registers, scheduler_reserved(&jit->scheduler));
}

void compilations_add(struct compilations *jit, const struct site *site)
{
	struct body body = { .method = site->method_desc };

	if (!sites_add(jit->messages->sites, site, false, &body.number))
		return;
	timing_describe(jit, &body, site);
	sites_publish(jit->messages->sites);
	adopt_site(jit, site, body.number);
	/* It came when nobody could hold the thread that made it. */
	if (site->tier == TIER_OSR)
		timing_take_osr(jit, NULL, site->method_desc);
	if (site->shares_probe ||
	    (site->mechanism != MECHANISM_BREAKPOINT && site->reason != REASON_NO_DEBUG_REGISTER))
		return;
	if (site->tier != TIER_OSR && site->state != STATE_SUPERSEDED) {
		struct body *added = bodies_find_unreported(jit->bodies, site->address);
		struct follow_note unused = { 0 };

		if (added && site->state == STATE_CURRENT)
			bodies_replace(jit->bodies, added);
		if (added)
			compilations_arm(jit, added, &unused);
	}
}
