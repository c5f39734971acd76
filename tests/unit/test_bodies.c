// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bodies.h: the sites that stand for bodies, and which of them gets a debug register as it is compiled.
 * The registers are only written down.
 */
#include "tests/unit/bodies_fixture.h"

/* Sites -------------------------------------------------------------------------------------- */

static void numbers_of_sites(void **state)
{
	struct site like = { .method = (char *)"T::b()", .made_from = (char *)"lambda in T::a()" };
	struct fixture f;
	struct site *site;
	uint32_t number;

	(void)state;
	init(&f, 0);
	assert_int_equal(new_site(&f, "T::a()", false), FIRST);
	like.address.value = 0x1234;
	site = bodies_new_site(f.bodies, &like, true, &number);
	assert_int_equal(number, FIRST + 1);
	assert_non_null(site);
	/* Its strings are its own. */
	assert_ptr_not_equal(site->method, like.method);
	assert_ptr_not_equal(site->made_from, like.made_from);
	assert_ptr_equal(bodies_site(f.bodies, 1), site);
	assert_string_equal(bodies_site(f.bodies, 0)->method, "T::a()");
	assert_null(bodies_site(f.bodies, 0)->made_from);
	assert_string_equal(site->method, "T::b()");
	assert_string_equal(site->made_from, "lambda in T::a()");
	assert_int_equal(site->address.value, 0x1234);
	deinit(&f);
}

/* The other thread sees nothing half made. */
static void sites_are_published(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 0);
	bodies_publish(f.bodies);
	assert_int_equal(bodies_site_count(f.bodies), 0);
	new_site(&f, "T::a()", false);
	new_site(&f, "T::b()", false);
	assert_int_equal(bodies_site_count(f.bodies), 0);
	bodies_publish(f.bodies);
	assert_int_equal(bodies_site_count(f.bodies), 2);
	new_site(&f, "T::c()", false);
	assert_int_equal(bodies_site_count(f.bodies), 2);
	bodies_publish(f.bodies);
	assert_int_equal(bodies_site_count(f.bodies), 3);
	assert_string_equal(bodies_site(f.bodies, 2)->method, "T::c()");
	deinit(&f);
}

/* Sites stay where they are, however many there are, and there are no more than that. */
static void room_for_sites(void **state)
{
	const struct site like = { .method = (char *)"T::a()" };
	const struct body body = { .site = 1 };
	const struct site *first;
	struct fixture f;
	uint32_t number;

	(void)state;
	init(&f, 0);
	new_site(&f, "T::first()", false);
	first = bodies_site(f.bodies, 0);
	for (uint32_t i = 1; i < FOLLOW_SITES_MAX; i++)
		assert_int_equal(new_site(&f, "T::a()", false), FIRST + i);
	assert_ptr_equal(bodies_site(f.bodies, 0), first);
	assert_string_equal(first->method, "T::first()");
	number = 12345;
	assert_null(bodies_new_site(f.bodies, &like, false, &number));
	assert_int_equal(number, 12345);
	bodies_publish(f.bodies);
	assert_int_equal(bodies_site_count(f.bodies), FOLLOW_SITES_MAX);
	/* And for a body of each, and of those that were there before. */
	for (uint32_t i = 0; i < FIRST + FOLLOW_SITES_MAX; i++)
		assert_non_null(bodies_add(f.bodies, &body));
	assert_null(bodies_add(f.bodies, &body));
	deinit(&f);
}

static void decisions(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 0);
	new_site(&f, "T::sure()", false);
	new_site(&f, "T::unsure()", true);
	assert_false(bodies_is_undecided(f.bodies, 0));
	assert_true(bodies_matches(f.bodies, 0));
	/* Until it is known, it counts. */
	assert_true(bodies_is_undecided(f.bodies, 1));
	assert_true(bodies_matches(f.bodies, 1));
	bodies_decide(f.bodies, 1, true);
	assert_false(bodies_is_undecided(f.bodies, 1));
	assert_true(bodies_matches(f.bodies, 1));
	bodies_decide(f.bodies, 0, false);
	assert_false(bodies_is_undecided(f.bodies, 0));
	assert_false(bodies_matches(f.bodies, 0));
	deinit(&f);
}

static void troubles(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 0);
	assert_int_equal(bodies_trouble(f.bodies, 0), 0);
	bodies_add_trouble(f.bodies, 0, TROUBLE_TIMED_OUT);
	bodies_add_trouble(f.bodies, 0, TROUBLE_NO_REGISTER);
	bodies_add_trouble(f.bodies, 0, 0);
	assert_int_equal(bodies_trouble(f.bodies, 0), TROUBLE_TIMED_OUT | TROUBLE_NO_REGISTER);
	/* Of sites that came up, the last one too, and of no other. */
	bodies_add_trouble(f.bodies, FIRST + FOLLOW_SITES_MAX - 1, TROUBLE_REFUSED);
	assert_int_equal(bodies_trouble(f.bodies, FIRST + FOLLOW_SITES_MAX - 1), TROUBLE_REFUSED);
	bodies_add_trouble(f.bodies, FIRST + FOLLOW_SITES_MAX, TROUBLE_REFUSED);
	bodies_add_trouble(f.bodies, SCHEDULER_NO_BODY, TROUBLE_REFUSED);
	assert_int_equal(bodies_trouble(f.bodies, FIRST + FOLLOW_SITES_MAX), 0);
	assert_int_equal(bodies_trouble(f.bodies, SCHEDULER_NO_BODY), 0);
	for (size_t i = 1; i < FIRST + FOLLOW_SITES_MAX - 1; i++)
		assert_int_equal(bodies_trouble(f.bodies, i), 0);
	deinit(&f);
}

