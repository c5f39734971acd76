// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scheduler.h: which debug register a new body gets, and when nobody comes by a superseded one any
 * more. The registers are only written down; test_breakpoints.c has the same on real ones.
 */
#include "tests/unit/scheduler_fixture.h"

/* Registers ---------------------------------------------------------------------------------- */

UNIT_TEST(reserving)
{
	struct registers_fixture f;
	const struct register_claim claim = claim_of(5, METHOD_A, 0);
	uint32_t evicted;

	registers_init(&f, 0);
	assert_int_equal(scheduler_reserved(&f.scheduler), 0);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	assert_int_equal(arm(&f, claim, &evicted), -ENOSPC);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	f.breakpoints.registers = 3;
	assert_true(scheduler_reserve(&f.scheduler, 2, true));
	assert_int_equal(scheduler_reserved(&f.scheduler), 2);
	/* So many in all. */
	assert_true(scheduler_reserve(&f.scheduler, 2, true));
	assert_true(scheduler_reserve(&f.scheduler, 1, true));
	assert_int_equal(scheduler_reserved(&f.scheduler), 2);
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	assert_false(scheduler_reserve(&f.scheduler, BREAKPOINTS_MAX, true));
	assert_int_equal(scheduler_reserved(&f.scheduler), 3);
	f.breakpoints.registers = BREAKPOINTS_MAX;
	assert_true(scheduler_reserve(&f.scheduler, BREAKPOINTS_MAX, true));
	assert_int_equal(scheduler_reserved(&f.scheduler), BREAKPOINTS_MAX);
	assert_false(has_register(&f, 5));
	assert_int_equal(f.breakpoints.moves, 0);
}

/* A breakpoint that was there before is one of them. */
UNIT_TEST(adopting)
{
	struct registers_fixture f;
	const struct register_claim claim = claim_of(9, METHOD_A, 0);

	registers_init(&f, 0);
	f.breakpoints.registers = BREAKPOINTS_MAX;
	f.breakpoints.slots[1].reserved = true;
	assert_int_equal(breakpoints_move(&f.breakpoints, 1, claim.address, claim.body, NULL), 0);
	scheduler_adopt(&f.scheduler, 1, &claim, false);
	assert_int_equal(register_of(&f, 9), 1);
	assert_int_equal(scheduler_reserved(&f.scheduler), 1);
	assert_true(scheduler_reserve(&f.scheduler, 3, true));
	assert_int_equal(scheduler_reserved(&f.scheduler), 3);
	must_arm(&f, 10, METHOD_B, 1);
	must_arm(&f, 11, METHOD_C, 2);
	assert_int_equal(register_of(&f, 9), 1);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
}

UNIT_TEST(free_registers_go_first)
{
	struct registers_fixture f;

	registers_init(&f, 3);
	must_arm(&f, 0, METHOD_A, 9);
	must_arm(&f, 1, METHOD_A, 9);
	supersede(&f, METHOD_A, 1);
	publish(&f);
	let_rest(&f, 0);
	/* One that could be had is left where it is while there is one that nobody uses. */
	must_arm(&f, 2, METHOD_B, 0);
	assert_true(has_register(&f, 0));
	assert_int_equal(f.breakpoints.moves, 3);
}

/* Superseded bodies -------------------------------------------------------------------------- */

UNIT_TEST(nobody_knows_whether_calls_go_to_the_newer_one)
{
	struct registers_fixture f;

	fill(&f);
	keep_young(&f, 0);
	assert_false(is_free_to_take(&f));
}

UNIT_TEST(its_thread_has_begun_another_compilation)
{
	struct registers_fixture f;

	fill(&f);
	publish(&f);
	assert_true(is_free_to_take(&f));
}

UNIT_TEST(another_thread_has)
{
	struct registers_fixture f;

	fill(&f);
	keep_young(&f, 0);
	scheduler_note_publisher(&f.scheduler, OTHER_THREAD, clock_now_ns() + 1);
	assert_false(is_free_to_take(&f));
}

/* The outer one of two compilations, one in the other, began before. */
UNIT_TEST(it_had_begun_before)
{
	struct registers_fixture f;

	fill(&f);
	keep_young(&f, 0);
	scheduler_note_publisher(&f.scheduler, THREAD, f.scheduler.uses[0].newer_ns);
	assert_false(is_free_to_take(&f));
}

UNIT_TEST(the_newer_body_was_hit)
{
	struct registers_fixture f;

	fill(&f);
	usleep(10);
	hit(&f, 1, 0);
	assert_true(is_free_to_take(&f));
}

/* When its register was another body's. */
UNIT_TEST(its_register_was_hit_before)
{
	struct registers_fixture f;

	fill(&f);
	keep_young(&f, 0);
	f.shared.last_hit_ns[register_of(&f, 1)] = f.scheduler.uses[0].newer_ns;
	assert_false(is_free_to_take(&f));
}

