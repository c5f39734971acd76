// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which bodies have the debug registers: called by the follower's tick; policy.c says when a turn
 * is over, and whose is next.
 */
#include "registers/bodies.h"

#include "base/clock.h"

/* What the choice goes by, as it is now. */
struct turns {
	struct bodies *bodies;
	struct scheduler *scheduler;
	uint64_t now;
	uint64_t slice_ns;
	/* By need: who has a register and may give way, how many of them are not hit; */
	struct body *holders[POLICY_REGISTERS];
	int holder_count;
	int on_trial;
	bool untried; /* and whether one waits that has never been watched. */
};

static bool is_watched(const struct turns *turns, const struct body *body)
{
	const struct policy_body described = bodies_describe(turns->bodies, body);

	return policy_is_watched(&described, scheduler_reserved(turns->scheduler));
}

/* Be it for the entry alone. */
static bool has_register(const struct turns *turns, const struct body *body)
{
	return scheduler_has_entry(turns->scheduler, body->number);
}

static bool fits(const struct turns *turns, const struct body *body)
{
	const struct policy_body described = bodies_describe(turns->bodies, body);

	return policy_slice_fits(&described, scheduler_idle(turns->scheduler),
				 scheduler_reserved(turns->scheduler));
}

static bool is_over(const struct turns *turns, const struct body *body)
{
	const struct policy_body described = bodies_describe(turns->bodies, body);

	return policy_slice_is_over(&described, turns->now, turns->slice_ns);
}

/* Nobody enters it any more. True if there are calls that are still to leave. */
static bool evict(const struct turns *turns, struct body *body)
{
	struct scheduler *scheduler = turns->scheduler;

	body_note_last_hit(body, body_last_hit_ns(body, scheduler));
	bodies_note_missed(turns->bodies, body);
	body->draining = scheduler_has_calls(scheduler, body->number);
	if (body->draining)
		scheduler_close(scheduler, body->number, true);
	else
		scheduler_drop(scheduler, body->number);
	body_note_register(body, scheduler);
	return body->draining;
}

/* True if a body is still draining. */
static bool let_drain(const struct turns *turns)
{
	struct scheduler *scheduler = turns->scheduler;
	bool any = false;

	for (size_t i = 0; scheduler->timed && i < turns->bodies->count; i++) {
		struct body *body = &turns->bodies->bodies[i];

		if (!body->draining)
			continue;
		if (scheduler_has_calls(scheduler, body->number) &&
		    policy_may_drain(body->slice_ns, turns->now, turns->slice_ns)) {
			any = true;
			continue;
		}
		scheduler_drop(scheduler, body->number);
		scheduler_close(scheduler, body->number, false);
		body->draining = false;
	}
	return any;
}

/* Of those for which it @is so, but @other, for whom it has been for longest; or NULL. */
static struct body *find_longest(const struct turns *turns,
				 bool (*is)(const struct turns *, const struct body *),
				 const struct body *other)
{
	struct body *longest = NULL;

	for (size_t i = 0; i < turns->bodies->count; i++) {
		struct body *body = &turns->bodies->bodies[i];

		if (body == other || !body_wants_register(body) || !is(turns, body))
			continue;
		if (!longest || body->slice_ns < longest->slice_ns)
			longest = body;
	}
	return longest;
}

/* Registers of bodies that calls have left for newer ones. */
static void drop_drained(const struct turns *turns)
{
	for (int i = 0; i < POLICY_REGISTERS; i++) {
		const struct register_use *use = &turns->scheduler->uses[i];

		if (use->used && use->superseded &&
		    scheduler_is_drained(turns->scheduler, use->claim.body))
			scheduler_drop(turns->scheduler, use->claim.body);
	}
}

static bool begin_slice(const struct turns *turns, struct body *body)
{
	uint32_t evicted;

	if (has_register(turns, body))
		body_begin_slice(body);
	else if (bodies_arm(turns->bodies, body, &evicted, NULL))
		return false;
	bodies_time(turns->bodies, body);
	return is_watched(turns, body);
}

/* All alike --------------------------------------------------------------------------------- */

static bool waits(const struct turns *turns, const struct body *body)
{
	/* Whose turn has just ended waits for the next time. */
	return body->slice_ns <= turns->now && !is_watched(turns, body);
}

