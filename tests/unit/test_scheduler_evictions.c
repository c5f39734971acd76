// SPDX-License-Identifier: GPL-2.0-or-later
/* scheduler.h: who goes without a debug register, and who is said to have lost one. */
#include "tests/unit/scheduler_fixture.h"

/* Ranks -------------------------------------------------------------------------------------- */

/* Four bodies in use, of methods of these ranks; their sites are the ranks. */
static void fill_ranks(struct registers_fixture *f, const uint32_t ranks[BREAKPOINTS_MAX])
{
	registers_init(f, BREAKPOINTS_MAX);
	for (uint32_t i = 0; i < BREAKPOINTS_MAX; i++)
		must_arm(f, ranks[i], METHOD_A + ranks[i], ranks[i]);
	for (uint32_t i = 0; i < BREAKPOINTS_MAX; i++)
		let_rest(f, ranks[i]);
}

static void assert_none_for(struct registers_fixture *f, uint32_t rank)
{
	int moves = f->breakpoints.moves;
	uint32_t evicted;

	assert_int_equal(arm(f, claim_of(100, METHOD_D, rank), &evicted), -ENOSPC);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_false(has_register(f, 100));
	assert_int_equal(f->breakpoints.moves, moves);
}

UNIT_TEST(the_last_one_loses)
{
	static const uint32_t ranks[] = { 5, 3, 9, 4 };
	struct registers_fixture f;
	uint32_t evicted;

	fill_ranks(&f, ranks);
	assert_false(scheduler_have_room(&f.scheduler, UINT32_MAX));
	assert_none_for(&f, 9);
	assert_none_for(&f, UINT32_MAX);
	assert_int_equal(arm(&f, claim_of(100, METHOD_D, 4), &evicted), 0);
	assert_int_equal(evicted, 9);
	assert_false(has_register(&f, 9));
	assert_true(has_register(&f, 5) && has_register(&f, 3) && has_register(&f, 4));
	/* Whose rank is the same stays. */
	assert_int_equal(arm(&f, claim_of(101, METHOD_D, 5), &evicted), -ENOSPC);
	assert_int_equal(arm(&f, claim_of(101, METHOD_D, 4), &evicted), 0);
	assert_int_equal(evicted, 5);
}

UNIT_TEST(the_first_ones_never_lose)
{
	static const uint32_t ranks[] = { 2, 0, 1, 3 };
	struct registers_fixture f;
	uint32_t evicted;

	assert_int_equal(POLICY_GUARANTEED, 3);
	fill_ranks(&f, ranks);
	assert_int_equal(arm(&f, claim_of(100, METHOD_D, 0), &evicted), 0);
	assert_int_equal(evicted, 3);
	for (uint32_t rank = 0; rank <= 3; rank++) {
		assert_int_equal(arm(&f, claim_of(101, METHOD_D, rank), &evicted), -ENOSPC);
		assert_int_equal(evicted, SCHEDULER_NO_BODY);
	}
	for (uint32_t site = 0; site < 3; site++)
		assert_true(has_register(&f, site));
}

/* A body that was superseded is taken before one in use, whatever their ranks. */
UNIT_TEST(superseded_ones_go_before_lesser_ones)
{
	static const uint32_t ranks[] = { 0, 1, 2, 9 };
	struct registers_fixture f;

	fill_ranks(&f, ranks);
	supersede(&f, METHOD_A + 1, 50);
	publish(&f);
	must_arm(&f, 100, METHOD_D, 20);
	assert_false(has_register(&f, 1));
	assert_true(has_register(&f, 9));
}

/* Refusals ----------------------------------------------------------------------------------- */

static void refuse(struct registers_fixture *f, struct register_claim claim)
{
	uint32_t evicted;
	int moves = f->breakpoints.moves;

	f->breakpoints.refusal = -EINVAL;
	assert_int_equal(arm(f, claim, &evicted), -EINVAL);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_false(has_register(f, claim.body));
	assert_int_equal(f->breakpoints.moves, moves);
	f->breakpoints.refusal = 0;
}

