// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/bodies.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/latency.h"
#include "base/clock.h"
#include "base/error.h"
#include "plan/timed.h"

/* So long the exits of a new body wait for calls of older ones to end. */
enum { PATIENCE_NS = 1000 * 1000 * 1000 };

enum decision {
	DECIDED_YES,
	DECIDED_NO,
	UNDECIDED,
};

struct late_site {
	struct site site;
	_Atomic int decision;
};

struct bodies {
	struct scheduler *scheduler;
	size_t first_site;
	struct late_site *sites; /* FOLLOW_SITES_MAX */
	size_t made;
	_Atomic size_t published;
	_Atomic unsigned int *trouble; /* by site, those of the start first */
	_Atomic uint32_t *shares; /* likewise: with which other site it has its probe, + 1; or 0 */
	_Atomic bool *retired;	  /* likewise: it is gone, as who reads memory has found */
	struct body *bodies;
	size_t count;
	size_t capacity;
};

int bodies_create(struct bodies **out, size_t first_site, struct scheduler *scheduler,
		  struct error *err)
{
	struct bodies *bodies = calloc(1, sizeof(*bodies));

	if (bodies) {
		bodies->scheduler = scheduler;
		bodies->first_site = first_site;
		bodies->capacity = first_site + FOLLOW_SITES_MAX;
		bodies->sites = calloc(FOLLOW_SITES_MAX, sizeof(*bodies->sites));
		bodies->trouble = calloc(bodies->capacity, sizeof(*bodies->trouble));
		bodies->retired = calloc(bodies->capacity, sizeof(*bodies->retired));
		bodies->shares = calloc(bodies->capacity, sizeof(*bodies->shares));
		bodies->bodies = calloc(bodies->capacity, sizeof(*bodies->bodies));
	}
	if (!bodies || !bodies->sites || !bodies->trouble || !bodies->retired || !bodies->shares ||
	    !bodies->bodies) {
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
	for (size_t i = 0; i < bodies->made; i++)
		site_deinit(&bodies->sites[i].site);
	free(bodies->sites);
	free(bodies->trouble);
	free(bodies->retired);
	free(bodies->shares);
	free(bodies->bodies);
	free(bodies);
}

/* Sites ----------------------------------------------------------------------------------- */

struct site *bodies_new_site(struct bodies *bodies, const struct site *like, bool undecided,
			     uint32_t *number)
{
	struct late_site *late;

	if (bodies->made == FOLLOW_SITES_MAX)
		return NULL;
	late = &bodies->sites[bodies->made];
	if (!site_copy(&late->site, like))
		return NULL;
	late->decision = undecided ? UNDECIDED : DECIDED_YES;
	*number = (uint32_t)(bodies->first_site + bodies->made++);
	return &late->site;
}

void bodies_publish(struct bodies *bodies)
{
	atomic_store(&bodies->published, bodies->made);
}

size_t bodies_site_count(const struct bodies *bodies)
{
	return atomic_load(&bodies->published);
}

const struct site *bodies_site(const struct bodies *bodies, size_t number)
{
	return &bodies->sites[number].site;
}

bool bodies_is_undecided(const struct bodies *bodies, size_t number)
{
	return atomic_load(&bodies->sites[number].decision) == UNDECIDED;
}

void bodies_decide(struct bodies *bodies, size_t number, bool matches)
{
	atomic_store(&bodies->sites[number].decision, matches ? DECIDED_YES : DECIDED_NO);
}

bool bodies_matches(const struct bodies *bodies, size_t number)
{
	return atomic_load(&bodies->sites[number].decision) != DECIDED_NO;
}

void bodies_mark_retired(struct bodies *bodies, size_t site)
{
	if (site < bodies->capacity)
		atomic_store(&bodies->retired[site], true);
}

void bodies_add_trouble(struct bodies *bodies, size_t site, unsigned int trouble)
{
	if (site < bodies->capacity)
		atomic_fetch_or(&bodies->trouble[site], trouble);
}

void bodies_share(struct bodies *bodies, size_t site, size_t with)
{
	if (site < bodies->capacity && with < bodies->capacity)
		atomic_store(&bodies->shares[site], (uint32_t)with + 1);
}

unsigned int bodies_trouble(const struct bodies *bodies, size_t site)
{
	uint32_t with = site < bodies->capacity ? atomic_load(&bodies->shares[site]) : 0;

	if (site >= bodies->capacity)
		return 0;
	return atomic_load(&bodies->trouble[site]) |
	       (with ? atomic_load(&bodies->trouble[with - 1]) : 0);
}

/* Bodies ---------------------------------------------------------------------------------- */

struct body *bodies_add(struct bodies *bodies, const struct body *body)
{
	if (bodies->count == bodies->capacity)
		return NULL;
	bodies->bodies[bodies->count] = *body;
	bodies->bodies[bodies->count].added_ns = clock_now_ns();
	bodies->bodies[bodies->count].turn_ns = bodies->bodies[bodies->count].added_ns;
	return &bodies->bodies[bodies->count++];
}

struct body *bodies_find_known(struct bodies *bodies, struct address address)
{
	for (size_t i = bodies->count; i > 0; i--) {
		struct body *body = &bodies->bodies[i - 1];

		if (!body->dead && !body->known_by_event && body->address.value == address.value)
			return body;
	}
	return NULL;
}

static void supersede_others(struct bodies *bodies, const struct body *newest);

void bodies_confirm(struct bodies *bodies, struct body *body, uint32_t thread)
{
	body->known_by_event = true;
	body->thread = thread;
	if (!body->superseded && body->entered_by_calls)
		supersede_others(bodies, body);
}

struct register_claim body_claim(const struct body *body)
{
	return (struct register_claim){
		.site = body->site,
		.address = body->address,
		.flags = body->entry_flags,
		.method = body->method,
		.rank = body->rank,
		.may_be_freed = body->may_be_freed,
	};
}

/* Calls go to the newest body of a method, in a moment. */
static void supersede_others(struct bodies *bodies, const struct body *newest)
{
	for (size_t i = 0; newest->method && i < bodies->count; i++) {
		struct body *body = &bodies->bodies[i];

		if (body != newest && body->method == newest->method && body->entered_by_calls)
			body->superseded = true;
	}
	scheduler_supersede(bodies->scheduler, newest->method, newest->site, newest->thread);
}

void bodies_replace(struct bodies *bodies, const struct body *body)
{
	supersede_others(bodies, body);
	scheduler_note_published(bodies->scheduler, body->method);
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
	if (result != -ENOSPC)
		return result;
	/*
	 * Where there is no other, take its register; what still comes by there is missed. Waiting
	 * would not help: whoever makes calls go to the new body waits for us.
	 */
	result = scheduler_arm(bodies->scheduler, &claim, false, evicted, err);
	if (result == 0 && *evicted != SCHEDULER_NO_BODY)
		bodies_add_trouble(bodies, body->site, TROUBLE_NO_REGISTER);
	return result;
}

/* Timing ---------------------------------------------------------------------------------- */

void body_take_exits(struct body *body, const struct site *site)
{
	if (body->exits_are == BODY_EXITS_REFUSED)
		return;
	body->exits_are = BODY_EXITS_REFUSED;
	if (!site->exits || body->exit_count + site->exit_count > SCHEDULER_EXITS_MAX)
		return;
	for (uint32_t i = 0; i < site->exit_count; i++) {
		const struct site_probe probe = site_probe(site, body->site, i);
		struct register_claim *exit = &body->exits[body->exit_count++];

		*exit = body_claim(body);
		exit->address = probe.address;
		exit->flags = probe.cookie - body->site;
	}
	if (site->leaves_at_entry)
		body->entry_flags = LATENCY_ENTRY_AND_EXIT;
	body->exits_are = BODY_EXITS_KNOWN;
}

void bodies_time(struct bodies *bodies, struct body *body)
{
	bool timed = scheduler_is_timed(bodies->scheduler, body->site);
	size_t armed = scheduler_exits(bodies->scheduler, body->site);

	/* Of one that nobody enters any more some calls may still have to end. */
	if (body->exits_are != BODY_EXITS_KNOWN ||
	    (timed ? armed == body->exit_count :
		     !scheduler_has_site(bodies->scheduler, body->site)))
		return;
	if (scheduler_arm_exits(bodies->scheduler, body->site, &body->exits[armed],
				body->exit_count - armed,
				clock_now_ns() - body->added_ns > PATIENCE_NS, NULL))
		scheduler_drop_exits(bodies->scheduler, body->site);
}

static void refuse_exits(struct bodies *bodies, struct body *body)
{
	body->exits_are = BODY_EXITS_REFUSED;
	scheduler_drop_exits(bodies->scheduler, body->site);
}

const struct body *bodies_find_method(const struct bodies *bodies, uint64_t method, uint32_t site)
{
	for (size_t i = 0; method && i < bodies->count; i++) {
		const struct body *body = &bodies->bodies[i];

		if (!body->dead && body->method == method && body->site != site)
			return body;
	}
	return NULL;
}

static bool may_go_on(const struct body *body, uint64_t method)
{
	return method && !body->dead && body->method == method && body->entered_by_calls &&
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
		if (scheduler_has_calls(bodies->scheduler, body->site))
			return body;
		newest = newest ? newest : body;
	}
	return newest;
}

