// SPDX-License-Identifier: GPL-2.0-or-later
#include "registers/scheduler.h"

#include <errno.h>
#include <time.h>

#include "registers/in_flight.h"
#include "bpf/follow.h"
#include "bpf/latency.h"
#include "base/clock.h"

enum {
	/* Last hits of superseded bodies came up to 0.3 ms after the newer one was compiled. */
	QUIET_NS = 1 * NS_PER_MS,
	PATIENCE_NS = 2 * NS_PER_MS,
	QUIET_PAUSE_NS = 20 * NS_PER_US,
	QUIET_PAUSE_PART = 8, /* or this part of what has been waited for already, */
	QUIET_PAUSE_MAX_NS = 10 * NS_PER_MS,
};

void scheduler_init(struct scheduler *scheduler, struct breakpoints *breakpoints,
		    struct follow_shared *shared)
{
	*scheduler = (struct scheduler){
		.breakpoints = breakpoints,
		.shared = shared,
		.drained = SCHEDULER_NO_BODY,
		.timed_last = 1,
	};
}

void scheduler_use_in_flight(struct scheduler *scheduler, struct in_flight *in_flight)
{
	__atomic_store_n(&scheduler->in_flight, in_flight, __ATOMIC_RELEASE);
}

/* The programs tell when other code is put where one is that may be freed. */
static void tell_programs(const struct scheduler *scheduler, int slot)
{
	const struct register_use *use = &scheduler->uses[slot];
	uint64_t address = use->used && use->claim.may_be_freed ? use->claim.address.value : 0;

	__atomic_store_n(&scheduler->shared->armed[slot], address, __ATOMIC_RELEASE);
}

void scheduler_adopt(struct scheduler *scheduler, int slot, const struct register_claim *claim,
		     bool exit)
{
	scheduler->uses[slot] = (struct register_use){
		.claim = *claim,
		.reserved = true,
		.used = true,
		.exit = exit,
	};
	tell_programs(scheduler, slot);
}

int scheduler_reserved(const struct scheduler *scheduler)
{
	int count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += scheduler->uses[i].reserved;
	return count;
}

bool scheduler_reserve(struct scheduler *scheduler, int count)
{
	for (int have = scheduler_reserved(scheduler); have < count; have++) {
		int slot = breakpoints_reserve(scheduler->breakpoints, NULL);

		if (slot < 0)
			return false;
		scheduler->uses[slot].reserved = true;
	}
	return true;
}

int scheduler_free(const struct scheduler *scheduler)
{
	int count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += scheduler->uses[i].reserved && !scheduler->uses[i].used;
	return count;
}

bool scheduler_has_calls(const struct scheduler *scheduler, uint32_t site)
{
	return scheduler->timed &&
	       __atomic_load_n(&scheduler->timed[site].under_way, __ATOMIC_SEQ_CST);
}

static uint64_t last_hit_ns(const struct scheduler *scheduler, int slot)
{
	return __atomic_load_n(&scheduler->shared->last_hit_ns[slot], __ATOMIC_RELAXED);
}

/* At its entry or at an exit. */
static uint64_t last_hit_of_site(const struct scheduler *scheduler, uint32_t site)
{
	uint64_t last = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].used && scheduler->uses[i].claim.site == site &&
		    last_hit_ns(scheduler, i) > last)
			last = last_hit_ns(scheduler, i);
	}
	return last;
}

/* Calls are known to go to the newer body. */
static bool is_replaced(const struct scheduler *scheduler, int slot)
{
	const struct register_use *use = &scheduler->uses[slot];

	if (use->published)
		return true;
	if (use->newer_slot >= 0 && last_hit_ns(scheduler, use->newer_slot) > use->newer_ns)
		return true;
	return clock_now_ns() - use->newer_ns > SCHEDULER_DRAINED_NS;
}

static int slot_of(const struct scheduler *scheduler, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].used && !scheduler->uses[i].exit &&
		    scheduler->uses[i].claim.site == site)
			return i;
	}
	return -1;
}

/*
 * Calls go elsewhere, and nobody is on the way any more of those who knew where to go before. Once that is so it
 * stays so.
 */
