// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * policy.h: each rule of the table by itself, and that each goes before the next. Values alone: no
 * registers.
 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "registers/policy.h"

enum { RANK = 5, LATER = 8, LAST = 9 };

/* Entries in use, of methods that were asked for before all others. */
static void fill(struct policy_register registers[POLICY_REGISTERS])
{
	for (int i = 0; i < POLICY_REGISTERS; i++)
		registers[i] = (struct policy_register){
			.reserved = true,
			.used = true,
			.body = (uint32_t)i,
			.rank = (uint32_t)i % POLICY_GUARANTEED,
			.last_hit_ns = 1000,
		};
}

static void assert_choice(const struct policy_register registers[POLICY_REGISTERS],
			  enum policy_rule rule, int slot)
{
	const struct policy_choice choice = policy_entry(registers, RANK);

	assert_int_equal(choice.rule, rule);
	assert_int_equal(choice.slot, slot);
	assert_int_equal(policy_costs_no_calls(&choice),
			 rule == POLICY_FREE || rule == POLICY_DRAINED || rule == POLICY_EXITS);
	assert_int_equal(policy_asks_drained(&choice), rule != POLICY_FREE);
}

static void supersede(struct policy_register *of, bool drained, uint64_t last_hit_ns)
{
	of->superseded = true;
	of->drained = drained;
	of->last_hit_ns = last_hit_ns;
}

/* Entries ------------------------------------------------------------------------------------ */

/*
 * Bodies in use of the first methods keep their registers, and what is not ours is nobody's to
 * give.
 */
UNIT_TEST(none)
{
	struct policy_register registers[POLICY_REGISTERS] = { 0 };

	assert_choice(registers, POLICY_NONE, -1);
	fill(registers);
	assert_choice(registers, POLICY_NONE, -1);
}

UNIT_TEST(a_free_one)
{
	struct policy_register registers[POLICY_REGISTERS];

	fill(registers);
	supersede(&registers[0], true, 1);
	registers[2].used = registers[3].used = false;
	assert_choice(registers, POLICY_FREE, 2);
	registers[2].reserved = false;
	assert_choice(registers, POLICY_FREE, 3);
}

/* Of several the one that was hit longest ago; before exits, and whatever is not drained. */
UNIT_TEST(a_drained_body_s)
{
	struct policy_register registers[POLICY_REGISTERS];

	fill(registers);
	supersede(&registers[1], false, 1);
	supersede(&registers[2], true, 30);
	supersede(&registers[3], true, 20);
	registers[0].exit = true;
	registers[0].rank = LAST;
	assert_choice(registers, POLICY_DRAINED, 3);
	registers[2].last_hit_ns = 20;
	assert_choice(registers, POLICY_DRAINED, 2);
	registers[2].last_hit_ns = 30;
	registers[3].drained = false;
	assert_choice(registers, POLICY_DRAINED, 2);
	/* An exit is not an entry, and no more than an exit where its body is drained. */
	registers[2].exit = true;
	assert_choice(registers, POLICY_EXITS, 2);
}

UNIT_TEST(an_exit_s)
{
	struct policy_register registers[POLICY_REGISTERS];

	fill(registers);
	supersede(&registers[0], false, 1);
	registers[1].exit = registers[2].exit = registers[3].exit = true;
	/* Of methods that were not asked for later, exits stay. */
	registers[1].rank = registers[2].rank = registers[3].rank = RANK;
	assert_choice(registers, POLICY_SUPERSEDED, 0);
	registers[1].rank = LATER;
	registers[2].rank = LAST;
	assert_choice(registers, POLICY_EXITS, 2);
	/* Of a superseded body without calls before them; with calls after them. */
	supersede(&registers[3], false, 1);
	assert_choice(registers, POLICY_EXITS, 3);
	registers[3].has_calls = true;
	assert_choice(registers, POLICY_EXITS, 2);
	registers[1].rank = registers[2].rank = RANK;
	assert_choice(registers, POLICY_EXITS, 3);
}

UNIT_TEST(a_superseded_body_s)
{
	struct policy_register registers[POLICY_REGISTERS];

	fill(registers);
	registers[3].rank = LAST;
	supersede(&registers[1], false, 20);
	supersede(&registers[2], false, 10);
	assert_choice(registers, POLICY_SUPERSEDED, 2);
	registers[2].last_hit_ns = 30;
	assert_choice(registers, POLICY_SUPERSEDED, 1);
}

