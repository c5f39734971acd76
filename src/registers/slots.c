// SPDX-License-Identifier: GPL-2.0-or-later
#include "registers/slots.h"

#include <errno.h>
#include <time.h>

#include "registers/entrants.h"
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

void slots_init(struct slots *slots, struct breakpoints *breakpoints, struct follow_shared *shared)
{
	*slots = (struct slots){
		.breakpoints = breakpoints,
		.shared = shared,
		.left = SLOTS_NO_SITE,
		.timed_last = 1,
	};
}

void slots_ask(struct slots *slots, struct entrants *entrants)
{
	__atomic_store_n(&slots->entrants, entrants, __ATOMIC_RELEASE);
}

/* The programs tell when other code is put where one is that may be freed. */
static void tell_programs(const struct slots *slots, int slot)
{
	const struct slot_use *use = &slots->uses[slot];
	uint64_t address = use->used && use->claim.may_be_freed ? use->claim.address.value : 0;

	__atomic_store_n(&slots->shared->armed[slot], address, __ATOMIC_RELEASE);
}

void slots_adopt(struct slots *slots, int slot, const struct slot_claim *claim, bool exit)
{
	slots->uses[slot] = (struct slot_use){
		.claim = *claim,
		.reserved = true,
		.used = true,
		.exit = exit,
	};
	tell_programs(slots, slot);
}

int slots_reserved(const struct slots *slots)
{
	int count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += slots->uses[i].reserved;
	return count;
}

bool slots_reserve(struct slots *slots, int count)
{
	for (int have = slots_reserved(slots); have < count; have++) {
		int slot = breakpoints_reserve(slots->breakpoints, NULL);

		if (slot < 0)
			return false;
		slots->uses[slot].reserved = true;
	}
	return true;
}

int slots_free(const struct slots *slots)
{
	int count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += slots->uses[i].reserved && !slots->uses[i].used;
	return count;
}

bool slots_has_calls(const struct slots *slots, uint32_t site)
{
	return slots->timed && __atomic_load_n(&slots->timed[site].under_way, __ATOMIC_SEQ_CST);
}

static uint64_t last_hit_ns(const struct slots *slots, int slot)
{
	return __atomic_load_n(&slots->shared->last_hit_ns[slot], __ATOMIC_RELAXED);
}

/* At its entry or at an exit. */
static uint64_t last_hit_of_site(const struct slots *slots, uint32_t site)
{
	uint64_t last = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].used && slots->uses[i].claim.site == site &&
		    last_hit_ns(slots, i) > last)
			last = last_hit_ns(slots, i);
	}
	return last;
}

/* Calls are known to go to the newer body. */
static bool is_replaced(const struct slots *slots, int slot)
{
	const struct slot_use *use = &slots->uses[slot];

	if (use->published)
		return true;
	if (use->newer_slot >= 0 && last_hit_ns(slots, use->newer_slot) > use->newer_ns)
		return true;
	return clock_now_ns() - use->newer_ns > SLOTS_LEFT_NS;
}

static int slot_of(const struct slots *slots, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].used && !slots->uses[i].exit &&
		    slots->uses[i].claim.site == site)
			return i;
	}
	return -1;
}

/*
 * Calls go elsewhere, and nobody is on the way any more of those who knew where to go before. Once that is so it
 * stays so.
 */
static bool all_have_passed(struct slots *slots, int slot)
{
	int entry = slot_of(slots, slots->uses[slot].claim.site);
	struct slot_use *use = &slots->uses[entry < 0 ? slot : entry];
	struct entrants *entrants = __atomic_load_n(&slots->entrants, __ATOMIC_ACQUIRE);

	/* An entry that has gone before its exits was left. */
	if (entry < 0 || use->passed)
		return true;
	if (!entrants)
		return false;
	breakpoints_interrupt(slots->breakpoints, entry);
	use->passed =
		entrants_look(entrants, use->claim.address, use->newer_ns, &slots->runtime) == 0;
	return use->passed;
}

static bool has_rested(const struct slots *slots, int slot)
{
	/* Read before the clock: a hit in between must not seem to be long ago. */
	uint64_t last = last_hit_of_site(slots, slots->uses[slot].claim.site), now = clock_now_ns();

	return now > last && now - last > QUIET_NS;
}

/* Of a body that was superseded: nobody comes by any more. */
static bool is_quiet(struct slots *slots, int slot)
{
	/* Who has passed may have done so just now. */
	return is_replaced(slots, slot) && has_rested(slots, slot) &&
	       all_have_passed(slots, slot) && has_rested(slots, slot);
}

static int find_free(const struct slots *slots)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].reserved && !slots->uses[i].used)
			return i;
	}
	return -1;
}

