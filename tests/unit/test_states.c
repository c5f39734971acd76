// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * states.h: each way that a run may go, step by step, and what is known of its target meanwhile.
 * Whatever is in none of these ways is refused.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "session/states.h"

enum { WAY_MAX = 16 };

struct step {
	enum session_event event;
	enum session_state then;
};

struct way {
	enum session_state from;
	struct step steps[WAY_MAX];
	size_t count;
};

#define STEPS(...) \
	{ __VA_ARGS__ }, sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step)

static const struct way ways[] = {
	{ RUN_ASK,
	  STEPS({ EVENT_PID, RUN_RESOLVE }, { EVENT_DONE, RUN_PLAN }, { EVENT_DONE, RUN_LOAD },
		{ EVENT_DONE, RUN_ATTACH }, { EVENT_DONE, RUN_FOLLOW },
		{ EVENT_DONE, RUN_ACTIVATE }, { EVENT_PID, RUN_CONSUME },
		{ EVENT_DONE, RUN_DETACH }, { EVENT_DONE, RUN_JUDGE }, { EVENT_DONE, RUN_REPORT },
		{ EVENT_DONE, RUN_OVER }) },
	{ RUN_ASK,
	  STEPS({ EVENT_COMMAND, RUN_HOLD }, { EVENT_DONE, RUN_LOAD }, { EVENT_DONE, RUN_ATTACH },
		{ EVENT_DONE, RUN_FOLLOW }, { EVENT_DONE, RUN_ACTIVATE },
		{ EVENT_COMMAND, RUN_LET_GO }, { EVENT_DONE, RUN_CONSUME },
		{ EVENT_DONE, RUN_DETACH }, { EVENT_DONE, RUN_JUDGE }, { EVENT_DONE, RUN_REPORT },
		{ EVENT_DONE, RUN_OVER }) },
	{ RUN_PLAN, STEPS({ EVENT_LIST, RUN_LIST }, { EVENT_DONE, RUN_OVER }) },
	{ RUN_PLAN, STEPS({ EVENT_DRY_RUN, RUN_DRY_RUN }, { EVENT_DONE, RUN_OVER }) },
	/* Before anything counts a failure ends it; the target is left to session_deinit(). */
	{ RUN_ASK, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_RESOLVE, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_HOLD, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_PLAN, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_LIST, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_DRY_RUN, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_LOAD, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_ATTACH, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_FOLLOW, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_ACTIVATE, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_LET_GO, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_DETACH, STEPS({ EVENT_FAILED, RUN_OVER }) },
	{ RUN_JUDGE, STEPS({ EVENT_FAILED, RUN_OVER }) },
	/* Then probes are taken away first. */
	{ RUN_CONSUME, STEPS({ EVENT_FAILED, RUN_DETACH }, { EVENT_DONE, RUN_JUDGE },
			     { EVENT_DONE, RUN_REPORT }, { EVENT_FAILED, RUN_OVER }) },
	/* A COMMAND that is looked at early, gets a runtime, and is looked at again; or at once. */
	{ TARGET_UNKNOWN,
	  STEPS({ EVENT_NO_RUNTIME, TARGET_EARLY }, { EVENT_RUNTIME, TARGET_UNKNOWN },
		{ EVENT_RESOLVED, TARGET_RESOLVED }) },
};

/* By state and event, what is in one of the ways; SESSION_STATES: nothing is. */
static void fill(enum session_state expected[SESSION_STATES][SESSION_EVENTS])
{
	for (int state = 0; state < SESSION_STATES; state++) {
		for (int event = 0; event < SESSION_EVENTS; event++)
			expected[state][event] = SESSION_STATES;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		enum session_state state = ways[i].from;

		for (size_t j = 0; j < ways[i].count; j++) {
			expected[state][ways[i].steps[j].event] = ways[i].steps[j].then;
			state = ways[i].steps[j].then;
		}
	}
}

/* All events in all states: a transition of one of the ways, or refused. */
UNIT_TEST(test_every_event)
{
	enum session_state expected[SESSION_STATES][SESSION_EVENTS];
	size_t refused = 0, taken = 0;

	fill(expected);
	for (int from = 0; from < SESSION_STATES; from++) {
		for (int event = 0; event < SESSION_EVENTS; event++) {
			enum session_state now = (enum session_state)from;
			bool taken_now = session_state_change(&now, (enum session_event)event);

			if (expected[from][event] == SESSION_STATES) {
				assert_false(taken_now);
				assert_int_equal(now, from);
				refused++;
				continue;
			}
			assert_true(taken_now);
			assert_int_equal(now, expected[from][event]);
			taken++;
		}
	}
	assert_int_equal(refused + taken, SESSION_STATES * SESSION_EVENTS);
	assert_true(taken >= SESSION_STATES - 2);
}

/* Which states can be come to from @from, that one included. */
static void reach(enum session_state from, bool reached[SESSION_STATES])
{
	if (reached[from])
		return;
	reached[from] = true;
	for (int event = 0; event < SESSION_EVENTS; event++) {
		enum session_state to = from;

		if (session_state_change(&to, (enum session_event)event))
			reach(to, reached);
	}
}

UNIT_TEST(test_every_state_is_reached)
{
	bool run[SESSION_STATES] = { false }, target[SESSION_STATES] = { false };

	reach(RUN_ASK, run);
	reach(TARGET_UNKNOWN, target);
	/* The run's by the run, the target's by the target, and none by both. */
	for (int i = 0; i < SESSION_STATES; i++) {
		assert_int_equal(run[i], i <= RUN_OVER);
		assert_int_equal(target[i], i > RUN_OVER);
	}
}

/* Whatever step fails, now or when it has become able to. */
UNIT_TEST(test_every_step_may_fail)
{
	for (enum session_state from = 0; from < RUN_OVER; from++) {
		enum session_state to = from;

		assert_true(session_state_change(&to, EVENT_FAILED));
		assert_int_equal(to, from == RUN_CONSUME ? RUN_DETACH : RUN_OVER);
	}
}

UNIT_TEST(test_every_run_ends)
{
	for (enum session_state from = 0; from <= RUN_OVER; from++) {
		bool reached[SESSION_STATES] = { false };

		reach(from, reached);
		assert_true(reached[RUN_OVER]);
	}
}

/* No run goes round: a state that was left is not come to again. */
UNIT_TEST(test_no_state_comes_twice)
{
	for (enum session_state from = 0; from <= RUN_OVER; from++) {
		for (int event = 0; event < SESSION_EVENTS; event++) {
			bool reached[SESSION_STATES] = { false };
			enum session_state to = from;

			if (!session_state_change(&to, (enum session_event)event))
				continue;
			reach(to, reached);
			assert_false(reached[from]);
		}
	}
}

UNIT_MAIN(NULL, NULL)
