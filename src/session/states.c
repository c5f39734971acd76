// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of states.h. What a state does is in session.c; here is only what comes after it. */
#include "session/states.h"

#include <stddef.h>

struct transition {
	enum session_state from;
	enum session_event event;
	enum session_state to;
};

static const struct transition transitions[] = {
	{ RUN_ASK, EVENT_PID, RUN_RESOLVE },
	{ RUN_ASK, EVENT_COMMAND, RUN_HOLD },
	{ RUN_RESOLVE, EVENT_DONE, RUN_PLAN },
	{ RUN_PLAN, EVENT_DONE, RUN_LOAD },
	{ RUN_PLAN, EVENT_LIST, RUN_LIST },
	{ RUN_PLAN, EVENT_DRY_RUN, RUN_DRY_RUN },
	{ RUN_LIST, EVENT_DONE, RUN_OVER },
	{ RUN_DRY_RUN, EVENT_DONE, RUN_OVER },
	/* All of a COMMAND's code is still to come: its plan is empty. */
	{ RUN_HOLD, EVENT_DONE, RUN_LOAD },
	{ RUN_LOAD, EVENT_DONE, RUN_ATTACH },
	{ RUN_ATTACH, EVENT_DONE, RUN_FOLLOW },
	{ RUN_FOLLOW, EVENT_DONE, RUN_ACTIVATE },
	{ RUN_ACTIVATE, EVENT_PID, RUN_CONSUME },
	{ RUN_ACTIVATE, EVENT_COMMAND, RUN_LET_GO },
	{ RUN_LET_GO, EVENT_DONE, RUN_CONSUME },
	/* Whatever has ended it, what the target was hit by is taken away in order. */
	{ RUN_CONSUME, EVENT_DONE, RUN_DETACH },
	{ RUN_CONSUME, EVENT_FAILED, RUN_DETACH },
	{ RUN_DETACH, EVENT_DONE, RUN_JUDGE },
	{ RUN_JUDGE, EVENT_DONE, RUN_REPORT },
	{ RUN_REPORT, EVENT_DONE, RUN_OVER },

	{ TARGET_UNKNOWN, EVENT_RESOLVED, TARGET_RESOLVED },
	{ TARGET_UNKNOWN, EVENT_NO_RUNTIME, TARGET_EARLY },
	{ TARGET_EARLY, EVENT_RUNTIME, TARGET_UNKNOWN },
};

bool session_state_change(enum session_state *state, enum session_event event)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if (transitions[i].from == *state && transitions[i].event == event) {
			*state = transitions[i].to;
			return true;
		}
	}
	/* A step that fails is the last one but where the table says more. */
	if (event != EVENT_FAILED || *state >= RUN_OVER)
		return false;
	*state = RUN_OVER;
	return true;
}
