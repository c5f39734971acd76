// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scheduler.h: registers for exits, beside those for entries. A body has all of its exits watched
 * or none, and the programs are told which before the first is gone and after the last has come.
 */
#include "tests/unit/scheduler_fixture.h"

#include "bpf/latency.h"

enum { SITES = 16 };

struct timing_fixture {
	struct registers_fixture f;
	struct timed_site timed[SITES];
};

static void init(struct timing_fixture *t)
{
	registers_init(&t->f, BREAKPOINTS_MAX);
	memset(t->timed, 0, sizeof(t->timed));
	t->f.scheduler.timed = t->timed;
}

/* How many exits of @site are watched, each at an address of its own. */
static int exits_of(const struct timing_fixture *t, uint32_t site)
{
	int count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &t->f.scheduler.uses[i];

		assert_int_equal(use->used, t->f.breakpoints.slots[i].fires);
		if (!use->used || !use->exit || use->claim.body != site)
			continue;
		assert_int_equal(t->f.breakpoints.slots[i].site, site);
		assert_int_equal(t->f.breakpoints.slots[i].address, use->claim.address.value);
		count++;
	}
	assert_true(count == 0 || scheduler_is_timed(&t->f.scheduler, site));
	return count;
}

static int arm_exits(struct timing_fixture *t, uint32_t site, uint64_t method, uint32_t rank,
		     size_t count)
{
	struct register_claim exits[POLICY_EXITS_MAX];

	for (size_t i = 0; i < count; i++) {
		exits[i] = claim_of(site, method, rank);
		exits[i].address.value += 0x10 + i;
		exits[i].flags = LATENCY_EXIT;
	}
	return scheduler_arm_exits(&t->f.scheduler, site, exits, count, false, NULL);
}

static void entry(struct timing_fixture *t, uint32_t site, uint64_t method, uint32_t rank)
{
	uint32_t evicted;

	assert_int_equal(arm(&t->f, claim_of(site, method, rank), &evicted), 0);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
}

/* All that is watched was hit so long ago. */
static void hit_all(struct timing_fixture *t, uint64_t ago_ns)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		t->f.shared.last_hit_ns[i] = clock_now_ns() - ago_ns;
}

UNIT_TEST(a_body_and_the_next)
{
	struct timing_fixture t;
	uint32_t first;

	init(&t);
	entry(&t, 0, METHOD_A, 0);
	assert_false(scheduler_is_timed(&t.f.scheduler, 0));
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 1), 0);
	assert_int_equal(exits_of(&t, 0), 1);
	first = t.timed[0].ready;
	assert_int_not_equal(first, 0);
	/* What is under way in the old body ends there. */
	entry(&t, 1, METHOD_A, 0);
	supersede(&t.f, METHOD_A, 1);
	assert_int_equal(arm_exits(&t, 1, METHOD_A, 0, 1), 0);
	assert_int_equal(exits_of(&t, 0), 1);
	assert_int_equal(exits_of(&t, 1), 1);
	assert_int_equal(t.timed[0].ready, first);
	/* Each time they come it is another time. */
	assert_int_not_equal(t.timed[1].ready, first);
}

UNIT_TEST(all_or_none)
{
	struct timing_fixture t;

	init(&t);
	entry(&t, 0, METHOD_A, 0);
	entry(&t, 1, METHOD_B, 1);
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 3), -ENOSPC);
	assert_int_equal(exits_of(&t, 0), 0);
	assert_false(scheduler_is_timed(&t.f.scheduler, 0));
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 2), 0);
	assert_int_equal(exits_of(&t, 0), 2);
	scheduler_drop_exits(&t.f.scheduler, 0);
	assert_int_equal(exits_of(&t, 0), 0);
	assert_int_equal(t.timed[0].ready, 0);
	assert_true(scheduler_has_entry(&t.f.scheduler, 0));
	assert_true(scheduler_has_entry(&t.f.scheduler, 1));
	/* One that leaves at its entry has none to watch. */
	assert_int_equal(arm_exits(&t, 1, METHOD_B, 1, 0), 0);
	assert_true(scheduler_is_timed(&t.f.scheduler, 1));
}

UNIT_TEST(a_refusal_leaves_none)
{
	struct timing_fixture t;

	init(&t);
	entry(&t, 0, METHOD_A, 0);
	t.f.breakpoints.refusal = -EINVAL;
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 2), -EINVAL);
	assert_int_equal(exits_of(&t, 0), 0);
	assert_false(scheduler_is_timed(&t.f.scheduler, 0));
	assert_true(scheduler_has_entry(&t.f.scheduler, 0));
}

/* Each call is to be counted; which are timed comes after that. */
UNIT_TEST(entries_go_first)
{
	struct timing_fixture t;
	uint32_t evicted;

	init(&t);
	entry(&t, 0, METHOD_A, 0);
	entry(&t, 1, METHOD_B, 1);
	assert_int_equal(arm_exits(&t, 1, METHOD_B, 1, 2), 0);
	/* A method that comes before takes the exits of the one behind it, all of them. */
	entry(&t, 2, METHOD_A, 0);
	assert_false(scheduler_is_timed(&t.f.scheduler, 1));
	assert_int_equal(exits_of(&t, 1), 0);
	assert_true(scheduler_has_entry(&t.f.scheduler, 0));
	assert_true(scheduler_has_entry(&t.f.scheduler, 1));
	assert_int_equal(arm_exits(&t, 2, METHOD_A, 0, 1), 0);
	/* One that comes behind does not. */
	assert_false(scheduler_have_room(&t.f.scheduler, 3));
	assert_int_equal(arm(&t.f, claim_of(3, METHOD_C, 3), &evicted), -ENOSPC);
	assert_int_equal(exits_of(&t, 2), 1);
}

