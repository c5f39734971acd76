// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a body's exits to probes of its site: for plan.c as a body is added, and for follow/ when it
 * comes up later.
 */
#include "plan/timed.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/follow.h"
#include "bpf/latency.h"
#include "base/error.h"

_Static_assert((int)EXIT_TAKEN_DOWN_UNIT == (int)LATENCY_TAKEN_DOWN_UNIT &&
		       EXIT_TAKEN_DOWN_MAX / LATENCY_TAKEN_DOWN_UNIT <=
			       1 << (64 - LATENCY_TAKEN_DOWN_SHIFT),
	       "what is taken down has to fit into a cookie");

/* A breakpoint leaves the instruction as it is. */
static bool is_placeable(const struct site *site, const struct exit_site *exit)
{
	if (exit->kind == EXIT_BRANCH && exit->condition == EXIT_BY_COUNTER)
		return false;
	return site->mechanism == MECHANISM_BREAKPOINT || exit->cost == INSN_EMULATED ||
	       exit->cost == INSN_SINGLE_STEPPED;
}

static void drop_exits(struct site *site)
{
	free(site->exits);
	site->exits = NULL;
	site->leaves_at_entry = site->jumps_at_entry = false;
}

int site_take_exits(struct site *site, const struct exits *exits, uint64_t entry, enum reason *why,
		    struct error *err)
{
	size_t count = 0;

	*why = exits->refusal ? reason_of_exits(exits->refusal) : REASON_NONE;
	if (*why)
		return 0;
	site->exits = calloc(exits->count + 1, sizeof(*site->exits));
	if (!site->exits)
		return error_set(err, -ENOMEM, "no memory for the exits of a method");
	for (size_t i = 0; i < exits->count; i++) {
		const struct exit_site *exit = &exits->sites[i];
		/* Parts of a body may be on both sides of its entry. */
		uint64_t from_entry = exit->at - entry;

		if (!is_placeable(site, exit) ||
		    (from_entry == 0 && (exit->kind == EXIT_BRANCH || exit->taken_down))) {
			drop_exits(site);
			*why = REASON_EXIT_REFUSED;
			return 0;
		}
		if (from_entry == 0) {
			site->leaves_at_entry = true;
			site->jumps_at_entry = exit->kind != EXIT_RETURN;
			continue;
		}
		site->exits[count++] = (struct site_exit){
			.offset = { site->offset.value ? site->offset.value + from_entry : 0 },
			.address = { site->address.value + from_entry },
			.taken_down = exit->taken_down,
			.from_frame = exit->from_frame,
			.condition = exit->kind == EXIT_BRANCH ? (uint8_t)(exit->condition + 1) : 0,
			.jumps = exit->kind != EXIT_RETURN,
			.emulated = exit->cost == INSN_EMULATED,
			.refused = exit->cost != INSN_EMULATED && exit->cost != INSN_SINGLE_STEPPED,
		};
	}
	site->exit_count = (uint32_t)count;
	return 0;
}

size_t site_probe_count(const struct site *site)
{
	return site->shares_probe ? 0 : 1 + (size_t)site->exit_count;
}

uint64_t site_entry_flags(const struct site *site)
{
	return (site->leaves_at_entry ? LATENCY_ENTRY_AND_EXIT : 0) |
	       (site->jumps_at_entry ? LATENCY_EXIT_JUMPS : 0);
}

struct site_probe site_probe(const struct site *site, uint32_t number, size_t index)
{
	const struct site_exit *exit;

	if (index >= site->exit_count)
		return (struct site_probe){
			.offset = site->offset,
			.address = site->address,
			.cookie = number | site_entry_flags(site) |
				  (site->stub ? BREAKPOINT_STUB : 0),
		};
	exit = &site->exits[index];
	return (struct site_probe){
		.offset = exit->offset,
		.address = exit->address,
		.cookie = number | LATENCY_EXIT | (exit->emulated ? LATENCY_EXIT_EMULATED : 0) |
			  (exit->jumps ? LATENCY_EXIT_JUMPS : 0) |
			  (exit->from_frame ? LATENCY_EXIT_FROM_FRAME : 0) |
			  (uint64_t)exit->condition << LATENCY_CONDITION_SHIFT |
			  (uint64_t)(exit->taken_down / LATENCY_TAKEN_DOWN_UNIT)
				  << LATENCY_TAKEN_DOWN_SHIFT,
	};
}

static enum probe_kind kind_of_entry(const struct site *site)
{
	if (site_has_breakpoint(site))
		return PROBE_BREAKPOINT;
	if (site->patchable)
		return PROBE_PATCHABLE;
	return site->cost == INSN_SINGLE_STEPPED ? PROBE_SINGLE_STEPPED : PROBE_EMULATED;
}

struct timed_site timed_describe(const struct site *site, uint32_t number,
				 const struct probe_cost costs[PROBE_KINDS])
{
	bool breakpoint = site_has_breakpoint(site);
	const struct probe_cost *entry = &costs[kind_of_entry(site)];
	struct timed_site timed = {
		.method = number,
		.entry_ns = entry->entry_ns,
		.keeps_count = breakpoint,
		.root = site->root,
	};

	/* A probe that is an entry and an exit reads no two clocks, and costs once. */
	if (site->leaves_at_entry)
		return timed;
	timed.within_ns = entry->within_ns;
	timed.exit_ns = costs[breakpoint ? PROBE_BREAKPOINT : PROBE_SINGLE_STEPPED].exit_ns;
	timed.emulated_exit_ns = costs[breakpoint ? PROBE_BREAKPOINT : PROBE_EMULATED].exit_ns;
	return timed;
}
