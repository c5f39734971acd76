// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who has which debug register. The flow: bodies ask for registers, policy.c says whose they get,
 * and this moves the breakpoints (probe/breakpoints.h).
 */
#include "registers/scheduler.h"

#include <errno.h>

#include "bpf/follow.h"
#include "bpf/latency.h"
#include "base/clock.h"
#include "registers/policy.h"

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
		.armed_ns = clock_now_ns(),
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

bool scheduler_reserve(struct scheduler *scheduler, int count, bool patient)
{
	for (int have = scheduler_reserved(scheduler); have < count; have++) {
		int slot = breakpoints_reserve(scheduler->breakpoints, patient, NULL);

		if (slot < 0)
			return false;
		scheduler->uses[slot].reserved = true;
	}
	return true;
}

int scheduler_idle(const struct scheduler *scheduler)
{
	int count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += scheduler->uses[i].reserved && !scheduler->uses[i].used;
	return count;
}

bool scheduler_has_calls(const struct scheduler *scheduler, uint32_t body)
{
	return scheduler->timed &&
	       __atomic_load_n(&scheduler->timed[body].under_way, __ATOMIC_SEQ_CST);
}

int scheduler_slot_of(const struct scheduler *scheduler, uint32_t body)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].used && !scheduler->uses[i].exit &&
		    scheduler->uses[i].claim.body == body)
			return i;
	}
	return -1;
}

/* As the policy has it, but for whether it is drained. */
static struct policy_register register_at(const struct scheduler *scheduler, int slot)
{
	const struct register_use *use = &scheduler->uses[slot];
	uint64_t last_hit_ns = slot_last_hit_ns(scheduler, slot);

	return (struct policy_register){
		.reserved = use->reserved,
		.used = use->used,
		.exit = use->exit,
		.superseded = use->superseded,
		.has_calls =
			use->used && use->exit && scheduler_has_calls(scheduler, use->claim.body),
		.body = use->claim.body,
		.rank = use->claim.rank,
		/* What is timed keeps what it has. */
		.idle = !scheduler->timed && policy_may_give_way(use->claim.rank) &&
			policy_is_idle(use->armed_ns, last_hit_ns, clock_now_ns()),
		.guaranteed = !scheduler->timed && !policy_may_give_way(use->claim.rank),
		.last_hit_ns = last_hit_ns,
	};
}

/* All of them; which superseded bodies are drained only if that is @asked. */
static void describe(struct scheduler *scheduler, struct policy_register to[POLICY_REGISTERS],
		     bool asked)
{
	for (int i = 0; i < POLICY_REGISTERS; i++) {
		const struct register_use *use = &scheduler->uses[i];

		to[i] = register_at(scheduler, i);
		if (asked && use->used && use->superseded && !use->exit)
			to[i].drained = slot_is_drained(scheduler, i);
	}
}

/* What is drained is asked unless the choice is the best without, or, for @any, costs no calls. */
static struct policy_choice choose(struct scheduler *scheduler, uint32_t rank, bool any)
{
	struct policy_register registers[POLICY_REGISTERS];
	struct policy_choice choice;

	describe(scheduler, registers, false);
	choice = policy_entry(registers, rank);
	if (any ? policy_costs_no_calls(&choice) : !policy_asks_drained(&choice))
		return choice;
	describe(scheduler, registers, true);
	return policy_entry(registers, rank);
}

static void drop(struct scheduler *scheduler, int slot)
{
	breakpoints_park(scheduler->breakpoints, slot);
	scheduler->uses[slot] = (struct register_use){ .reserved = true };
	tell_programs(scheduler, slot);
}

static int drop_where(struct scheduler *scheduler, uint32_t body, bool exits_alone)
{
	int dropped = 0;

	/* Before the first of them is gone. */
	if (scheduler->timed)
		__atomic_store_n(&scheduler->timed[body].ready, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (!use->used || use->claim.body != body || (exits_alone && !use->exit))
			continue;
		drop(scheduler, i);
		dropped++;
	}
	return dropped;
}

