// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hits that the kernel counts by stack, with --folded: the first one of each tells what it is, and
 * is named at once; from time to time, and at the end, how many there were goes to the output.
 */
#include <stdlib.h>

#include "base/shortage.h"
#include "bpf/event.h"
#include "session/session_internal.h"

/* What a slot counts. */
struct merged_stack {
	struct output_kind *kind; /* NULL: there was no room for it */
	uint64_t seen;		  /* of its count */
	uint32_t site;
	uint32_t guessed; /* frames */
	enum stack_end end;
	bool known;
	bool unnamed; /* some of its frames have no name yet: the next hit may tell */
};

enum { SLOTS = MERGE_TABLES * MERGE_SLOTS };

bool session_add_merged(struct session *session, const struct hit_event *event,
			const struct hit *hit)
{
	struct merged_stack *stack;

	if (!session->merged.stacks)
		session->merged.stacks = calloc(SLOTS, sizeof(*session->merged.stacks));
	if (event->merged > SLOTS)
		return false;
	/* It is counted all the same: the next of its hits may say of what. */
	if (!session->merged.stacks) {
		shortage_note();
		capture_ask_again(session->capture, event->merged - 1);
		return true;
	}
	stack = &session->merged.stacks[event->merged - 1];
	if (stack->known && !stack->unnamed)
		return true;
	if (stack->kind)
		output_kind_release(&session->output, stack->kind);
	stack->known = true;
	stack->kind = output_kind(&session->output, hit);
	stack->unnamed = hit->stack && hit->stack->unnamed;
	if (stack->unnamed)
		capture_ask_again(session->capture, event->merged - 1);
	stack->site = event->site;
	stack->end = (enum stack_end)event->stack_end;
	stack->guessed = hit->stack ? (uint32_t)hit->stack->guessed : 0;
	return true;
}

static void add_count(struct session *session, const struct merged_stack *stack, uint64_t count)
{
	if (stack->site >= session->plan.count ||
	    session->plan.sites[stack->site].reason == REASON_OTHER_METHOD)
		return;
	output_kind_count(&session->output, stack->kind, count);
	session->counts.shown += count;
	session->stacks.totals.ends[stack->end] += count;
	session->stacks.totals.guessed += stack->guessed * count;
}

/* @last: of what has not been told what it is, nobody will. */
static void count_slots(struct session *session, uint32_t first, uint32_t slots, bool last)
{
	static const struct merged_stack unknown;
	uint64_t count;

	for (uint32_t i = first; i < first + slots; i++) {
		struct merged_stack *stack =
			session->merged.stacks ? &session->merged.stacks[i] : NULL;
		const struct merged_stack *is = stack ? stack : &unknown;

		if (!capture_read_merged(session->capture, i, &count) || count == is->seen)
			continue;
		if (is->known)
			add_count(session, is, count - is->seen);
		else if (last)
			session->merged.lost += count;
		if (stack && is->known)
			stack->seen = count;
	}
}

void session_count_merged(struct session *session, bool last)
{
	if (capture_merges(session->capture))
		count_slots(session, 0, SLOTS, last);
}

static void forget(struct session *session, uint32_t first)
{
	struct merged_stack *stacks = session->merged.stacks;

	for (uint32_t i = first; stacks && i < first + MERGE_SLOTS; i++) {
		if (stacks[i].kind)
			output_kind_release(&session->output, stacks[i].kind);
		stacks[i] = (struct merged_stack){ 0 };
	}
}

void session_turn_merged(struct session *session)
{
	uint32_t table;

	if (!capture_merge_turn(session->capture, &table))
		return;
	count_slots(session, table * MERGE_SLOTS, MERGE_SLOTS, true);
	forget(session, table * MERGE_SLOTS);
	capture_clear_merged(session->capture);
}
