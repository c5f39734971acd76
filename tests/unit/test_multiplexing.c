// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * multiplexing.h: more bodies than registers, which all have their turn. The registers are only
 * written down.
 */
#include "base/cleanup.h"
#include "tests/unit/bodies_fixture.h"

#include "bpf/latency.h"
#include "registers/multiplexing.h"

enum { BODIES = 6, SITES = FIRST + 16 };

static const uint64_t TURN_NS = 100 * NS_PER_MS;

/* As if so much time had gone by. */
static void age(struct fixture *f, uint64_t ns)
{
	for (size_t i = 0; i < bodies_count(f->bodies); i++) {
		bodies_at(f->bodies, i)->slice_ns -= ns;
		bodies_at(f->bodies, i)->added_ns -= ns;
	}
}

static int armed_count(struct fixture *f, bool had[BODIES])
{
	int count = 0;

	for (size_t i = 0; i < BODIES; i++) {
		bool has = armed(f, bodies_at(f->bodies, i));

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
		multiplexing_tend(f.bodies, TURN_NS);
		assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
		/* A turn is as long as it is. */
		age(&f, TURN_NS / 4);
		multiplexing_tend(f.bodies, TURN_NS);
		age(&f, TURN_NS);
	}
	for (size_t i = 0; i < BODIES; i++) {
		const struct body *body = bodies_at(f.bodies, i);
		double watched = multiplexing_watched(f.bodies, body->number, clock_now_ns());

		assert_true(had[i]);
		assert_true(watched > 0.2 && watched < 1.01);
	}
}

UNIT_TEST(nobody_gives_way_to_none)
{
	bool had[BODIES] = { false };
	_cleanup_(deinit) struct fixture f;

	init(&f, BREAKPOINTS_MAX);
	for (uint64_t i = 0; i < BREAKPOINTS_MAX; i++)
		add(&f, METHOD_A + i, 0);
	multiplexing_tend(f.bodies, TURN_NS);
	for (uint64_t i = BREAKPOINTS_MAX; i < BODIES; i++)
		add(&f, METHOD_A + i, 0)->superseded = true;
	for (int turn = 0; turn < 3; turn++) {
		age(&f, 2 * TURN_NS);
		multiplexing_tend(f.bodies, TURN_NS);
	}
	assert_int_equal(armed_count(&f, had), BREAKPOINTS_MAX);
	assert_false(had[BREAKPOINTS_MAX] || had[BODIES - 1]);
	assert_int_equal(sites_trouble(f.sites, bodies_at(f.bodies, 0)->number), 0);
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
	multiplexing_tend(f.bodies, TURN_NS);
	assert_true(timed[bodies[0]->number].ready && timed[bodies[1]->number].ready);
	assert_false(timed[bodies[2]->number].ready);
	timed[bodies[0]->number].under_way = 1;
	age(&f, 2 * TURN_NS);
	multiplexing_tend(f.bodies, TURN_NS);
	assert_true(bodies[0]->draining);
	assert_true(timed[bodies[0]->number].closed);
	assert_true(timed[bodies[0]->number].ready);
	assert_false(timed[bodies[2]->number].ready);
	/* It ends; and the other's turn has been over for long. */
	timed[bodies[0]->number].under_way = 0;
	multiplexing_tend(f.bodies, TURN_NS);
	assert_false(bodies[0]->draining);
	assert_true(timed[bodies[2]->number].ready && timed[bodies[0]->number].ready);
	assert_false(timed[bodies[1]->number].ready);
	/* One that does not end. */
	timed[bodies[2]->number].under_way = 1;
	bodies[2]->slice_ns--;
	age(&f, 2 * TURN_NS);
	multiplexing_tend(f.bodies, TURN_NS);
	assert_true(bodies[2]->draining && timed[bodies[2]->number].ready);
	age(&f, 5ULL * NS_PER_S);
	multiplexing_tend(f.bodies, TURN_NS);
	assert_false(bodies[2]->draining);
	assert_true(timed[bodies[1]->number].ready);
}

UNIT_MAIN(NULL, NULL)