/* Which is the newest ------------------------------------------------------------------------ */

/* What befalls a probe befalls all that have it. */
static void troubles_of_a_shared_probe(void **state)
{
	struct fixture f;
	uint32_t first, other;
	struct body *body;

	(void)state;
	init(&f, 1);
	body = add(&f, METHOD_A, 0);
	first = body->site;
	other = new_site(&f, "T::b()", false);
	bodies_share(f.bodies, other, first);
	assert_int_equal(bodies_trouble(f.bodies, other), 0);
	bodies_add_trouble(f.bodies, first, TROUBLE_NO_REGISTER);
	bodies_add_trouble(f.bodies, other, TROUBLE_REFUSED);
	assert_int_equal(bodies_trouble(f.bodies, first), TROUBLE_NO_REGISTER);
	assert_int_equal(bodies_trouble(f.bodies, other), TROUBLE_NO_REGISTER | TROUBLE_REFUSED);
	assert_ptr_equal(bodies_of_site(f.bodies, other), body);
	deinit(&f);
}

static void newer_bodies(void **state)
{
	struct fixture f;
	struct body *old, *other, *unknown, *osr, *newest;
	int slot;

	(void)state;
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
	slot = register_of(&f.registers, old->site);
	assert_true(f.registers.scheduler.uses[slot].superseded);
	assert_int_equal(f.registers.scheduler.uses[slot].newer_thread, newest->thread);
	assert_int_equal(f.registers.scheduler.uses[slot].newer_slot,
			 register_of(&f.registers, newest->site));
	/* That of a method that is not known supersedes nobody's. */
	scheduler_drop_site(&f.registers.scheduler, other->site);
	add_armed(&f, 0, 3);
	assert_false(unknown->superseded);
	deinit(&f);
}

static void what_slots_are_told(void **state)
{
	struct fixture f;
	struct body *body;
	const struct register_claim *claim;

	(void)state;
	init(&f, 1);
	body = add(&f, METHOD_C, 17);
	body->may_be_freed = true;
	must_arm(&f, body);
	claim = &f.registers.scheduler.uses[0].claim;
	assert_int_equal(claim->site, body->site);
	assert_int_equal(claim->address.value, body->address.value);
	assert_int_equal(claim->method, METHOD_C);
	assert_int_equal(claim->rank, 17);
	assert_int_equal(f.registers.shared.armed[0], body->address.value);
	deinit(&f);
}

/* Then it takes that of the body before it, at once: its thread waits for us. */
static void a_method_has_but_its_own_register(void **state)
{
	uint64_t least = UINT64_MAX;

	(void)state;
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
		assert_int_equal(evicted, old->site);
		assert_true(armed(&f, newest) && armed(&f, other));
		assert_false(armed(&f, old));
		assert_int_equal(bodies_trouble(f.bodies, newest->site), TROUBLE_NO_REGISTER);
		assert_int_equal(bodies_trouble(f.bodies, other->site), 0);
		deinit(&f);
	}
	assert_true(least < NS_PER_MS);
}

static void no_register_at_all(void **state)
{
	struct fixture f;
	struct body *old, *newest;
	uint32_t evicted;

	(void)state;
	init(&f, 1);
	old = add_armed(&f, METHOD_A, 0);
	newest = add(&f, METHOD_B, 0);
	assert_int_equal(bodies_arm(f.bodies, newest, &evicted, NULL), -ENOSPC);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(armed(&f, old));
	assert_false(old->superseded);
	deinit(&f);
}

static void a_refused_breakpoint(void **state)
{
	struct fixture f;
	struct body *old, *newest;
	uint32_t evicted;

	(void)state;
	init(&f, 2);
	old = add_armed(&f, METHOD_A, 0);
	newest = add(&f, METHOD_A, 0);
	f.registers.breakpoints.refusal = -EINVAL;
	assert_int_equal(bodies_arm(f.bodies, newest, &evicted, NULL), -EINVAL);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(armed(&f, old));
	/* Calls go there all the same. */
	assert_true(old->superseded);
	deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_sites),
		cmocka_unit_test(sites_are_published),
		cmocka_unit_test(room_for_sites),
		cmocka_unit_test(decisions),
		cmocka_unit_test(troubles),
		cmocka_unit_test(troubles_of_a_shared_probe),
		cmocka_unit_test(newer_bodies),
		cmocka_unit_test(what_slots_are_told),
		cmocka_unit_test(a_method_has_but_its_own_register),
		cmocka_unit_test(no_register_at_all),
		cmocka_unit_test(a_refused_breakpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
