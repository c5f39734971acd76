// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which bodies have the debug registers: called by the follower's tick; policy.c says when a turn is
 * over, and whose is next.
 */
#include "registers/multiplexing.h"

#include "base/clock.h"
#include "registers/bodies.h"
#include "registers/body_time.h"

/* What the choice goes by, as it is now. */
struct turns {
	struct bodies *bodies;
	const struct scheduler *scheduler;
	uint64_t now;
	uint64_t slice_ns;
	int given;    /* registers of bodies that may give way, */
	int on_trial; /* and of those, of bodies that are not hit */
	bool untried; /* one waits that has never been watched */
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
	struct scheduler *scheduler = bodies_scheduler(turns->bodies);

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
	struct scheduler *scheduler = bodies_scheduler(turns->bodies);
	bool any = false;

	for (size_t i = 0; scheduler->timed && i < bodies_count(turns->bodies); i++) {
		struct body *body = bodies_at(turns->bodies, i);

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

	for (size_t i = 0; i < bodies_count(turns->bodies); i++) {
		struct body *body = bodies_at(turns->bodies, i);

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
	struct scheduler *scheduler = bodies_scheduler(turns->bodies);

	for (int i = 0; i < POLICY_REGISTERS; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (use->used && use->superseded &&
		    scheduler_is_drained(scheduler, use->claim.body))
			scheduler_drop(scheduler, use->claim.body);
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

static struct body *next_alike(struct turns *turns)
{
	return find_longest(turns, waits, NULL);
}

static struct body *first_to_go_alike(const struct turns *turns, const struct body *next)
{
	struct body *first = find_longest(turns, has_register, next);

	return first && is_over(turns, first) ? first : NULL;
}

/* By need ----------------------------------------------------------------------------------- */

/* Counts who has registers, and returns the body that is to have the next one; or NULL. */
static struct body *next_by_need(struct turns *turns)
{
	struct body *busy = NULL, *other = NULL;
	uint64_t most_busy = 0, most_other = 0;

	turns->given = turns->on_trial = 0;
	turns->untried = false;
	for (size_t i = 0; i < bodies_count(turns->bodies); i++) {
		struct body *body = bodies_at(turns->bodies, i);
		struct policy_body described;
		uint64_t claim;

		if (!body_wants_register(body))
			continue;
		described = bodies_describe(turns->bodies, body);
		if (described.has_entry) {
			turns->given += policy_may_give_way(body->rank);
			turns->on_trial += policy_may_give_way(body->rank) &&
					   !policy_is_hit(&described, turns->now);
			continue;
		}
		if (!policy_may_give_way(body->rank))
			return body;
		/* As above. */
		if (body->slice_ns > turns->now)
			continue;
		turns->untried |= !body->tried;
		claim = policy_claim(&described, turns->now);
		if (body->busy && claim > most_busy) {
			busy = body;
			most_busy = claim;
		} else if (!body->busy && claim > most_other) {
			other = body;
			most_other = claim;
		}
	}
	if (!busy || !other)
		return busy ? busy : other;
	return turns->on_trial < policy_trials(turns->given, turns->untried) ? other : busy;
}

static bool is_idle(const struct turns *turns, const struct body *body)
{
	return has_register(turns, body) && policy_may_give_way(body->rank) &&
	       policy_is_idle(body->slice_ns, body_last_hit_ns(body, turns->scheduler), turns->now);
}

static bool may_give_way(const struct turns *turns, const struct body *body)
{
	return has_register(turns, body) && policy_may_give_way(body->rank);
}

static struct body *first_to_go_by_need(const struct turns *turns, const struct body *next)
{
	struct body *first = find_longest(turns, is_idle, next);

	if (first)
		return first;
	first = find_longest(turns, may_give_way, next);
	if (!first || !policy_may_give_way(next->rank))
		return first;
	if (!next->busy && turns->on_trial >= policy_trials(turns->given, turns->untried))
		return NULL;
	return is_over(turns, first) ? first : NULL;
}

void multiplexing_tend(struct bodies *bodies, enum policy_turns how, uint64_t slice_ns)
{
	bool alike = how == POLICY_ALIKE;
	struct turns turns = {
		.bodies = bodies,
		.scheduler = bodies_scheduler(bodies),
		.now = clock_now_ns(),
		.slice_ns = slice_ns,
	};
	struct body *next, *first;

	if (let_drain(&turns))
		return;
	while ((next = alike ? next_alike(&turns) : next_by_need(&turns))) {
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