void scheduler_close(const struct scheduler *scheduler, uint32_t body, bool closed)
{
	__atomic_store_n(&scheduler->timed[body].closed, closed, __ATOMIC_SEQ_CST);
}

void scheduler_drop_exits(struct scheduler *scheduler, uint32_t body)
{
	drop_where(scheduler, body, true);
}

static int move(struct scheduler *scheduler, int slot, const struct register_claim *claim,
		bool exit, struct error *err)
{
	int result;
	uint32_t before = scheduler->uses[slot].claim.body;

	/* With the entry the exits go, unless calls that began before are all that is left. */
	if (scheduler->uses[slot].used &&
	    !(slot_is_drained(scheduler, slot) && scheduler_has_calls(scheduler, before)))
		scheduler_drop_exits(scheduler, before);
	result = breakpoints_move(scheduler->breakpoints, slot, claim->address,
				  claim->body | claim->flags, err);
	if (result)
		return result;
	if (scheduler->uses[slot].used && scheduler->uses[slot].superseded)
		scheduler->drained = scheduler->uses[slot].claim.body;
	/* A newer body that was there is hit there no more. */
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].newer_slot == slot)
			scheduler->uses[i].newer_slot = -1;
	}
	scheduler_adopt(scheduler, slot, claim, exit);
	return 0;
}

/*
 * Make the register of @choice ready for an entry of @rank. @evicted: which body may need it still.
 */
static int make_room(struct scheduler *scheduler, const struct policy_choice *choice, uint32_t rank,
		     bool may_wait, uint32_t *evicted)
{
	uint32_t body =
		choice->slot < 0 ? SCHEDULER_NO_BODY : scheduler->uses[choice->slot].claim.body;

	*evicted = SCHEDULER_NO_BODY;
	if (choice->rule == POLICY_NONE)
		return -ENOSPC;
	if (choice->rule == POLICY_EXITS)
		scheduler_drop_exits(scheduler, body);
	else if (!policy_costs_no_calls(choice) &&
		 !(policy_waits(choice) && may_wait &&
		   slot_wait_until_drained(scheduler, choice->slot)))
		*evicted = body;
	return *evicted == SCHEDULER_NO_BODY || policy_may_evict(choice, rank) ? 0 : -ENOSPC;
}

int scheduler_arm(struct scheduler *scheduler, const struct register_claim *claim, bool may_wait,
		  uint32_t *evicted, struct error *err)
{
	const struct policy_choice choice = choose(scheduler, claim->rank, false);
	int result = make_room(scheduler, &choice, claim->rank, may_wait, evicted);

	if (result == 0)
		result = move(scheduler, choice.slot, claim, false, err);
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
	const struct policy_choice choice = choose(scheduler, rank, true);

	return policy_costs_no_calls(&choice);
}

void scheduler_supersede(struct scheduler *scheduler, uint32_t body, uint32_t newer,
			 uint32_t publisher)
{
	int slot = scheduler_slot_of(scheduler, newer);

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];

		if (!use->used || use->claim.body != body || (use->superseded && use->published))
			continue;
		use->superseded = true;
		use->publisher = publisher;
		use->newer_ns = clock_now_ns();
		use->newer_slot = slot;
		use->looked_ns = 0;
		use->published = false;
		use->none_in_flight = false;
	}
}

void scheduler_look(struct scheduler *scheduler)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];
		uint64_t now = clock_now_ns();

		if (!use->used || use->exit || !use->superseded || use->none_in_flight ||
		    (use->looked_ns && now - use->looked_ns < (use->looked_ns - use->newer_ns) / 2))
			continue;
		use->looked_ns = now;
		(void)slot_is_drained(scheduler, i);
	}
}

void scheduler_rank(struct scheduler *scheduler, uint32_t body, uint32_t rank)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (scheduler->uses[i].used && scheduler->uses[i].claim.body == body)
			scheduler->uses[i].claim.rank = rank;
	}
}

