// SPDX-License-Identifier: GPL-2.0-or-later
/* scheduler.h: a superseded body that threads are about to enter keeps its register. */
#include "tests/unit/scheduler_fixture.h"

/* Calls are known to go to A's new body, and nobody has come by the old one for long. */
static void fill_and_publish(struct registers_fixture *f)
{
	fill(f);
	publish(f);
}

UNIT_TEST(somebody_is_on_the_way)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	fake_in_flight.entry = entry_of(0);
	assert_false(is_free_to_take(&f));
}

UNIT_TEST(somebody_is_on_the_way_elsewhere)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	fake_in_flight.entry = entry_of(1);
	assert_true(is_free_to_take(&f));
}

UNIT_TEST(it_cannot_be_told)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	fake_in_flight.failure = -EAGAIN;
	assert_false(is_free_to_take(&f));
}

UNIT_TEST(it_can_never_be_told)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	scheduler_use_in_flight(&f.scheduler, NULL);
	assert_false(is_free_to_take(&f));
	assert_int_equal(fake_in_flight.looks, 0);
}

/* It is waited for, and once it has come nobody asks again. */
UNIT_TEST(somebody_comes_in_a_moment)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	fake_in_flight.entry = entry_of(0);
	fake_in_flight.arrives_after = 10;
	have_time(&f);
	must_arm(&f, 8, METHOD_D, 3);
	assert_false(has_register(&f, 0));
	assert_int_equal(fake_in_flight.looks, 11);
}

/* That is a hit, so the body has to rest once more. */
UNIT_TEST(its_hit_is_waited_for_too)
{
	struct registers_fixture f;
	uint64_t began;

	fill_and_publish(&f);
	fake_in_flight.entry = entry_of(0);
	fake_in_flight.arrives_after = 2;
	fake_in_flight.last_hit_ns = (uint64_t *)&f.shared.last_hit_ns[register_of(&f, 0)];
	have_time(&f);
	began = clock_now_ns();
	must_arm(&f, 8, METHOD_D, 3);
	assert_true(clock_now_ns() - began >= NS_PER_MS);
	assert_int_equal(fake_in_flight.looks, 3);
}

/* As long as is asked for, and no longer. */
UNIT_TEST(somebody_does_not_come)
{
	struct registers_fixture f;
	uint64_t began, took;
	uint32_t evicted;

	fill_and_publish(&f);
	fake_in_flight.entry = entry_of(0);
	began = clock_now_ns();
	f.scheduler.wait_until_ns = began + 30 * NS_PER_MS;
	assert_int_equal(arm(&f, claim_of(8, METHOD_D, 2), &evicted), 0);
	took = clock_now_ns() - began;
	assert_int_equal(evicted, 0);
	assert_true(took >= 30 * NS_PER_MS && took < NS_PER_S);
	/* Others need the CPU meanwhile. */
	assert_true(fake_in_flight.looks < 200);
}

/* Who has waited for his turn for so long already does not wait on. */
UNIT_TEST(there_is_no_time_left)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 5; round++) {
		struct registers_fixture f;
		uint64_t began, took;
		uint32_t evicted;

		fill_and_publish(&f);
		fake_in_flight.entry = entry_of(0);
		f.scheduler.wait_until_ns = clock_now_ns() - 1;
		began = clock_now_ns();
		assert_int_equal(arm(&f, claim_of(8, METHOD_D, 2), &evicted), 0);
		took = clock_now_ns() - began;
		least = took < least ? took : least;
		assert_int_equal(evicted, 0);
	}
	assert_true(least < NS_PER_MS);
}

/* Before a register is needed; what was known by then stays, whoever is on the way later. */
UNIT_TEST(looked_at_before_it_is_needed)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	scheduler_look(&f.scheduler);
	assert_int_equal(fake_in_flight.looks, 1);
	scheduler_look(&f.scheduler);
	assert_int_equal(fake_in_flight.looks, 1);
	fake_in_flight.entry = entry_of(0);
	assert_true(is_free_to_take(&f));
}

/* Ever more seldom, while somebody stays on the way. */
UNIT_TEST(looked_at_in_vain)
{
	const uint64_t step = 20 * NS_PER_MS;
	struct registers_fixture f;
	struct register_use *use;

	fill_and_publish(&f);
	use = &f.scheduler.uses[register_of(&f, 0)];
	fake_in_flight.entry = entry_of(0);
	for (int i = 0; i < 1000; i++) {
		scheduler_look(&f.scheduler);
		/* As if so much time had passed. */
		use->newer_ns -= step;
		use->looked_ns -= use->looked_ns ? step : 0;
	}
	assert_in_range(fake_in_flight.looks, 10, 40);
	fake_in_flight.entry = 0;
	assert_true(is_free_to_take(&f));
}

/* What was known of a body before calls went elsewhere says nothing: nobody looks. */
UNIT_TEST(nobody_looks_too_early)
{
	struct registers_fixture f;

	fill(&f);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	publish(&f);
	/* However long it takes from here to there. */
	hit(&f, 0, -(uint64_t)NS_PER_S);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	assert_int_equal(fake_in_flight.looks, 0);
	let_rest(&f, 0);
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	assert_int_equal(fake_in_flight.looks, 1);
}

/* The register that he left is somebody else's, of whom nothing is known. */
UNIT_TEST(the_next_one_is_asked_anew)
{
	struct registers_fixture f;

	fill_and_publish(&f);
	must_arm(&f, 8, METHOD_D, 3);
	supersede(&f, METHOD_D, 9);
	publish(&f);
	let_rest(&f, 8);
	fake_in_flight.entry = entry_of(8);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	fake_in_flight.entry = 0;
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
}

UNIT_MAIN(NULL, NULL)
