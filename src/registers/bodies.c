// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bodies of all methods and which of them has registers: between follow/, which finds bodies,
 * and scheduler.c.
 */
#include "registers/bodies.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

int bodies_create(struct bodies **out, const struct bodies_config *config, struct error *err)
{
	struct bodies *bodies = calloc(1, sizeof(*bodies));

	if (bodies) {
		bodies->config = *config;
		bodies->scheduler = config->scheduler;
		bodies->bodies = calloc(config->capacity, sizeof(*bodies->bodies));
	}
	if (!bodies || !bodies->bodies) {
		bodies_destroy(bodies);
		return error_set(err, -ENOMEM, "no memory to follow methods");
	}
	*out = bodies;
	return 0;
}

void bodies_destroy(struct bodies *bodies)
{
	if (!bodies)
		return;
	free(bodies->bodies);
	free(bodies);
}

struct body *bodies_add(struct bodies *bodies, const struct body *body)
{
	struct body *added = &bodies->bodies[bodies->count];

	if (bodies->count == bodies->config.capacity)
		return NULL;
	*added = *body;
	added->added_ns = added->slice_ns = clock_now_ns();
	if (added->superseded)
		added->left_ns = added->added_ns;
	bodies->count++;
	body_note_register(added, bodies->scheduler);
	return added;
}

struct body *bodies_find(const struct bodies *bodies, uint32_t number)
{
	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (body->number == number)
			return body;
	}
	return NULL;
}

struct body *bodies_find_unreported(struct bodies *bodies, struct address address)
{
	for (size_t i = bodies->count; i > 0; i--) {
		struct body *body = &bodies->bodies[i - 1];

		if (!body->retired && !body->reported && body->address.value == address.value)
			return body;
	}
	return NULL;
}

/* Calls go to the newest body of a method, in a moment. */
static void supersede_others(struct bodies *bodies, const struct body *newest)
{
	for (size_t i = 0; newest->method && i < bodies->count; i++) {
		struct body *body = &bodies->bodies[i];

		if (body == newest || body->method != newest->method || !body->entered_by_calls)
			continue;
		body->superseded = true;
		body_leave(body);
		scheduler_supersede(bodies->scheduler, body->number, newest->number,
				    newest->publisher);
	}
}

void bodies_report(struct bodies *bodies, struct body *body, uint32_t publisher)
{
	body->reported = true;
	body->publisher = publisher;
	if (!body->superseded && body->entered_by_calls)
		supersede_others(bodies, body);
}

struct register_claim body_claim(const struct body *body)
{
	return (struct register_claim){
		.body = body->number,
		.address = body->address,
		.flags = body->entry_flags,
		.rank = body->rank,
		.may_be_freed = body->may_be_freed,
	};
}

void bodies_replace(struct bodies *bodies, const struct body *body)
{
	supersede_others(bodies, body);
	for (size_t i = 0; body->method && i < bodies->count; i++) {
		if (bodies->bodies[i].superseded && bodies->bodies[i].method == body->method)
			scheduler_note_published(bodies->scheduler, bodies->bodies[i].number);
	}
}

/* @body may have a register now, which @evicted had. */
static void note_arming(struct bodies *bodies, struct body *body, uint32_t evicted)
{
	const struct scheduler *scheduler = bodies->scheduler;
	int slot = scheduler_slot_of(scheduler, body->number);
	struct body *other = evicted == SCHEDULER_NO_BODY ? NULL : bodies_find(bodies, evicted);

	/* The one that comes has not been hit yet, or just now. */
	if (other && slot >= 0)
		body_note_last_hit(other, slot_last_hit_ns(scheduler, slot));
	if (other)
		body_note_register(other, scheduler);
	body_note_register(body, scheduler);
}