/* After superseded bodies, before the entries of later methods; of several as with those. */
UNIT_TEST(an_idle_body_s)
{
	struct policy_register registers[POLICY_REGISTERS];

	fill(registers);
	registers[3].rank = LAST;
	registers[1].idle = registers[2].idle = true;
	registers[1].last_hit_ns = 20;
	registers[2].last_hit_ns = 10;
	assert_choice(registers, POLICY_IDLE, 2);
	registers[2].last_hit_ns = 30;
	assert_choice(registers, POLICY_IDLE, 1);
	supersede(&registers[0], false, 1);
	assert_choice(registers, POLICY_SUPERSEDED, 0);
}

/* Last of all, and only guaranteed methods take it before it is drained. */
UNIT_TEST(a_kept_one)
{
	struct policy_register registers[POLICY_REGISTERS];
	struct policy_choice choice;

	fill(registers);
	supersede(&registers[0], false, 1);
	registers[0].guaranteed = registers[1].guaranteed = true;
	assert_choice(registers, POLICY_KEPT, 0);
	choice = policy_entry(registers, RANK);
	assert_true(policy_waits(&choice));
	assert_false(policy_may_evict(&choice, POLICY_GUARANTEED));
	assert_true(policy_may_evict(&choice, POLICY_GUARANTEED - 1));
	registers[3].rank = LAST;
	assert_choice(registers, POLICY_LATER_METHOD, 3);
	choice = policy_entry(registers, RANK);
	assert_false(policy_waits(&choice));
	assert_true(policy_may_evict(&choice, POLICY_GUARANTEED));
	supersede(&registers[0], true, 1);
	assert_choice(registers, POLICY_DRAINED, 0);
}

UNIT_TEST(a_later_method_s)
{
	struct policy_register registers[POLICY_REGISTERS];

	fill(registers);
	registers[1].rank = LATER;
	registers[3].rank = LAST;
	assert_choice(registers, POLICY_LATER_METHOD, 3);
	registers[3].rank = RANK;
	assert_choice(registers, POLICY_LATER_METHOD, 1);
	/* The same rank is not later. */
	registers[1].rank = RANK;
	assert_choice(registers, POLICY_NONE, -1);
}

/* However early the method is that wants one. */
UNIT_TEST(the_first_methods_keep_theirs)
{
	struct policy_register registers[POLICY_REGISTERS];
	struct policy_choice choice;

	fill(registers);
	for (int i = 0; i < POLICY_REGISTERS; i++)
		registers[i].rank = POLICY_GUARANTEED - 1;
	choice = policy_entry(registers, 0);
	assert_int_equal(choice.rule, POLICY_NONE);
	registers[2].rank = POLICY_GUARANTEED;
	choice = policy_entry(registers, 0);
	assert_int_equal(choice.rule, POLICY_LATER_METHOD);
	assert_int_equal(choice.slot, 2);
}

/* Exits -------------------------------------------------------------------------------------- */

UNIT_TEST(exits)
{
	struct policy_register of = { .reserved = true };

	assert_int_equal(policy_exit(&of, 1, RANK, false), POLICY_YES);
	of.reserved = false;
	assert_int_equal(policy_exit(&of, 1, RANK, true), POLICY_NO);
	of = (struct policy_register){ .reserved = true, .used = true, .body = 2, .rank = LATER };
	/* An entry in use stays, also that of a later method; its exit does not. */
	assert_int_equal(policy_exit(&of, 1, RANK, true), POLICY_NO);
	of.exit = true;
	assert_int_equal(policy_exit(&of, 1, RANK, false), POLICY_YES);
	assert_int_equal(policy_exit(&of, 1, LATER, true), POLICY_NO);
	/* Its own. */
	assert_int_equal(policy_exit(&of, 2, RANK, true), POLICY_NO);
	of.rank = RANK;
	of.superseded = true;
	assert_int_equal(policy_exit(&of, 1, RANK, false), POLICY_IF_EMPTY);
	assert_int_equal(policy_exit(&of, 1, RANK, true), POLICY_IF_DRAINED);
	of.exit = false;
	assert_int_equal(policy_exit(&of, 1, RANK, false), POLICY_IF_EMPTY);
	assert_int_equal(policy_exit(&of, 2, RANK, true), POLICY_NO);
}

UNIT_TEST(exits_wait_for_calls)
{
	assert_false(policy_may_cut(1000, 1000 + NS_PER_S));
	assert_true(policy_may_cut(1000, 1001 + NS_PER_S));
}

/* Bodies ------------------------------------------------------------------------------------- */

