/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Breakpoints that are only written down, in place of probe/breakpoints.h's: a test that includes
 * this is linked with these. So it can be seen who has which register, and one can be refused.
 */
#ifndef TESTS_UNIT_FAKE_BREAKPOINTS_H
#define TESTS_UNIT_FAKE_BREAKPOINTS_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/breakpoints.h"
#include "registers/in_flight.h"
#include "registers/policy.h"
#include "registers/scheduler.h"
#include "bpf/follow.h"
#include "base/clock.h"

struct breakpoints {
	int registers; /* that can be had at all */
	int refusal;   /* what the next moves return */
	int moves;     /* that were not refused */
	struct {
		bool reserved;
		bool fires;
		uint64_t address;
		uint32_t site;
	} slots[BREAKPOINTS_MAX];
};

int breakpoints_reserve(struct breakpoints *breakpoints, bool patient, struct error *err)
{
	(void)patient;
	(void)err;
	for (int i = 0; i < breakpoints->registers; i++) {
		if (breakpoints->slots[i].reserved)
			continue;
		breakpoints->slots[i].reserved = true;
		return i;
	}
	return -ENOSPC;
}

void breakpoints_park(struct breakpoints *breakpoints, int slot)
{
	assert_true(breakpoints->slots[slot].reserved);
	breakpoints->slots[slot].fires = false;
}

int breakpoints_move(struct breakpoints *breakpoints, int slot, struct address address,
		     uint64_t cookie, struct error *err)
{
	(void)err;
	assert_true(slot >= 0 && slot < BREAKPOINTS_MAX);
	assert_true(breakpoints->slots[slot].reserved);
	if (breakpoints->refusal)
		return breakpoints->refusal;
	breakpoints->slots[slot].fires = true;
	breakpoints->slots[slot].address = address.value;
	breakpoints->slots[slot].site = (uint32_t)cookie;
	breakpoints->moves++;
	return 0;
}

/* Somebody who is on the way into a body, or cannot be seen. */
struct in_flight {
	uint64_t entry;
	int arrives_after;     /* so many looks; 0: it stays on the way */
	uint64_t *last_hit_ns; /* of its breakpoint, set when it has arrived just now; or NULL */
	int looks;
	int interrupts;
	int failure;
};

static struct in_flight fake_in_flight;

void breakpoints_interrupt(const struct breakpoints *breakpoints, int slot)
{
	assert_true(breakpoints->slots[slot].fires);
	fake_in_flight.interrupts++;
}

int in_flight_look(struct in_flight *in_flight, struct address entry, uint64_t since_ns,
		   const struct dispatch_code *runtime)
{
	(void)since_ns;
	(void)runtime;
	in_flight->looks++;
	/* What is older than that is worth nothing. */
	assert_int_equal(in_flight->looks, in_flight->interrupts);
	if (in_flight->failure)
		return in_flight->failure;
	if (in_flight->entry != entry.value)
		return 0;
	if (!in_flight->arrives_after || in_flight->looks <= in_flight->arrives_after)
		return 1;
	if (in_flight->last_hit_ns)
		*in_flight->last_hit_ns = clock_now_ns();
	return 0;
}

/* Registers, and the memory in which the BPF programs note when they were hit. */
struct registers_fixture {
	struct breakpoints breakpoints;
	struct follow_shared shared;
	struct scheduler scheduler;
};

/* @registers of them, all taken. */
static inline void registers_init(struct registers_fixture *fixture, int registers)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->breakpoints.registers = registers;
	fake_in_flight = (struct in_flight){ 0 };
	scheduler_init(&fixture->scheduler, &fixture->breakpoints, &fixture->shared);
	scheduler_use_in_flight(&fixture->scheduler, &fake_in_flight);
	assert_true(scheduler_reserve(&fixture->scheduler, registers, true));
}

/* The register of @site, -1 if it has none: what fires is what the books say. */
static inline int register_of(const struct registers_fixture *fixture, uint32_t site)
{
	int found = -1;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		const struct register_use *use = &fixture->scheduler.uses[i];

		assert_int_equal(use->used, fixture->breakpoints.slots[i].fires);
		assert_int_equal(use->reserved, fixture->breakpoints.slots[i].reserved);
		if (!use->used)
			continue;
		assert_int_equal(use->claim.body, fixture->breakpoints.slots[i].site);
		assert_int_equal(use->claim.address.value, fixture->breakpoints.slots[i].address);
		if (use->claim.body != site)
			continue;
		assert_int_equal(found, -1);
		found = i;
	}
	assert_int_equal(scheduler_has_entry(&fixture->scheduler, site), found >= 0);
	return found;
}

static inline bool has_register(const struct registers_fixture *fixture, uint32_t site)
{
	return register_of(fixture, site) >= 0;
}

/* The body of @site was hit @ago_ns ago. */
static inline void hit(struct registers_fixture *fixture, uint32_t site, uint64_t ago_ns)
{
	int slot = register_of(fixture, site);

	assert_true(slot >= 0);
	fixture->shared.last_hit_ns[slot] = clock_now_ns() - ago_ns;
}

/* Nobody has come by the body of @site for longer than calls are under way. */
static inline void let_rest(struct registers_fixture *fixture, uint32_t site)
{
	hit(fixture, site, NS_PER_S);
}

#endif
