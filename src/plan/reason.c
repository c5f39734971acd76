// SPDX-License-Identifier: GPL-2.0-or-later
/* What is printed of a site: how it is probed, or why it is not and what to do then. See plan.h. */
#include "plan/plan.h"

#include "code/exits.h"

#define NOTHING_TO_DO "nothing to do: "
/* Where no probe can be at a method's entry. */
#define SEEN_FROM_BELOW "probe a method that it calls, whose stacks (-f) have it, or its callers"

static const struct {
	const char *code;
	const char *text; /* why it has no probe */
	const char *next; /* what to do, which names an option or a pattern */
} reasons[] = {
	[REASON_NONE] = { NULL, NULL, NULL },
	[REASON_NOT_COMPILED] = { "not-precompiled",
				  "no code yet: the runtime compiles it when it is called",
				  "it is probed as soon as it has some; --wait also takes methods "
				  "of assemblies that are not loaded yet" },
	[REASON_NO_IL] = { "no-il", "abstract, extern or built into the runtime: it has no body",
			   "probe what overrides or implements it: --list '*::METHOD' finds those" },
	[REASON_NATIVE_CALL] = { "native-call",
				 "calls a native function by a stub that cannot be probed here",
				 "probe that function, as 'Image!function'; --list names it" },
	[REASON_REFUSED_INSTRUCTION] = { "refused-instruction",
					 "begins with a lock or segment prefix, which the kernel's "
					 "uprobes do not take",
					 SEEN_FROM_BELOW },
	[REASON_CORRUPTED_INSTRUCTION] = { "corrupted-instruction",
					   "begins with a VEX or EVEX instruction that the kernel's "
					   "uprobes get wrong",
					   SEEN_FROM_BELOW },
	[REASON_UNDECODABLE] = { "undecodable", "its first bytes are no instruction",
				 "leave --maps out if its name is from there, else " SEEN_FROM_BELOW },
	[REASON_ENTRY_IS_LOOP_TARGET] = { "entry-is-loop-target",
					  "it jumps back to its first instruction, so turns of a "
					  "loop would be counted as calls",
					  SEEN_FROM_BELOW },
	[REASON_NOT_A_FUNCTION_START] = { "not-a-function-start",
					  "the image does not say that a function begins there",
					  "leave --maps out if its name is from there; else look with "
					  "--list 'Image!*' for the function that it is in" },
	[REASON_NOT_FILE_BACKED] = { "not-file-backed",
				     "its code is not mapped executable from a file",
				     SEEN_FROM_BELOW },
	[REASON_SAME_CODE] = { "same-code", "shares its code with the method listed before it",
			       "calls of both are counted there; the stacks (-f) tell them apart" },
	[REASON_SUPERSEDED] = { "superseded", "a newer body has taken its place: calls go there",
				NOTHING_TO_DO "that one is probed, and --list has it too" },
	[REASON_REJECTED] = { "rejected", "the runtime does not use this precompiled code",
			      NOTHING_TO_DO "what it compiles in its place is probed, and --list "
					    "has it once it is there" },
	[REASON_OSR_BODY] = { "osr-body", "entered in the middle of a loop, not by a call",
			      NOTHING_TO_DO "the body by which the call began is probed, and "
					    "--list has it too" },
	[REASON_NO_DEBUG_REGISTER] = { "no-debug-register",
				       "no debug register is left for it, and its code is in no "
				       "file, where a uprobe would do",
				       "--remap puts uprobes on it, --share has all take turns; or "
				       "ask for fewer methods" },
	[REASON_KERNEL_REFUSED] = { "kernel-refused", "the kernel refused the probe",
				    "try --uprobe-by=perf; --self-test says what this kernel offers" },
	[REASON_OTHER_METHOD] = { "other-method",
				  "its full name, once it was known, does not match",
				  NOTHING_TO_DO "it was not asked for; --list has the full name" },
	[REASON_EXIT_REFUSED] = { "exit-refused",
				  "it is left by an instruction that the kernel's uprobes do not "
				  "take, or where one would mislead its runtime, so its calls "
				  "cannot be timed",
				  "count them with -c, or time its callers" },
	[REASON_INDIRECT] = { "indirect-function",
			      "it is run once, to choose which of several functions is used in its "
			      "place (IFUNC)",
			      "probe those: --list 'Image!*NAME*' finds them" },
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

const char *reason_next(enum reason reason)
{
	/* Where its calls end is not known. */
	if (reason >= REASON_EXITS)
		return reasons[REASON_EXIT_REFUSED].next;
	return reasons[reason].next;
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
