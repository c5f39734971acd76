// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Have calls left a superseded body? Asked by scheduler.c before it takes a register away: only
 * once the newer body is published, no hit has come for a while, and no thread is in flight to the
 * old one (in_flight.c).
 *
 * Published: the newer body was hit; or the thread that compiled it has begun to compile something
 * else, since the runtime activates each version before it compiles the next; or, failing both,
 * SCHEDULER_PUBLISHED_NS have passed. The last is no proof but a time, see docs/limits.md.
 */
#include "registers/scheduler.h"

#include <time.h>

#include "base/clock.h"
#include "bpf/follow.h"

enum {
	/* Last hits of superseded bodies came up to 0.3 ms after the newer one was compiled. */
	QUIET_NS = 1 * NS_PER_MS,
	PATIENCE_NS = 2 * NS_PER_MS,
	QUIET_PAUSE_NS = 20 * NS_PER_US,
	QUIET_PAUSE_PART = 8, /* or this part of what has been waited for already, */
	QUIET_PAUSE_MAX_NS = 10 * NS_PER_MS,
};

uint64_t slot_last_hit_ns(const struct scheduler *scheduler, int slot)
{
	return __atomic_load_n(&scheduler->shared->last_hit_ns[slot], __ATOMIC_RELAXED);
}

/* At its entry or at an exit. */
static uint64_t last_hit_of_body(const struct scheduler *scheduler, uint32_t body)
{
	uint64_t last = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].used && scheduler->uses[i].claim.body == body &&
		    slot_last_hit_ns(scheduler, i) > last)
			last = slot_last_hit_ns(scheduler, i);
	}
	return last;
}

/* Calls are known to go to the newer body. */
static bool is_published(const struct scheduler *scheduler, int slot)
{
	const struct register_use *use = &scheduler->uses[slot];

	if (use->published)
		return true;
	if (use->newer_slot >= 0 && slot_last_hit_ns(scheduler, use->newer_slot) > use->newer_ns)
		return true;
	return clock_now_ns() > use->newer_ns + SCHEDULER_PUBLISHED_NS;
}

/*
 * Calls go elsewhere, and no thread is in flight that read the entry before. Once that is so it
 * stays so.
 */
static bool none_in_flight(struct scheduler *scheduler, int slot)
{
	int entry = scheduler_slot_of(scheduler, scheduler->uses[slot].claim.body);
	struct register_use *use = &scheduler->uses[entry < 0 ? slot : entry];
	struct in_flight *in_flight = __atomic_load_n(&scheduler->in_flight, __ATOMIC_ACQUIRE);

	/* An entry that has gone before its exits was drained. */
	if (entry < 0 || use->none_in_flight)
		return true;
	if (!in_flight)
		return false;
	breakpoints_interrupt(scheduler->breakpoints, entry);
	use->none_in_flight = in_flight_look(in_flight, use->claim.address, use->newer_ns,
					     &scheduler->dispatch) == 0;
	return use->none_in_flight;
}

static bool is_quiesced(const struct scheduler *scheduler, int slot)
{
	/* Read before the clock: a hit in between must not seem to be long ago. */
	uint64_t last = last_hit_of_body(scheduler, scheduler->uses[slot].claim.body),
		 now = clock_now_ns();

	return now > last && now - last > QUIET_NS;
}

bool slot_is_drained(struct scheduler *scheduler, int slot)
{
	/* A thread that is in flight no more may have come just now. */
	return scheduler->uses[slot].superseded && is_published(scheduler, slot) &&
	       is_quiesced(scheduler, slot) && none_in_flight(scheduler, slot) &&
	       is_quiesced(scheduler, slot);
}

bool slot_wait_until_drained(struct scheduler *scheduler, int slot)
{
	uint64_t began = clock_now_ns(), now = began;
	uint64_t until = scheduler->wait_until_ns ? scheduler->wait_until_ns : began + PATIENCE_NS;

	while (!slot_is_drained(scheduler, slot)) {
		/* A thread in flight needs a CPU, so this must leave it one. */
		uint64_t part = (now - began) / QUIET_PAUSE_PART;
		struct timespec pause = { .tv_nsec = QUIET_PAUSE_NS };

		if (now >= until)
			return false;
		if (part > QUIET_PAUSE_NS)
			pause.tv_nsec = part < QUIET_PAUSE_MAX_NS ? (long)part : QUIET_PAUSE_MAX_NS;
		nanosleep(&pause, NULL);
		now = clock_now_ns();
	}
	return true;
}
