// SPDX-License-Identifier: GPL-2.0-or-later
/* bodies.h, as time goes by: bodies that are gone, and those that get a debug register later. */
#include "base/cleanup.h"
#include "tests/unit/bodies_fixture.h"

/* What is gone ------------------------------------------------------------------------------- */

UNIT_TEST(finds_what_was_there_before)
{
	const struct address at = { 0x7000 };
	const struct body body = { .number = 3, .address = at, .method = METHOD_A };
	struct body seen = body;
	_cleanup_(deinit) struct fixture f;
	struct body *first, *second;

	init(&f, 0);
	assert_null(bodies_find_unreported(f.bodies, at));
	first = bodies_add(f.bodies, &body);
	assert_ptr_equal(bodies_find_unreported(f.bodies, at), first);
	assert_null(bodies_find_unreported(f.bodies, (struct address){ at.value + 1 }));
	seen.reported = true;
	assert_non_null(bodies_add(f.bodies, &seen));
	assert_ptr_equal(bodies_find_unreported(f.bodies, at), first);
	second = bodies_add(f.bodies, &body);
	assert_ptr_equal(bodies_find_unreported(f.bodies, at), second);
	second->retired = true;
	assert_ptr_equal(bodies_find_unreported(f.bodies, at), first);
	bodies_retire_method(f.bodies, METHOD_A);
	assert_null(bodies_find_unreported(f.bodies, at));
}

UNIT_TEST(buries_a_method)
{
	_cleanup_(deinit) struct fixture f;
	struct body *old, *newest, *other;

	init(&f, BREAKPOINTS_MAX);
	old = add_armed(&f, METHOD_A, 0);
	newest = add_armed(&f, METHOD_A, 0);
	other = add_armed(&f, METHOD_B, 1);
	bodies_retire_method(f.bodies, METHOD_A);
	assert_true(old->retired && newest->retired);
	assert_false(other->retired);
	assert_false(armed(&f, old) || armed(&f, newest));
	assert_true(armed(&f, other));
	/* It has none again. */
	assert_false(bodies_tend(f.bodies, false));
	assert_false(armed(&f, newest));
}

UNIT_TEST(buries_what_other_code_lies_on)
{
	_cleanup_(deinit) struct fixture f;
	struct body *armed_one, *other, *unarmed;

	init(&f, 2);
	armed_one = add_armed(&f, METHOD_A, 0);
	other = add_armed(&f, METHOD_B, 1);
	unarmed = add(&f, METHOD_C, 2);
	assert_int_equal(bodies_retire_range(f.bodies,
					     (struct address){ armed_one->address.value - 0x10 },
					     0x10),
			 0);
	assert_int_equal(bodies_retire_range(
				 f.bodies, (struct address){ armed_one->address.value + 1 }, 0x10),
			 0);
	assert_false(armed_one->retired || other->retired || unarmed->retired);
	assert_int_equal(bodies_retire_range(f.bodies,
					     (struct address){ armed_one->address.value - 0x10 },
					     0x11),
			 1);
	assert_true(armed_one->retired);
	assert_false(armed(&f, armed_one));
	/* One without a register is dead, too. */
	assert_int_equal(bodies_retire_range(f.bodies, unarmed->address, 1), 0);
	assert_true(unarmed->retired);
	assert_false(other->retired);
	assert_true(armed(&f, other));
}

/* Time and again ----------------------------------------------------------------------------- */

/* A body that went without a register gets one that has become free. */
UNIT_TEST(tending_gives_registers)
{
	_cleanup_(deinit) struct fixture f;
	struct body *first, *second, *lacking;
	uint32_t evicted;

	init(&f, 2);
	assert_false(bodies_tend(f.bodies, false));
	first = add_armed(&f, METHOD_A, 0);
	second = add_armed(&f, METHOD_B, 1);
	assert_false(bodies_tend(f.bodies, false));
	lacking = add(&f, METHOD_C, 2);
	assert_int_equal(bodies_arm(f.bodies, lacking, &evicted, NULL), -ENOSPC);
	assert_true(bodies_tend(f.bodies, false));
	assert_true(armed(&f, first) && armed(&f, second));
	bodies_retire_method(f.bodies, METHOD_A);
	assert_false(bodies_tend(f.bodies, false));
	assert_true(armed(&f, lacking) && armed(&f, second));
	/* Nobody has lost anything in that. */
	assert_int_equal(sites_trouble(f.sites, first->number), 0);
	assert_int_equal(sites_trouble(f.sites, second->number), 0);
}

/* One more register than before. */
UNIT_TEST(tending_uses_new_registers)
{
	_cleanup_(deinit) struct fixture f;
	struct body *lacking;

	init(&f, 1);
	add_armed(&f, METHOD_A, 0);
	lacking = add(&f, METHOD_B, 1);
	assert_true(bodies_tend(f.bodies, false));
	f.registers.breakpoints.registers = 2;
	assert_true(scheduler_reserve(&f.registers.scheduler, 2, true));
	assert_false(bodies_tend(f.bodies, false));
	assert_true(armed(&f, lacking));
}

