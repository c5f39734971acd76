/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For all unit programs: cmocka, which wants four of these before it; tests; a way to skip. */
#ifndef UNIT_H
#define UNIT_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	UNIT_SKIPPED = 77,   /* the customary exit code of a program that tried nothing */
	UNIT_TESTS_MAX = 64, /* of a program */
};

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX];
static size_t unit_tests_count;

static inline void unit_add(struct CMUnitTest test)
{
	if (unit_tests_count == UNIT_TESTS_MAX)
		abort();
	unit_tests[unit_tests_count++] = test;
}

/* The head of a test. All tests of a program are run in the order they stand in. */
#define UNIT_TEST_WITHIN(name_, set_up_, tear_down_)                                       \
	static void name_(void **state);                                                   \
	__attribute__((constructor)) static void unit_add_##name_(void)                    \
	{                                                                                  \
		unit_add((struct CMUnitTest){ #name_, name_, set_up_, tear_down_, NULL }); \
	}                                                                                  \
	static void name_(__attribute__((unused)) void **state)

#define UNIT_TEST(name_) UNIT_TEST_WITHIN(name_, NULL, NULL)

/* Runs the program's tests, between what all of them need set up and its end; NULL is nothing. */
static inline int unit_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests("tests", unit_tests, unit_tests_count, set_up, tear_down);
}

#define UNIT_MAIN(set_up_, tear_down_)                \
	int main(void)                                \
	{                                             \
		return unit_run(set_up_, tear_down_); \
	}

/* Ends the program unless it may do what only root can. */
static inline void unit_needs_root(const char *what)
{
	if (geteuid() == 0)
		return;
	printf("skipped: only root can %s\n", what);
	exit(UNIT_SKIPPED);
}

__attribute__((noinline)) static void unit_trial_function(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Does a hardware breakpoint of our own fire? Also true where it cannot be tried. */
static inline bool unit_breakpoints_fire(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)unit_trial_function,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t hits = 1;

	if (fd < 0)
		return true;
	for (int i = 0; i < 4; i++)
		unit_trial_function();
	if (read((int)fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 1;
	close((int)fd);
	return hits != 0;
}

#define UNIT_DEAD_BREAKPOINTS "hardware breakpoints do not fire on this machine"

/* Ends the program unless breakpoints fire, as they do not under some hypervisors. */
static inline void unit_needs_breakpoints(void)
{
	if (unit_breakpoints_fire())
		return;
	printf("skipped: " UNIT_DEAD_BREAKPOINTS "\n");
	exit(UNIT_SKIPPED);
}

/* As cmocka's skip(), and tests/test_unit.py tells why. */
#define unit_skip(why)                                      \
	do {                                                \
		printf("skipped: %s: %s\n", __func__, why); \
		fflush(stdout);                             \
		skip();                                     \
	} while (0)

#define unit_skip_if_breakpoints_are_dead()               \
	do {                                              \
		if (!unit_breakpoints_fire())             \
			unit_skip(UNIT_DEAD_BREAKPOINTS); \
	} while (0)

#endif
