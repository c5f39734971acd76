// SPDX-License-Identifier: GPL-2.0-or-later
/* numbers.h: one number for each file, whichever thread asks first, and as many as there are. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "target/numbers.h"

enum {
	RACERS = 2,
	FILES = 1000,
	ROUNDS = 10,
};

struct race {
	struct file_numbers *numbers;
	_Atomic int at; /* the file that all ask for next, so that they do at once */
	struct racer {
		struct race *race;
		long of[FILES];
	} racers[RACERS];
};

static int set_up(void **state)
{
	return file_numbers_create((struct file_numbers **)state, NULL);
}

static int tear_down(void **state)
{
	file_numbers_destroy(*state);
	return 0;
}

UNIT_TEST_WITHIN(in_the_order_of_asking, set_up, tear_down)
{
	struct file_numbers *numbers = *state;

	assert_int_equal(file_numbers_take(numbers, 1, 100), 0);
	assert_int_equal(file_numbers_take(numbers, 1, 101), 1);
	/* The same inode elsewhere is another file. */
	assert_int_equal(file_numbers_take(numbers, 2, 100), 2);
	assert_int_equal(file_numbers_take(numbers, 0, 0), 3);
	assert_int_equal(file_numbers_take(numbers, 1, 101), 1);
	assert_int_equal(file_numbers_take(numbers, 0, 0), 3);
	assert_int_equal(file_numbers_take(numbers, 1, 100), 0);
	assert_int_equal(file_numbers_take(numbers, 1, 102), 4);
	/* Nor does one that is nobody's come again. */
	assert_int_equal(file_numbers_take_alone(numbers), 5);
	assert_int_equal(file_numbers_take_alone(numbers), 6);
	assert_int_equal(file_numbers_take(numbers, 0, 0), 3);
	assert_int_equal(file_numbers_take(numbers, 1, 103), 7);
}

static void *run(void *argument)
{
	struct racer *racer = argument;

	for (int i = 0; i < FILES; i++) {
		/* Each waits until all have come so far. */
		atomic_fetch_add(&racer->race->at, 1);
		while (atomic_load(&racer->race->at) < (i + 1) * RACERS)
			sched_yield();
		racer->of[i] = file_numbers_take(racer->race->numbers, 7, (ino_t)i * 3);
	}
	return NULL;
}

static int by_number(const void *left, const void *right)
{
	long a = *(const long *)left, b = *(const long *)right;

	return a < b ? -1 : a > b;
}

static void race_once(void)
{
	struct race *race = calloc(1, sizeof(*race));
	pthread_t threads[RACERS];

	assert_non_null(race);
	assert_int_equal(file_numbers_create(&race->numbers, NULL), 0);
	for (int i = 0; i < RACERS; i++) {
		race->racers[i].race = race;
		assert_int_equal(pthread_create(&threads[i], NULL, run, &race->racers[i]), 0);
	}
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 1; i < RACERS; i++)
		assert_memory_equal(race->racers[0].of, race->racers[i].of,
				    sizeof(race->racers[0].of));
	for (int i = 0; i < FILES; i++)
		assert_int_equal(file_numbers_take(race->numbers, 7, (ino_t)i * 3),
				 race->racers[0].of[i]);
	qsort(race->racers[0].of, FILES, sizeof(long), by_number);
	assert_true(race->racers[0].of[0] >= 0);
	for (int i = 1; i < FILES; i++)
		assert_true(race->racers[0].of[i] > race->racers[0].of[i - 1]);
	assert_true(race->racers[0].of[FILES - 1] < (long)FILES * RACERS);
	file_numbers_destroy(race->numbers);
	free(race);
}

UNIT_TEST(two_threads_at_once)
{
	for (int i = 0; i < ROUNDS; i++)
		race_once();
}

UNIT_TEST_WITHIN(no_more, set_up, tear_down)
{
	struct file_numbers *numbers = *state;

	for (long i = 0; i < FILE_NUMBERS_MAX; i++)
		assert_int_equal(file_numbers_take(numbers, 3, (ino_t)i), i);
	for (int i = 0; i < 3; i++)
		assert_int_equal(file_numbers_take(numbers, 4, (ino_t)i), -EMFILE);
	/* What has one keeps it. */
	for (long i = 0; i < FILE_NUMBERS_MAX; i++)
		assert_int_equal(file_numbers_take(numbers, 3, (ino_t)i), i);
}

UNIT_MAIN(NULL, NULL)
