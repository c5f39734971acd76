// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bodies.h: the sites that stand for bodies, and which of them have a debug register. The
 * registers are only written down.
 */
#include "tests/unit/fake_breakpoints.h"

#include "bpf/follow.h"
#include "follow/bodies.h"

enum {
	FIRST = 10, /* sites that were there before */
	METHOD_A = 0xa000,
	METHOD_B = 0xb000,
	METHOD_C = 0xc000,
};

struct fixture {
	struct registers_fixture registers;
	struct bodies *bodies;
};

static void init(struct fixture *f, int registers)
{
	registers_init(&f->registers, registers);
	assert_int_equal(bodies_create(&f->bodies, FIRST, &f->registers.slots, NULL), 0);
}

static void deinit(struct fixture *f)
{
	bodies_destroy(f->bodies);
}

static uint32_t new_site(struct fixture *f, const char *method, bool undecided)
{
	char *name = strdup(method);
	const struct site like = { .method = name };
	uint32_t number = UINT32_MAX;

	assert_non_null(bodies_new_site(f->bodies, &like, undecided, &number));
	free(name);
	return number;
}

/* One that calls enter, with a site of its own. */
static struct body *add(struct fixture *f, uint64_t method, uint32_t rank)
{
	uint32_t site = new_site(f, "T::a()", false);
	const struct body body = {
		.site = site,
		.address = { 0x10000 + 0x100ull * site },
		.size = 0x80,
		.method = method,
		.rank = rank,
		.thread = 7,
		.known_by_event = true,
		.entered_by_calls = true,
	};
	struct body *added = bodies_add(f->bodies, &body);

	assert_non_null(added);
	return added;
}

/* It gets a register, and nobody loses one. */
static void must_arm(struct fixture *f, struct body *body)
{
	uint32_t loser;

	assert_int_equal(bodies_arm(f->bodies, body, &loser, NULL), 0);
	assert_int_equal(loser, SLOTS_NO_SITE);
	assert_true(has_register(&f->registers, body->site));
}

static struct body *add_armed(struct fixture *f, uint64_t method, uint32_t rank)
{
	struct body *body = add(f, method, rank);

	must_arm(f, body);
	return body;
}

static bool armed(struct fixture *f, const struct body *body)
{
	return has_register(&f->registers, body->site);
}

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
	bodies_add_trouble(f.bodies, SLOTS_NO_SITE, TROUBLE_REFUSED);
	assert_int_equal(bodies_trouble(f.bodies, FIRST + FOLLOW_SITES_MAX), 0);
	assert_int_equal(bodies_trouble(f.bodies, SLOTS_NO_SITE), 0);
	for (size_t i = 1; i < FIRST + FOLLOW_SITES_MAX - 1; i++)
		assert_int_equal(bodies_trouble(f.bodies, i), 0);
	deinit(&f);
}

/* Which is the newest ------------------------------------------------------------------------ */

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
	assert_true(f.registers.slots.uses[slot].superseded);
	assert_int_equal(f.registers.slots.uses[slot].newer_thread, newest->thread);
	assert_int_equal(f.registers.slots.uses[slot].newer_slot,
			 register_of(&f.registers, newest->site));
	/* That of a method that is not known supersedes nobody's. */
	slots_drop_site(&f.registers.slots, other->site);
	add_armed(&f, 0, 3);
	assert_false(unknown->superseded);
	deinit(&f);
}

static void what_slots_are_told(void **state)
{
	struct fixture f;
	struct body *body;
	const struct slot_claim *claim;

	(void)state;
	init(&f, 1);
	body = add(&f, METHOD_C, 17);
	body->may_be_freed = true;
	must_arm(&f, body);
	claim = &f.registers.slots.uses[0].claim;
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
		uint32_t loser;

		init(&f, 2);
		old = add_armed(&f, METHOD_A, 0);
		other = add_armed(&f, METHOD_B, 1);
		newest = add(&f, METHOD_A, 0);
		began = clock_now_ns();
		assert_int_equal(bodies_arm(f.bodies, newest, &loser, NULL), 0);
		took = clock_now_ns() - began;
		least = took < least ? took : least;
		assert_int_equal(loser, old->site);
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
	uint32_t loser;

	(void)state;
	init(&f, 1);
	old = add_armed(&f, METHOD_A, 0);
	newest = add(&f, METHOD_B, 0);
	assert_int_equal(bodies_arm(f.bodies, newest, &loser, NULL), -ENOSPC);
	assert_int_equal(loser, SLOTS_NO_SITE);
	assert_true(armed(&f, old));
	assert_false(old->superseded);
	deinit(&f);
}

static void a_refused_breakpoint(void **state)
{
	struct fixture f;
	struct body *old, *newest;
	uint32_t loser;

	(void)state;
	init(&f, 2);
	old = add_armed(&f, METHOD_A, 0);
	newest = add(&f, METHOD_A, 0);
	f.registers.breakpoints.refusal = -EINVAL;
	assert_int_equal(bodies_arm(f.bodies, newest, &loser, NULL), -EINVAL);
	assert_int_equal(loser, SLOTS_NO_SITE);
	assert_true(armed(&f, old));
	/* Calls go there all the same. */
	assert_true(old->superseded);
	deinit(&f);
}

