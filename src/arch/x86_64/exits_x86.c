// SPDX-License-Identifier: GPL-2.0-or-later
/* code/exits.h for x86-64: the parts of a body, the search in them, and the verdict. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "arch/x86_64/exits_x86.h"

/* Parts and instructions ---------------------------------------------------------------- */

const struct exit_part *exit_body_part(const struct exit_body *body, uint64_t address)
{
	for (size_t i = 0; i < body->part_count; i++) {
		if (address - body->parts[i].begin < body->parts[i].code.size)
			return &body->parts[i];
	}
	return NULL;
}

uint32_t exit_scratch_find(const struct exit_scratch *scratch, uint64_t address)
{
	const struct exit_part *part = exit_body_part(scratch->body, address);

	if (!part)
		return INSN_NONE;
	return scratch->at[scratch->first_byte[part - scratch->body->parts] +
			   (address - part->begin)] -
	       1;
}

static const struct exit_part *part_of(const struct exit_scratch *scratch, const struct insn *insn)
{
	return &scratch->body->parts[insn->part];
}

uint64_t exit_insn_address(const struct exit_scratch *scratch, const struct insn *insn)
{
	return part_of(scratch, insn)->begin + insn->offset;
}

struct span exit_insn_code(const struct exit_scratch *scratch, const struct insn *insn)
{
	struct span code = part_of(scratch, insn)->code;

	return (struct span){ code.start + insn->offset, code.size - insn->offset };
}

static enum exits_refusal check_parts(const struct exit_body *body)
{
	size_t bytes = 0;

	if (body->part_count > EXITS_PARTS_MAX)
		return EXITS_TOO_LARGE;
	for (size_t i = 0; i < body->part_count; i++) {
		const struct exit_part *part = &body->parts[i];

		if (!part->code.start || part->code.size == 0)
			return EXITS_UNREADABLE;
		if (part->code.size > EXITS_BODY_MAX_BYTES - bytes)
			return EXITS_TOO_LARGE;
		bytes += part->code.size;
	}
	return body->part_count ? EXITS_KNOWN : EXITS_UNREADABLE;
}

static enum exits_refusal refuse(struct exits *exits, enum exits_refusal why, uint64_t at)
{
	exits->refusal = why;
	exits->refused_at = at;
	return why;
}

static enum exits_refusal decode_part(struct exits *exits, uint16_t number)
{
	struct exit_scratch *scratch = exits->scratch;
	const struct exit_part *part = &scratch->body->parts[number];
	uint32_t *at = scratch->at + scratch->first_byte[number];

	for (uint32_t offset = 0; offset < part->code.size;) {
		struct span rest = { part->code.start + offset, part->code.size - offset };
		struct insn *insn;

		if (!exit_scratch_room(scratch, &scratch->insns, &scratch->capacity,
				       scratch->count + 1))
			return EXITS_KNOWN;
		insn = &scratch->insns[scratch->count];
		if (!exit_insn_read(insn, rest, part->begin + offset))
			return refuse(exits, EXITS_UNDECODABLE, part->begin + offset);
		if (insn->flow == INSN_FAR)
			return refuse(exits, EXITS_FAR, part->begin + offset);
		insn->part = number;
		insn->offset = offset;
		at[offset] = (uint32_t)++scratch->count;
		offset += insn->length;
	}
	return EXITS_KNOWN;
}

static enum exits_refusal decode_body(struct exits *exits)
{
	struct exit_scratch *scratch = exits->scratch;
	const struct exit_body *body = scratch->body;
	size_t bytes = 0;

	for (size_t i = 0; i < body->part_count; i++) {
		scratch->first_byte[i] = (uint32_t)bytes;
		bytes += body->parts[i].code.size;
	}
	if (!exit_scratch_room(scratch, &scratch->at, &scratch->at_capacity, bytes))
		return EXITS_KNOWN;
	memset(scratch->at, 0, bytes * sizeof(*scratch->at));
	for (size_t i = 0; i < body->part_count && !scratch->no_memory; i++) {
		if (decode_part(exits, (uint16_t)i))
			return exits->refusal;
	}
	return EXITS_KNOWN;
}

