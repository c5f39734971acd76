/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bodies of methods, with registers that are only written down: bodies.h. */
#ifndef TESTS_UNIT_BODIES_FIXTURE_H
#define TESTS_UNIT_BODIES_FIXTURE_H

#include "tests/unit/fake_breakpoints.h"

#include "bpf/follow.h"
#include "follow/messages/sites.h"
#include "registers/bodies.h"

enum {
	FIRST = 10, /* sites that were there before */
	METHOD_A = 0xa000,
	METHOD_B = 0xb000,
	METHOD_C = 0xc000,
};

struct fixture {
	struct registers_fixture registers;
	struct sites *sites;
	struct bodies *bodies;
};

static inline bool is_wanted(void *sites, uint32_t number)
{
	return sites_is_ours(sites, number);
}

static inline void note_missed(void *sites, uint32_t number)
{
	sites_add_trouble(sites, number, TROUBLE_NO_REGISTER);
}

static inline void init(struct fixture *f, int registers)
{
	struct bodies_config config = {
		.scheduler = &f->registers.scheduler,
		.is_wanted = is_wanted,
		.note_missed = note_missed,
	};

	registers_init(&f->registers, registers);
	assert_int_equal(sites_create(&f->sites, FIRST, NULL), 0);
	config.capacity = sites_capacity(f->sites);
	config.ctx = f->sites;
	assert_int_equal(bodies_create(&f->bodies, &config, NULL), 0);
}

static inline void deinit(struct fixture *f)
{
	bodies_destroy(f->bodies);
	sites_destroy(f->sites);
}

static inline uint32_t new_site(struct fixture *f, const char *method, bool undecided)
{
	char *name = strdup(method);
	const struct site like = { .method = name };
	uint32_t number = UINT32_MAX;

	assert_non_null(sites_add(f->sites, &like, undecided, &number));
	free(name);
	return number;
}

/* One that calls enter, with a site of its own. */
static inline struct body *add(struct fixture *f, uint64_t method, uint32_t rank)
{
	uint32_t site = new_site(f, "T::a()", false);
	const struct body body = {
		.number = site,
		.address = { 0x10000 + 0x100ull * site },
		.size = 0x80,
		.method = method,
		.rank = rank,
		.publisher = 7,
		.reported = true,
		.entered_by_calls = true,
	};
	struct body *added = bodies_add(f->bodies, &body);

	assert_non_null(added);
	return added;
}

/* It gets a register, and nobody loses one. */
static inline void must_arm(struct fixture *f, struct body *body)
{
	uint32_t evicted;

	assert_int_equal(bodies_arm(f->bodies, body, &evicted, NULL), 0);
	assert_int_equal(evicted, SCHEDULER_NO_BODY);
	assert_true(has_register(&f->registers, body->number));
}

static inline struct body *add_armed(struct fixture *f, uint64_t method, uint32_t rank)
{
	struct body *body = add(f, method, rank);

	must_arm(f, body);
	return body;
}

static inline bool armed(struct fixture *f, const struct body *body)
{
	return has_register(&f->registers, body->number);
}

#endif