/*
 * Body 0 with two exits, and body 1 of its method after it. Returns the number by which body 0
 * became timed.
 */
static uint32_t supersede_timed(struct timing_fixture *t, uint32_t under_way)
{
	uint32_t ready;

	init(t);
	entry(t, 0, METHOD_A, 0);
	assert_int_equal(arm_exits(t, 0, METHOD_A, 0, 2), 0);
	ready = t->timed[0].ready;
	t->timed[0].under_way = under_way;
	entry(t, 1, METHOD_A, 0);
	supersede(&t->f, METHOD_A, 1);
	return ready;
}

UNIT_TEST(exits_of_a_superseded_body)
{
	struct timing_fixture t;

	supersede_timed(&t, 0);
	/* Exits do not take them while calls may still end there. */
	hit_all(&t, 0);
	assert_int_equal(arm_exits(&t, 1, METHOD_A, 0, 1), -ENOSPC);
	assert_int_equal(exits_of(&t, 0), 2);
	/* Nobody comes by any more: the newer one gets what it needs. */
	publish(&t.f);
	hit_all(&t, NS_PER_S);
	assert_int_equal(arm_exits(&t, 1, METHOD_A, 0, 3), 0);
	assert_false(scheduler_has_entry(&t.f.scheduler, 0));
	assert_int_equal(exits_of(&t, 0), 0);
	assert_int_equal(t.timed[0].ready, 0);
	assert_int_equal(scheduler_take_drained(&t.f.scheduler), 0);
}

/* Nobody comes by any more, but some are still to leave: the entry is free, the exits are not. */
/* An exit has an address of its own; what counts is who may enter. */
UNIT_TEST(somebody_is_on_the_way)
{
	struct timing_fixture t;

	supersede_timed(&t, 0);
	publish(&t.f);
	hit_all(&t, NS_PER_S);
	fake_in_flight.entry = entry_of(0);
	assert_false(scheduler_is_drained(&t.f.scheduler, 0));
	assert_int_equal(arm_exits(&t, 1, METHOD_A, 0, 1), -ENOSPC);
	fake_in_flight.entry = entry_of(0) + 0x10;
	assert_true(scheduler_is_drained(&t.f.scheduler, 0));
	assert_int_equal(arm_exits(&t, 1, METHOD_A, 0, 1), 0);
}

UNIT_TEST(calls_under_way)
{
	struct timing_fixture t;
	struct register_claim exit = claim_of(1, METHOD_A, 0);
	uint32_t ready = supersede_timed(&t, 1);

	publish(&t.f);
	hit_all(&t, NS_PER_S);
	assert_int_equal(arm_exits(&t, 1, METHOD_A, 0, 1), -ENOSPC);
	entry(&t, 2, METHOD_B, 1);
	assert_false(scheduler_has_entry(&t.f.scheduler, 0));
	assert_int_equal(exits_of(&t, 0), 2);
	assert_int_equal(t.timed[0].ready, ready);
	/* Not for ever. */
	exit.flags = LATENCY_EXIT;
	assert_int_equal(scheduler_arm_exits(&t.f.scheduler, 1, &exit, 1, true, NULL), 0);
	assert_int_equal(exits_of(&t, 0), 0);
	assert_int_equal(t.timed[0].ready, 0);
	assert_int_equal(exits_of(&t, 1), 1);
}

/* An entry takes them even so. */
UNIT_TEST(an_entry_needs_one)
{
	struct timing_fixture t;

	supersede_timed(&t, 0);
	assert_true(scheduler_have_room(&t.f.scheduler, 5));
	entry(&t, 2, METHOD_B, 5);
	assert_true(scheduler_has_entry(&t.f.scheduler, 0));
	assert_int_equal(exits_of(&t, 0), 0);
	assert_int_equal(t.timed[0].ready, 0);
}

/* A body that calls go on in adds its exits; what is under way stays timed. */
UNIT_TEST(more_exits)
{
	struct timing_fixture t;
	struct register_claim more = claim_of(0, METHOD_A, 0);
	uint32_t ready;

	init(&t);
	entry(&t, 0, METHOD_A, 0);
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 1), 0);
	ready = t.timed[0].ready;
	more.address.value = 0x99999;
	assert_int_equal(scheduler_arm_exits(&t.f.scheduler, 0, &more, 1, false, NULL), 0);
	assert_int_equal(exits_of(&t, 0), 2);
	assert_int_equal(t.timed[0].ready, ready);
}

UNIT_TEST(freed_code)
{
	const struct register_claim claim = claim_of(0, METHOD_A, 0);
	struct timing_fixture t;

	init(&t);
	entry(&t, 0, METHOD_A, 0);
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 2), 0);
	/* An exit's place alone: the entry is still one. */
	assert_int_equal(scheduler_drop_range(&t.f.scheduler,
					      (struct address){ claim.address.value + 0x11 }, 1),
			 2);
	assert_true(scheduler_has_entry(&t.f.scheduler, 0));
	assert_int_equal(t.timed[0].ready, 0);
	assert_int_equal(arm_exits(&t, 0, METHOD_A, 0, 2), 0);
	assert_int_equal(scheduler_drop_range(&t.f.scheduler, claim.address, 0x100), 3);
	assert_false(scheduler_has_entry(&t.f.scheduler, 0));
	assert_int_equal(exits_of(&t, 0), 0);
	assert_int_equal(t.timed[0].ready, 0);
}

UNIT_MAIN(NULL, NULL)
