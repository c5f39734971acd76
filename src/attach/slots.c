// SPDX-License-Identifier: GPL-2.0-or-later
#include "attach/slots.h"

#include <errno.h>
#include <time.h>

#include "bpf/follow.h"
#include "clock.h"

enum {
	/* Last hits of superseded bodies came up to 0.3 ms after the newer one was compiled. */
	QUIET_NS = 1 * NS_PER_MS,
	QUIET_WAIT_NS = 2 * NS_PER_MS,
	QUIET_PAUSE_NS = 20 * NS_PER_US,

};

void slots_init(struct slots *slots, struct breakpoints *breakpoints, struct follow_shared *shared)
{
	*slots = (struct slots){
		.breakpoints = breakpoints,
		.shared = shared,
		.left = SLOTS_NO_SITE,
	};
}

/* The programs tell when other code is put where one is that may be freed. */
static void tell_programs(const struct slots *slots, int slot)
{
	const struct slot_use *use = &slots->uses[slot];
	uint64_t address = use->used && use->claim.may_be_freed ? use->claim.address.value : 0;

	__atomic_store_n(&slots->shared->armed[slot], address, __ATOMIC_RELEASE);
}

void slots_adopt(struct slots *slots, int slot, const struct slot_claim *claim)
{
	slots->uses[slot] = (struct slot_use){ .claim = *claim, .reserved = true, .used = true };
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

static uint64_t last_hit_ns(const struct slots *slots, int slot)
{
	return __atomic_load_n(&slots->shared->last_hit_ns[slot], __ATOMIC_RELAXED);
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

/* Of a body that was superseded: nobody comes by any more. */
static bool is_quiet(const struct slots *slots, int slot)
{
	/* Read before the clock: a hit in between must not seem to be long ago. */
	uint64_t last = last_hit_ns(slots, slot), now = clock_now_ns();

	return is_replaced(slots, slot) && now > last && now - last > QUIET_NS;
}

static int find_free(const struct slots *slots)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].reserved && !slots->uses[i].used)
			return i;
	}
	return -1;
}

/* Of the superseded bodies one that nobody comes by, if there is one; then who was hit longest ago. */
static int find_superseded(const struct slots *slots)
{
	bool best_is_quiet = false;
	int best = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		bool quiet;

		if (!slots->uses[i].used || !slots->uses[i].superseded)
			continue;
		quiet = is_quiet(slots, i);
		if (best >= 0 && quiet == best_is_quiet &&
		    last_hit_ns(slots, i) >= last_hit_ns(slots, best))
			continue;
		if (best < 0 || quiet >= best_is_quiet) {
			best = i;
			best_is_quiet = quiet;
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

		if (!use->used || use->claim.rank < SLOTS_GUARANTEED || use->claim.rank <= rank)
			continue;
		if (best < 0 || use->claim.rank > slots->uses[best].claim.rank)
			best = i;
	}
	return best;
}

static void wait_until_quiet(const struct slots *slots, int slot)
{
	const struct timespec pause = { .tv_nsec = QUIET_PAUSE_NS };
	uint64_t until = clock_now_ns() + QUIET_WAIT_NS;

	while (!is_quiet(slots, slot) && clock_now_ns() < until)
		nanosleep(&pause, NULL);
}

static int move(struct slots *slots, int slot, const struct slot_claim *claim, struct error *err)
{
	int result = breakpoints_move(slots->breakpoints, slot, claim->address, claim->site, err);

	if (result)
		return result;
	if (slots->uses[slot].used && slots->uses[slot].superseded)
		slots->left = slots->uses[slot].claim.site;
	/* A newer body that was there is hit there no more. */
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].newer_slot == slot)
			slots->uses[i].newer_slot = -1;
	}
	slots->uses[slot] = (struct slot_use){ .claim = *claim, .reserved = true, .used = true };
	tell_programs(slots, slot);
	return 0;
}

/* Where @claim may go, or -1. @loser: whom that would take a register from that may need it. */
static int find_slot(const struct slots *slots, const struct slot_claim *claim, bool may_wait,
		     uint32_t *loser)
{
	int slot = find_free(slots);

	*loser = SLOTS_NO_SITE;
	if (slot >= 0)
		return slot;
	slot = find_superseded(slots);
	if (slot < 0) {
		slot = find_lesser(slots, claim->rank);
		if (slot >= 0)
			*loser = slots->uses[slot].claim.site;
		return slot;
	}
	if (may_wait)
		wait_until_quiet(slots, slot);
	if (!is_quiet(slots, slot))
		*loser = slots->uses[slot].claim.site;
	return slot;
}

int slots_arm(struct slots *slots, const struct slot_claim *claim, bool may_wait, uint32_t *loser,
	      struct error *err)
{
	int slot = find_slot(slots, claim, may_wait, loser);
	int result = slot < 0 ? -ENOSPC : move(slots, slot, claim, err);

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

bool slots_have_room(const struct slots *slots)
{
	int slot = find_superseded(slots);

	return find_free(slots) >= 0 || (slot >= 0 && is_quiet(slots, slot));
}

static int slot_of(const struct slots *slots, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].used && slots->uses[i].claim.site == site)
			return i;
	}
	return -1;
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

static void drop(struct slots *slots, int slot)
{
	breakpoints_park(slots->breakpoints, slot);
	slots->uses[slot] = (struct slot_use){ .reserved = true };
	tell_programs(slots, slot);
}

int slots_drop_site(struct slots *slots, uint32_t site)
{
	int dropped = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (!slots->uses[i].used || slots->uses[i].claim.site != site)
			continue;
		drop(slots, i);
		dropped++;
	}
	return dropped;
}

int slots_drop_range(struct slots *slots, struct address start, uint64_t size)
{
	int dropped = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct slot_use *use = &slots->uses[i];

		if (!use->used || use->claim.address.value - start.value >= size)
			continue;
		drop(slots, i);
		dropped++;
	}
	return dropped;
}

bool slots_has_site(const struct slots *slots, uint32_t site)
{
	return slot_of(slots, site) >= 0;
}