UNIT_TEST(order_of_bodies)
{
	assert_true(policy_goes_first(1, 2));
	assert_false(policy_goes_first(2, 2));
	assert_false(policy_goes_first(2, 1));
}

UNIT_TEST(ranks)
{
	assert_int_equal(policy_turns(false, false), POLICY_BY_NEED);
	assert_int_equal(policy_turns(false, true), POLICY_BY_RANK);
	assert_int_equal(policy_turns(true, false), POLICY_ALIKE);
	assert_int_equal(policy_turns(true, true), POLICY_ALIKE);
	assert_int_equal(policy_rank(7, 1, POLICY_BY_RANK, true), 7);
	assert_int_equal(policy_rank(7, 1, POLICY_ALIKE, true), 0);
	/* Who is named first, other named ones, and what matches. */
	for (uint32_t i = 0; i < POLICY_GUARANTEED; i++) {
		assert_int_equal(policy_rank(7, i, POLICY_BY_NEED, false), i);
		assert_false(policy_may_give_way(i));
	}
	assert_int_equal(policy_rank(0, POLICY_GUARANTEED, POLICY_BY_NEED, false),
			 POLICY_RANK_NAMED);
	assert_int_equal(policy_rank(0, UINT32_MAX, POLICY_BY_NEED, false), POLICY_RANK_MATCHED);
	/* Where there are few it does not matter what matched. */
	assert_int_equal(policy_rank(1, UINT32_MAX, POLICY_BY_NEED, true), 1);
	assert_int_equal(policy_rank(1, 0, POLICY_BY_NEED, true), 1);
	/* Of one that nobody asked for. */
	assert_int_equal(policy_rank(UINT32_MAX, UINT32_MAX, POLICY_BY_NEED, true),
			 POLICY_RANK_MATCHED);
	assert_true(policy_may_give_way(POLICY_RANK_NAMED));
	assert_true(POLICY_RANK_NAMED < POLICY_RANK_MATCHED);
}

UNIT_TEST(half_of_a_hold)
{
	assert_int_equal(policy_wait_until(10 * NS_PER_MS, 4 * NS_PER_MS), 8 * NS_PER_MS);
}

/* Multiplexing ------------------------------------------------------------------------------- */

UNIT_TEST(what_is_watched)
{
	struct policy_body body = { .exits_known = true, .exit_count = 2 };

	assert_false(policy_is_watched(&body, POLICY_REGISTERS));
	body.has_entry = true;
	assert_false(policy_is_watched(&body, POLICY_REGISTERS));
	assert_false(policy_is_watched(&body, 3));
	/* More than its entry cannot be watched. */
	assert_true(policy_is_watched(&body, 2));
	body.has_exits = true;
	assert_true(policy_is_watched(&body, POLICY_REGISTERS));
	body.has_exits = body.exits_known = false;
	assert_true(policy_is_watched(&body, POLICY_REGISTERS));
}

UNIT_TEST(what_a_turn_takes)
{
	struct policy_body body = { .exits_known = true, .exit_count = 2 };

	assert_true(policy_slice_fits(&body, 3, POLICY_REGISTERS));
	assert_false(policy_slice_fits(&body, 2, POLICY_REGISTERS));
	assert_true(policy_slice_fits(&body, 1, 2));
	assert_false(policy_slice_fits(&body, 0, 2));
	body.has_entry = true;
	assert_true(policy_slice_fits(&body, 2, POLICY_REGISTERS));
	assert_false(policy_slice_fits(&body, 1, POLICY_REGISTERS));
	body.exits_known = false;
	assert_true(policy_slice_fits(&body, 0, POLICY_REGISTERS));
}

/* By need ------------------------------------------------------------------------------------ */

UNIT_TEST(who_is_idle)
{
	struct policy_body body = { .slice_ns = 1000 };

	/* Since it has its register, or was hit; what the register was hit before is another's. */
	assert_false(policy_is_idle(1000, 0, 999 + POLICY_IDLE_NS));
	assert_true(policy_is_idle(1000, 0, 1000 + POLICY_IDLE_NS));
	assert_false(policy_is_idle(1000, 2000, 1999 + POLICY_IDLE_NS));
	assert_true(policy_is_idle(1000, 2000, 2000 + POLICY_IDLE_NS));
	assert_false(policy_is_idle(1000, 2000, 1500));
	/* One that has not been hit yet is neither. */
	assert_false(policy_is_hit(&body, 1500));
	body.last_hit_ns = 900;
	assert_false(policy_is_hit(&body, 1500));
	body.last_hit_ns = 1100;
	assert_true(policy_is_hit(&body, 1500));
	assert_false(policy_is_hit(&body, 1100 + POLICY_IDLE_NS));
}

