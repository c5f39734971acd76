// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "error.h"
#include "resolve.h"

static void blame(struct verdict *verdict, const struct verdict_question *question,
		  const struct site *site, enum verdict_reason reason)
{
	verdict->sites[reason]++;
	question->tell(question->ctx, site, reason);
}

static void what_was_known(struct verdict *verdict, const struct verdict_question *question)
{
	for (size_t i = 0; i < question->plan->count; i++) {
		const struct site *site = &question->plan->sites[i];

		if (site_is_missed(site))
			blame(verdict, question, site, VERDICT_NOT_PROBED);
	}
}

/* Without a second look, only what cannot change any more is sure. */
static void what_may_have_come(struct verdict *verdict, const struct verdict_question *question)
{
	for (size_t i = 0; i < question->plan->count; i++) {
		const struct site *site = &question->plan->sites[i];

		if (site->mechanism != MECHANISM_NONE ? !site->final :
							site->reason == REASON_NOT_COMPILED)
			blame(verdict, question, site, VERDICT_CANNOT_TELL);
	}
}

static void compare(struct verdict *verdict, const struct verdict_question *question,
		    const struct plan *later)
{
	for (size_t i = 0; i < later->count; i++) {
		const struct site *site = &later->sites[i];

		if (site->address.value && site->tier != TIER_OSR &&
		    !plan_find(question->plan, site))
			blame(verdict, question, site, VERDICT_NEW_CODE);
	}
}

static int what_came_up(struct verdict *verdict, const struct verdict_question *question,
			struct resolution *later, struct error *err)
{
	struct plan plan = { 0 };
	size_t dropped;
	int result = 0;

	for (size_t i = 0; i < question->pattern_count && result >= 0; i++)
		result =
			resolution_plan(later, question->patterns[i], question->nested, &plan, err);
	if (result >= 0)
		result = resolution_drop_changed(later, &plan, &dropped, err);
	if (result == 0)
		result = plan_finish(&plan, 0, err);
	if (result == 0 && later->jit)
		compare(verdict, question, &plan);
	else if (result == 0)
		what_may_have_come(verdict, question);
	plan_deinit(&plan);
	return result;
}

int verdict_reach(struct verdict *verdict, const struct verdict_question *question,
		  struct error *err)
{
	struct resolution later;
	struct error why = { .text = "" };
	int result = 0;

	*verdict = (struct verdict){ 0 };
	what_was_known(verdict, question);
	/* A number that was reused is no second look: the process must have lived all the while. */
	if (question->target_exited ||
	    resolution_init(&later, question->resolution->process.pid, &why)) {
		what_may_have_come(verdict, question);
		return 0;
	}
	if (process_is_alive(&question->resolution->process))
		result = what_came_up(verdict, question, &later, err);
	else
		what_may_have_come(verdict, question);
	resolution_deinit(&later);
	return result;
}

const char *verdict_reason_code(enum verdict_reason reason)
{
	return reason == VERDICT_NOT_PROBED ? "not-probed" : "run-time-compiled-code";
}