static bool none_in_flight(struct scheduler *scheduler, int slot)
{
	int entry = slot_of(scheduler, scheduler->uses[slot].claim.site);
	struct register_use *use = &scheduler->uses[entry < 0 ? slot : entry];
	struct in_flight *in_flight = __atomic_load_n(&scheduler->in_flight, __ATOMIC_ACQUIRE);

	/* An entry that has gone before its exits was left. */
	if (entry < 0 || use->none_in_flight)
		return true;
	if (!in_flight)
		return false;
	breakpoints_interrupt(scheduler->breakpoints, entry);
	use->none_in_flight = in_flight_look(in_flight, use->claim.address, use->newer_ns,
					     &scheduler->runtime) == 0;
	return use->none_in_flight;
}

static bool is_quiesced(const struct scheduler *scheduler, int slot)
{
	/* Read before the clock: a hit in between must not seem to be long ago. */
	uint64_t last = last_hit_of_site(scheduler, scheduler->uses[slot].claim.site),
		 now = clock_now_ns();

	return now > last && now - last > QUIET_NS;
}

/* Of a body that was superseded: nobody comes by any more. */
static bool is_quiet(struct scheduler *scheduler, int slot)
{
	/* Who has none_in_flight may have done so just now. */
	return is_replaced(scheduler, slot) && is_quiesced(scheduler, slot) &&
	       none_in_flight(scheduler, slot) && is_quiesced(scheduler, slot);
}

static int find_free(const struct scheduler *scheduler)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].reserved && !scheduler->uses[i].used)
			return i;
	}
	return -1;
}

/* Of the superseded bodies one that nobody comes by, if there is one (@left); then who was hit longest ago. */
static int find_superseded(struct scheduler *scheduler, bool *left)
{
	int best = -1;

	*left = false;
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		bool quiet;

		if (!scheduler->uses[i].used || !scheduler->uses[i].superseded ||
		    scheduler->uses[i].exit)
			continue;
		quiet = is_quiet(scheduler, i);
		if (best >= 0 && quiet == *left &&
		    last_hit_ns(scheduler, i) >= last_hit_ns(scheduler, best))
			continue;
		if (best < 0 || quiet >= *left) {
			best = i;
			*left = quiet;
		}
	}
	return best;
}

/* A body in use of a method that comes last, if it comes after @rank and has no guarantee. */
static int find_lesser(const struct scheduler *scheduler, uint32_t rank)
{
	int best = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (!use->used || use->exit || use->claim.rank < SCHEDULER_GUARANTEED ||
		    use->claim.rank <= rank)
			continue;
		if (best < 0 || use->claim.rank > scheduler->uses[best].claim.rank)
			best = i;
	}
	return best;
}

/*
 * Exits of a superseded body, or of the method that comes last, if it comes after @rank; last of all those by
 * which calls are still to end.
 */
static int find_exit(const struct scheduler *scheduler, uint32_t rank)
{
	int best = -1, busy = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (!use->used || !use->exit)
			continue;
		if (use->superseded && !scheduler_has_calls(scheduler, use->claim.site))
			return i;
		if (use->superseded)
			busy = i;
		else if (use->claim.rank > rank &&
			 (best < 0 || use->claim.rank > scheduler->uses[best].claim.rank))
			best = i;
	}
	return best >= 0 ? best : busy;
}

