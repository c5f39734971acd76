/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the verdict on the counts (verdict.h) is in words: a line for each kind of reason why some
 * are lower bounds, with how many and what to do; with -v for each body.
 */
#ifndef SESSION_JUDGEMENT_H
#define SESSION_JUDGEMENT_H

#include "base/text.h"
#include "session/verdict.h"

struct judgement {
	struct verdict verdict;
	const char *codes[VERDICT_REASONS + 1]; /* ends with NULL */
	/*
	 * Along plan->by_method, of the method that begins there, which part of the whole run it was
	 * watched, 0 to 1: what its count has to be divided by, for an estimate. 1 unless the verdict
	 * is that it had no register at times. NULL without memory.
	 */
	double *watched;
	struct text first[VERDICT_REASONS]; /* of each kind: its site may be gone by then */
	bool anywhere[VERDICT_REASONS];	    /* it concerns all methods */
};

/*
 * Reaches the verdict and says it. -errno with @err set; then all counts are lower bounds, and
 * @judgement is to be freed, too.
 */
int judgement_reach(struct judgement *judgement, struct session *session, struct error *err);
void judgement_deinit(struct judgement *judgement);

#endif