/* Jumps and calls that say where they go ------------------------------------------------ */

static bool is_handler(const struct exit_part *part)
{
	return part->kind == EXIT_PART_HANDLER;
}

/* Calls of the method itself and of its handlers are calls like others. */
static enum exits_refusal check_call(struct exits *exits, const struct insn *insn,
				     const struct exit_part *to)
{
	const struct exit_part *parts = exits->scratch->body->parts;

	if (insn->target == to->begin && (to == parts || is_handler(to)))
		return EXITS_KNOWN;
	return refuse(exits, EXITS_CALLS_INSIDE, exit_insn_address(exits->scratch, insn));
}

static enum exits_refusal check_jump(struct exits *exits, const struct insn *insn,
				     const struct exit_part *to)
{
	struct exit_scratch *scratch = exits->scratch;
	const struct exit_part *from = part_of(scratch, insn);
	uint32_t index = exit_scratch_find(scratch, insn->target);
	uint64_t at = exit_insn_address(scratch, insn);

	if (index == INSN_NONE)
		return refuse(exits, EXITS_INTO_INSTRUCTION, at);
	if (from != to && (is_handler(from) || is_handler(to)))
		return refuse(exits, EXITS_HANDLER_LEAVES, at);
	scratch->insns[index].is_target = true;
	return EXITS_KNOWN;
}

static enum exits_refusal check_targets(struct exits *exits)
{
	struct exit_scratch *scratch = exits->scratch;

	for (size_t i = 0; i < scratch->count; i++) {
		const struct insn *insn = &scratch->insns[i];
		const struct exit_part *to;
		enum exits_refusal refusal = EXITS_KNOWN;

		if (!insn->is_relative)
			continue;
		to = exit_body_part(scratch->body, insn->target);
		if (to && insn->flow == INSN_CALL)
			refusal = check_call(exits, insn, to);
		else if (to)
			refusal = check_jump(exits, insn, to);
		if (refusal)
			return refusal;
	}
	return EXITS_KNOWN;
}

/* Verdict ------------------------------------------------------------------------------- */

static void add_exit(struct exits *exits, const struct insn *insn, enum exit_kind kind)
{
	struct exit_scratch *scratch = exits->scratch;
	struct span code = exit_insn_code(scratch, insn);
	struct exit_site *site;

	if (exits->count == EXITS_MAX) {
		refuse(exits, EXITS_TOO_MANY, exit_insn_address(scratch, insn));
		return;
	}
	if (!exit_scratch_room(scratch, &exits->sites, &exits->capacity, exits->count + 1))
		return;
	site = &exits->sites[exits->count++];
	*site = (struct exit_site){
		.at = exit_insn_address(scratch, insn),
		.target = kind == EXIT_JUMP || kind == EXIT_BRANCH ? insn->target : 0,
		.offset = insn->offset,
		.depth = insn->reached ? insn->before.stack : EXIT_DEPTH_UNKNOWN,
		.part = insn->part,
		.length = insn->length,
		.kind = (uint8_t)kind,
		.condition = kind == EXIT_BRANCH ? insn->condition : 0,
		.cost = (uint8_t)insn_probe_cost(code),
	};
	if (scratch->body->unwound_by_code)
		exit_place_probe(scratch, site, insn);
}

/*
 * How deep the stack is at an exit: of a body that takes over a frame, as at its first `ret`, which
 * takes down what its entry did not put up.
 */
