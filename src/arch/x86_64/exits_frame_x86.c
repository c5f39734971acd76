// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frame, as it is taken down for an exit, of code whose runtime looks at that
 * (exit_body.unwound_by_code): where a probe misleads nobody. For exits_x86.c.
 */
#include "arch/x86_64/exits_x86.h"

/* By `add`, `lea` or `mov` to rsp, by a pop, or `leave`. */
static bool takes_down(const struct insn *insn)
{
	if (insn->flow != INSN_NEXT)
		return false;
	return insn->stack == INSN_STACK_FROM_FRAME || insn->stack == INSN_STACK_LEAVES ||
	       (insn->stack == INSN_STACK_MOVES && insn->amount < 0);
}

/* The first of those that take it down for @insn, one after the other. */
static const struct insn *find_taking_down(const struct exit_scratch *scratch,
					   const struct insn *insn)
{
	while (insn > scratch->insns && insn[-1].part == insn->part && takes_down(&insn[-1]))
		insn--;
	return insn;
}

/* What @first up to @end take down, into @site. False: nobody knows, or some come by otherwise. */
static bool take_down(struct exit_site *site, const struct insn *first, const struct insn *end)
{
	bool frame_is_lost = false;
	int64_t sum = 0;

	for (const struct insn *insn = first; insn < end; insn++) {
		if (insn[1].is_target)
			return false;
		if (insn->stack == INSN_STACK_MOVES) {
			sum -= insn->amount;
		} else {
			if (frame_is_lost)
				return false;
			site->from_frame = true;
			sum = insn->stack == INSN_STACK_LEAVES ? STACK_WORD : insn->amount;
		}
		frame_is_lost |= insn->loses_frame || insn->stack == INSN_STACK_LEAVES;
	}
	site->taken_down = (uint32_t)sum;
	return sum >= 0 && sum < EXIT_TAKEN_DOWN_MAX && sum % EXIT_TAKEN_DOWN_UNIT == 0;
}

void exit_place_probe(const struct exit_scratch *scratch, struct exit_site *site,
		      const struct insn *insn)
{
	const struct insn *first = find_taking_down(scratch, insn);
	struct exit_site placed = *site;

	if (first == insn)
		return;
	if (site->kind == EXIT_BRANCH || !take_down(&placed, first, insn)) {
		site->cost = INSN_REFUSED;
		return;
	}
	placed.at = exit_insn_address(scratch, first);
	placed.offset = first->offset;
	placed.length = first->length;
	placed.cost = (uint8_t)insn_probe_cost(exit_insn_code(scratch, first));
	*site = placed;
}

void exit_note_table_targets(struct exit_scratch *scratch)
{
	for (size_t i = 0; i < scratch->edge_count; i++)
		scratch->insns[scratch->edges[i]].is_target = true;
}
