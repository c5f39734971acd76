// SPDX-License-Identifier: GPL-2.0-or-later
/* What is printed of exits; they are found in arch/. */
#include "code/exits.h"

static const struct {
	const char *code;
	const char *text;
} refusals[EXITS_REFUSALS] = {
	[EXITS_KNOWN] = { NULL, NULL },
	[EXITS_UNREADABLE] = { "unreadable-code", "its code cannot be read" },
	[EXITS_TOO_LARGE] = { "body-too-large", "its code is too large to be searched for exits" },
	[EXITS_TOO_MANY] = { "too-many-exits", "it has too many exits" },
	[EXITS_UNDECODABLE] = { "undecodable-body", "not all of its bytes are instructions" },
	[EXITS_INTO_INSTRUCTION] = { "jump-into-instruction",
				     "it jumps into the middle of an instruction" },
	[EXITS_AMBIGUOUS_JUMP] = { "ambiguous-jump",
				   "it jumps to where a register says, and whether that leaves it "
				   "cannot be told" },
	[EXITS_UNBALANCED] = { "unbalanced-stack",
			       "it returns or jumps away with a stack pointer that is not that of "
			       "its entry" },
	[EXITS_LEAVES_FRAME] = { "unknown-part",
				 "it goes on in code that is not known to be a part of it" },
	[EXITS_RUNS_ON] = { "runs-on", "it runs on into what comes after it" },
	[EXITS_CALLS_INSIDE] = { "calls-inside", "it calls into its own middle" },
	[EXITS_FAR] = { "far-transfer", "it has a return or jump between segments or rings" },
	[EXITS_HANDLER_LEAVES] = { "handler-leaves",
				   "there is a jump between it and one of its exception handlers" },
};

const char *exits_refusal_code(enum exits_refusal refusal)
{
	return refusals[refusal].code;
}

const char *exits_refusal_text(enum exits_refusal refusal)
{
	return refusals[refusal].text;
}

const char *exit_kind_name(enum exit_kind kind)
{
	static const char *const names[] = {
		[EXIT_RETURN] = "return",	    [EXIT_JUMP] = "jump",
		[EXIT_JUMP_MEMORY] = "jump-memory", [EXIT_JUMP_REGISTER] = "jump-register",
		[EXIT_BRANCH] = "branch",
	};

	return names[kind];
}
