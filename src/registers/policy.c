// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rules that policy.h lists, each as one function. Nothing here has a state or asks the kernel.
 */
#include "registers/policy.h"

#include "base/clock.h"

enum {
	REPLACED = 2, /* registers for bodies that are being replaced */
	DRAIN_MAX_SLICES = 5,

	/* So many times its wait counts. */
	UNTRIED_WEIGHT = 8,
	NAMED_WEIGHT = 4,
	PROMOTED_WEIGHT = 2,
};

/* So long the exits of a new body wait for calls of older ones to end. */
#define CUT_NS (1 * NS_PER_S)
/* So long at least calls under way may take to end when the time slice of their body is over. */
#define DRAIN_MAX_NS (1 * NS_PER_S)

/* The entry ---------------------------------------------------------------------------------- */

typedef bool (*is_fn)(const struct policy_register *of);
typedef int (*find_fn)(const struct policy_register *registers, uint32_t rank);

static int find_free(const struct policy_register *registers, uint32_t rank)
{
	(void)rank;
	for (int i = 0; i < POLICY_REGISTERS; i++) {
		if (registers[i].reserved && !registers[i].used)
			return i;
	}
	return -1;
}

static bool is_drained(const struct policy_register *of)
{
	return of->superseded && of->drained;
}

static bool is_superseded(const struct policy_register *of)
{
	return of->superseded && !of->guaranteed;
}

static bool is_kept(const struct policy_register *of)
{
	return of->superseded && of->guaranteed;
}

static bool is_idle(const struct policy_register *of)
{
	return !of->superseded && of->idle;
}

/* Of entries for which it @is so, the one that was hit longest ago. */
static int find_longest_ago(const struct policy_register *registers, is_fn is)
{
	int best = -1;

	for (int i = 0; i < POLICY_REGISTERS; i++) {
		const struct policy_register *at = &registers[i];

		if (at->used && !at->exit && is(at) &&
		    (best < 0 || at->last_hit_ns < registers[best].last_hit_ns))
			best = i;
	}
	return best;
}

/* Last of all those by which calls are still to end. */
static int find_exit(const struct policy_register *registers, uint32_t rank)
{
	int best = -1, busy = -1;

	for (int i = 0; i < POLICY_REGISTERS; i++) {
		const struct policy_register *at = &registers[i];

		if (!at->used || !at->exit)
			continue;
		if (at->superseded && !at->has_calls)
			return i;
		if (at->superseded)
			busy = i;
		else if (at->rank > rank && (best < 0 || at->rank > registers[best].rank))
			best = i;
	}
	return best >= 0 ? best : busy;
}

static int find_later_method(const struct policy_register *registers, uint32_t rank)
{
	int best = -1;

	for (int i = 0; i < POLICY_REGISTERS; i++) {
		const struct policy_register *at = &registers[i];

		if (!at->used || at->exit || at->rank < POLICY_GUARANTEED || at->rank <= rank)
			continue;
		if (best < 0 || at->rank > registers[best].rank)
			best = i;
	}
	return best;
}

struct policy_choice policy_entry(const struct policy_register registers[POLICY_REGISTERS],
				  uint32_t rank)
{
	static const struct {
		enum policy_rule rule;
		is_fn is; /* find_longest_ago() */
		find_fn find;
	} rules[] = {
		{ POLICY_FREE, .find = find_free },
		{ POLICY_DRAINED, .is = is_drained },
		{ POLICY_EXITS, .find = find_exit },
		{ POLICY_SUPERSEDED, .is = is_superseded },
		{ POLICY_IDLE, .is = is_idle },
		{ POLICY_LATER_METHOD, .find = find_later_method },
		{ POLICY_KEPT, .is = is_kept },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		int slot = rules[i].is ? find_longest_ago(registers, rules[i].is) :
					 rules[i].find(registers, rank);

		if (slot >= 0)
			return (struct policy_choice){ rules[i].rule, slot };
	}
	return (struct policy_choice){ POLICY_NONE, -1 };
}

bool policy_asks_drained(const struct policy_choice *choice)
{
	return choice->rule != POLICY_FREE;
}

bool policy_waits(const struct policy_choice *choice)
{
	return choice->rule == POLICY_SUPERSEDED || choice->rule == POLICY_KEPT;
}

bool policy_may_evict(const struct policy_choice *choice, uint32_t rank)
{
	return choice->rule != POLICY_KEPT || !policy_may_give_way(rank);
}

bool policy_costs_no_calls(const struct policy_choice *choice)
{
	return choice->rule == POLICY_FREE || choice->rule == POLICY_DRAINED ||
	       choice->rule == POLICY_EXITS;
}

/* Exits --------------------------------------------------------------------------------------- */