void bodies_leave_unseen(struct bodies *bodies, uint64_t method)
{
	for (size_t i = 0; i < bodies->count; i++) {
		if (may_go_on(&bodies->bodies[i], method))
			refuse_exits(bodies, &bodies->bodies[i]);
	}
}

static void retire(struct bodies *bodies, struct body *body)
{
	body->dead = true;
	scheduler_drop_site(bodies->scheduler, body->site);
}

void bodies_retire(struct bodies *bodies, uint64_t method)
{
	for (size_t i = 0; i < bodies->count; i++) {
		if (!bodies->bodies[i].dead && bodies->bodies[i].method == method)
			retire(bodies, &bodies->bodies[i]);
	}
}

int bodies_retire_range(struct bodies *bodies, struct address start, uint64_t size)
{
	int dropped = scheduler_drop_range(bodies->scheduler, start, size);

	for (size_t i = 0; i < bodies->count; i++) {
		struct body *body = &bodies->bodies[i];

		if (!body->dead && body->address.value - start.value < size)
			retire(bodies, body);
	}
	return dropped;
}

static bool is_ours(const struct bodies *bodies, const struct body *body)
{
	if (atomic_load(&bodies->retired[body->site]))
		return false;
	return body->site < bodies->first_site ||
	       bodies_matches(bodies, body->site - bodies->first_site);
}