/* Of the superseded bodies one that nobody comes by, if there is one (@left); then who was hit longest ago. */
static int find_superseded(struct slots *slots, bool *left)
{
	int best = -1;

	*left = false;
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		bool quiet;

		if (!slots->uses[i].used || !slots->uses[i].superseded || slots->uses[i].exit)
			continue;
		quiet = is_quiet(slots, i);
		if (best >= 0 && quiet == *left &&
		    last_hit_ns(slots, i) >= last_hit_ns(slots, best))
			continue;
		if (best < 0 || quiet >= *left) {
			best = i;
			*left = quiet;
		}
	}
	return best;
}

/* A body in use of a method that comes last, if it comes after @rank and has no guarantee. */
static int find_lesser(const struct slots *slots, uint32_t rank)
{
	int best = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct slot_use *use = &slots->uses[i];

		if (!use->used || use->exit || use->claim.rank < SLOTS_GUARANTEED ||
		    use->claim.rank <= rank)
			continue;
		if (best < 0 || use->claim.rank > slots->uses[best].claim.rank)
			best = i;
	}
	return best;
}

/*
 * Exits of a superseded body, or of the method that comes last, if it comes after @rank; last of all those by
 * which calls are still to end.
 */
static int find_exit(const struct slots *slots, uint32_t rank)
{
	int best = -1, busy = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct slot_use *use = &slots->uses[i];

		if (!use->used || !use->exit)
			continue;
		if (use->superseded && !slots_has_calls(slots, use->claim.site))
			return i;
		if (use->superseded)
			busy = i;
		else if (use->claim.rank > rank &&
			 (best < 0 || use->claim.rank > slots->uses[best].claim.rank))
			best = i;
	}
	return best >= 0 ? best : busy;
}

/* Is it quiet in time? */
static bool wait_until_quiet(struct slots *slots, int slot)
{
	uint64_t began = clock_now_ns(), now = began;
	uint64_t until = slots->wait_until_ns ? slots->wait_until_ns : began + PATIENCE_NS;

	while (!is_quiet(slots, slot)) {
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

static void drop(struct slots *slots, int slot)
{
	breakpoints_park(slots->breakpoints, slot);
	slots->uses[slot] = (struct slot_use){ .reserved = true };
	tell_programs(slots, slot);
}

static int drop_where(struct slots *slots, uint32_t site, bool exits_alone)
{
	int dropped = 0;

	/* Before the first of them is gone. */
	if (slots->timed)
		__atomic_store_n(&slots->timed[site].ready, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct slot_use *use = &slots->uses[i];

		if (!use->used || use->claim.site != site || (exits_alone && !use->exit))
			continue;
		drop(slots, i);
		dropped++;
	}
	return dropped;
}

void slots_close(const struct slots *slots, uint32_t site, bool closed)
{
	__atomic_store_n(&slots->timed[site].closed, closed, __ATOMIC_SEQ_CST);
}

void slots_drop_exits(struct slots *slots, uint32_t site)
{
	drop_where(slots, site, true);
}

/* Nobody enters it any more; some may still have to leave. */
static bool is_left(struct slots *slots, int slot)
{
	return slots->uses[slot].superseded && is_quiet(slots, slot);
}

static int move(struct slots *slots, int slot, const struct slot_claim *claim, bool exit,
		struct error *err)
{
	int result;
	uint32_t before = slots->uses[slot].claim.site;

	/* Who loses the entry loses the rest, unless calls that began before are all that is left. */
	if (slots->uses[slot].used && !(is_left(slots, slot) && slots_has_calls(slots, before)))
		slots_drop_exits(slots, before);
	result = breakpoints_move(slots->breakpoints, slot, claim->address,
				  claim->site | claim->flags, err);
	if (result)
		return result;
	if (slots->uses[slot].used && slots->uses[slot].superseded)
		slots->left = slots->uses[slot].claim.site;
	/* A newer body that was there is hit there no more. */
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].newer_slot == slot)
			slots->uses[i].newer_slot = -1;
	}
	slots_adopt(slots, slot, claim, exit);
	return 0;
}

/* Where @claim may go, or -1. @loser: whom that would take a register from that may need it. */
static int find_slot(struct slots *slots, const struct slot_claim *claim, bool may_wait,
		     uint32_t *loser)
{
	int slot = find_free(slots), exit;
	bool left;

	*loser = SLOTS_NO_SITE;
	if (slot >= 0)
		return slot;
	slot = find_superseded(slots, &left);
	exit = find_exit(slots, claim->rank);
	if (exit >= 0 && !left) {
		slots_drop_exits(slots, slots->uses[exit].claim.site);
		return exit;
	}
	if (slot < 0) {
		slot = find_lesser(slots, claim->rank);
		if (slot >= 0)
			*loser = slots->uses[slot].claim.site;
		return slot;
	}
	if (!left && !(may_wait && wait_until_quiet(slots, slot)))
		*loser = slots->uses[slot].claim.site;
	return slot;
}

int slots_arm(struct slots *slots, const struct slot_claim *claim, bool may_wait, uint32_t *loser,
	      struct error *err)
{
	int slot = find_slot(slots, claim, may_wait, loser);
	int result = slot < 0 ? -ENOSPC : move(slots, slot, claim, false, err);

