// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stack and the registers, followed through a body as a compiler would: what is known at each
 * instruction flows to those that may come after it, until nothing changes any more. It can only
 * become less, a bounded number of times at each instruction: so this ends.
 *
 * Some ways into an instruction are taken only if there is no other: from a call, which may be one
 * that does not come back, into what is jumped to as well; and from what no way was found to at
 * all (exception handlers of native code, which the unwinder enters). Where they meet ways that
 * were found, the compiler has seen to it that they agree.
 */
#include "arch/x86_64/exits_x86.h"

static int32_t deeper(int32_t depth, int32_t amount)
{
	int64_t sum = (int64_t)depth + amount;

	return depth == EXIT_DEPTH_UNKNOWN || sum > STACK_DEPTH_MAX || sum < -STACK_DEPTH_MAX ?
		       EXIT_DEPTH_UNKNOWN :
		       (int32_t)sum;
}

/* Keep of @known what also holds when control comes with @depth; true if it has changed. */
static bool meet(int32_t *known, int32_t depth)
{
	if (*known == depth || *known == EXIT_DEPTH_UNKNOWN)
		return false;
	*known = EXIT_DEPTH_UNKNOWN;
	return true;
}

static bool join(uint16_t *may_be, uint16_t registers)
{
	uint16_t before = *may_be;

	*may_be |= registers;
	return *may_be != before;
}

static void arrive(struct exit_scratch *scratch, uint32_t to, const struct insn_state *state)
{
	struct insn *insn = &scratch->insns[to];
	bool changed = !insn->reached;

	if (!insn->reached) {
		insn->reached = true;
		insn->way = scratch->way;
		insn->before = *state;
	} else if (insn->way == scratch->way) {
		changed = meet(&insn->before.stack, state->stack);
		changed = meet(&insn->before.frame, state->frame) || changed;
		changed = join(&insn->before.scaled, state->scaled) || changed;
		changed = join(&insn->before.tabled, state->tabled) || changed;
	}
	if (changed && !insn->queued) {
		insn->queued = true;
		scratch->queue[scratch->queued++] = to;
	}
}

static void follow_stack(const struct insn *insn, struct insn_state *state)
{
	switch ((enum insn_stack)insn->stack) {
	case INSN_STACK_MOVES:
		state->stack = deeper(state->stack, insn->amount);
		break;
	case INSN_STACK_FROM_FRAME:
		state->stack = deeper(state->frame, -insn->amount);
		break;
	case INSN_FRAME_FROM_STACK:
		state->frame = deeper(state->stack, -insn->amount);
		break;
	case INSN_STACK_LEAVES:
		state->stack = deeper(state->frame, -STACK_WORD);
		break;
	case INSN_STACK_LOST:
		state->stack = EXIT_DEPTH_UNKNOWN;
		break;
	}
	if (insn->loses_frame)
		state->frame = EXIT_DEPTH_UNKNOWN;
}

static void follow_values(const struct exit_scratch *scratch, const struct insn *insn,
			  struct insn_state *state)
{
	/* Where the stack is, no index decides. */
	uint16_t reads = insn->reads & (uint16_t) ~(1u << GPR_RSP);
	bool scaled = false, tabled = false;

	switch ((enum insn_value)insn->value) {
	case INSN_CLEAN:
		tabled = insn->lea != GPR_NONE && exit_body_part(scratch->body, insn->target);
		break;
	case INSN_SCALES:
		scaled = true;
		break;
	case INSN_TABLED:
		tabled = true;
		break;
	case INSN_LOADS:
		tabled = state->scaled & reads;
		break;
	case INSN_DERIVES:
		scaled = state->scaled & reads;
		tabled = state->tabled & reads;
		break;
	}
	state->scaled &= (uint16_t)~insn->writes;
	state->tabled &= (uint16_t)~insn->writes;
	if (scaled)
		state->scaled |= insn->writes;
	if (tabled)
		state->tabled |= insn->writes;
}

/* What is right behind @index in memory, in whatever part; INSN_NONE: nothing of the body. */
static uint32_t next_of(const struct exit_scratch *scratch, uint32_t index)
{
	const struct insn *insn = &scratch->insns[index];

	/* They stand in the order of their addresses, part by part. */
	if (index + 1 < scratch->count && insn[1].part == insn->part)
		return index + 1;
	return exit_scratch_find(scratch, exit_insn_address(scratch, insn) + insn->length);
}