void scheduler_note_publisher(struct scheduler *scheduler, uint32_t publisher, uint64_t begun_ns)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];

		if (use->used && use->superseded && use->publisher == publisher &&
		    use->newer_ns < begun_ns)
			use->published = true;
	}
}

void scheduler_note_published(struct scheduler *scheduler, uint32_t body)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		struct register_use *use = &scheduler->uses[i];

		if (use->used && use->superseded && use->claim.body == body)
			use->published = true;
	}
}

int scheduler_drop(struct scheduler *scheduler, uint32_t body)
{
	return drop_where(scheduler, body, false);
}

int scheduler_drop_range(struct scheduler *scheduler, struct address start, uint64_t size)
{
	int dropped = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (use->used && use->claim.address.value - start.value < size)
			dropped += drop_where(scheduler, use->claim.body, use->exit);
	}
	return dropped;
}

bool scheduler_has_entry(const struct scheduler *scheduler, uint32_t body)
{
	return scheduler_slot_of(scheduler, body) >= 0;
}

/* Exits --------------------------------------------------------------------------------------- */

/* May an exit have the register? */
static bool may_take(struct scheduler *scheduler, int slot, const struct register_claim *exit,
		     bool may_cut)
{
	const struct policy_register of = register_at(scheduler, slot);

	switch (policy_exit(&of, exit->body, exit->rank, may_cut)) {
	case POLICY_YES:
		return true;
	case POLICY_IF_DRAINED:
		return slot_is_drained(scheduler, slot);
	case POLICY_IF_EMPTY:
		return slot_is_drained(scheduler, slot) && !scheduler_has_calls(scheduler, of.body);
	default:
		return false;
	}
}

bool scheduler_is_drained(struct scheduler *scheduler, uint32_t body)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &scheduler->uses[i];

		if (use->used && use->claim.body == body)
			return slot_is_drained(scheduler, i) &&
			       !scheduler_has_calls(scheduler, body);
	}
	return false;
}

size_t scheduler_exits(const struct scheduler *scheduler, uint32_t body)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		count += scheduler->uses[i].used && scheduler->uses[i].exit &&
			 scheduler->uses[i].claim.body == body;
	return count;
}

bool scheduler_is_timed(const struct scheduler *scheduler, uint32_t body)
{
	return scheduler->timed && scheduler->timed[body].ready;
}

/* If there is a newer body already, that goes for this exit of it as for the others. */
static void inherit(struct scheduler *scheduler, int slot)
{
	const struct register_claim claim = scheduler->uses[slot].claim;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (i == slot || !scheduler->uses[i].used ||
		    scheduler->uses[i].claim.body != claim.body)
			continue;
		scheduler->uses[slot] = scheduler->uses[i];
		scheduler->uses[slot].claim = claim;
		scheduler->uses[slot].exit = true;
		return;
	}
}

/* Evict what has the register, and all that is nothing without it; give it to @exit. */
static int take(struct scheduler *scheduler, int slot, const struct register_claim *exit,
		struct error *err)
{
	const struct register_use use = scheduler->uses[slot];
	int result;

	if (use.used)
		drop_where(scheduler, use.claim.body, !use.superseded);
	if (use.used && use.superseded)
		scheduler->drained = use.claim.body;
	result = move(scheduler, slot, exit, true, err);
	if (result == 0)
		inherit(scheduler, slot);
	return result;
}

int scheduler_arm_exits(struct scheduler *scheduler, uint32_t body,
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
			scheduler_drop_exits(scheduler, body);
			return result;
		}
	}
	/* Calls that are under way while a body gets more exits are timed on. */
	if (!scheduler_is_timed(scheduler, body))
		__atomic_store_n(&scheduler->timed[body].ready, ++scheduler->timed_last,
				 __ATOMIC_SEQ_CST);
	return 0;
}