/* One that is not hit has until it is idle. */
UNIT_TEST(how_long_a_first_turn_is)
{
	struct policy_body body = { .slice_ns = 1000 };
	const uint64_t over = 1000 + POLICY_FIRST_SLICE_NS;

	assert_false(policy_first_is_over(&body, over));
	body.last_hit_ns = over - 1;
	assert_true(policy_first_is_over(&body, over));
	assert_false(policy_first_is_over(&body, over - 1));
}

UNIT_TEST(who_claims_most)
{
	const uint64_t now = NS_PER_S;
	struct policy_body a = { .tried = true, .rank = POLICY_RANK_MATCHED }, b = a;

	assert_int_equal(policy_claim(&a, now), policy_claim(&b, now));
	b.slice_ns = 1000;
	assert_true(policy_claim(&a, now) > policy_claim(&b, now));
	/* Each is worth more than a little time, */
	b.promoted = true;
	assert_true(policy_claim(&b, now) > policy_claim(&a, now));
	b.promoted = false;
	b.rank = POLICY_RANK_NAMED;
	assert_true(policy_claim(&b, now) > policy_claim(&a, now));
	b.rank = POLICY_RANK_MATCHED;
	b.tried = false;
	assert_true(policy_claim(&b, now) > policy_claim(&a, now));
	/* and all of them not more than enough of it: nobody waits for ever. */
	b.rank = POLICY_RANK_NAMED;
	b.promoted = true;
	b.slice_ns = now - 10 * NS_PER_MS;
	assert_true(policy_claim(&a, now) > policy_claim(&b, now));
}

UNIT_TEST(how_many_are_on_trial)
{
	assert_int_equal(policy_trials(4, true), 2);
	assert_int_equal(policy_trials(4, false), 1);
	assert_int_equal(policy_trials(1, true), 1);
	assert_int_equal(policy_trials(0, false), 1);
}

UNIT_TEST(how_long_a_turn_is)
{
	const struct policy_body body = { .slice_ns = 1000 };

	assert_false(policy_slice_is_over(&body, 1099, 100));
	assert_true(policy_slice_is_over(&body, 1100, 100));
	/* It has begun since the clock was read. */
	assert_false(policy_slice_is_over(&body, 900, 100));
	/* Calls under way have five turns, and at least a second. */
	assert_true(policy_may_drain(1000, 999 + NS_PER_S, NS_PER_MS));
	assert_false(policy_may_drain(1000, 1000 + NS_PER_S, NS_PER_MS));
	assert_true(policy_may_drain(1000, 999 + 5ULL * NS_PER_S, NS_PER_S));
	assert_false(policy_may_drain(1000, 1000 + 5ULL * NS_PER_S, NS_PER_S));
}

/* The start ---------------------------------------------------------------------------------- */

UNIT_TEST(reservations)
{
	assert_int_equal(policy_reservation(&(struct policy_demand){ 0 }), 0);
	assert_int_equal(policy_reservation(&(struct policy_demand){ .methods = 1 }), 3);
	assert_int_equal(policy_reservation(&(struct policy_demand){ .methods = 2 }), 4);
	assert_int_equal(policy_reservation(&(struct policy_demand){ .methods = 1000 }),
			 POLICY_REGISTERS);
	/* None that will be compiled anew. */
	assert_int_equal(policy_reservation(&(struct policy_demand){ .methods = 1, .final = 1 }),
			 1);
	assert_int_equal(policy_reservation(&(struct policy_demand){
				 .methods = 1, .final = 1, .timed = true }),
			 1);
	/* Nobody knows how many. */
	assert_int_equal(
		policy_reservation(&(struct policy_demand){ .methods = 1, .open_ended = true }),
		POLICY_REGISTERS);
	assert_int_equal(policy_reservation(&(struct policy_demand){
				 .methods = 1, .final = 1, .multiplexed = true }),
			 POLICY_REGISTERS);
	assert_int_equal(policy_reservation(&(struct policy_demand){ .methods = 1, .timed = true }),
			 POLICY_REGISTERS);
}

UNIT_TEST(at_the_start)
{
	assert_true(policy_start_fits(4, 0, 4));
	assert_true(policy_start_fits(4, 3, 1));
	/* All that a site takes, or none. */
	assert_false(policy_start_fits(4, 3, 2));
	assert_false(policy_start_fits(0, 0, 1));
}

UNIT_MAIN(NULL, NULL)
