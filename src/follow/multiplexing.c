// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/multiplexing.h"

#include "registers/scheduler.h"
#include "base/clock.h"
#include "follow/bodies.h"

enum {
	/* So long, or so many turns, calls under way may take to end when their body's turn is over. */
	LEAVE_MAX_NS = 1000 * 1000 * 1000,
	LEAVE_MAX_TURNS = 5,
};

/* Be it for the entry alone. */
static bool has_register(const struct bodies *bodies, const struct body *body)
{
	return scheduler_has_site(bodies_scheduler(bodies), body->site);
}

/* As far as there are registers for it: else it is watched at its entry. */
static bool can_be_timed(const struct bodies *bodies, const struct body *body)
{
	const struct scheduler *scheduler = bodies_scheduler(bodies);

	return scheduler->timed && body->exits_are == BODY_EXITS_KNOWN &&
	       1 + (int)body->exit_count <= scheduler_reserved(scheduler);
}

/* All that can be watched of it is. */
static bool is_watched(const struct bodies *bodies, const struct body *body)
{
	const struct scheduler *scheduler = bodies_scheduler(bodies);

	return has_register(bodies, body) &&
	       (!can_be_timed(bodies, body) || scheduler_is_timed(scheduler, body->site));
}

/* What it takes beside what it has. */
static int needs(const struct bodies *bodies, const struct body *body)
{
	return (has_register(bodies, body) ? 0 : 1) +
	       (can_be_timed(bodies, body) ? (int)body->exit_count : 0);
}

static void count_turn(struct body *body, uint64_t now, bool watched)
{
	if (watched)
		body->watched_ns += now - body->turn_ns;
	body->turn_ns = now;
}

/* Nobody enters it any more. True if there are calls that are still to leave. */
static bool give_up(struct bodies *bodies, struct body *body, uint64_t now)
{
	struct scheduler *scheduler = bodies_scheduler(bodies);

	count_turn(body, now, true);
	bodies_add_trouble(bodies, body->site, TROUBLE_NO_REGISTER);
	body->leaving = scheduler_has_calls(scheduler, body->site);
	if (body->leaving)
		scheduler_close(scheduler, body->site, true);
	else
		scheduler_drop_site(scheduler, body->site);
	return body->leaving;
}

/* True if somebody is still leaving. */
static bool let_leave(struct bodies *bodies, uint64_t now, uint64_t turn_ns)
{
	uint64_t most =
		LEAVE_MAX_TURNS * turn_ns > LEAVE_MAX_NS ? LEAVE_MAX_TURNS * turn_ns : LEAVE_MAX_NS;
	bool any = false;

	for (size_t i = 0; i < bodies_count(bodies); i++) {
		struct body *body = bodies_at(bodies, i);

		if (!body->leaving)
			continue;
		if (scheduler_has_calls(bodies_scheduler(bodies), body->site) &&
		    now - body->turn_ns < most) {
			any = true;
			continue;
		}
		scheduler_drop_site(bodies_scheduler(bodies), body->site);
		scheduler_close(bodies_scheduler(bodies), body->site, false);
		body->leaving = false;
	}
	return any;
}

static bool waits(const struct bodies *bodies, const struct body *body)
{
	return !is_watched(bodies, body);
}

/* Of those for which it @is so, but @other, for whom it has been for longest; or NULL. */
static struct body *find_longest(struct bodies *bodies,
				 bool (*is)(const struct bodies *, const struct body *),
				 const struct body *other)
{
	struct body *longest = NULL;

	for (size_t i = 0; i < bodies_count(bodies); i++) {
		struct body *body = bodies_at(bodies, i);

		if (body == other || !bodies_is_multiplexed(bodies, body) || !is(bodies, body))
			continue;
		if (!longest || body->turn_ns < longest->turn_ns)
			longest = body;
	}
	return longest;
}

/* Registers of bodies that calls have left for newer ones. */
static void drop_left(struct bodies *bodies)
{
	for (size_t i = 0; i < bodies_count(bodies); i++) {
		const struct body *body = bodies_at(bodies, i);

		if (body->superseded && scheduler_is_drained(bodies_scheduler(bodies), body->site))
			scheduler_drop_site(bodies_scheduler(bodies), body->site);
	}
}

static bool begin_turn(struct bodies *bodies, struct body *body, uint64_t now)
{
	uint32_t evicted;

	if (!has_register(bodies, body) && bodies_arm(bodies, body, &evicted, NULL))
		return false;
	bodies_time(bodies, body);
	count_turn(body, now, false);
	return is_watched(bodies, body);
}

void multiplexing_tend(struct bodies *bodies, uint64_t turn_ns)
{
	uint64_t now = clock_now_ns();
	struct body *next, *first;

	if (let_leave(bodies, now, turn_ns))
		return;
	drop_left(bodies);
	while ((next = find_longest(bodies, waits, NULL))) {
		if (scheduler_free(bodies_scheduler(bodies)) >= needs(bodies, next)) {
			if (!begin_turn(bodies, next, now))
				return;
			continue;
		}
		first = find_longest(bodies, has_register, next);
		if (!first || now - first->turn_ns < turn_ns || give_up(bodies, first, now))
			return;
	}
}

double multiplexing_watched(const struct bodies *bodies, uint32_t site, uint64_t now)
{
	const struct body *body = bodies_of_site(bodies, site);
	uint64_t watched;

	if (!body || now <= body->added_ns)
		return 0;
	watched = body->watched_ns;
	if (has_register(bodies, body) && !body->leaving)
		watched += now - body->turn_ns;
	return (double)watched / (double)(now - body->added_ns);
}
