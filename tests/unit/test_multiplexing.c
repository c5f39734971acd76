// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * multiplexing.c: more bodies than registers, which all have their turn. The registers are only
 * written down.
 */
#include "base/cleanup.h"
#include "tests/unit/bodies_fixture.h"

#include "bpf/latency.h"

enum { BODIES = 6, SITES = FIRST + 16 };

static const uint64_t TURN_NS = 100 * NS_PER_MS;

/* It goes on when it is looked at, not else: who has to wait for a CPU has waited no time. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	static long looks;

	(void)clock;
	*now = (struct timespec){ .tv_sec = 1000000, .tv_nsec = NS_PER_US * ++looks };
	return 0;
}

/* As if so much time had gone by. */
static void age(struct fixture *f, uint64_t ns)
{
	for (size_t i = 0; i < f->bodies->count; i++) {
		f->bodies->bodies[i].slice_ns -= ns;
		f->bodies->bodies[i].added_ns -= ns;
	}
}

static int armed_count(struct fixture *f, bool had[BODIES])
{
	int count = 0;

	for (size_t i = 0; i < BODIES; i++) {
		bool has = armed(f, &f->bodies->bodies[i]);

		had[i] |= has;
		count += has;
	}
	return count;
}

UNIT_TEST(each_has_its_turn)
{
	bool had[BODIES] = { false };
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BODIES; i++)
		add(&f, METHOD_A + i, 0);
	for (int turn = 0; turn < 3; turn++) {
		multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
		assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
		/* A turn is as long as it is. */
		age(&f, TURN_NS / 4);
		multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
		age(&f, TURN_NS);
	}
	for (size_t i = 0; i < BODIES; i++) {
		const struct body *body = &f.bodies->bodies[i];
		const struct body_time time = body_time(body, clock_now_ns());

		assert_true(had[i]);
		assert_true(time.watched_ns > time.called_ns / 5);
		assert_true(time.watched_ns <= time.called_ns);
	}
}

UNIT_TEST(nobody_gives_way_to_none)
{
	bool had[BODIES] = { false };
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BREAKPOINTS_MAX; i++)
		add(&f, METHOD_A + i, 0);
	multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	for (uint64_t i = BREAKPOINTS_MAX; i < BODIES; i++)
		add(&f, METHOD_A + i, 0)->superseded = true;
	for (int turn = 0; turn < 3; turn++) {
		age(&f, 2 * TURN_NS);
		multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	}
	assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
	assert_false(had[BREAKPOINTS_MAX] || had[BODIES - 1]);
	assert_int_equal(sites_trouble(f.sites, f.bodies->bodies[0].number), 0);
}

/* A turn ends for calls that would begin; those under way may end, but not for ever. */
UNIT_TEST(calls_under_way)
{
	struct timed_site timed[SITES] = { 0 };
	struct body *bodies[3];
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	f.registers.scheduler.timed = timed;
	for (uint64_t i = 0; i < 3; i++) {
		bodies[i] = add(&f, METHOD_A + i, 0);
		bodies[i]->exits_are = BODY_EXITS_KNOWN;
		bodies[i]->exit_count = 1;
		bodies[i]->exits[0] = body_claim(bodies[i]);
		bodies[i]->exits[0].address.value += 0x10;
		bodies[i]->exits[0].flags = LATENCY_EXIT;
	}
	multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	assert_true(timed[bodies[0]->number].ready && timed[bodies[1]->number].ready);
	assert_false(timed[bodies[2]->number].ready);
	timed[bodies[0]->number].under_way = 1;
	age(&f, 2 * TURN_NS);
	multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	assert_true(bodies[0]->draining);
	assert_true(timed[bodies[0]->number].closed);
	assert_true(timed[bodies[0]->number].ready);
	assert_false(timed[bodies[2]->number].ready);
	/* It ends; and the other's turn has been over for long. */
	timed[bodies[0]->number].under_way = 0;
	multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	assert_false(bodies[0]->draining);
	assert_true(timed[bodies[2]->number].ready && timed[bodies[0]->number].ready);
	assert_false(timed[bodies[1]->number].ready);
	/* One that does not end. */
	timed[bodies[2]->number].under_way = 1;
	bodies[2]->slice_ns--;
	age(&f, 2 * TURN_NS);
	multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	assert_true(bodies[2]->draining && timed[bodies[2]->number].ready);
	age(&f, 5ULL * NS_PER_S);
	multiplexing_tend(f.bodies, POLICY_ALIKE, TURN_NS);
	assert_false(bodies[2]->draining);
	assert_true(timed[bodies[1]->number].ready);
}

/* By need -------------------------------------------------------------------------------------- */

static void tend(struct fixture *f)
{
	multiplexing_tend(f->bodies, POLICY_BY_NEED, POLICY_SLICE_NS);
}

/* So much time goes by, and those of the first @busy bodies that are watched are hit all of it. */
static void pass(struct fixture *f, uint64_t ns, size_t busy)
{
	age(f, ns);
	for (size_t i = 0; i < f->bodies->count; i++) {
		struct body *body = &f->bodies->bodies[i];

		body->last_hit_ns -= body->last_hit_ns > ns ? ns : body->last_hit_ns;
		if (armed(f, body))
			hit(&f->registers, body->number, i < busy ? 0 : 3600ULL * NS_PER_S);
	}
	tend(f);
}

/* Of registers that are not hit each goes on after 100 ms, and none rests meanwhile. */
UNIT_TEST(no_register_rests)
{
	bool had[BODIES] = { false };
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BODIES; i++)
		add(&f, METHOD_A + i, POLICY_RANK_MATCHED);
	tend(&f);
	assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
	pass(&f, POLICY_IDLE_NS / 2, 0);
	assert_false(had[BODIES - 1] || had[BODIES - 2]);
	pass(&f, POLICY_IDLE_NS, 0);
	assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
	for (size_t i = 0; i < BODIES; i++)
		assert_true(had[i]);
}