/* Who comes first goes first, in whatever order they were compiled. */
UNIT_TEST(tending_goes_by_rank)
{
	_cleanup_(deinit) struct fixture f;
	struct body *last, *first;

	init(&f, 1);
	add_armed(&f, METHOD_A, 0);
	last = add(&f, METHOD_B, 7);
	first = add(&f, METHOD_C, 1);
	f.registers.breakpoints.registers = 2;
	assert_true(scheduler_reserve(&f.registers.scheduler, 2, true));
	assert_true(bodies_tend(f.bodies, false));
	assert_true(armed(&f, first));
	assert_false(armed(&f, last));
}

/* Who goes first among few methods may go last once there are many. */
UNIT_TEST(many_methods_have_other_ranks)
{
	_cleanup_(deinit) struct fixture f;
	struct body *of_glob, *named;

	init(&f, 1);
	of_glob = add_armed(&f, METHOD_A, 0);
	of_glob->rank_of_many = POLICY_RANK_MATCHED;
	let_rest(&f.registers, of_glob->number);
	named = add(&f, METHOD_B, 1);
	named->rank_of_many = 0;
	assert_false(scheduler_have_room(&f.registers.scheduler, named->rank));
	bodies_are_many(f.bodies);
	assert_int_equal(named->rank, 0);
	assert_int_equal(of_glob->rank, POLICY_RANK_MATCHED);
	bodies_begin(f.bodies);
	assert_true(armed(&f, named));
	assert_false(armed(&f, of_glob));
	assert_int_equal(sites_trouble(f.sites, of_glob->number), TROUBLE_NO_REGISTER);
}

/* A body that lacks a register waits for one that a superseded body has, until that is quiet. */
UNIT_TEST(tending_waits_for_superseded_bodies)
{
	_cleanup_(deinit) struct fixture f;
	struct body *old, *newest, *lacking;

	init(&f, 2);
	old = add_armed(&f, METHOD_A, 0);
	newest = add_armed(&f, METHOD_A, 0);
	lacking = add(&f, METHOD_B, 1);
	let_rest(&f.registers, old->number);
	assert_true(bodies_tend(f.bodies, false));
	assert_true(armed(&f, old));
	scheduler_note_publisher(&f.registers.scheduler, newest->publisher, clock_now_ns() + 1);
	hit(&f.registers, old->number, 0);
	assert_true(bodies_tend(f.bodies, false));
	assert_true(armed(&f, old));
	let_rest(&f.registers, old->number);
	assert_false(bodies_tend(f.bodies, false));
	assert_true(armed(&f, lacking) && armed(&f, newest));
	assert_false(armed(&f, old));
	assert_int_equal(sites_trouble(f.sites, old->number), 0);
	/* The superseded one does not want it back. */
	bodies_retire_method(f.bodies, METHOD_B);
	assert_false(bodies_tend(f.bodies, false));
	assert_false(armed(&f, old));
}

/* OSR bodies are entered in the middle. */
UNIT_TEST(who_needs_no_register)
{
	_cleanup_(deinit) struct fixture f;
	struct body *osr, *dead, *old, *newest;

	init(&f, BREAKPOINTS_MAX);
	osr = add(&f, METHOD_A, 0);
	osr->entered_by_calls = false;
	dead = add(&f, METHOD_B, 1);
	dead->retired = true;
	old = add(&f, METHOD_C, 2);
	newest = add_armed(&f, METHOD_C, 2);
	assert_false(bodies_tend(f.bodies, false));
	assert_false(armed(&f, osr) || armed(&f, dead) || armed(&f, old));
	assert_true(armed(&f, newest));
}

/* Once it is known that it is another method, its register is for others. */
UNIT_TEST(tending_obeys_decisions)
{
	const struct body before = {
		.number = FIRST - 1,
		.address = { 0x7000 },
		.method = METHOD_C,
		.rank = 2,
		.entered_by_calls = true,
	};
	_cleanup_(deinit) struct fixture f;
	struct body *not_ours, *ours, *of_plan;

	init(&f, 2);
	not_ours = add_armed(&f, METHOD_A, 0);
	ours = add_armed(&f, METHOD_B, 1);
	of_plan = bodies_add(f.bodies, &before);
	assert_non_null(of_plan);
	assert_true(bodies_tend(f.bodies, false));
	sites_decide(f.sites, ours->number - FIRST, true);
	sites_decide(f.sites, not_ours->number - FIRST, false);
	assert_false(bodies_tend(f.bodies, false));
	assert_true(not_ours->retired);
	assert_false(armed(&f, not_ours));
	assert_true(armed(&f, ours));
	/* That of the start is nobody's to decide on. */
	assert_true(armed(&f, of_plan));
}

/* What the kernel refuses is lacking still, and tried again. */
UNIT_TEST(tending_tries_again)
{
	_cleanup_(deinit) struct fixture f;
	struct body *body;

	init(&f, 1);
	body = add(&f, METHOD_A, 0);
	f.registers.breakpoints.refusal = -EINVAL;
	assert_true(bodies_tend(f.bodies, false));
	assert_false(armed(&f, body));
	f.registers.breakpoints.refusal = 0;
	assert_false(bodies_tend(f.bodies, false));
	assert_true(armed(&f, body));
}

UNIT_MAIN(NULL, NULL)
