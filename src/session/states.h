/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a run stands, and what is known of its target: all states by their names. states.c has the
 * one table of what leads from each to which; session.c goes by it, with a PID and with a COMMAND
 * alike.
 */
#ifndef SESSION_STATES_H
#define SESSION_STATES_H

#include <stdbool.h>

enum session_state {
	/* The run. Each but the last has a step, which session.c takes. */
	RUN_ASK,     /* patterns are made of what the user has written */
	RUN_RESOLVE, /* PID: what the target is made of */
	RUN_HOLD,    /* COMMAND: a child of ours that waits before exec, and what it will run */
	RUN_PLAN,    /* PID: a site for each body that is asked for */
	RUN_LIST,
	RUN_DRY_RUN,
	RUN_LOAD,   /* BPF programs into the kernel */
	RUN_ATTACH, /* them to the sites */
	RUN_FOLLOW, /* and to what tells of code that comes up */
	RUN_ACTIVATE,
	RUN_LET_GO, /* COMMAND: it may exec now */
	RUN_CONSUME,
	RUN_DETACH,
	RUN_JUDGE, /* the target is looked at once more, and left alone for good */
	RUN_REPORT,
	RUN_OVER,

	/* The target, meanwhile. */
	TARGET_UNKNOWN, /* COMMAND: it has not been looked at, or had nothing that is asked for */
	TARGET_EARLY,	/* COMMAND: looked at before it had a runtime, and it may get one */
	TARGET_RESOLVED,

	SESSION_STATES,
};

enum session_event {
	/* What a step has come to. */
	EVENT_DONE,
	EVENT_FAILED, /* the session says by what status */
	EVENT_PID,    /* instead of EVENT_DONE where the kind of target matters */
	EVENT_COMMAND,
	EVENT_LIST, /* likewise what the plan is for */
	EVENT_DRY_RUN,

	/* What a look at the target has come to. */
	EVENT_RESOLVED,
	EVENT_NO_RUNTIME, /* but native functions are asked for as well */
	EVENT_RUNTIME,	  /* the target has got one since: what was known does not count any more */

	SESSION_EVENTS,
};

/* Go on from *@state; false if @event means nothing there, and *@state stays. */
bool session_state_change(enum session_state *state, enum session_event event);

#endif
