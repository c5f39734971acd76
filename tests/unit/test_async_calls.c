// SPDX-License-Identifier: GPL-2.0-or-later
/* --async: each call that has ended is written once, with what its own beginning has told. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/text.h"
#include "session/async_calls.h"

enum { LIMIT = 4, MANY = 4096 };

static const char *const outcomes[ASYNC_OUTCOMES] = { "completed", "faulted", "canceled" };

/* As "ID(ARGUMENTS) METHOD OUTCOME TOOK [WHY]". */
static void note(void *ctx, const struct async_call *call)
{
	struct text *to = ctx;

	assert_true(call->ended);
	text_printf(to, "%d(%s) %c %s %d", (int)call->id, call->arguments ? call->arguments : "",
		    (char)call->end.method, outcomes[call->end.outcome], (int)call->end.took_ns);
	if (call->why)
		text_printf(to, " [%s]", call->why);
	text_add_char(to, '\n');
}

static void end(struct async_calls *calls, uint64_t id, enum async_outcome outcome)
{
	const struct async_end end = {
		.method = 'M',
		.took_ns = 10 * id,
		.outcome = outcome,
	};

	async_calls_ended(calls, id, &end);
}

/* What has been written since the last time. */
static void check(struct async_calls *calls, const char *wanted)
{
	assert_string_equal(text_chars(calls->ctx), wanted);
	text_clear(calls->ctx);
}

static void finish(struct async_calls *calls, const char *wanted)
{
	async_calls_finish(calls);
	check(calls, wanted);
	assert_int_equal(calls->count, 0);
	async_calls_deinit(calls);
	text_deinit(calls->ctx);
}

#define CALLS(name_)                 \
	struct text written = { 0 }; \
	struct async_calls name_ = { .limit = LIMIT, .write = note, .ctx = &written }

UNIT_TEST(whichever_comes_first)
{
	CALLS(calls);

	async_calls_begun(&calls, 1, "[1]", NULL);
	async_calls_begun(&calls, 2, "[2]", NULL);
	end(&calls, 3, ASYNC_CANCELED);
	check(&calls, "");
	end(&calls, 2, ASYNC_FAULTED);
	check(&calls, "2([2]) M faulted 20\n");
	async_calls_begun(&calls, 3, "[3]", NULL);
	check(&calls, "3([3]) M canceled 30\n");
	end(&calls, 1, ASYNC_COMPLETED);
	check(&calls, "1([1]) M completed 10\n");
	finish(&calls, "");
}

UNIT_TEST(without_arguments)
{
	CALLS(calls);

	async_calls_begun(&calls, 1, NULL, "they are not known");
	async_calls_begun(&calls, 2, NULL, NULL);
	end(&calls, 1, ASYNC_COMPLETED);
	end(&calls, 2, ASYNC_COMPLETED);
	check(&calls, "1() M completed 10 [they are not known]\n2() M completed 20\n");
	finish(&calls, "");
}

/* What was begun and has not ended is not written; an end is. */
UNIT_TEST(what_is_lost)
{
	CALLS(calls);

	async_calls_begun(&calls, 5, "[5]", NULL);
	end(&calls, 9, ASYNC_COMPLETED);
	end(&calls, 7, ASYNC_COMPLETED);
	finish(&calls, "7() M completed 70 [its beginning was lost]\n"
		       "9() M completed 90 [its beginning was lost]\n");
}

UNIT_TEST(told_twice)
{
	CALLS(calls);

	async_calls_begun(&calls, 1, "[1]", NULL);
	async_calls_begun(&calls, 1, "[2]", NULL);
	end(&calls, 2, ASYNC_COMPLETED);
	end(&calls, 2, ASYNC_FAULTED);
	end(&calls, 1, ASYNC_COMPLETED);
	finish(&calls, "1([1]) M completed 10\n"
		       "2() M completed 20 [its beginning was lost]\n");
}

/* The oldest goes; its end is told as it comes, and its beginning no more. */
UNIT_TEST(too_many)
{
	CALLS(calls);

	end(&calls, 1, ASYNC_COMPLETED);
	for (uint64_t id = 2; id <= LIMIT + 2; id++)
		async_calls_begun(&calls, id, "[2]", NULL);
	check(&calls, "1() M completed 10 [its beginning was lost]\n");
	assert_int_equal(calls.count, LIMIT);
	async_calls_begun(&calls, 1, "[1]", NULL);
	check(&calls, "");
	end(&calls, 2, ASYNC_FAULTED);
	check(&calls, "2() M faulted 20 [too many calls were under way]\n");
	end(&calls, 3, ASYNC_COMPLETED);
	check(&calls, "3([2]) M completed 30\n");
	finish(&calls, "");
}

UNIT_TEST(forgotten_unfinished)
{
	CALLS(calls);

	for (uint64_t id = 1; id <= LIMIT; id++)
		async_calls_begun(&calls, id, "[1]", NULL);
	assert_int_equal(calls.count, LIMIT);
	async_calls_deinit(&calls);
	finish(&calls, "");
}

struct seen {
	unsigned int times;
	bool begun;
	char arguments[16];
};

static void count(void *ctx, const struct async_call *call)
{
	struct seen *seen = (struct seen *)ctx + call->id;

	assert_true(call->id < MANY);
	seen->times++;
	seen->begun = call->arguments;
	if (call->arguments)
		assert_string_equal(call->arguments, seen->arguments);
}

/* Both of each call in any order, within the room there is: all are put together. */
UNIT_TEST(in_any_order)
{
	static struct seen seen[MANY];
	struct async_calls calls = { .limit = MANY, .write = count, .ctx = seen };
	uint32_t order[2 * MANY], random = 1;

	for (uint32_t i = 0; i < 2 * MANY; i++)
		order[i] = i;
	for (uint32_t i = 2 * MANY - 1; i; i--) {
		uint32_t other, swapped = order[i];

		random = random * 1664525 + 1013904223;
		other = (random >> 8) % (i + 1);
		order[i] = order[other];
		order[other] = swapped;
	}
	for (uint32_t i = 0; i < 2 * MANY; i++) {
		uint32_t id = order[i] / 2;

		(void)snprintf(seen[id].arguments, sizeof(seen[id].arguments), "[%d]", (int)id);
		if (order[i] % 2)
			end(&calls, id, ASYNC_COMPLETED);
		else
			async_calls_begun(&calls, id, seen[id].arguments, NULL);
	}
	assert_int_equal(calls.count, 0);
	async_calls_finish(&calls);
	for (uint32_t id = 0; id < MANY; id++) {
		assert_int_equal(seen[id].times, 1);
		assert_true(seen[id].begun);
	}
}

UNIT_MAIN(NULL, NULL)