static struct body *first_to_go_alike(const struct turns *turns, const struct body *next)
{
	struct body *first = find_longest(turns, has_register, next);

	return first && is_over(turns, first) ? first : NULL;
}

/* By need ----------------------------------------------------------------------------------- */

static void add_holder(struct turns *turns, struct body *body)
{
	const struct policy_body described = bodies_describe(turns->bodies, body);

	if (!policy_may_give_way(body->rank))
		return;
	turns->holders[turns->holder_count++] = body;
	turns->on_trial += !policy_is_hit(&described, turns->now);
}

/* Of one that waits. A thread may be held meanwhile, and there may be thousands of bodies. */
static uint64_t claim_of(const struct turns *turns, const struct body *body)
{
	const struct policy_body described = {
		.slice_ns = body->slice_ns,
		.rank = body->rank,
		.tried = body->tried,
		.promoted = body->promoted,
	};

	return policy_claim(&described, turns->now);
}

static int trials(const struct turns *turns)
{
	return policy_trials(turns->holder_count, turns->untried);
}

/* Lists who has registers, and returns the body that is to have the next one; or NULL. */
static struct body *next_by_need(struct turns *turns)
{
	struct body *most[2] = { NULL, NULL }; /* by whether it is busy */
	uint64_t claims[2] = { 0, 0 };

	turns->holder_count = turns->on_trial = 0;
	turns->untried = false;
	for (size_t i = 0; i < turns->bodies->count; i++) {
		struct body *body = &turns->bodies->bodies[i];
		uint64_t claim;

		if (!body_wants_register(body))
			continue;
		if (has_register(turns, body)) {
			add_holder(turns, body);
			continue;
		}
		if (!policy_may_give_way(body->rank))
			claim = UINT64_MAX;
		else if (body->slice_ns > turns->now)
			continue; /* Whose turn has just ended waits for the next time. */
		else
			claim = claim_of(turns, body);
		turns->untried |= !body->tried;
		if (claim > claims[body->busy]) {
			most[body->busy] = body;
			claims[body->busy] = claim;
		}
	}
	if (!most[false] || !most[true])
		return most[false] ? most[false] : most[true];
	if (claims[true] == UINT64_MAX)
		return most[true];
	return claims[false] == UINT64_MAX || turns->on_trial < trials(turns) ? most[false] :
										most[true];
}

static bool must_go(const struct turns *turns, const struct body *body, const struct body *next)
{
	const struct policy_body described = bodies_describe(turns->bodies, body);

	if (!policy_may_give_way(next->rank) || is_over(turns, body))
		return true;
	return body->first && !next->tried && policy_first_is_over(&described, turns->now);
}

/* Of those whose turn is over the one that has had it for longest; but first one that is idle. */
static struct body *first_to_go_by_need(const struct turns *turns, const struct body *next)
{
	struct body *longest = NULL, *idle = NULL;

	for (int i = 0; i < turns->holder_count; i++) {
		struct body *body = turns->holders[i];
		uint64_t last_hit_ns = body_last_hit_ns(body, turns->scheduler);

		if (must_go(turns, body, next) && (!longest || body->slice_ns < longest->slice_ns))
			longest = body;
		if (policy_is_idle(body->slice_ns, last_hit_ns, turns->now) &&
		    (!idle || body->slice_ns < idle->slice_ns))
			idle = body;
	}
	if (idle || !longest || !policy_may_give_way(next->rank))
		return idle ? idle : longest;
	return next->busy || turns->on_trial < trials(turns) ? longest : NULL;
}

void multiplexing_tend(struct bodies *bodies, enum policy_turns how, uint64_t slice_ns)
{
	bool alike = how == POLICY_ALIKE;
	struct turns turns = {
		.bodies = bodies,
		.scheduler = bodies->scheduler,
		.now = clock_now_ns(),
		.slice_ns = slice_ns,
	};
	struct body *next, *first;

	if (let_drain(&turns))
		return;
	while ((next = alike ? find_longest(&turns, waits, NULL) : next_by_need(&turns))) {
		if (!fits(&turns, next))
			drop_drained(&turns);
		if (fits(&turns, next)) {
			if (!begin_slice(&turns, next))
				return;
			continue;
		}
		first = alike ? first_to_go_alike(&turns, next) : first_to_go_by_need(&turns, next);
		if (!first || evict(&turns, first))
			return;
	}
}
