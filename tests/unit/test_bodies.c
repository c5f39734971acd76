// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bodies.h: the sites that stand for bodies, and which of them gets a debug register as it is
 * compiled. The registers are only written down.
 */
#include "base/cleanup.h"
#include "tests/unit/bodies_fixture.h"

/* Sites -------------------------------------------------------------------------------------- */

UNIT_TEST(numbers_of_sites)
{
	struct site like = { .method = (char *)"T::b()", .made_from = (char *)"lambda in T::a()" };
	_cleanup_(deinit) struct fixture f;
	struct site *site;
	uint32_t number;

	init(&f, 0);
	assert_int_equal(new_site(&f, "T::a()", false), FIRST);
	like.address.value = 0x1234;
	site = sites_add(f.sites, &like, true, &number);
	assert_int_equal(number, FIRST + 1);
	assert_non_null(site);
	/* Its strings are its own. */
	assert_ptr_not_equal(site->method, like.method);
	assert_ptr_not_equal(site->made_from, like.made_from);
	assert_ptr_equal(sites_at(f.sites, 1), site);
	assert_string_equal(sites_at(f.sites, 0)->method, "T::a()");
	assert_null(sites_at(f.sites, 0)->made_from);
	assert_string_equal(site->method, "T::b()");
	assert_string_equal(site->made_from, "lambda in T::a()");
	assert_int_equal(site->address.value, 0x1234);
}

/* The other thread sees nothing half made. */
UNIT_TEST(sites_are_published)
{
	_cleanup_(deinit) struct fixture f;

	init(&f, 0);
	sites_publish(f.sites);
	assert_int_equal(sites_count(f.sites), 0);
	new_site(&f, "T::a()", false);
	new_site(&f, "T::b()", false);
	assert_int_equal(sites_count(f.sites), 0);
	sites_publish(f.sites);
	assert_int_equal(sites_count(f.sites), 2);
	new_site(&f, "T::c()", false);
	assert_int_equal(sites_count(f.sites), 2);
	sites_publish(f.sites);
	assert_int_equal(sites_count(f.sites), 3);
	assert_string_equal(sites_at(f.sites, 2)->method, "T::c()");
}

/* Sites stay where they are, however many there are, and there are no more than that. */
UNIT_TEST(room_for_sites)
{
	const struct site like = { .method = (char *)"T::a()" };
	const struct body body = { .number = 1 };
	const struct site *first;
	_cleanup_(deinit) struct fixture f;
	uint32_t number;

	init(&f, 0);
	new_site(&f, "T::first()", false);
	first = sites_at(f.sites, 0);
	for (uint32_t i = 1; i < FOLLOW_SITES_MAX; i++)
		assert_int_equal(new_site(&f, "T::a()", false), FIRST + i);
	assert_ptr_equal(sites_at(f.sites, 0), first);
	assert_string_equal(first->method, "T::first()");
	number = 12345;
	assert_null(sites_add(f.sites, &like, false, &number));
	assert_int_equal(number, 12345);
	sites_publish(f.sites);
	assert_int_equal(sites_count(f.sites), FOLLOW_SITES_MAX);
	/* And for a body of each, and of those that were there before. */
	for (uint32_t i = 0; i < FIRST + FOLLOW_SITES_MAX; i++)
		assert_non_null(bodies_add(f.bodies, &body));
	assert_null(bodies_add(f.bodies, &body));
}

UNIT_TEST(decisions)
{
	_cleanup_(deinit) struct fixture f;

	init(&f, 0);
	new_site(&f, "T::sure()", false);
	new_site(&f, "T::unsure()", true);
	assert_false(sites_is_undecided(f.sites, 0));
	assert_true(sites_is_ours(f.sites, FIRST + 0));
	/* Until it is known, it counts. */
	assert_true(sites_is_undecided(f.sites, 1));
	assert_true(sites_is_ours(f.sites, FIRST + 1));
	sites_decide(f.sites, 1, true);
	assert_false(sites_is_undecided(f.sites, 1));
	assert_true(sites_is_ours(f.sites, FIRST + 1));
	sites_decide(f.sites, 0, false);
	assert_false(sites_is_undecided(f.sites, 0));
	assert_false(sites_is_ours(f.sites, FIRST + 0));
}

UNIT_TEST(troubles)
{
	_cleanup_(deinit) struct fixture f;

	init(&f, 0);
	assert_int_equal(sites_trouble(f.sites, 0), 0);
	sites_add_trouble(f.sites, 0, TROUBLE_TIMED_OUT);
	sites_add_trouble(f.sites, 0, TROUBLE_NO_REGISTER);
	sites_add_trouble(f.sites, 0, 0);
	assert_int_equal(sites_trouble(f.sites, 0), TROUBLE_TIMED_OUT | TROUBLE_NO_REGISTER);
	/* Of sites that came up, the last one too, and of no other. */
	sites_add_trouble(f.sites, FIRST + FOLLOW_SITES_MAX - 1, TROUBLE_REFUSED);
	assert_int_equal(sites_trouble(f.sites, FIRST + FOLLOW_SITES_MAX - 1), TROUBLE_REFUSED);
	sites_add_trouble(f.sites, FIRST + FOLLOW_SITES_MAX, TROUBLE_REFUSED);
	sites_add_trouble(f.sites, SCHEDULER_NO_BODY, TROUBLE_REFUSED);
	assert_int_equal(sites_trouble(f.sites, FIRST + FOLLOW_SITES_MAX), 0);
	assert_int_equal(sites_trouble(f.sites, SCHEDULER_NO_BODY), 0);
	for (size_t i = 1; i < FIRST + FOLLOW_SITES_MAX - 1; i++)
		assert_int_equal(sites_trouble(f.sites, i), 0);
}

