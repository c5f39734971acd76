/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bodies of four methods that want registers. */
#ifndef TESTS_UNIT_SCHEDULER_FIXTURE_H
#define TESTS_UNIT_SCHEDULER_FIXTURE_H

#include "tests/unit/fake_breakpoints.h"

enum {
	METHOD_A = 0xa000,
	METHOD_B = 0xb000,
	METHOD_C = 0xc000,
	METHOD_D = 0xd000,
	THREAD = 7,
	OTHER_THREAD = 8,
	SITES_MAX = 1024,
};

static inline uint64_t entry_of(uint32_t site)
{
	return 0x10000 + 0x100ull * site;
}

/* Which method each is a body of, as the last claim said: who supersedes whom goes by that. */
static uint64_t method_of[SITES_MAX];

static inline struct register_claim claim_of(uint32_t site, uint64_t method, uint32_t rank)
{
	assert_true(site < SITES_MAX);
	method_of[site] = method;
	return (struct register_claim){
		.body = site,
		.address = { entry_of(site) },
		.rank = rank,
	};
}

static inline int arm(struct registers_fixture *f, struct register_claim claim, uint32_t *evicted)
{
	*evicted = 12345;
	return scheduler_arm(&f->scheduler, &claim, true, evicted, NULL);
}

/* Site @site gets a register, and nobody loses one. */
static inline void must_arm(struct registers_fixture *f, uint32_t site, uint64_t method,
			    uint32_t rank)
{
	uint32_t evicted;

	assert_int_equal(arm(f, claim_of(site, method, rank), &evicted), 0);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(has_register(f, site));
}

/* @site is the newest body of @method, and @thread has made it. */
static inline void supersede_by(struct registers_fixture *f, uint64_t method, uint32_t site,
				uint32_t thread)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		uint32_t body = f->scheduler.uses[i].claim.body;

		if (f->scheduler.uses[i].used && method && method_of[body] == method &&
		    body != site)
			scheduler_supersede(&f->scheduler, body, site, thread);
	}
}

static inline void supersede(struct registers_fixture *f, uint64_t method, uint32_t site)
{
	supersede_by(f, method, site, THREAD);
}

/* As if the newer body of @site's method had been there for so long. */
static inline void age(struct registers_fixture *f, uint32_t site, uint64_t ns)
{
	int slot = register_of(f, site);

	assert_true(slot >= 0);
	f->scheduler.uses[slot].newer_ns -= ns;
}

/* As if no time passed from then on, however long this test is kept from the CPU. */
static inline void keep_young(struct registers_fixture *f, uint32_t site)
{
	age(f, site, -(uint64_t)NS_PER_S * 3600);
}

static inline void publish(struct registers_fixture *f)
{
	scheduler_note_publisher(&f->scheduler, THREAD, clock_now_ns() + 1);
}

/* Nobody is in a hurry, however busy the machine is. */
static inline void have_time(struct registers_fixture *f)
{
	f->scheduler.wait_until_ns = clock_now_ns() + 10 * (uint64_t)NS_PER_S;
}

/*
 * All registers are in use: A's old body (site 0) and its new one (site 1), B (2) and C (3). A and
 * B come first; nobody goes without one but for A's old body.
 */
static inline void fill(struct registers_fixture *f)
{
	registers_init(f, BREAKPOINTS_MAX);
	must_arm(f, 0, METHOD_A, 0);
	must_arm(f, 1, METHOD_A, 0);
	must_arm(f, 2, METHOD_B, 1);
	must_arm(f, 3, METHOD_C, 2);
	supersede(f, METHOD_A, 1);
	for (uint32_t site = 0; site < 4; site++)
		let_rest(f, site);
}

/* Does a new body get the register of site 0 with nobody's loss? */
static inline bool is_free_to_take(struct registers_fixture *f)
{
	bool room = scheduler_have_room(&f->scheduler, UINT32_MAX);
	uint32_t evicted;

	assert_int_equal(arm(f, claim_of(8, METHOD_D, 2), &evicted), 0);
	assert_int_equal(evicted, room ? SCHEDULER_NO_BODY : 0);
	assert_true(has_register(f, 8));
	assert_false(has_register(f, 0));
	for (uint32_t site = 1; site < 4; site++)
		assert_true(has_register(f, site));
	return room;
}

#endif
