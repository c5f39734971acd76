// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the code of a body, and its data. They begin with how many parts there are, two bits
 * of what kind each is, and where each begins: anywhere, also over another.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "code/exits.h"
#include "code/insn.h"

enum {
	PARTS_MAX = 4,
	KINDS = EXIT_PART_HANDLER + 1,
	BEGIN = 0x1000,
};

struct input {
	struct span rest;
	struct exit_part parts[PARTS_MAX];
	size_t part_count;
};

/* All of the input is at address 0, so that code can find tables in itself. */
static bool read_input(void *ctx, uint64_t at, void *to, size_t size)
{
	const struct span *input = ctx;
	struct span bytes = span_part(*input, at, size);

	if (!bytes.start)
		return false;
	memcpy(to, bytes.start, size);
	return true;
}

static const struct exit_part *part_of(const struct input *input, const struct exit_site *site)
{
	return site->part < input->part_count ? &input->parts[site->part] : NULL;
}

/* What is promised of each exit. */
static void check_exits(const struct input *input, const struct exits *exits)
{
	check(exits->refusal < EXITS_REFUSALS && !(exits->refusal && exits->count) &&
	      exits->count <= EXITS_MAX);
	check(!exits->refusal ||
	      (exits_refusal_code(exits->refusal) && exits_refusal_text(exits->refusal)));
	for (size_t i = 0; i < exits->count; i++) {
		const struct exit_site *site = &exits->sites[i];
		const struct exit_part *part = part_of(input, site);

		if (!part || part->kind == EXIT_PART_HANDLER || site->length == 0 ||
		    site->length > EXIT_INSTRUCTION_MAX || site->offset > part->code.size ||
		    site->length > part->code.size - site->offset ||
		    site->at != part->begin + site->offset || site->kind > EXIT_BRANCH ||
		    !exit_kind_name(site->kind) || site->cost == INSN_UNDECODABLE)
			__builtin_trap();
		check(site->taken_down < EXIT_TAKEN_DOWN_MAX &&
		      site->taken_down % EXIT_TAKEN_DOWN_UNIT == 0);
		check(!i || site[-1].part != site->part || site[-1].offset < site->offset);
	}
}

/* What is asked of code before anything is probed in it. */
static void look_at_code(struct span code)
{
	enum { NUMBER = 9 };
	const uint8_t *found = insn_find_number(code, NUMBER);

	(void)insn_probe_cost(code);
	(void)insn_is_patchable(code);
	(void)insn_makes_system_call(code, NUMBER);
	check(insn_cheap_start(code) <= code.size);
	check(!found || (found >= code.start && found < code.start + code.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span all = { data, size };
	struct cursor c = cursor_over(all);
	uint8_t first = cursor_u8(&c);
	struct input input = { .part_count = first % PARTS_MAX + 1 };
	struct exit_body body = {
		.parts = input.parts,
		.part_count = input.part_count,
		.entered_midway = first & 0x80,
		.left_midway = first & 0x20,
		.unwound_by_code = first & 0x10,
		.read = first & 0x40 ? NULL : read_input,
		.ctx = &all,
	};
	struct exits exits = { 0 };

	for (size_t i = 0; i < input.part_count; i++) {
		uint16_t begin = cursor_u16(&c), length = cursor_u16(&c);

		input.parts[i].begin = BEGIN + (i ? begin : 0u);
		input.parts[i].kind = i ? begin % KINDS : EXIT_PART_HOT;
		input.parts[i].code.size = length; /* of the last: all that is left */
	}
	for (size_t i = 0; i < input.part_count; i++) {
		size_t left = cursor_left(&c), wanted = input.parts[i].code.size;

		input.parts[i].code =
			cursor_take(&c, i + 1 == input.part_count || wanted > left ? left : wanted);
	}
	look_at_code(input.parts[0].code);
	/* Twice, for what is kept from one to the next. */
	for (int round = 0; round < 2; round++) {
		check(exits_find(&exits, &body, NULL) == 0);
		check_exits(&input, &exits);
	}
	exits_deinit(&exits);
	return 0;
}