int bodies_arm(struct bodies *bodies, struct body *body, uint32_t *evicted, struct error *err)
{
	const struct register_claim claim = body_claim(body);
	int result;

	/* One that was there before would count each call once more. */
	scheduler_drop_range(bodies->scheduler, body->address, 1);
	result = scheduler_arm(bodies->scheduler, &claim, true, evicted, err);

	/* Only now: calls still go to the older body. */
	supersede_others(bodies, body);
	if (result != -ENOSPC) {
		note_arming(bodies, body, *evicted);
		return result;
	}
	/*
	 * Where there is no other, take its register; what still comes by there is missed. Waiting
	 * would not help: whoever makes calls go to the new body waits for us.
	 */
	result = scheduler_arm(bodies->scheduler, &claim, false, evicted, err);
	if (result == 0 && *evicted != SCHEDULER_NO_BODY)
		bodies_note_missed(bodies, body);
	note_arming(bodies, body, *evicted);
	return result;
}

struct policy_body bodies_describe(const struct bodies *bodies, const struct body *body)
{
	return (struct policy_body){
		.has_entry = scheduler_has_entry(bodies->scheduler, body->number),
		.has_exits = scheduler_is_timed(bodies->scheduler, body->number),
		.exits_known = bodies->scheduler->timed && body->exits_are == BODY_EXITS_KNOWN,
		.exit_count = body->exit_count,
		.slice_ns = body->slice_ns,
		.rank = body->rank,
		.tried = body->tried,
		.promoted = body->promoted,
		.busy = body->busy,
		.last_hit_ns = body_last_hit_ns(body, bodies->scheduler),
	};
}

bool body_wants_register(const struct body *body)
{
	return !body->retired && body->entered_by_calls && !body->superseded && !body->draining;
}

void body_add_exit(struct body *body, struct address address, uint64_t flags)
{
	struct register_claim *exit = &body->exits[body->exit_count++];

	*exit = body_claim(body);
	exit->address = address;
	exit->flags = flags;
}

/* Timing ---------------------------------------------------------------------------------- */

void bodies_time(struct bodies *bodies, struct body *body)
{
	bool timed = scheduler_is_timed(bodies->scheduler, body->number);
	size_t armed = scheduler_exits(bodies->scheduler, body->number);

	/* Of one that nobody enters any more some calls may still have to end. */
	if (body->exits_are != BODY_EXITS_KNOWN ||
	    (timed ? armed == body->exit_count :
		     !scheduler_has_entry(bodies->scheduler, body->number)))
		return;
	if (scheduler_arm_exits(bodies->scheduler, body->number, &body->exits[armed],
				body->exit_count - armed,
				policy_may_cut(body->added_ns, clock_now_ns()), NULL))
		scheduler_drop_exits(bodies->scheduler, body->number);
}

const struct body *bodies_find_method(const struct bodies *bodies, uint64_t method, uint32_t number)
{
	for (size_t i = 0; method && i < bodies->count; i++) {
		const struct body *body = &bodies->bodies[i];

		if (!body->retired && body->method == method && body->number != number)
			return body;
	}
	return NULL;
}

static bool may_go_on(const struct body *body, uint64_t method)
{
	return method && !body->retired && body->method == method && body->entered_by_calls &&
	       !body->final;
}

struct body *bodies_find_entered(struct bodies *bodies, uint64_t method)
{
	struct body *newest = NULL;

	for (size_t i = bodies->count; i > 0; i--) {
		struct body *body = &bodies->bodies[i - 1];

		if (!may_go_on(body, method))
			continue;
		/* Who goes on is within a call. */
		if (scheduler_has_calls(bodies->scheduler, body->number))
			return body;
		newest = newest ? newest : body;
	}
	return newest;
}

void bodies_leave_unseen(struct bodies *bodies, uint64_t method)
{
	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (!may_go_on(body, method))
			continue;
		body->exits_are = BODY_EXITS_REFUSED;
		scheduler_drop_exits(bodies->scheduler, body->number);
	}
}

/* The body is gone, or is nobody's. */
static void retire(struct bodies *bodies, struct body *body)
{
	body->retired = true;
	body_leave(body);
	scheduler_drop(bodies->scheduler, body->number);
}