/* Which is the newest ------------------------------------------------------------------------ */

/* What befalls a probe befalls all that have it. */
UNIT_TEST(troubles_of_a_shared_probe)
{
	_cleanup_(deinit) struct fixture f;
	uint32_t first, other;
	struct body *body;

	init(&f, 1);
	body = add(&f, METHOD_A, 0);
	first = body->number;
	other = new_site(&f, "T::b()", false);
	sites_share(f.sites, other, first);
	assert_int_equal(sites_trouble(f.sites, other), 0);
	sites_add_trouble(f.sites, first, TROUBLE_NO_REGISTER);
	sites_add_trouble(f.sites, other, TROUBLE_REFUSED);
	assert_int_equal(sites_trouble(f.sites, first), TROUBLE_NO_REGISTER);
	assert_int_equal(sites_trouble(f.sites, other), TROUBLE_NO_REGISTER | TROUBLE_REFUSED);
	assert_int_equal(sites_probe_of(f.sites, other), first);
	assert_ptr_equal(bodies_find(f.bodies, first), body);
}

UNIT_TEST(newer_bodies)
{
	_cleanup_(deinit) struct fixture f;
	struct body *old, *other, *unknown, *osr, *newest;
	int slot;

	init(&f, BREAKPOINTS_MAX);
	old = add_armed(&f, METHOD_A, 0);
	assert_false(old->superseded);
	other = add_armed(&f, METHOD_B, 1);
	unknown = add_armed(&f, 0, 2);
	osr = add(&f, METHOD_A, 0);
	osr->entered_by_calls = false;
	newest = add_armed(&f, METHOD_A, 0);
	assert_true(old->superseded);
	assert_false(newest->superseded || other->superseded || unknown->superseded ||
		     osr->superseded);
	slot = register_of(&f.registers, old->number);
	assert_true(f.registers.scheduler.uses[slot].superseded);
	assert_int_equal(f.registers.scheduler.uses[slot].publisher, newest->publisher);
	assert_int_equal(f.registers.scheduler.uses[slot].newer_slot,
			 register_of(&f.registers, newest->number));
	/* That of a method that is not known supersedes nobody's. */
	scheduler_drop(&f.registers.scheduler, other->number);
	add_armed(&f, 0, 3);
	assert_false(unknown->superseded);
}

UNIT_TEST(what_slots_are_told)
{
	_cleanup_(deinit) struct fixture f;
	struct body *body;
	const struct register_claim *claim;

	init(&f, 1);
	body = add(&f, METHOD_C, 17);
	body->may_be_freed = true;
	must_arm(&f, body);
	claim = &f.registers.scheduler.uses[0].claim;
	assert_int_equal(claim->body, body->number);
	assert_int_equal(claim->address.value, body->address.value);
	assert_int_equal(claim->rank, 17);
	assert_int_equal(f.registers.shared.armed[0], body->address.value);
}

/* Then it takes that of the body before it, at once: its thread waits for us. */
UNIT_TEST(a_method_has_but_its_own_register)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 5; round++) {
		struct fixture f;
		struct body *old, *other, *newest;
		uint64_t began, took;
		uint32_t evicted;

		init(&f, 2);
		old = add_armed(&f, METHOD_A, 0);
		other = add_armed(&f, METHOD_B, 1);
		newest = add(&f, METHOD_A, 0);
		began = clock_now_ns();
		assert_int_equal(bodies_arm(f.bodies, newest, &evicted, NULL), 0);
		took = clock_now_ns() - began;
		least = took < least ? took : least;
		assert_int_equal(evicted, old->number);
		assert_true(armed(&f, newest) && armed(&f, other));
		assert_false(armed(&f, old));
		assert_int_equal(sites_trouble(f.sites, newest->number), TROUBLE_NO_REGISTER);
		assert_int_equal(sites_trouble(f.sites, other->number), 0);
		deinit(&f);
	}
	assert_true(least < NS_PER_MS);
}

UNIT_TEST(no_register_at_all)
{
	_cleanup_(deinit) struct fixture f;
	struct body *old, *newest;
	uint32_t evicted;

	init(&f, 1);
	old = add_armed(&f, METHOD_A, 0);
	newest = add(&f, METHOD_B, 0);
	assert_int_equal(bodies_arm(f.bodies, newest, &evicted, NULL), -ENOSPC);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(armed(&f, old));
	assert_false(old->superseded);
}

UNIT_TEST(a_refused_breakpoint)
{
	_cleanup_(deinit) struct fixture f;
	struct body *old, *newest;
	uint32_t evicted;

	init(&f, 2);
	old = add_armed(&f, METHOD_A, 0);
	newest = add(&f, METHOD_A, 0);
	f.registers.breakpoints.refusal = -EINVAL;
	assert_int_equal(bodies_arm(f.bodies, newest, &evicted, NULL), -EINVAL);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(armed(&f, old));
	/* Calls go there all the same. */
	assert_true(old->superseded);
}

UNIT_MAIN(NULL, NULL)