UNIT_TEST(it_has_been_there_for_long)
{
	struct registers_fixture f;

	fill(&f);
	age(&f, 0, 100 * (uint64_t)NS_PER_MS);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	age(&f, 0, 200 * (uint64_t)NS_PER_MS);
	assert_true(is_free_to_take(&f));
}

/* Calls under way still come by. */
UNIT_TEST(it_was_hit_just_now)
{
	struct registers_fixture f;

	fill(&f);
	publish(&f);
	hit(&f, 0, 0);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	hit(&f, 0, 2 * NS_PER_MS);
	assert_true(is_free_to_take(&f));
}

/* It is waited for, if that does not take long. */
UNIT_TEST(it_is_quiet_in_a_moment)
{
	struct registers_fixture f;
	uint64_t began;
	uint32_t evicted;

	fill(&f);
	publish(&f);
	hit(&f, 0, 0);
	have_time(&f);
	began = clock_now_ns();
	assert_int_equal(arm(&f, claim_of(8, METHOD_D, 2), &evicted), 0);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(clock_now_ns() - began >= NS_PER_MS * 9 / 10);
	assert_false(has_register(&f, 0));
}

/* A method that is not guaranteed waits as well, and has none then. */
UNIT_TEST(a_guaranteed_one_s_is_not_taken)
{
	struct registers_fixture f;
	uint32_t evicted;

	fill(&f);
	keep_young(&f, 0);
	assert_int_equal(arm(&f, claim_of(8, METHOD_D, POLICY_GUARANTEED), &evicted), -ENOSPC);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(has_register(&f, 0));
	age(&f, 0, 3600ULL * NS_PER_S);
	publish(&f);
	must_arm(&f, 8, METHOD_D, POLICY_GUARANTEED);
}

UNIT_TEST(nobody_waits_for_long)
{
	struct registers_fixture f;
	uint64_t began;
	uint32_t evicted;

	fill(&f);
	keep_young(&f, 0);
	began = clock_now_ns();
	assert_int_equal(arm(&f, claim_of(8, METHOD_D, 2), &evicted), 0);
	assert_int_equal(evicted, 0);
	assert_true(clock_now_ns() - began >= 2 * NS_PER_MS);
	assert_true(clock_now_ns() - began < NS_PER_S);
}

/* Where whoever makes calls go to the newer body waits for us, waiting would be in vain. */
UNIT_TEST(nobody_waits_who_must_not)
{
	const struct register_claim claim = claim_of(8, METHOD_A, 0);
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 5; round++) {
		struct registers_fixture f;
		uint64_t began, took;
		uint32_t evicted;

		fill(&f);
		began = clock_now_ns();
		assert_int_equal(scheduler_arm(&f.scheduler, &claim, false, &evicted, NULL), 0);
		took = clock_now_ns() - began;
		least = took < least ? took : least;
		assert_int_equal(evicted, 0);
		assert_true(has_register(&f, 1));
	}
	assert_true(least < NS_PER_MS);
}

/* Who is left, whether it could be waited for or not, is told once. */
UNIT_TEST(the_body_that_was_left)
{
	struct registers_fixture f;
	uint32_t evicted;

	fill(&f);
	assert_int_equal(scheduler_take_drained(&f.scheduler), SCHEDULER_NO_BODY);
	publish(&f);
	must_arm(&f, 8, METHOD_D, 3);
	assert_int_equal(scheduler_take_drained(&f.scheduler), 0);
	assert_int_equal(scheduler_take_drained(&f.scheduler), SCHEDULER_NO_BODY);
	/* A body that is in use is not left, it loses. */
	assert_int_equal(arm(&f, claim_of(9, METHOD_A, 0), &evicted), 0);
	assert_int_equal(evicted, 8);
	assert_int_equal(scheduler_take_drained(&f.scheduler), SCHEDULER_NO_BODY);
	/* Nor is one whose code is gone, or whose register was not moved. */
	assert_int_equal(scheduler_drop(&f.scheduler, 9), 1);
	assert_int_equal(scheduler_take_drained(&f.scheduler), SCHEDULER_NO_BODY);
	must_arm(&f, 10, METHOD_D, 3);
	supersede(&f, METHOD_D, 11);
	f.breakpoints.refusal = -EINVAL;
	assert_int_equal(arm(&f, claim_of(11, METHOD_D, 3), &evicted), -EINVAL);
	assert_int_equal(scheduler_take_drained(&f.scheduler), SCHEDULER_NO_BODY);
}