static int32_t level_of(const struct exit_scratch *scratch)
{
	if (!scratch->body->entered_midway)
		return 0;
	for (size_t i = 0; i < scratch->count; i++) {
		const struct insn *insn = &scratch->insns[i];

		if (insn->flow == INSN_RETURN && insn->reached &&
		    !is_handler(part_of(scratch, insn)) && insn->before.stack != EXIT_DEPTH_UNKNOWN)
			return insn->before.stack;
	}
	return EXIT_DEPTH_UNKNOWN;
}

static bool is_level(const struct insn *insn, int32_t level)
{
	return insn->before.stack == level || insn->before.stack == EXIT_DEPTH_UNKNOWN ||
	       level == EXIT_DEPTH_UNKNOWN;
}

/* Does the body go on elsewhere there, if the call before it says so? */
static bool is_left_midway(const struct exit_scratch *scratch, const struct insn *insn)
{
	return scratch->body->left_midway && insn->flow == INSN_JUMP_REGISTER &&
	       insn->jump == GPR_RAX && !insn->is_target && insn > scratch->insns &&
	       insn[-1].part == insn->part && insn[-1].flow == INSN_CALL;
}

/*
 * Of a jump to where a register or memory says. Through a table that was understood it stays in the
 * body. If it may go by a table that was not, nobody knows. All else is the address of a function:
 * no compiler keeps that of a place in a body anywhere but in tables.
 */
static void judge_indirect(struct exits *exits, const struct insn *insn, int32_t level)
{
	const struct exit_scratch *scratch = exits->scratch;
	const struct insn_table *table = exit_table_of(scratch, (uint32_t)(insn - scratch->insns));
	uint64_t at = exit_insn_address(scratch, insn);
	bool by_memory = insn->flow == INSN_JUMP_MEMORY;
	uint16_t scaled = insn->before.scaled, tabled = insn->before.tabled;
	bool by_table = by_memory ? insn->scaled_jump || (scaled & insn->reads) :
				    (scaled | tabled) & insn->reads;

	if (table && table->checked) {
		exits->tables++;
	} else if (by_table && !(table && table->leaves)) {
		refuse(exits, EXITS_AMBIGUOUS_JUMP, at);
	} else if (is_handler(part_of(scratch, insn))) {
		refuse(exits, EXITS_HANDLER_LEAVES, at);
	} else if (!is_level(insn, level)) {
		if (!is_left_midway(scratch, insn))
			refuse(exits, EXITS_UNBALANCED, at);
	} else {
		add_exit(exits, insn, by_memory ? EXIT_JUMP_MEMORY : EXIT_JUMP_REGISTER);
	}
}

static void judge_jump(struct exits *exits, const struct insn *insn, int32_t level)
{
	const struct exit_scratch *scratch = exits->scratch;
	uint64_t at = exit_insn_address(scratch, insn);

	if (exit_body_part(scratch->body, insn->target))
		return;
	if (is_handler(part_of(scratch, insn))) {
		refuse(exits, EXITS_HANDLER_LEAVES, at);
	} else if (!is_level(insn, level)) {
		exits->refused_target = insn->target;
		refuse(exits, EXITS_LEAVES_FRAME, at);
	} else {
		add_exit(exits, insn, insn->flow == INSN_JUMP ? EXIT_JUMP : EXIT_BRANCH);
	}
}

static void judge_next(struct exits *exits, const struct insn *insn)
{
	const struct exit_scratch *scratch = exits->scratch;
	uint64_t at = exit_insn_address(scratch, insn);

	/* A call at the end does not come back. */
	if (insn->reached && exit_scratch_find(scratch, at + insn->length) == INSN_NONE)
		refuse(exits, EXITS_RUNS_ON, at);
}