void bodies_retire_method(struct bodies *bodies, uint64_t method)
{
	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (!body->retired && body->method == method)
			retire(bodies, body);
	}
}

int bodies_retire_range(struct bodies *bodies, struct address start, uint64_t size)
{
	int dropped = scheduler_drop_range(bodies->scheduler, start, size);

	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (!body->retired && body->address.value - start.value < size)
			retire(bodies, body);
	}
	return dropped;
}

static bool lacks_register(const struct bodies *bodies, const struct body *body)
{
	return body_wants_register(body) && !scheduler_has_entry(bodies->scheduler, body->number);
}

void bodies_count_from(struct bodies *bodies, uint64_t since_ns)
{
	for (size_t i = 0; i < bodies->count; i++)
		body_count_from(&bodies->bodies[i], since_ns);
}

void bodies_are_many(struct bodies *bodies)
{
	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		body->rank = body->rank_of_many;
		scheduler_rank(bodies->scheduler, body->number, body->rank);
	}
}

/* Of those that lack a register, the one whose method goes first; or NULL. */
static struct body *first_lacking(const struct bodies *bodies)
{
	struct body *first = NULL;

	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (lacks_register(bodies, body) &&
		    (!first || policy_goes_first(body->rank, first->rank)))
			first = body;
	}
	return first;
}

void bodies_note_missed(const struct bodies *bodies, const struct body *body)
{
	bodies->config.note_missed(bodies->config.ctx, body->number);
}

void bodies_begin(struct bodies *bodies)
{
	uint32_t evicted;

	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (!bodies->scheduler->timed && lacks_register(bodies, body) &&
		    !policy_may_give_way(body->rank))
			(void)bodies_arm(bodies, body, &evicted, NULL);
	}
	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (lacks_register(bodies, body))
			bodies_note_missed(bodies, body);
	}
}

static bool lacks_exits(const struct bodies *bodies, const struct body *body)
{
	return !body->retired && !body->superseded && body->exits_are == BODY_EXITS_KNOWN &&
	       scheduler_has_entry(bodies->scheduler, body->number) &&
	       !scheduler_is_timed(bodies->scheduler, body->number);
}

/* Instantiations of a method are of one rank. */
static bool comes_before(const struct body *a, const struct body *b)
{
	return a->rank != b->rank ? policy_goes_first(a->rank, b->rank) : a < b;
}

/* Once each, the one whose method goes first before others. */
static void time_lacking(struct bodies *bodies)
{
	const struct body *last = NULL;

	for (;;) {
		struct body *first = NULL;

		for (size_t i = 0; bodies->scheduler->timed && i < bodies->count; i++) {
			struct body *body = &bodies->bodies[i];

			if ((!last || comes_before(last, body)) &&
			    (!first || comes_before(body, first)) && lacks_exits(bodies, body))
				first = body;
		}
		if (!first)
			return;
		last = first;
		bodies_time(bodies, first);
	}
}

bool bodies_tend(struct bodies *bodies, bool multiplexed)
{
	struct body *lacking;
	uint32_t evicted;

	scheduler_look(bodies->scheduler);
	for (struct body *body = bodies->bodies; body < bodies->bodies + bodies->count; body++) {
		if (!body->retired && !bodies->config.is_wanted(bodies->config.ctx, body->number))
			retire(bodies, body);
	}
	/* Else multiplexing.c decides which body gets what. */
	while ((lacking = first_lacking(bodies)) && !multiplexed &&
	       scheduler_have_room(bodies->scheduler, lacking->rank)) {
		if (bodies_arm(bodies, lacking, &evicted, NULL))
			break;
		if (evicted != SCHEDULER_NO_BODY)
			bodies->config.note_missed(bodies->config.ctx, evicted);
	}
	if (!multiplexed)
		time_lacking(bodies);
	return lacking != NULL;
}