UNIT_TEST(a_free_register_is_refused)
{
	struct registers_fixture f;
	struct register_claim claim = claim_of(5, METHOD_B, 1);

	registers_init(&f, 2);
	must_arm(&f, 0, METHOD_A, 0);
	claim.may_be_freed = true;
	refuse(&f, claim);
	assert_int_equal(f.shared.armed[1], 0);
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	must_arm(&f, 6, METHOD_B, 1);
}

/* Nobody has lost what could not be moved. */
UNIT_TEST(a_lesser_one_s_is_refused)
{
	static const uint32_t ranks[] = { 0, 1, 2, 9 };
	struct registers_fixture f;

	fill_ranks(&f, ranks);
	refuse(&f, claim_of(100, METHOD_D, 4));
	assert_true(has_register(&f, 9));
}

UNIT_TEST(a_superseded_one_s_is_refused)
{
	struct registers_fixture f;

	fill(&f);
	/* Calls may still go to it. */
	refuse(&f, claim_of(8, METHOD_D, 2));
	assert_true(has_register(&f, 0));
	publish(&f);
	refuse(&f, claim_of(8, METHOD_D, 2));
	assert_true(has_register(&f, 0));
	assert_true(is_free_to_take(&f));
}

/* Giving up ---------------------------------------------------------------------------------- */

UNIT_TEST(drops_a_site)
{
	struct registers_fixture f;

	fill(&f);
	assert_int_equal(scheduler_drop(&f.scheduler, 99), 0);
	assert_int_equal(scheduler_drop(&f.scheduler, 2), 1);
	assert_int_equal(scheduler_drop(&f.scheduler, 2), 0);
	assert_false(has_register(&f, 2));
	assert_true(has_register(&f, 0) && has_register(&f, 1) && has_register(&f, 3));
	/* It is kept for others. */
	assert_int_equal(scheduler_reserved(&f.scheduler), BREAKPOINTS_MAX);
	assert_true(scheduler_have_room(&f.scheduler, UINT32_MAX));
	must_arm(&f, 5, METHOD_D, 7);
}

UNIT_TEST(drops_what_was_freed)
{
	struct registers_fixture f;
	const struct register_claim claim = claim_of(1, METHOD_A, 0);

	fill(&f);
	assert_int_equal(
		scheduler_drop_range(&f.scheduler, (struct address){ claim.address.value - 8 }, 8),
		0);
	assert_int_equal(
		scheduler_drop_range(&f.scheduler, (struct address){ claim.address.value + 1 }, 8),
		0);
	assert_int_equal(scheduler_drop_range(&f.scheduler, claim.address, 0), 0);
	assert_int_equal(
		scheduler_drop_range(&f.scheduler, (struct address){ claim.address.value - 8 }, 9),
		1);
	assert_false(has_register(&f, 1));
	/* Two more at once. */
	assert_int_equal(scheduler_drop_range(&f.scheduler, claim_of(2, 0, 0).address, 0x101), 2);
	assert_false(has_register(&f, 2) || has_register(&f, 3));
	assert_true(has_register(&f, 0));
}

/* The programs are told where code may be replaced by other code. */
UNIT_TEST(code_that_may_be_freed)
{
	struct registers_fixture f;
	struct register_claim freed = claim_of(0, METHOD_A, 5), stays = claim_of(1, METHOD_B, 4);
	uint32_t evicted;

	registers_init(&f, 2);
	freed.may_be_freed = true;
	assert_int_equal(arm(&f, freed, &evicted), 0);
	assert_int_equal(arm(&f, stays, &evicted), 0);
	assert_int_equal(f.shared.armed[0], freed.address.value);
	assert_int_equal(f.shared.armed[1], 0);
	/* It goes with the register. */
	stays.body = 2;
	assert_int_equal(arm(&f, stays, &evicted), 0);
	assert_int_equal(evicted, 0);
	assert_int_equal(f.shared.armed[0], 0);
	scheduler_drop(&f.scheduler, 1);
	freed.body = 3;
	assert_int_equal(arm(&f, freed, &evicted), 0);
	assert_int_equal(f.shared.armed[1], freed.address.value);
	scheduler_drop_range(&f.scheduler, freed.address, 1);
	assert_int_equal(f.shared.armed[1], 0);
	scheduler_adopt(&f.scheduler, 1, &freed, false);
	assert_int_equal(f.shared.armed[1], freed.address.value);
}

