/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much the counts of a run are worth: was every body probed that calls of the matched
 * methods may have entered? The runtime compiles as it likes, so the target is looked at once
 * more when the run is over: if no code has come up that was not probed, none can have been run.
 *
 * A count is exact if following has seen everything and the second look finds no body that it does
 * not know. If the target is gone following alone decides. Where following has missed something, or
 * there was none, the second look must show that no code came up: bodies of this runtime are not
 * freed while their method lives, so a method without new code has run none.
 */
#ifndef SESSION_VERDICT_H
#define SESSION_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct error;
struct follow;
struct target;
struct site;

enum verdict_reason {
	VERDICT_NOT_PROBED,   /* it was known, and could not be probed */
	VERDICT_NEW_CODE,     /* it came up during the run, and nobody noticed */
	VERDICT_CANNOT_TELL,  /* the target could not be looked at again, or not in full */
	VERDICT_TIMED_OUT,    /* of a body that came up: its probe was too late */
	VERDICT_NOT_HELD,     /* it may have been called before it was probed */
	VERDICT_NO_REGISTER,  /* there was no debug register for it, at least for a time */
	VERDICT_REPORT_LOST,  /* compilations were not reported */
	VERDICT_CALL_INLINED, /* a P/Invoke: callers may call the native function themselves */
	VERDICT_LOADED_LATER, /* a native function of a library that was loaded during the run */
	VERDICT_ENDED_EARLY,  /* probes were lost, or none could be placed any more */
	VERDICT_REASONS,
};

struct verdict {
	const struct session *session;
	size_t sites[VERDICT_REASONS]; /* all 0: every count is exact, but for what was lost */
	uint32_t *of_sites; /* along the plan's: a bit for each reason. The first of a method has
			       those of bodies that the plan does not have */
	const char *codes[VERDICT_REASONS + 1]; /* ends with NULL */
	/*
	 * Along plan->by_method, of the method that begins there, which part of the whole run it
	 * was watched, 0 to 1: what its count has to be divided by, for an estimate. 1 unless the
	 * verdict is that it had no register at times. NULL without memory.
	 */
	double *watched;
	struct text first[VERDICT_REASONS]; /* of each kind: its site may be gone by then */
	bool anywhere[VERDICT_REASONS];	    /* it concerns all methods */
};

/*
 * The target when calls do not count any more. @follow (stopped; NULL: none) learns of it, to tell
 * what came up too late to matter. Prints nothing. NULL if the target cannot be read. Ends with
 * last_snapshot_destroy().
 */
struct last_snapshot *last_snapshot_take(struct target *target, struct follow *follow);
void last_snapshot_destroy(struct last_snapshot *snapshot);

/*
 * Reaches the verdict on the session's counts, with all that has come up in its plan, once
 * following has stopped, and says it (judgement.c): a line for each kind of reason why some are
 * lower bounds, with how many and what to do; with -v for each body. -errno with @err set; then all
 * counts are lower bounds, and @verdict is to be freed, too. A target that has gone by now is no
 * failure.
 */
int verdict_reach(struct verdict *verdict, const struct session *session, struct error *err);
void verdict_deinit(struct verdict *verdict);

/* Parts of that: which sites make counts lower bounds, and what is said of each; NULL: of all. */
int verdict_find(struct verdict *verdict, struct error *err);
void verdict_doubt(struct verdict *verdict, const struct site *site, enum verdict_reason reason);

/* The code in JSON of an enum verdict_reason, for struct count_bounds. */
const char *verdict_reason_code(unsigned int reason);

#endif