/* One that is hit keeps its register as long as others can have those of the idle. */
UNIT_TEST(busy_bodies_stay)
{
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BODIES; i++)
		add(&f, METHOD_A + i, POLICY_RANK_MATCHED);
	tend(&f);
	for (int turn = 0; turn < 10; turn++) {
		pass(&f, POLICY_IDLE_NS, 1);
		assert_true(armed(&f, &f.bodies->bodies[0]));
	}
	assert_int_equal(sites_trouble(f.sites, f.bodies->bodies[0].number), 0);
	for (size_t i = 1; i < BODIES; i++)
		assert_int_equal(sites_trouble(f.sites, f.bodies->bodies[i].number),
				 TROUBLE_NO_REGISTER);
}

/* More of them than registers: they take turns, and so do the others. */
UNIT_TEST(busy_bodies_take_turns)
{
	bool had[BODIES] = { false };
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BODIES; i++)
		add(&f, METHOD_A + i, POLICY_RANK_MATCHED);
	tend(&f);
	for (int turn = 0; turn < 10; turn++) {
		pass(&f, POLICY_SLICE_NS, BODIES);
		assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
	}
	for (size_t i = 0; i < BODIES; i++) {
		const struct body_time time = body_time(&f.bodies->bodies[i], clock_now_ns());

		/* Four of six. */
		assert_true(had[i]);
		assert_true(time.watched_ns > time.called_ns / 2);
		assert_true(time.watched_ns < time.called_ns * 5 / 6);
	}
}

/* Who is hit in its first turn makes room soon for those that were never watched. */
UNIT_TEST(the_first_turn_is_short)
{
	bool had[BODIES] = { false };
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BODIES; i++)
		add(&f, METHOD_A + i, POLICY_RANK_MATCHED);
	tend(&f);
	pass(&f, POLICY_FIRST_SLICE_NS, BODIES);
	armed_count(&f, had);
	assert_true(had[BODIES - 1] && had[BODIES - 2]);
	/* Then all are known, and turns are whole ones. */
	pass(&f, POLICY_FIRST_SLICE_NS, BODIES);
	assert_true(armed(&f, &f.bodies->bodies[BODIES - 1]));
	assert_true(armed(&f, &f.bodies->bodies[BODIES - 2]));
}

/* The first named ones have theirs at once, whoever has it, and for good. */
UNIT_TEST(guaranteed_bodies_stay)
{
	struct body *named[POLICY_GUARANTEED], *others[BREAKPOINTS_MAX];
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BREAKPOINTS_MAX; i++)
		others[i] = add_armed(&f, METHOD_B + i, POLICY_RANK_MATCHED);
	for (uint32_t i = 0; i < POLICY_GUARANTEED; i++)
		named[i] = add(&f, METHOD_A + i, i);
	bodies_begin(f.bodies);
	for (uint32_t i = 0; i < POLICY_GUARANTEED; i++) {
		assert_true(armed(&f, named[i]));
		assert_int_equal(sites_trouble(f.sites, named[i]->number), 0);
	}
	for (int turn = 0; turn < 10; turn++) {
		int count = 0;

		pass(&f, POLICY_SLICE_NS, BREAKPOINTS_MAX);
		for (uint32_t i = 0; i < POLICY_GUARANTEED; i++)
			assert_true(armed(&f, named[i]));
		for (int i = 0; i < BREAKPOINTS_MAX; i++)
			count += armed(&f, others[i]);
		assert_int_equal(count, 1);
	}
	for (uint32_t i = 0; i < POLICY_GUARANTEED; i++)
		assert_int_equal(sites_trouble(f.sites, named[i]->number), 0);
}

/* Time ----------------------------------------------------------------------------------------- */

UNIT_TEST(what_is_watched_of_a_body)
{
	struct body_time time;
	_cleanup_(deinit) struct fixture f;
	struct body *old, *newest;

	init(&f, 1);
	old = add_armed(&f, METHOD_A, POLICY_RANK_MATCHED);
	age(&f, NS_PER_S);
	bodies_count_from(f.bodies, old->added_ns + NS_PER_S / 2);
	time = body_time(old, clock_now_ns());
	assert_true(time.called_ns >= NS_PER_S / 2 && time.watched_ns == time.called_ns);
	/* A newer one takes its register: from then on it is the other's time. */
	newest = add(&f, METHOD_A, POLICY_RANK_MATCHED);
	assert_int_equal(bodies_arm(f.bodies, newest, &(uint32_t){ 0 }, NULL), 0);
	time = body_time(old, clock_now_ns());
	assert_true(old->left_ns && time.watched_ns == time.called_ns);
	assert_int_equal(body_time(old, clock_now_ns() + NS_PER_S).called_ns, time.called_ns);
	time = body_time(newest, clock_now_ns() + NS_PER_S);
	assert_true(time.called_ns >= NS_PER_S && time.watched_ns >= NS_PER_S);
	/* While whoever publishes it is held no call goes to it. */
	newest->added_ns -= NS_PER_S;
	body_let_go(newest);
	time = body_time(newest, clock_now_ns() + NS_PER_S);
	assert_true(time.called_ns >= NS_PER_S && time.called_ns < 2 * NS_PER_S);
	assert_int_equal(time.watched_ns, time.called_ns);
	/* One that waits. */
	newest = add(&f, METHOD_B, POLICY_RANK_MATCHED);
	time = body_time(newest, clock_now_ns() + NS_PER_S);
	assert_true(time.called_ns >= NS_PER_S && time.watched_ns == 0);
}

UNIT_MAIN(NULL, NULL)