/* Is it quiet in time? */
static bool wait_until_quiet(struct scheduler *scheduler, int slot)
{
	uint64_t began = clock_now_ns(), now = began;
	uint64_t until = scheduler->wait_until_ns ? scheduler->wait_until_ns : began + PATIENCE_NS;

	while (!is_quiet(scheduler, slot)) {
		/* Whoever is on the way needs a CPU, so we may not have one all the time. */
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

static void drop(struct scheduler *scheduler, int slot)
{
	breakpoints_park(scheduler->breakpoints, slot);
	scheduler->uses[slot] = (struct register_use){ .reserved = true };
	tell_programs(scheduler, slot);
}

static int drop_where(struct scheduler *scheduler, uint32_t site, bool exits_alone)
{
	int dropped = 0;

	/* Before the first of them is gone. */
	if (scheduler->timed)
		__atomic_store_n(&scheduler->timed[site].ready, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (!use->used || use->claim.site != site || (exits_alone && !use->exit))
			continue;
		drop(scheduler, i);
		dropped++;
	}
	return dropped;
}

void scheduler_close(const struct scheduler *scheduler, uint32_t site, bool closed)
{
	__atomic_store_n(&scheduler->timed[site].closed, closed, __ATOMIC_SEQ_CST);
}

void scheduler_drop_exits(struct scheduler *scheduler, uint32_t site)
{
	drop_where(scheduler, site, true);
}

/* Nobody enters it any more; some may still have to leave. */
static bool is_left(struct scheduler *scheduler, int slot)
{
	return scheduler->uses[slot].superseded && is_quiet(scheduler, slot);
}

static int move(struct scheduler *scheduler, int slot, const struct register_claim *claim,
		bool exit, struct error *err)
{
	int result;
	uint32_t before = scheduler->uses[slot].claim.site;

	/* Who loses the entry loses the rest, unless calls that began before are all that is left. */
	if (scheduler->uses[slot].used &&
	    !(is_left(scheduler, slot) && scheduler_has_calls(scheduler, before)))
		scheduler_drop_exits(scheduler, before);
	result = breakpoints_move(scheduler->breakpoints, slot, claim->address,
				  claim->site | claim->flags, err);
	if (result)
		return result;
	if (scheduler->uses[slot].used && scheduler->uses[slot].superseded)
		scheduler->drained = scheduler->uses[slot].claim.site;
	/* A newer body that was there is hit there no more. */
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].newer_slot == slot)
			scheduler->uses[i].newer_slot = -1;
	}
	scheduler_adopt(scheduler, slot, claim, exit);
	return 0;
}

/* Where @claim may go, or -1. @evicted: whom that would take a register from that may need it. */
static int find_slot(struct scheduler *scheduler, const struct register_claim *claim, bool may_wait,
		     uint32_t *evicted)
{
	int slot = find_free(scheduler), exit;
	bool left;

	*evicted = SCHEDULER_NO_BODY;
	if (slot >= 0)
		return slot;
	slot = find_superseded(scheduler, &left);
	exit = find_exit(scheduler, claim->rank);
	if (exit >= 0 && !left) {
		scheduler_drop_exits(scheduler, scheduler->uses[exit].claim.site);
		return exit;
	}
	if (slot < 0) {
		slot = find_lesser(scheduler, claim->rank);
		if (slot >= 0)
			*evicted = scheduler->uses[slot].claim.site;
		return slot;
	}
	if (!left && !(may_wait && wait_until_quiet(scheduler, slot)))
		*evicted = scheduler->uses[slot].claim.site;
	return slot;
}

int scheduler_arm(struct scheduler *scheduler, const struct register_claim *claim, bool may_wait,
		  uint32_t *evicted, struct error *err)
{
	int slot = find_slot(scheduler, claim, may_wait, evicted);
	int result = slot < 0 ? -ENOSPC : move(scheduler, slot, claim, false, err);

	if (result)
		*evicted = SCHEDULER_NO_BODY;
	return result;
}

uint32_t scheduler_take_drained(struct scheduler *scheduler)
{
	uint32_t left = scheduler->drained;

	scheduler->drained = SCHEDULER_NO_BODY;
	return left;
}

bool scheduler_have_room(struct scheduler *scheduler, uint32_t rank)
{
	bool left;

	if (find_free(scheduler) >= 0 || find_exit(scheduler, rank) >= 0)
		return true;
	find_superseded(scheduler, &left);
	return left;
}

void scheduler_supersede(struct scheduler *scheduler, uint64_t method, uint32_t site,
			 uint32_t thread)
{
	int newer = slot_of(scheduler, site);

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];

		if (!use->used || !method || use->claim.method != method ||
		    use->claim.site == site || (use->superseded && use->published))
			continue;
		use->superseded = true;
		use->newer_thread = thread;
		use->newer_ns = clock_now_ns();
		use->newer_slot = newer;
		use->published = false;
		use->none_in_flight = false;
	}
}

