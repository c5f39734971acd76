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
	*slots = (struct slots){ .breakpoints = breakpoints, .shared = shared };
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

void slots_reserve(struct slots *slots, int count)
{
	int have = 0, slot = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		have += slots->uses[i].reserved;
	for (; have < count && slot >= 0; have++) {
		slot = breakpoints_reserve(slots->breakpoints, NULL);
		if (slot >= 0)
			slots->uses[slot].reserved = true;
	}
}

static bool is_quiet(const struct slots *slots, int slot)
{
	uint64_t last = __atomic_load_n(&slots->shared->last_hit_ns[slot], __ATOMIC_RELAXED);

	return clock_now_ns() - last > QUIET_NS;
}

static int find_free(const struct slots *slots)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].reserved && !slots->uses[i].used)
			return i;
	}
	return -1;
}

/* The superseded body that was hit longest ago. */
static int find_superseded(const struct slots *slots)
{
	const __u64 *last = slots->shared->last_hit_ns;
	int best = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].used && slots->uses[i].superseded &&
		    (best < 0 || last[i] < last[best]))
			best = i;
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
	slots->uses[slot] = (struct slot_use){ .claim = *claim, .reserved = true, .used = true };
	tell_programs(slots, slot);
	return 0;
}

static int add(struct slots *slots, const struct slot_claim *claim)
{
	int slot = breakpoints_add(slots->breakpoints, claim->address, claim->site, NULL);

	if (slot < 0)
		return slot;
	slots_adopt(slots, slot, claim);
	return 0;
}

int slots_arm(struct slots *slots, const struct slot_claim *claim, uint32_t *loser,
	      struct error *err)
{
	int slot = find_free(slots), result;

	*loser = SLOTS_NO_SITE;
	if (slot >= 0)
		return move(slots, slot, claim, err);
	slot = find_superseded(slots);
	if (slot >= 0 && is_quiet(slots, slot))
		return move(slots, slot, claim, err);
	/* Another register may take the kernel milliseconds, if it is to be had at all. */
	if (add(slots, claim) == 0)
		return 0;
	if (slot < 0) {
		slot = find_lesser(slots, claim->rank);
		if (slot < 0)
			return -ENOSPC;
		*loser = slots->uses[slot].claim.site;
		result = move(slots, slot, claim, err);
		if (result)
			*loser = SLOTS_NO_SITE;
		return result;
	}
	wait_until_quiet(slots, slot);
	if (!is_quiet(slots, slot))
		*loser = slots->uses[slot].claim.site;
	return move(slots, slot, claim, err);
}

bool slots_have_room(const struct slots *slots)
{
	int slot = find_superseded(slots);

	return find_free(slots) >= 0 || (slot >= 0 && is_quiet(slots, slot));
}

void slots_supersede(struct slots *slots, uint64_t method, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct slot_use *use = &slots->uses[i];

		if (use->used && method && use->claim.method == method && use->claim.site != site)
			use->superseded = true;
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
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (slots->uses[i].used && slots->uses[i].claim.site == site)
			return true;
	}
	return false;
}