static bool lacks_register(const struct bodies *bodies, const struct body *body)
{
	return !body->dead && body->entered_by_calls && !body->superseded && !body->leaving &&
	       !scheduler_has_site(bodies->scheduler, body->site);
}

bool bodies_is_superseded(const struct bodies *bodies, uint32_t site)
{
	const struct body *body = bodies_of_site(bodies, site);

	return body && body->superseded;
}

/* Of those that lack a register, the one whose method goes first; or NULL. */
static struct body *first_lacking(const struct bodies *bodies)
{
	struct body *first = NULL;

	for (size_t i = 0; i < bodies->count; i++) {
		struct body *body = &bodies->bodies[i];

		if (lacks_register(bodies, body) && (!first || body->rank < first->rank))
			first = body;
	}
	return first;
}

size_t bodies_count(const struct bodies *bodies)
{
	return bodies->count;
}

struct body *bodies_at(struct bodies *bodies, size_t index)
{
	return &bodies->bodies[index];
}

const struct body *bodies_of_site(const struct bodies *bodies, uint32_t site)
{
	uint32_t with = site < bodies->capacity ? atomic_load(&bodies->shares[site]) : 0;

	site = with ? with - 1 : site;
	for (size_t i = 0; i < bodies->count; i++) {
		if (bodies->bodies[i].site == site)
			return &bodies->bodies[i];
	}
	return NULL;
}

struct scheduler *bodies_scheduler(const struct bodies *bodies)
{
	return bodies->scheduler;
}

bool bodies_is_multiplexed(const struct bodies *bodies, const struct body *body)
{
	return !body->dead && body->entered_by_calls && !body->superseded && !body->leaving &&
	       is_ours(bodies, body);
}

void bodies_blame_lacking(struct bodies *bodies)
{
	for (size_t i = 0; i < bodies->count; i++) {
		if (lacks_register(bodies, &bodies->bodies[i]))
			bodies_add_trouble(bodies, bodies->bodies[i].site, TROUBLE_NO_REGISTER);
	}
}

static bool lacks_exits(const struct bodies *bodies, const struct body *body)
{
	return !body->dead && !body->superseded && body->exits_are == BODY_EXITS_KNOWN &&
	       scheduler_has_site(bodies->scheduler, body->site) &&
	       !scheduler_is_timed(bodies->scheduler, body->site);
}

/* Instantiations of a method are of one rank. */
static bool comes_before(const struct body *a, const struct body *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a < b;
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

	for (size_t i = 0; i < bodies->count; i++) {
		if (!bodies->bodies[i].dead && !is_ours(bodies, &bodies->bodies[i]))
			retire(bodies, &bodies->bodies[i]);
	}
	/* Else who gets what is for multiplexing.h to say. */
	while ((lacking = first_lacking(bodies)) && !multiplexed &&
	       scheduler_have_room(bodies->scheduler, lacking->rank)) {
		if (bodies_arm(bodies, lacking, &evicted, NULL))
			break;
		if (evicted != SCHEDULER_NO_BODY)
			bodies_add_trouble(bodies, evicted, TROUBLE_NO_REGISTER);
	}
	if (!multiplexed)
		time_lacking(bodies);
	return lacking != NULL;
}