enum policy_verdict policy_exit(const struct policy_register *of, uint32_t body, uint32_t rank,
				bool may_cut)
{
	if (!of->reserved || (of->used && of->body == body))
		return POLICY_NO;
	if (!of->used || (of->exit && of->rank > rank))
		return POLICY_YES;
	if (!of->superseded)
		return POLICY_NO;
	return may_cut ? POLICY_IF_DRAINED : POLICY_IF_EMPTY;
}

/* Bodies -------------------------------------------------------------------------------------- */

enum policy_turns policy_turns(bool alike, bool timed)
{
	if (alike)
		return POLICY_ALIKE;
	return timed ? POLICY_BY_RANK : POLICY_BY_NEED;
}

uint32_t policy_rank(uint32_t rank, uint32_t named, enum policy_turns turns, bool few)
{
	if (turns != POLICY_BY_NEED)
		return turns == POLICY_ALIKE ? 0 : rank;
	if (few && rank < POLICY_GUARANTEED)
		return rank;
	if (named < POLICY_GUARANTEED)
		return named;
	return named == UINT32_MAX ? POLICY_RANK_MATCHED : POLICY_RANK_NAMED;
}

bool policy_goes_first(uint32_t rank, uint32_t other)
{
	return rank < other;
}

bool policy_may_cut(uint64_t added_ns, uint64_t now)
{
	return now - added_ns > CUT_NS;
}

uint64_t policy_wait_until(uint64_t until_ns, uint64_t hold_ns)
{
	return until_ns - hold_ns / 2;
}

/* Multiplexing -------------------------------------------------------------------------------- */

/* As far as there are registers for it: else it is watched at its entry. */
static bool can_be_timed(const struct policy_body *body, int reserved)
{
	return body->exits_known && 1 + (int)body->exit_count <= reserved;
}

bool policy_is_watched(const struct policy_body *body, int reserved)
{
	return body->has_entry && (!can_be_timed(body, reserved) || body->has_exits);
}

bool policy_slice_fits(const struct policy_body *body, int idle, int reserved)
{
	return idle >= (body->has_entry ? 0 : 1) +
			       (can_be_timed(body, reserved) ? (int)body->exit_count : 0);
}

bool policy_slice_is_over(const struct policy_body *body, uint64_t now, uint64_t slice_ns)
{
	return now > body->slice_ns && now - body->slice_ns >= slice_ns;
}

bool policy_may_give_way(uint32_t rank)
{
	return rank >= POLICY_GUARANTEED;
}

bool policy_is_idle(uint64_t armed_ns, uint64_t last_hit_ns, uint64_t now)
{
	uint64_t since = last_hit_ns > armed_ns ? last_hit_ns : armed_ns;

	return now > since && now - since >= POLICY_IDLE_NS;
}

bool policy_is_hit(const struct policy_body *body, uint64_t now)
{
	return body->last_hit_ns > body->slice_ns &&
	       !policy_is_idle(body->slice_ns, body->last_hit_ns, now);
}

bool policy_first_is_over(const struct policy_body *body, uint64_t now)
{
	return policy_is_hit(body, now) && policy_slice_is_over(body, now, POLICY_FIRST_SLICE_NS);
}

uint64_t policy_claim(const struct policy_body *body, uint64_t now)
{
	uint64_t claim = now > body->slice_ns ? now - body->slice_ns : 0;

	claim += NS_PER_MS;
	if (!body->tried)
		claim *= UNTRIED_WEIGHT;
	if (body->rank == POLICY_RANK_NAMED)
		claim *= NAMED_WEIGHT;
	if (body->promoted)
		claim *= PROMOTED_WEIGHT;
	return claim;
}

int policy_trials(int registers, bool untried)
{
	int trials = untried ? registers / 2 : 1;

	return trials > 1 ? trials : 1;
}

bool policy_may_drain(uint64_t since_ns, uint64_t now, uint64_t slice_ns)
{
	uint64_t most = DRAIN_MAX_SLICES * slice_ns;

	return now - since_ns < (most > DRAIN_MAX_NS ? most : DRAIN_MAX_NS);
}

/* The start ----------------------------------------------------------------------------------- */

int policy_reservation(const struct policy_demand *demand)
{
	bool replaced = demand->methods > demand->final;
	size_t wanted = demand->methods + (replaced ? REPLACED : 0);

	/*
	 * How many a generic method will be, what is not there yet, or how many exits there will
	 * be, nobody knows.
	 */
	if (demand->open_ended || demand->multiplexed || (demand->timed && replaced))
		return POLICY_REGISTERS;
	return wanted < POLICY_REGISTERS ? (int)wanted : POLICY_REGISTERS;
}

bool policy_start_fits(size_t registers, size_t given, size_t wanted)
{
	return given + wanted <= registers;
}
