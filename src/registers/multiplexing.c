// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which bodies have the debug registers: called by the follower's tick with --share; policy.c
 * says when a time slice is over.
 */
#include "registers/multiplexing.h"

#include "base/clock.h"
#include "registers/bodies.h"

static bool is_watched(const struct bodies *bodies, const struct body *body)
{
	const struct policy_body described = bodies_describe(bodies, body);

	return policy_is_watched(&described, scheduler_reserved(bodies_scheduler(bodies)));
}

/* Be it for the entry alone. */
static bool has_register(const struct bodies *bodies, const struct body *body)
{
	return scheduler_has_entry(bodies_scheduler(bodies), body->number);
}

static bool fits(const struct bodies *bodies, const struct body *body)
{
	const struct scheduler *scheduler = bodies_scheduler(bodies);
	const struct policy_body described = bodies_describe(bodies, body);

	return policy_slice_fits(&described, scheduler_idle(scheduler),
				 scheduler_reserved(scheduler));
}

static bool is_over(const struct bodies *bodies, const struct body *body, uint64_t now,
		    uint64_t slice_ns)
{
	const struct policy_body described = bodies_describe(bodies, body);

	return policy_slice_is_over(&described, now, slice_ns);
}

static void count_slice(struct body *body, uint64_t now, bool watched)
{
	if (watched)
		body->watched_ns += now - body->slice_ns;
	body->slice_ns = now;
}

/* Nobody enters it any more. True if there are calls that are still to leave. */
static bool evict(struct bodies *bodies, struct body *body, uint64_t now)
{
	struct scheduler *scheduler = bodies_scheduler(bodies);

	count_slice(body, now, true);
	bodies_note_missed(bodies, body);
	body->draining = scheduler_has_calls(scheduler, body->number);
	if (body->draining)
		scheduler_close(scheduler, body->number, true);
	else
		scheduler_drop(scheduler, body->number);
	return body->draining;
}

/* True if a body is still draining. */
static bool let_drain(struct bodies *bodies, uint64_t now, uint64_t slice_ns)
{
	bool any = false;

	for (size_t i = 0; i < bodies_count(bodies); i++) {
		struct body *body = bodies_at(bodies, i);

		if (!body->draining)
			continue;
		if (scheduler_has_calls(bodies_scheduler(bodies), body->number) &&
		    policy_may_drain(body->slice_ns, now, slice_ns)) {
			any = true;
			continue;
		}
		scheduler_drop(bodies_scheduler(bodies), body->number);
		scheduler_close(bodies_scheduler(bodies), body->number, false);
		body->draining = false;
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

		if (body == other || !body_wants_register(body) || !is(bodies, body))
			continue;
		if (!longest || body->slice_ns < longest->slice_ns)
			longest = body;
	}
	return longest;
}

/* Registers of bodies that calls have left for newer ones. */
static void drop_drained(struct bodies *bodies)
{
	for (size_t i = 0; i < bodies_count(bodies); i++) {
		const struct body *body = bodies_at(bodies, i);

		if (body->superseded &&
		    scheduler_is_drained(bodies_scheduler(bodies), body->number))
			scheduler_drop(bodies_scheduler(bodies), body->number);
	}
}

static bool begin_slice(struct bodies *bodies, struct body *body, uint64_t now)
{
	uint32_t evicted;

	if (!has_register(bodies, body) && bodies_arm(bodies, body, &evicted, NULL))
		return false;
	bodies_time(bodies, body);
	count_slice(body, now, false);
	return is_watched(bodies, body);
}

void multiplexing_tend(struct bodies *bodies, uint64_t slice_ns)
{
	uint64_t now = clock_now_ns();
	struct body *next, *first;

	if (let_drain(bodies, now, slice_ns))
		return;
	drop_drained(bodies);
	while ((next = find_longest(bodies, waits, NULL))) {
		if (fits(bodies, next)) {
			if (!begin_slice(bodies, next, now))
				return;
			continue;
		}
		first = find_longest(bodies, has_register, next);
		if (!first || !is_over(bodies, first, now, slice_ns) || evict(bodies, first, now))
			return;
	}
}

double multiplexing_watched(const struct bodies *bodies, uint32_t number, uint64_t now)
{
	const struct body *body = bodies_find(bodies, number);
	uint64_t watched;

	if (!body || now <= body->added_ns)
		return 0;
	watched = body->watched_ns;
	if (has_register(bodies, body) && !body->draining)
		watched += now - body->slice_ns;
	return (double)watched / (double)(now - body->added_ns);
}