/* What is gone ------------------------------------------------------------------------------- */

static void finds_what_was_there_before(void **state)
{
	const struct address at = { 0x7000 };
	const struct body body = { .site = 3, .address = at, .method = METHOD_A };
	struct body seen = body;
	struct fixture f;
	struct body *first, *second;

	(void)state;
	init(&f, 0);
	assert_null(bodies_find_known(f.bodies, at));
	first = bodies_add(f.bodies, &body);
	assert_ptr_equal(bodies_find_known(f.bodies, at), first);
	assert_null(bodies_find_known(f.bodies, (struct address){ at.value + 1 }));
	seen.known_by_event = true;
	assert_non_null(bodies_add(f.bodies, &seen));
	assert_ptr_equal(bodies_find_known(f.bodies, at), first);
	second = bodies_add(f.bodies, &body);
	assert_ptr_equal(bodies_find_known(f.bodies, at), second);
	second->dead = true;
	assert_ptr_equal(bodies_find_known(f.bodies, at), first);
	bodies_bury(f.bodies, METHOD_A);
	assert_null(bodies_find_known(f.bodies, at));
	deinit(&f);
}

static void buries_a_method(void **state)
{
	struct fixture f;
	struct body *old, *newest, *other;

	(void)state;
	init(&f, BREAKPOINTS_MAX);
	old = add_armed(&f, METHOD_A, 0);
	newest = add_armed(&f, METHOD_A, 0);
	other = add_armed(&f, METHOD_B, 1);
	bodies_bury(f.bodies, METHOD_A);
	assert_true(old->dead && newest->dead);
	assert_false(other->dead);
	assert_false(armed(&f, old) || armed(&f, newest));
	assert_true(armed(&f, other));
	/* It has none again. */
	assert_false(bodies_tend(f.bodies));
	assert_false(armed(&f, newest));
	deinit(&f);
}

static void buries_what_other_code_lies_on(void **state)
{
	struct fixture f;
	struct body *armed_one, *other, *unarmed;

	(void)state;
	init(&f, 2);
	armed_one = add_armed(&f, METHOD_A, 0);
	other = add_armed(&f, METHOD_B, 1);
	unarmed = add(&f, METHOD_C, 2);
	assert_int_equal(bodies_bury_range(f.bodies,
					   (struct address){ armed_one->address.value - 0x10 },
					   0x10),
			 0);
	assert_int_equal(
		bodies_bury_range(f.bodies, (struct address){ armed_one->address.value + 1 }, 0x10),
		0);
	assert_false(armed_one->dead || other->dead || unarmed->dead);
	assert_int_equal(bodies_bury_range(f.bodies,
					   (struct address){ armed_one->address.value - 0x10 },
					   0x11),
			 1);
	assert_true(armed_one->dead);
	assert_false(armed(&f, armed_one));
	/* One without a register is dead, too. */
	assert_int_equal(bodies_bury_range(f.bodies, unarmed->address, 1), 0);
	assert_true(unarmed->dead);
	assert_false(other->dead);
	assert_true(armed(&f, other));
	deinit(&f);
}

/* Time and again ----------------------------------------------------------------------------- */

/* A body that went without a register gets one that has become free. */
static void tending_gives_registers(void **state)
{
	struct fixture f;
	struct body *first, *second, *lacking;
	uint32_t loser;

	(void)state;
	init(&f, 2);
	assert_false(bodies_tend(f.bodies));
	first = add_armed(&f, METHOD_A, 0);
	second = add_armed(&f, METHOD_B, 1);
	assert_false(bodies_tend(f.bodies));
	lacking = add(&f, METHOD_C, 2);
	assert_int_equal(bodies_arm(f.bodies, lacking, &loser, NULL), -ENOSPC);
	assert_true(bodies_tend(f.bodies));
	assert_true(armed(&f, first) && armed(&f, second));
	bodies_bury(f.bodies, METHOD_A);
	assert_false(bodies_tend(f.bodies));
	assert_true(armed(&f, lacking) && armed(&f, second));
	/* Nobody has lost anything in that. */
	assert_int_equal(bodies_trouble(f.bodies, first->site), 0);
	assert_int_equal(bodies_trouble(f.bodies, second->site), 0);
	deinit(&f);
}

/* One more register than before. */
static void tending_uses_new_registers(void **state)
{
	struct fixture f;
	struct body *lacking;

	(void)state;
	init(&f, 1);
	add_armed(&f, METHOD_A, 0);
	lacking = add(&f, METHOD_B, 1);
	assert_true(bodies_tend(f.bodies));
	f.registers.breakpoints.registers = 2;
	assert_true(slots_reserve(&f.registers.slots, 2));
	assert_false(bodies_tend(f.bodies));
	assert_true(armed(&f, lacking));
	deinit(&f);
}