/* Anything ----------------------------------------------------------------------------------- */

/* Could its register be taken with nobody's loss? */
static bool is_left(const struct registers_fixture *f, int slot)
{
	const struct register_use *use = &f->scheduler.uses[slot];
	uint64_t now = clock_now_ns();
	bool replaced =
		use->published || now - use->newer_ns > 200 * (uint64_t)NS_PER_MS ||
		(use->newer_slot >= 0 && f->shared.last_hit_ns[use->newer_slot] > use->newer_ns);

	return use->superseded && replaced && now - f->shared.last_hit_ns[slot] > NS_PER_MS;
}

static uint32_t random_number(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

static void arm_any(struct registers_fixture *f, uint32_t method, uint32_t site)
{
	const struct register_claim claim = claim_of(site, METHOD_A + method, method);
	struct registers_fixture before = *f;
	uint32_t evicted;
	int result = arm(f, claim, &evicted), slot = register_of(f, site);
	const struct register_use *use;

	assert_int_equal(result == 0, slot >= 0);
	if (result) {
		assert_int_equal(result, -ENOSPC);
		assert_int_equal(evicted, SCHEDULER_NO_BODY);
		assert_memory_equal(&before.scheduler.uses, &f->scheduler.uses,
				    sizeof(f->scheduler.uses));
		return;
	}
	use = &before.scheduler.uses[slot];
	if (!use->used) {
		assert_int_equal(evicted, SCHEDULER_NO_BODY);
		return;
	}
	if (!use->superseded) {
		assert_int_equal(evicted, use->claim.body);
		assert_true(use->claim.rank >= POLICY_GUARANTEED && use->claim.rank > method);
	}
	/* It may have become quiet meanwhile. */
	if (evicted == SCHEDULER_NO_BODY) {
		before.shared = f->shared;
		assert_true(is_left(&before, slot));
	} else {
		assert_int_equal(evicted, use->claim.body);
		assert_true(f->breakpoints.moves == before.breakpoints.moves + 1);
	}
}

/*
 * Methods are compiled, called and freed in any order: whoever is in use and comes first keeps his
 * register, and whoever loses one is named.
 */
UNIT_TEST(any_order)
{
	enum { METHODS = 6, STEPS = 600 };
	struct registers_fixture f;
	uint32_t random = 20261121, newest[METHODS], site = 0;

	registers_init(&f, BREAKPOINTS_MAX);
	for (uint32_t i = 0; i < METHODS; i++)
		newest[i] = SCHEDULER_NO_BODY;
	for (int step = 0; step < STEPS; step++) {
		uint32_t method = random_number(&random, METHODS);

		switch (random_number(&random, 6)) {
		case 0:
		case 1:
			newest[method] = site++;
			arm_any(&f, method, newest[method]);
			supersede_by(&f, METHOD_A + method, newest[method], THREAD + method);
			break;
		case 2:
			scheduler_note_publisher(&f.scheduler, THREAD + method, clock_now_ns());
			break;
		case 3:
			f.shared.last_hit_ns[random_number(&random, BREAKPOINTS_MAX)] =
				clock_now_ns();
			break;
		case 4:
			for (int i = 0; i < BREAKPOINTS_MAX; i++)
				f.shared.last_hit_ns[i] -= NS_PER_S;
			break;
		default:
			if (random_number(&random, 4) == 0 && newest[method] != SCHEDULER_NO_BODY)
				scheduler_drop(&f.scheduler, newest[method]);
			break;
		}
		(void)register_of(&f, 0);
	}
	assert_true(f.breakpoints.moves > BREAKPOINTS_MAX);
}

UNIT_MAIN(NULL, NULL)