/* Of two that calls no longer go to, the one that was hit longer ago. */
UNIT_TEST(the_quieter_one_goes_first)
{
	struct registers_fixture f;

	for (uint32_t quieter = 2; quieter <= 3; quieter++) {
		registers_init(&f, BREAKPOINTS_MAX);
		must_arm(&f, 0, METHOD_A, 0);
		must_arm(&f, 1, METHOD_B, 1);
		must_arm(&f, 2, METHOD_A, 0);
		must_arm(&f, 3, METHOD_B, 1);
		supersede(&f, METHOD_A, 0);
		supersede(&f, METHOD_B, 1);
		publish(&f);
		hit(&f, 5 - quieter, 10 * NS_PER_MS);
		hit(&f, quieter, 11 * NS_PER_MS);
		must_arm(&f, 4, METHOD_C, 2);
		assert_false(has_register(&f, quieter));
		assert_true(has_register(&f, 5 - quieter));
	}
}

/*
 * One that nobody has hit for long, though calls may still go to it, does not stand before one that
 * calls are known to go to no more.
 */
UNIT_TEST(one_that_is_free_to_take_goes_first)
{
	struct registers_fixture f;

	registers_init(&f, BREAKPOINTS_MAX);
	must_arm(&f, 0, METHOD_A, 0);
	must_arm(&f, 1, METHOD_A, 0);
	must_arm(&f, 2, METHOD_B, 1);
	must_arm(&f, 3, METHOD_B, 1);
	supersede(&f, METHOD_A, 1);
	publish(&f);
	hit(&f, 0, 5 * NS_PER_MS);
	supersede_by(&f, METHOD_B, 3, OTHER_THREAD);
	hit(&f, 2, NS_PER_S);
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	must_arm(&f, 4, METHOD_C, 2);
	assert_false(has_register(&f, 0));
	assert_true(has_register(&f, 2));
}

/* The time of a hit is read after that of the clock: one in between is later than now. */
UNIT_TEST(it_is_hit_while_that_is_looked_at)
{
	struct registers_fixture f;

	fill(&f);
	publish(&f);
	f.shared.last_hit_ns[register_of(&f, 0)] = clock_now_ns() + NS_PER_S;
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
}

/* A newer body that has gone is hit no more, whoever has its register then. */
UNIT_TEST(the_newer_body_has_gone)
{
	struct registers_fixture f;
	int slot;

	fill(&f);
	slot = register_of(&f, 1);
	assert_int_equal(scheduler_drop(&f.scheduler, 1), 1);
	must_arm(&f, 5, METHOD_B, 1);
	assert_int_equal(register_of(&f, 5), slot);
	hit(&f, 5, 0);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
}

UNIT_TEST(the_newer_body_has_no_register)
{
	struct registers_fixture f;

	fill(&f);
	supersede(&f, METHOD_B, 50);
	let_rest(&f, 2);
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (i != register_of(&f, 2))
			f.shared.last_hit_ns[i] = clock_now_ns();
	}
	/* Site 0's is in use now, so that it is seen what is known of site 2. */
	assert_true(f.scheduler.uses[register_of(&f, 2)].superseded);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	publish(&f);
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	must_arm(&f, 8, METHOD_D, 3);
	assert_false(has_register(&f, 2));
}

/* A third body comes before anyone knows of the second. */
UNIT_TEST(a_chain_of_bodies)
{
	struct registers_fixture f;

	registers_init(&f, BREAKPOINTS_MAX);
	for (uint32_t site = 0; site < 3; site++) {
		must_arm(&f, site, METHOD_A, 0);
		supersede(&f, METHOD_A, site);
		let_rest(&f, site);
	}
	must_arm(&f, 3, METHOD_B, 1);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	usleep(10);
	hit(&f, 2, 0);
	/* Both before it. */
	must_arm(&f, 4, METHOD_B, 1);
	must_arm(&f, 5, METHOD_C, 2);
	assert_false(has_register(&f, 0));
	assert_false(has_register(&f, 1));
	assert_true(has_register(&f, 2));
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
}

/* What is known of the first body does not become uncertain again. */
UNIT_TEST(what_was_replaced_stays_so)
{
	struct registers_fixture f;

	fill(&f);
	publish(&f);
	supersede_by(&f, METHOD_A, 60, OTHER_THREAD);
	assert_true(f.scheduler.uses[register_of(&f, 0)].published);
	assert_false(f.scheduler.uses[register_of(&f, 1)].published);
	assert_true(is_free_to_take(&f));
}

/* Of another method, of none, and of itself. */
UNIT_TEST(who_is_not_superseded)
{
	struct registers_fixture f;

	registers_init(&f, 3);
	must_arm(&f, 0, METHOD_A, 0);
	must_arm(&f, 1, 0, 1);
	must_arm(&f, 2, METHOD_B, 2);
	supersede(&f, METHOD_A, 0);
	supersede(&f, METHOD_C, 9);
	supersede(&f, 0, 9);
	for (int i = 0; i < 3; i++)
		assert_false(f.scheduler.uses[i].superseded);
	supersede(&f, METHOD_A, 9);
	assert_true(f.scheduler.uses[0].superseded);
	assert_false(f.scheduler.uses[1].superseded);
	assert_false(f.scheduler.uses[2].superseded);
}

UNIT_MAIN(NULL, NULL)
