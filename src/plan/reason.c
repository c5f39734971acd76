// SPDX-License-Identifier: GPL-2.0-or-later
/* What is printed of a site: how it is probed, or the reason why it is not. See plan.h. */
#include "plan/plan.h"

#include "code/exits.h"

static const struct {
	const char *code;
	const char *text;
} reasons[] = {
	[REASON_NONE] = { NULL, NULL },
	[REASON_NOT_COMPILED] = { "not-precompiled",
				  "no code yet: the runtime compiles it when it is called" },
	[REASON_NO_IL] = { "no-il", "abstract, extern or built into the runtime: it has no body" },
	[REASON_NATIVE_CALL] = { "native-call",
				 "calls a native function by a stub that cannot be probed here: probe "
				 "that function" },
	[REASON_REFUSED_INSTRUCTION] = { "refused-instruction",
					 "begins with a lock or segment prefix, which the kernel's "
					 "uprobes do not take" },
	[REASON_CORRUPTED_INSTRUCTION] = { "corrupted-instruction",
					   "begins with a VEX or EVEX instruction, which the kernel's "
					   "uprobes get wrong" },
	[REASON_UNDECODABLE] = { "undecodable", "its first bytes are no instruction" },
	[REASON_ENTRY_IS_LOOP_TARGET] = { "entry-is-loop-target",
					  "it jumps back to its first instruction, so turns of a "
					  "loop would be counted as calls" },
	[REASON_NOT_A_FUNCTION_START] = { "not-a-function-start",
					  "the image does not say that a function begins there" },
	[REASON_NOT_FILE_BACKED] = { "not-file-backed",
				     "its code is not mapped executable from a file" },
	[REASON_SAME_CODE] = { "same-code", "shares its code with the method listed before it" },
	[REASON_SUPERSEDED] = { "superseded", "a newer body has taken its place: calls go there" },
	[REASON_REJECTED] = { "rejected", "the runtime does not use this precompiled code" },
	[REASON_OSR_BODY] = { "osr-body", "entered in the middle of a loop, not by a call" },
	[REASON_NO_DEBUG_REGISTER] = { "no-debug-register",
				       "no debug register is left for it, and its code is in no "
				       "file, where a uprobe would do" },
	[REASON_KERNEL_REFUSED] = { "kernel-refused", "the kernel refused the probe" },
	[REASON_OTHER_METHOD] = { "other-method", "its full name, once it was known, does not "
						  "match" },
	[REASON_EXIT_REFUSED] = { "exit-refused",
				  "it is left by an instruction that the kernel's uprobes do not "
				  "take, so its calls cannot be timed" },
	[REASON_INDIRECT] = { "indirect-function",
			      "it is run once, to choose which of several functions is used in its "
			      "place (IFUNC): probe those" },
};

const char *reason_code(enum reason reason)
{
	if (reason >= REASON_EXITS)
		return exits_refusal_code((enum exits_refusal)(reason - REASON_EXITS));
	return reasons[reason].code;
}

const char *reason_text(enum reason reason)
{
	if (reason >= REASON_EXITS)
		return exits_refusal_text((enum exits_refusal)(reason - REASON_EXITS));
	return reasons[reason].text;
}

const char *mechanism_name(enum mechanism mechanism)
{
	static const char *const names[] = {
		[MECHANISM_NONE] = "none",
		[MECHANISM_UPROBE] = "uprobe",
		[MECHANISM_BREAKPOINT] = "breakpoint",
	};

	return names[mechanism];
}
