// SPDX-License-Identifier: GPL-2.0-or-later
#include "place/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static const struct {
	const char *code;
	const char *text;
} reasons[] = {
	[REASON_NONE] = { NULL, NULL },
	[REASON_NOT_PRECOMPILED] = { "not-precompiled",
				     "no precompiled body: the runtime compiles it when it is called" },
	[REASON_NO_IL] = { "no-il", "abstract, extern or built into the runtime: it has no body" },
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
	[REASON_KERNEL_REFUSED] = { "kernel-refused", "the kernel refused the probe" },
};

const char *reason_code(enum reason reason)
{
	return reasons[reason].code;
}

const char *reason_text(enum reason reason)
{
	return reasons[reason].text;
}

const char *tier_name(enum tier tier)
{
	static const char *const names[] = {
		[TIER_R2R] = "r2r",
		[TIER_TIER0] = "tier0",
		[TIER_MINOPT] = "minopt",
		[TIER_INSTRUMENTED] = "instrumented",
		[TIER_OPTIMIZED] = "optimized",
		[TIER_TIER1] = "tier1",
		[TIER_OSR] = "osr",
		[TIER_UNKNOWN] = "unknown",
	};

	return names[tier];
}

const char *mechanism_name(enum mechanism mechanism)
{
	return mechanism == MECHANISM_UPROBE ? "uprobe" : "none";
}

static enum reason refuse(const struct plan_body *body, enum insn_probe *cost)
{
	if (body->reason != REASON_NONE)
		return body->reason;
	if (body->address.value == 0 || body->file == PLAN_NO_FILE)
		return REASON_NOT_FILE_BACKED;
	if (!body->function_start)
		return REASON_NOT_A_FUNCTION_START;
	if (body->code_count == 0 || !body->code[0].bytes.start)
		return REASON_UNDECODABLE;

	*cost = insn_probe_cost(body->code[0].bytes);
	if (*cost == INSN_UNDECODABLE)
		return REASON_UNDECODABLE;
	if (*cost == INSN_REFUSED)
		return REASON_REFUSED_INSTRUCTION;
	if (*cost == INSN_CORRUPTED)
		return REASON_CORRUPTED_INSTRUCTION;
	for (size_t i = 0; i < body->code_count; i++) {
		if (insn_jumps_to_entry(body->code[i].bytes, body->code[i].from_entry))
			return REASON_ENTRY_IS_LOOP_TARGET;
	}
	return REASON_NONE;
}

int plan_add(struct plan *plan, const struct plan_body *body, struct error *err)
{
	struct site *site;

	if (plan->count == plan->capacity) {
		size_t capacity = plan->capacity ? 2 * plan->capacity : 64;
		struct site *sites = realloc(plan->sites, capacity * sizeof(*sites));

		if (!sites)
			return error_set(err, -ENOMEM, "no memory for a plan of %zu sites",
					 capacity);
		plan->sites = sites;
		plan->capacity = capacity;
	}
	site = &plan->sites[plan->count];
	*site = (struct site){
		.method = strdup(body->method),
		.made_from = body->made_from ? strdup(body->made_from) : NULL,
		.image = body->image,
		.tier = body->tier,
		.sources = body->sources,
		.file = body->file,
		.offset = body->offset,
		.address = body->address,
		.size = body->size,
		.cost = INSN_UNDECODABLE,
	};
	if (!site->method || (body->made_from && !site->made_from))
		return error_set(err, -ENOMEM, "no memory for the name of a method");
	site->reason = refuse(body, &site->cost);
	site->mechanism = site->reason == REASON_NONE ? MECHANISM_UPROBE : MECHANISM_NONE;
	plan->count++;
	return 0;
}

static void site_deinit(struct site *site)
{
	free(site->method);
	free(site->made_from);
}

/* Without code: after all others, by name. */
static bool has_code(const struct site *site)
{
	return site->reason != REASON_NOT_PRECOMPILED && site->reason != REASON_NO_IL;
}

static int by_place(const void *left, const void *right)
{
	const struct site *a = left, *b = right;

	if (has_code(a) != has_code(b))
		return has_code(a) ? -1 : 1;
	if (has_code(a) && a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (has_code(a) && a->offset.value != b->offset.value)
		return a->offset.value < b->offset.value ? -1 : 1;
	if (has_code(a) && a->address.value != b->address.value)
		return a->address.value < b->address.value ? -1 : 1;
	if (strcmp(a->method, b->method) != 0)
		return strcmp(a->method, b->method);
	return strcmp(a->image, b->image);
}

static bool same_place(const struct site *a, const struct site *b)
{
	return has_code(a) && has_code(b) && a->file == b->file &&
	       a->offset.value == b->offset.value && a->address.value == b->address.value;
}

void plan_finish(struct plan *plan)
{
	size_t kept = 0;

	if (plan->count)
		qsort(plan->sites, plan->count, sizeof(*plan->sites), by_place);
	for (size_t i = 0; i < plan->count; i++) {
		struct site *site = &plan->sites[i];
		struct site *before = kept ? &plan->sites[kept - 1] : NULL;

		if (before && strcmp(before->method, site->method) == 0 &&
		    (same_place(before, site) || (!has_code(before) && !has_code(site) &&
						  strcmp(before->image, site->image) == 0))) {
			before->sources |= site->sources;
			site_deinit(site);
			continue;
		}
		if (before && same_place(before, site) && site->mechanism != MECHANISM_NONE) {
			site->mechanism = MECHANISM_NONE;
			site->reason = REASON_SAME_CODE;
		}
		plan->sites[kept++] = *site;
	}
	plan->count = kept;
}

void plan_deinit(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		site_deinit(&plan->sites[i]);
	free(plan->sites);
	*plan = (struct plan){ 0 };
}

size_t plan_placeable(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		count += plan->sites[i].mechanism != MECHANISM_NONE;
	return count;
}