/* Who comes first goes first, in whatever order they were compiled. */
static void tending_goes_by_rank(void **state)
{
	struct fixture f;
	struct body *last, *first;

	(void)state;
	init(&f, 1);
	add_armed(&f, METHOD_A, 0);
	last = add(&f, METHOD_B, 7);
	first = add(&f, METHOD_C, 1);
	f.registers.breakpoints.registers = 2;
	assert_true(slots_reserve(&f.registers.slots, 2));
	assert_true(bodies_tend(f.bodies));
	assert_true(armed(&f, first));
	assert_false(armed(&f, last));
	deinit(&f);
}

/* A body that lacks a register waits for one that a superseded body has, until that is quiet. */
static void tending_waits_for_superseded_bodies(void **state)
{
	struct fixture f;
	struct body *old, *newest, *lacking;

	(void)state;
	init(&f, 2);
	old = add_armed(&f, METHOD_A, 0);
	newest = add_armed(&f, METHOD_A, 0);
	lacking = add(&f, METHOD_B, 1);
	let_rest(&f.registers, old->site);
	assert_true(bodies_tend(f.bodies));
	assert_true(armed(&f, old));
	slots_note_thread(&f.registers.slots, newest->thread, clock_now_ns() + 1);
	hit(&f.registers, old->site, 0);
	assert_true(bodies_tend(f.bodies));
	assert_true(armed(&f, old));
	let_rest(&f.registers, old->site);
	assert_false(bodies_tend(f.bodies));
	assert_true(armed(&f, lacking) && armed(&f, newest));
	assert_false(armed(&f, old));
	assert_int_equal(bodies_trouble(f.bodies, old->site), 0);
	/* The superseded one does not want it back. */
	bodies_bury(f.bodies, METHOD_B);
	assert_false(bodies_tend(f.bodies));
	assert_false(armed(&f, old));
	deinit(&f);
}

/* OSR bodies are entered in the middle. */
static void who_needs_no_register(void **state)
{
	struct fixture f;
	struct body *osr, *dead, *old, *newest;

	(void)state;
	init(&f, BREAKPOINTS_MAX);
	osr = add(&f, METHOD_A, 0);
	osr->entered_by_calls = false;
	dead = add(&f, METHOD_B, 1);
	dead->dead = true;
	old = add(&f, METHOD_C, 2);
	newest = add_armed(&f, METHOD_C, 2);
	assert_false(bodies_tend(f.bodies));
	assert_false(armed(&f, osr) || armed(&f, dead) || armed(&f, old));
	assert_true(armed(&f, newest));
	deinit(&f);
}

/* Once it is known that it is another method, its register is for others. */
static void tending_obeys_decisions(void **state)
{
	const struct body before = {
		.site = FIRST - 1,
		.address = { 0x7000 },
		.method = METHOD_C,
		.rank = 2,
		.entered_by_calls = true,
	};
	struct fixture f;
	struct body *not_ours, *ours, *of_plan;

	(void)state;
	init(&f, 2);
	not_ours = add_armed(&f, METHOD_A, 0);
	ours = add_armed(&f, METHOD_B, 1);
	of_plan = bodies_add(f.bodies, &before);
	assert_non_null(of_plan);
	assert_true(bodies_tend(f.bodies));
	bodies_decide(f.bodies, ours->site - FIRST, true);
	bodies_decide(f.bodies, not_ours->site - FIRST, false);
	assert_false(bodies_tend(f.bodies));
	assert_true(not_ours->dead);
	assert_false(armed(&f, not_ours));
	assert_true(armed(&f, ours));
	/* That of the start is nobody's to decide on. */
	assert_true(armed(&f, of_plan));
	deinit(&f);
}

/* What the kernel refuses is lacking still, and tried again. */
static void tending_tries_again(void **state)
{
	struct fixture f;
	struct body *body;

	(void)state;
	init(&f, 1);
	body = add(&f, METHOD_A, 0);
	f.registers.breakpoints.refusal = -EINVAL;
	assert_true(bodies_tend(f.bodies));
	assert_false(armed(&f, body));
	f.registers.breakpoints.refusal = 0;
	assert_false(bodies_tend(f.bodies));
	assert_true(armed(&f, body));
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
		cmocka_unit_test(newer_bodies),
		cmocka_unit_test(what_slots_are_told),
		cmocka_unit_test(a_method_has_but_its_own_register),
		cmocka_unit_test(no_register_at_all),
		cmocka_unit_test(a_refused_breakpoint),
		cmocka_unit_test(finds_what_was_there_before),
		cmocka_unit_test(buries_a_method),
		cmocka_unit_test(buries_what_other_code_lies_on),
		cmocka_unit_test(tending_gives_registers),
		cmocka_unit_test(tending_uses_new_registers),
		cmocka_unit_test(tending_goes_by_rank),
		cmocka_unit_test(tending_waits_for_superseded_bodies),
		cmocka_unit_test(who_needs_no_register),
		cmocka_unit_test(tending_obeys_decisions),
		cmocka_unit_test(tending_tries_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