static void arrive_by_table(struct exit_scratch *scratch, uint32_t index,
			    const struct insn_state *state)
{
	const struct insn_table *table = exit_table_of(scratch, index);

	for (uint32_t i = 0; table && i < table->count; i++)
		arrive(scratch, scratch->edges[table->first + i], state);
}

static void step(struct exit_scratch *scratch, uint32_t index)
{
	struct insn *insn = &scratch->insns[index];
	struct insn_state state = insn->before;
	uint32_t next = next_of(scratch, index), to = INSN_NONE;

	follow_stack(insn, &state);
	follow_values(scratch, insn, &state);
	if (insn->flow == INSN_JUMP || insn->flow == INSN_BRANCH)
		to = exit_scratch_find(scratch, insn->target);
	if (to != INSN_NONE)
		arrive(scratch, to, &state);
	if (insn->flow == INSN_JUMP_REGISTER || insn->flow == INSN_JUMP_MEMORY)
		arrive_by_table(scratch, index, &state);
	if (next == INSN_NONE)
		return;
	if (insn->flow == INSN_NEXT || insn->flow == INSN_BRANCH)
		arrive(scratch, next, &state);
	if (insn->flow != INSN_CALL)
		return;
	if (!scratch->insns[next].is_target || insn->comes_back) {
		arrive(scratch, next, &state);
	} else if (!insn->waits) {
		insn->waits = true;
		scratch->waiting[scratch->waiting_count++] = index;
	}
}

static void settle(struct exit_scratch *scratch)
{
	while (scratch->queued || scratch->waiting_count) {
		uint32_t index = scratch->queued ? scratch->queue[--scratch->queued] :
						   scratch->waiting[--scratch->waiting_count];
		struct insn *insn = &scratch->insns[index];

		/* A call that waited comes back if nothing else leads to what is behind it. */
		if (insn->waits && !insn->queued)
			insn->comes_back = !scratch->insns[next_of(scratch, index)].reached;
		insn->queued = false;
		step(scratch, index);
	}
}

static void enter(struct exit_scratch *scratch, uint32_t index, int32_t stack)
{
	const struct insn_state state = { .stack = stack, .frame = EXIT_DEPTH_UNKNOWN };

	/* In parts that lie over each other, an instruction need not begin where a part does. */
	if (index == INSN_NONE || scratch->insns[index].reached)
		return;
	arrive(scratch, index, &state);
	settle(scratch);
	scratch->way++;
}

/* Is it what fills up space between what is run? */
static bool is_padding(const struct insn *insn)
{
	return insn->flow == INSN_TRAP || (insn->flow == INSN_NEXT && !insn->writes);
}

bool exit_flow(struct exit_scratch *scratch)
{
	const struct exit_body *body = scratch->body;

	/* Each stands in a list at most once. */
	if (!exit_scratch_room(scratch, &scratch->queue, &scratch->queue_capacity,
			       scratch->count) ||
	    !exit_scratch_room(scratch, &scratch->waiting, &scratch->waiting_capacity,
			       scratch->count))
		return false;
	for (size_t i = 0; i < body->part_count; i++) {
		if (i == 0 || body->parts[i].kind == EXIT_PART_HANDLER)
			enter(scratch, exit_scratch_find(scratch, body->parts[i].begin), 0);
	}
	for (uint32_t i = 0; i < scratch->count; i++) {
		if (!is_padding(&scratch->insns[i]))
			enter(scratch, i, EXIT_DEPTH_UNKNOWN);
	}
	return true;
}

/*
 * The frame, as it is taken down for an exit, of code whose runtime looks at that
 * (exit_body.unwound_by_code): where a probe misleads nobody.
 */

/* By `add`, `lea` or `mov` to rsp, by a pop, or `leave`. */
static bool takes_down(const struct insn *insn)
{
	if (insn->flow != INSN_NEXT)
		return false;
	return insn->stack == INSN_STACK_FROM_FRAME || insn->stack == INSN_STACK_LEAVES ||
	       (insn->stack == INSN_STACK_MOVES && insn->amount < 0);
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
	const struct insn *first = insn;
	struct exit_site placed = *site;

	/* All that take it down for @insn come one after the other. */
	while (first > scratch->insns && first[-1].part == first->part && takes_down(&first[-1]))
		first--;
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
