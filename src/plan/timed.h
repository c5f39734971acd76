/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the exits of a body, as they were found in its code, to probes beside the one at its entry:
 * where each would be, or why calls of this body cannot be timed.
 */
#ifndef PLAN_TIMED_H
#define PLAN_TIMED_H

#include "bpf/latency.h"
#include "code/exits.h"
#include "plan/plan.h"

/* An exit that has a probe of its own. */
struct site_exit {
	struct file_offset offset; /* of a body in a file */
	struct address address;
	uint32_t taken_down; /* until the body is left, see struct exit_site */
	bool from_frame;
	uint8_t condition; /* of one that is a branch: its condition + 1 */
	bool jumps;	   /* to another function, which returns to the caller */
	bool emulated;	   /* a uprobe there is cheap, see insn.h */
	bool refused;	   /* there can be none, but a breakpoint */
};

/*
 * Give @site, which has a mechanism, the exits that were found of its body, whose entry is at
 * @entry in the same space. *@why: REASON_NONE, or why its calls cannot be timed; then it has none.
 * -ENOMEM.
 */
int site_take_exits(struct site *site, const struct exits *exits, uint64_t entry, enum reason *why,
		    struct error *err);

/* How many probes a site takes: one, and one more for each exit. */
size_t site_probe_count(const struct site *site);

/* What the cookie of the one at its entry has beside the number. */
uint64_t site_entry_flags(const struct site *site);

/* The @index-th of them, of the plan's site @number. The one at the entry is the last. */
struct site_probe {
	struct file_offset offset;
	struct address address;
	uint64_t cookie; /* for the BPF program, see bpf/latency.h */
};

struct site_probe site_probe(const struct site *site, uint32_t number, size_t index);

/* Probes that cost differently. */
enum probe_kind {
	PROBE_EMULATED, /* a uprobe on an instruction whose work the kernel does itself */
	PROBE_SINGLE_STEPPED,
	PROBE_PATCHABLE, /* on an instruction that newer kernels make a call of; at entries only */
	PROBE_BREAKPOINT,
	PROBE_KINDS,
};

/* In nanoseconds; all 0 of a kind that was not measured. */
struct probe_cost {
	uint32_t within_ns; /* what a probe at the entry adds to the time that is measured */
	uint32_t entry_ns;  /* what one at an entry costs the target in all */
	uint32_t exit_ns;   /* likewise at an exit */
};

/*
 * What the programs are told of @site, with what its probes cost: not timed yet, and of a method
 * that has no other body.
 */
struct timed_site timed_describe(const struct site *site, uint32_t number,
				 const struct probe_cost costs[PROBE_KINDS]);

#endif