	if (result)
		*loser = SLOTS_NO_SITE;
	return result;
}

uint32_t slots_left(struct slots *slots)
{
	uint32_t left = slots->left;

	slots->left = SLOTS_NO_SITE;
	return left;
}

bool slots_have_room(struct slots *slots, uint32_t rank)
{
	bool left;

	if (find_free(slots) >= 0 || find_exit(slots, rank) >= 0)
		return true;
	find_superseded(slots, &left);
	return left;
}

void slots_supersede(struct slots *slots, uint64_t method, uint32_t site, uint32_t thread)
{
	int newer = slot_of(slots, site);

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct slot_use *use = &slots->uses[i];

		if (!use->used || !method || use->claim.method != method ||
		    use->claim.site == site || (use->superseded && use->published))
			continue;
		use->superseded = true;
		use->newer_thread = thread;
		use->newer_ns = clock_now_ns();
		use->newer_slot = newer;
		use->published = false;
		use->passed = false;
	}
}

void slots_note_thread(struct slots *slots, uint32_t thread, uint64_t begun_ns)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct slot_use *use = &slots->uses[i];

		if (use->used && use->superseded && use->newer_thread == thread &&
		    use->newer_ns < begun_ns)
			use->published = true;
	}
}

void slots_note_published(struct slots *slots, uint64_t method)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct slot_use *use = &slots->uses[i];

		if (use->used && use->superseded && method && use->claim.method == method)
			use->published = true;
	}
}

int slots_drop_site(struct slots *slots, uint32_t site)
{
	return drop_where(slots, site, false);
}

int slots_drop_range(struct slots *slots, struct address start, uint64_t size)
{
	int dropped = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct slot_use *use = &slots->uses[i];

		if (use->used && use->claim.address.value - start.value < size)
			dropped += drop_where(slots, use->claim.site, use->exit);
	}
	return dropped;
}

bool slots_has_site(const struct slots *slots, uint32_t site)
{
	return slot_of(slots, site) >= 0;
}

/* Exits --------------------------------------------------------------------------------------- */

/* May @exits have the register? Those of their own body are not among those they take. */
static bool may_take(struct slots *slots, int slot, const struct slot_claim *exits, bool may_cut)
{
	const struct slot_use *use = &slots->uses[slot];

	if (!use->reserved || (use->used && use->claim.site == exits->site))
		return false;
	if (!use->used || (use->exit && use->claim.rank > exits->rank))
		return true;
	return is_left(slots, slot) && (may_cut || !slots_has_calls(slots, use->claim.site));
}

bool slots_are_left(struct slots *slots, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct slot_use *use = &slots->uses[i];

		if (use->used && use->claim.site == site)
			return is_left(slots, i) && !slots_has_calls(slots, site);
	}
	return false;
}

size_t slots_exits(const struct slots *slots, uint32_t site)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += slots->uses[i].used && slots->uses[i].exit &&
			 slots->uses[i].claim.site == site;
	return count;
}

bool slots_is_timed(const struct slots *slots, uint32_t site)
{
	return slots->timed && slots->timed[site].ready;
}

/* If there is a newer body already, that goes for this exit of it as for the others. */
static void inherit(struct slots *slots, int slot)
{
	const struct slot_claim claim = slots->uses[slot].claim;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (i == slot || !slots->uses[i].used || slots->uses[i].claim.site != claim.site)
			continue;
		slots->uses[slot] = slots->uses[i];
		slots->uses[slot].claim = claim;
		slots->uses[slot].exit = true;
		return;
	}
}

/* Let go of who has the register, and of all that is nothing without it; give it to @exit. */
static int take(struct slots *slots, int slot, const struct slot_claim *exit, struct error *err)
{
	const struct slot_use use = slots->uses[slot];
	int result;

	if (use.used)
		drop_where(slots, use.claim.site, !use.superseded);
	if (use.used && use.superseded)
		slots->left = use.claim.site;
	result = move(slots, slot, exit, true, err);
	if (result == 0)
		inherit(slots, slot);
	return result;
}

int slots_arm_exits(struct slots *slots, uint32_t site, const struct slot_claim *exits,
		    size_t count, bool may_cut, struct error *err)
{
	int slot = 0, room = 0, result;

	for (int i = 0; count && i < BREAKPOINTS_MAX; i++)
		room += may_take(slots, i, exits, may_cut);
	if ((size_t)room < count)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++, slot++) {
		while (slot < BREAKPOINTS_MAX && !may_take(slots, slot, exits, may_cut))
			slot++;
		/* Somebody has come by meanwhile. */
		result = slot == BREAKPOINTS_MAX ? -ENOSPC : take(slots, slot, &exits[i], err);
		if (result) {
			slots_drop_exits(slots, site);
			return result;
		}
	}
	/* Calls that are under way while a body gets more exits are timed on. */
	if (!slots_is_timed(slots, site))
		__atomic_store_n(&slots->timed[site].ready, ++slots->timed_last, __ATOMIC_SEQ_CST);
	return 0;
}