void scheduler_note_thread(struct scheduler *scheduler, uint32_t thread, uint64_t begun_ns)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];

		if (use->used && use->superseded && use->newer_thread == thread &&
		    use->newer_ns < begun_ns)
			use->published = true;
	}
}

void scheduler_note_published(struct scheduler *scheduler, uint64_t method)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];

		if (use->used && use->superseded && method && use->claim.method == method)
			use->published = true;
	}
}

int scheduler_drop_site(struct scheduler *scheduler, uint32_t site)
{
	return drop_where(scheduler, site, false);
}

int scheduler_drop_range(struct scheduler *scheduler, struct address start, uint64_t size)
{
	int dropped = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (use->used && use->claim.address.value - start.value < size)
			dropped += drop_where(scheduler, use->claim.site, use->exit);
	}
	return dropped;
}

bool scheduler_has_site(const struct scheduler *scheduler, uint32_t site)
{
	return slot_of(scheduler, site) >= 0;
}

/* Exits --------------------------------------------------------------------------------------- */

/* May @exits have the register? Those of their own body are not among those they take. */
static bool may_take(struct scheduler *scheduler, int slot, const struct register_claim *exits,
		     bool may_cut)
{
	const struct register_use *use = &scheduler->uses[slot];

	if (!use->reserved || (use->used && use->claim.site == exits->site))
		return false;
	if (!use->used || (use->exit && use->claim.rank > exits->rank))
		return true;
	return is_left(scheduler, slot) &&
	       (may_cut || !scheduler_has_calls(scheduler, use->claim.site));
}

bool scheduler_is_drained(struct scheduler *scheduler, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (use->used && use->claim.site == site)
			return is_left(scheduler, i) && !scheduler_has_calls(scheduler, site);
	}
	return false;
}

size_t scheduler_exits(const struct scheduler *scheduler, uint32_t site)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += scheduler->uses[i].used && scheduler->uses[i].exit &&
			 scheduler->uses[i].claim.site == site;
	return count;
}

bool scheduler_is_timed(const struct scheduler *scheduler, uint32_t site)
{
	return scheduler->timed && scheduler->timed[site].ready;
}

/* If there is a newer body already, that goes for this exit of it as for the others. */
static void inherit(struct scheduler *scheduler, int slot)
{
	const struct register_claim claim = scheduler->uses[slot].claim;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (i == slot || !scheduler->uses[i].used ||
		    scheduler->uses[i].claim.site != claim.site)
			continue;
		scheduler->uses[slot] = scheduler->uses[i];
		scheduler->uses[slot].claim = claim;
		scheduler->uses[slot].exit = true;
		return;
	}
}

/* Let go of who has the register, and of all that is nothing without it; give it to @exit. */
static int take(struct scheduler *scheduler, int slot, const struct register_claim *exit,
		struct error *err)
{
	const struct register_use use = scheduler->uses[slot];
	int result;

	if (use.used)
		drop_where(scheduler, use.claim.site, !use.superseded);
	if (use.used && use.superseded)
		scheduler->drained = use.claim.site;
	result = move(scheduler, slot, exit, true, err);
	if (result == 0)
		inherit(scheduler, slot);
	return result;
}

int scheduler_arm_exits(struct scheduler *scheduler, uint32_t site,
			const struct register_claim *exits, size_t count, bool may_cut,
			struct error *err)
{
	int slot = 0, room = 0, result;

	for (int i = 0; count && i < BREAKPOINTS_MAX; i++)
		room += may_take(scheduler, i, exits, may_cut);
	if ((size_t)room < count)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++, slot++) {
		while (slot < BREAKPOINTS_MAX && !may_take(scheduler, slot, exits, may_cut))
			slot++;
		/* Somebody has come by meanwhile. */
		result = slot == BREAKPOINTS_MAX ? -ENOSPC : take(scheduler, slot, &exits[i], err);
		if (result) {
			scheduler_drop_exits(scheduler, site);
			return result;
		}
	}
	/* Calls that are under way while a body gets more exits are timed on. */
	if (!scheduler_is_timed(scheduler, site))
		__atomic_store_n(&scheduler->timed[site].ready, ++scheduler->timed_last,
				 __ATOMIC_SEQ_CST);
	return 0;
}