static void judge(struct exits *exits, const struct insn *insn, int32_t level)
{
	const struct exit_scratch *scratch = exits->scratch;

	switch ((enum insn_flow)insn->flow) {
	case INSN_NEXT:
		judge_next(exits, insn);
		break;
	case INSN_BRANCH:
		judge_jump(exits, insn, level);
		if (!exits->refusal)
			judge_next(exits, insn);
		break;
	case INSN_JUMP:
		judge_jump(exits, insn, level);
		break;
	case INSN_JUMP_MEMORY:
	case INSN_JUMP_REGISTER:
		judge_indirect(exits, insn, level);
		break;
	case INSN_RETURN:
		if (is_handler(part_of(scratch, insn)))
			break;
		if (is_level(insn, level))
			add_exit(exits, insn, EXIT_RETURN);
		else
			refuse(exits, EXITS_UNBALANCED, exit_insn_address(scratch, insn));
		break;
	default:
		break;
	}
}

/* At exits of one body the stack is alike, as far as it is known there. */
static void check_depths(struct exits *exits)
{
	int32_t depth = EXIT_DEPTH_UNKNOWN;

	for (size_t i = 0; i < exits->count && !exits->refusal; i++) {
		const struct exit_site *site = &exits->sites[i];

		if (depth == EXIT_DEPTH_UNKNOWN)
			depth = site->depth;
		else if (site->depth != EXIT_DEPTH_UNKNOWN && site->depth != depth)
			refuse(exits, EXITS_UNBALANCED, site->at);
	}
}

static void find(struct exits *exits)
{
	struct exit_scratch *scratch = exits->scratch;
	int32_t level;

	if (decode_body(exits) || scratch->no_memory || check_targets(exits) ||
	    !exit_tables_find(scratch) || !exit_flow(scratch))
		return;
	level = level_of(scratch);
	for (size_t i = 0; i < scratch->count && !exits->refusal && !scratch->no_memory; i++)
		judge(exits, &scratch->insns[i], level);
	check_depths(exits);
}

static void forget(struct exits *exits)
{
	struct exit_scratch *scratch = exits->scratch;

	exits->count = 0;
	exits->refusal = EXITS_KNOWN;
	exits->refused_at = exits->refused_target = 0;
	exits->instructions = exits->tables = 0;
	scratch->count = scratch->table_count = scratch->edge_count = 0;
	scratch->queued = scratch->waiting_count = scratch->searched = 0;
	scratch->way = 0;
	scratch->no_memory = false;
}

int exits_find(struct exits *exits, const struct exit_body *body, struct error *err)
{
	if (!exits->scratch)
		exits->scratch = calloc(1, sizeof(*exits->scratch));
	if (!exits->scratch)
		return error_set(err, -ENOMEM, "no memory to search code for exits");
	forget(exits);
	exits->scratch->body = body;
	exits->refusal = check_parts(body);
	if (exits->refusal == EXITS_KNOWN)
		find(exits);
	exits->instructions = exits->scratch->count;
	exits->scratch->body = NULL;
	if (exits->refusal)
		exits->count = 0;
	if (!exits->scratch->no_memory)
		return 0;
	exits->count = 0;
	return error_set(err, -ENOMEM, "no memory to search code for exits");
}

int exits_add(struct exits *exits, const struct exits *more, struct error *err)
{
	if (exits->refusal)
		return 0;
	if (more->refusal) {
		exits->refusal = more->refusal;
		exits->refused_at = more->refused_at;
		exits->count = 0;
		return 0;
	}
	if (!vector_reserve(&exits->sites, &exits->capacity, exits->count + more->count))
		return error_set(err, -ENOMEM, "no memory for the exits of a method");
	for (size_t i = 0; i < more->count; i++)
		exits->sites[exits->count++] = more->sites[i];
	return 0;
}

void exits_deinit(struct exits *exits)
{
	if (exits->scratch) {
		free(exits->scratch->insns);
		free(exits->scratch->at);
		free(exits->scratch->tables);
		free(exits->scratch->edges);
		free(exits->scratch->queue);
		free(exits->scratch->waiting);
	}
	free(exits->scratch);
	free(exits->sites);
	*exits = (struct exits){ 0 };
}
