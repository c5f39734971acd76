/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small runtime and a reader of what it has compiled. */
#ifndef TESTS_UNIT_JIT_FIXTURE_H
#define TESTS_UNIT_JIT_FIXTURE_H

#include <sys/resource.h>

#include "base/cleanup.h"
#include "method/method_name.h"
#include "tests/unit/clr_methods.h"
#include "tests/unit/golden.h"

/* Rows of tests/golden/tiny-*: a type, and methods of it. */
enum { TYPE_OUTER = 2, METHOD_CTOR = 1, METHOD_ADD = 2 };

/* A world with one module of one type, a heap, and a reader of it. */
struct fixture {
	struct world world;
	struct world_heap heap;
	struct jit *jit;
	uint64_t module;
	uint64_t outer;
	uint64_t add;
};

static inline void fixture_init_large(struct fixture *f, unsigned int major, size_t room)
{
	world_init(&f->world, major, room);
	f->module = world_file_module(&f->world, "tiny-il.dll");
	f->outer = world_type(&f->world, f->module, TYPE_OUTER);
	f->add = world_method(&f->world, f->outer, METHOD_ADD, WORLD_METHOD_SLOT);
	f->heap = world_heap(&f->world, 16384, false);
	assert_int_equal(world_create_jit(&f->world, &f->jit, NULL), 0);
}

static inline void fixture_init(struct fixture *f, unsigned int major)
{
	fixture_init_large(f, major, WORLD_ROOM);
}

static inline void fixture_deinit(struct fixture *f)
{
	jit_destroy(f->jit);
	world_deinit(&f->world);
}

static inline double processor_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

/* Each test runs on the layouts of all versions; none may take long, whatever it finds. */
static inline void for_each_version(void (*test)(struct fixture *f))
{
	for (unsigned int major = 8; major <= 10; major++) {
		double start = processor_seconds();
		struct fixture f;

		fixture_init(&f, major);
		test(&f);
		fixture_deinit(&f);
		assert_true(processor_seconds() - start < 10); /* with the sanitizers, too */
	}
}

static inline void look(struct fixture *f)
{
	assert_int_equal(jit_read(f->jit, NULL), 0);
}

static inline const struct jit_body *body_at(struct fixture *f, uint64_t address)
{
	return jit_find_body(f->jit, (struct address){ address });
}

/* The name that a second look gives @body; false if it is gone by then. */
static inline bool recheck(struct fixture *f, const struct jit_body *body, struct text *spelled)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	bool there;

	jit_recheck_begin(f->jit);
	there = jit_recheck(f->jit, body, &name);
	text_clear(spelled);
	if (there)
		method_name_spell(&name, spelled);
	return there;
}

static inline void assert_gone(struct fixture *f, const struct jit_body *body)
{
	_cleanup_(text_deinit) struct text spelled = { 0 };

	assert_false(recheck(f, body, &spelled));
}

static inline void assert_rechecked(struct fixture *f, const struct jit_body *body,
				    const char *expected)
{
	_cleanup_(text_deinit) struct text spelled = { 0 };

	assert_true(recheck(f, body, &spelled));
	assert_string_equal(text_chars(&spelled), expected);
}

#endif
