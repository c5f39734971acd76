// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/metadata.h"
#include "base/error.h"
#include "plan/timed.h"

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

static bool is_in_file(const struct plan_body *body)
{
	return body->file != PLAN_NO_FILE;
}

/* Why calls of the method never come by the body. */
static enum reason unused(const struct plan_body *body)
{
	/* A uprobe costs nothing where nobody comes by; a debug register is dear. */
	if (is_in_file(body))
		return REASON_NONE;
	if (body->tier == TIER_OSR)
		return REASON_OSR_BODY;
	return body->state == STATE_SUPERSEDED ? REASON_SUPERSEDED : REASON_NONE;
}

static enum reason refuse_instruction(const struct plan_body *body, enum insn_probe *cost)
{
	*cost = insn_probe_cost(body->code[0].bytes);
	if (*cost == INSN_UNDECODABLE)
		return REASON_UNDECODABLE;
	/* A breakpoint leaves the instruction as it is. */
	if (is_in_file(body) && *cost == INSN_REFUSED)
		return REASON_REFUSED_INSTRUCTION;
	if (is_in_file(body) && *cost == INSN_CORRUPTED)
		return REASON_CORRUPTED_INSTRUCTION;
	for (size_t i = 0; i < body->code_count; i++) {
		if (insn_jumps_to_entry(body->code[i].bytes, body->code[i].from_entry))
			return REASON_ENTRY_IS_LOOP_TARGET;
	}
	return REASON_NONE;
}

static enum reason refuse(const struct plan_body *body, enum insn_probe *cost)
{
	enum reason reason = body->reason;

	if (reason == REASON_NONE)
		reason = unused(body);
	if (reason != REASON_NONE)
		return reason;
	if (body->address.value == 0)
		return REASON_NOT_FILE_BACKED;
	if (!body->function_start)
		return REASON_NOT_A_FUNCTION_START;
	if (body->code_count == 0 || !body->code[0].bytes.start)
		return REASON_UNDECODABLE;
	return refuse_instruction(body, cost);
}

static int make_room(struct plan *plan, struct error *err)
{
	if (vector_reserve(&plan->sites, &plan->capacity, plan->count + 1))
		return 0;
	return error_set(err, -ENOMEM, "no memory for a plan of %zu sites", plan->count + 1);
}

int plan_add(struct plan *plan, const struct plan_body *body, struct error *err)
{
	enum reason why = reason_of_exits(EXITS_UNREADABLE);
	struct site *site;
	int result = make_room(plan, err);

	if (result)
		return result;
	site = &plan->sites[plan->count];
	*site = (struct site){
		.method = strdup(body->method),
		.made_from = body->made_from ? strdup(body->made_from) : NULL,
		.image = body->image,
		.definition = body->definition,
		.tier = body->tier,
		.state = body->state,
		.final = body->final,
		.method_desc = body->method_desc,
		.may_be_freed = body->may_be_freed,
		.stub = body->stub,
		.precompiled = body->precompiled,
		.precompiled_rejected = body->precompiled_rejected,
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
	site->patchable = body->code_count && body->code[0].bytes.start &&
			  insn_is_patchable(body->code[0].bytes);
	if (site->reason == REASON_NONE)
		site->mechanism = is_in_file(body) ? MECHANISM_UPROBE : MECHANISM_BREAKPOINT;
	plan->count++;
	if (!plan->timed || site->mechanism == MECHANISM_NONE)
		return 0;
	if (body->exits)
		result = site_take_exits(site, body->exits, body->exits_entry, &why, err);
	if (why)
		site_refuse(site, why, 0);
	return result;
}

void site_refuse(struct site *site, enum reason reason, int kernel_error)
{
	site->mechanism = MECHANISM_NONE;
	site->reason = reason;
	site->kernel_error = kernel_error;
}

void site_place_compiled(struct site *site)
{
	site->file = PLAN_NO_FILE;
	site->mechanism = MECHANISM_BREAKPOINT;
	if (site->tier == TIER_OSR)
		site_refuse(site, REASON_OSR_BODY, 0);
}

int plan_append(struct plan *plan, const struct site *site, struct error *err)
{
	int result = make_room(plan, err);

	if (result)
		return result;
	if (!site_copy(&plan->sites[plan->count], site))
		return error_set(err, -ENOMEM, "no memory for the name of a method");
	plan->count++;
	return 0;
}

/* One more than there are: none, where that is known, are not NULL. */
static struct site_exit *copy_exits(const struct site *site)
{
	struct site_exit *copy = calloc((size_t)site->exit_count + 1, sizeof(*copy));

	if (copy)
		memcpy(copy, site->exits, site->exit_count * sizeof(*copy));
	return copy;
}

bool site_copy(struct site *copy, const struct site *site)
{
	*copy = *site;
	copy->method = strdup(site->method);
	copy->made_from = site->made_from ? strdup(site->made_from) : NULL;
	copy->exits = site->exits ? copy_exits(site) : NULL;
	if (copy->method && (copy->made_from || !site->made_from) && (copy->exits || !site->exits))
		return true;
	site_deinit(copy);
	*copy = (struct site){ 0 };
	return false;
}

void site_deinit(struct site *site)
{
	free(site->method);
	free(site->made_from);
	free(site->exits);
}

bool site_may_be_instance(const struct site *site)
{
	const struct r2r_method *definition = &site->definition;

	if (site->tier == TIER_NATIVE)
		return false;
	return !definition->metadata || !definition->method_rid ||
	       metadata_method_is_generic(definition->metadata, definition->method_rid);
}

/* Without code: after all others, by name. */
static bool has_code(const struct site *site)
{
	return site->reason != REASON_NOT_COMPILED && site->reason != REASON_NO_IL &&
	       site->reason != REASON_NATIVE_CALL;
}

/* Of a native function's names the plainest is first: "malloc", not "__libc_malloc". */
static int by_name(const struct site *a, const struct site *b)
{
	size_t of_a = strspn(a->method, "_"), of_b = strspn(b->method, "_");

	if (a->tier == TIER_NATIVE && b->tier == TIER_NATIVE && of_a != of_b)
		return of_a < of_b ? -1 : 1;
	return strcmp(a->method, b->method);
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
	if (has_code(a) && a->stub != b->stub)
		return a->stub ? -1 : 1;
	if (strcmp(a->method, b->method) != 0)
		return by_name(a, b);
	return strcmp(a->image, b->image);
}

static bool same_place(const struct site *a, const struct site *b)
{
	return has_code(a) && has_code(b) && a->file == b->file &&
	       a->offset.value == b->offset.value && a->address.value == b->address.value;
}

static void drop_doubles(struct plan *plan)
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
		if (before && same_place(before, site) && (before->stub || before->shares_probe)) {
			site->shares_probe = true;
			plan->sites[kept++] = *site;
			continue;
		}
		/* Not what one that is not probed itself stands before: then none would be. */
		if (before && same_place(before, site) && site->mechanism != MECHANISM_NONE &&
		    (before->mechanism != MECHANISM_NONE || before->reason == REASON_SAME_CODE))
			site_refuse(site, REASON_SAME_CODE, 0);
		plan->sites[kept++] = *site;
	}
	plan->count = kept;
}

/* Whose method it is; NULL if that is not known. */
static const struct metadata *definer(const struct site *site)
{
	return site->definition.method_rid ? site->definition.metadata : NULL;
}

bool plan_lacks_registers(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].reason == REASON_NO_DEBUG_REGISTER)
			return true;
	}
	return false;
}

size_t plan_await_registers(struct plan *plan, size_t registers)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct site *site = &plan->sites[i];

		if (site->reason != REASON_NO_DEBUG_REGISTER || !site->method_desc ||
		    site_probe_count(site) > registers)
			continue;
		site->mechanism = MECHANISM_BREAKPOINT;
		site->reason = REASON_NONE;
		count++;
	}
	return count;
}

bool site_is_missed(const struct site *site)
{
	switch (site->reason) {
	case REASON_NONE:	  /* it is probed */
	case REASON_NOT_COMPILED: /* there is nothing yet */
	case REASON_NO_IL:	  /* nor ever will be */
	case REASON_SAME_CODE:	  /* counted with the other */
	case REASON_SUPERSEDED:	  /* calls go elsewhere */
	case REASON_REJECTED:
	case REASON_OSR_BODY:
	case REASON_OTHER_METHOD:
		return false;
	default:
		return true;
	}
}

bool plan_same_method(const struct site *a, const struct site *b)
{
	const struct metadata *of_a = definer(a), *of_b = definer(b);

	if (a->tier == TIER_NATIVE || b->tier == TIER_NATIVE)
		return a->tier == b->tier && strcmp(a->method, b->method) == 0 &&
		       strcmp(a->image, b->image) == 0;
	return strcmp(a->method, b->method) == 0 && (of_a == of_b || !of_a || !of_b);
}

static int by_method(const void *left, const void *right)
{
	const struct site *a = *(const struct site *const *)left;
	const struct site *b = *(const struct site *const *)right;
	int order = strcmp(a->method, b->method);

	if (order == 0 && definer(a) != definer(b))
		order = (uintptr_t)definer(a) < (uintptr_t)definer(b) ? -1 : 1;
	if (order == 0 && (a->tier == TIER_NATIVE) != (b->tier == TIER_NATIVE))
		order = a->tier == TIER_NATIVE ? 1 : -1;
	if (order == 0 && a->tier == TIER_NATIVE)
		order = strcmp(a->image, b->image);
	/* The plan's own order otherwise. */
	return order ? order : a < b ? -1 : a > b;
}

int plan_sort_methods(struct plan *plan, struct error *err)
{
	free(plan->by_method);
	plan->by_method = calloc(plan->count + 1, sizeof(*plan->by_method));
	if (!plan->by_method)
		return error_set(err, -ENOMEM, "no memory for a plan of %zu sites", plan->count);
	for (size_t i = 0; i < plan->count; i++)
		plan->by_method[i] = &plan->sites[i];
	qsort(plan->by_method, plan->count, sizeof(*plan->by_method), by_method);
	return 0;
}

static bool is_run_time(const struct site *site)
{
	return has_code(site) && site->tier != TIER_R2R && site->tier != TIER_NATIVE &&
	       site->state != STATE_NO_BODY;
}

/* Operators may differ in what they return only, which is not in the name: their rows tell. */
static bool same_definition(const struct site *a, const struct site *b)
{
	return plan_same_method(a, b) &&
	       (!definer(a) || !definer(b) || a->definition.method_rid == b->definition.method_rid);
}

/*
 * What has become of a precompiled body, by the bodies of the same method that were compiled at run
 * time: those of @sites that begin at @first.
 */
static enum body_state precompiled_state(const struct plan *plan, size_t first,
					 const struct site *precompiled)
{
	enum body_state state = STATE_CURRENT;

	for (size_t i = first;
	     i < plan->count && strcmp(plan->by_method[i]->method, precompiled->method) == 0; i++) {
		const struct site *site = plan->by_method[i];

		if (!is_run_time(site) || !same_definition(site, precompiled))
			continue;
		if (site->precompiled.value == 0 && !site->precompiled_rejected)
			state = state == STATE_CURRENT ? STATE_UNKNOWN : state;
		else if (site->precompiled.value != precompiled->address.value)
			state = STATE_REJECTED;
		else if (site->state == STATE_CURRENT)
			state = STATE_SUPERSEDED;
	}
	return state;
}

static void judge_precompiled(struct plan *plan)
{
	size_t first = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct site *site = &plan->sites[plan->by_method[i] - plan->sites];

		if (strcmp(plan->by_method[first]->method, site->method) != 0)
			first = i;
		if (site->tier != TIER_R2R || !has_code(site))
			continue;
		site->state = precompiled_state(plan, first, site);
		/* As with run-time code: see unused(). */
		if (site->mechanism == MECHANISM_BREAKPOINT &&
		    (site->state == STATE_REJECTED || site->state == STATE_SUPERSEDED))
			site_refuse(site,
				    site->state == STATE_REJECTED ? REASON_REJECTED :
								    REASON_SUPERSEDED,
				    0);
	}
}

void plan_leave_stubs(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].stub)
			site_refuse(&plan->sites[i], REASON_NATIVE_CALL, 0);
	}
}

void plan_share_probes(struct plan *plan)
{
	for (size_t i = 1; i < plan->count; i++) {
		struct site *site = &plan->sites[i];

		if (!site->shares_probe)
			continue;
		site->mechanism = site[-1].mechanism;
		site->reason = site[-1].reason;
		site->kernel_error = site[-1].kernel_error;
	}
}

/* Debug registers are few: first to where calls go now, then to where they may go next. */
static void give_registers(struct plan *plan, size_t registers)
{
	static const enum body_state order[] = { STATE_CURRENT, STATE_PENDING, STATE_UNKNOWN };
	size_t given = 0;

	for (size_t pass = 0; pass < sizeof(order) / sizeof(order[0]); pass++) {
		for (size_t i = 0; i < plan->count; i++) {
			struct site *site = &plan->sites[i];

			if (site->mechanism != MECHANISM_BREAKPOINT || site->state != order[pass] ||
			    site->shares_probe)
				continue;
			if (given + site_probe_count(site) <= registers) {
				given += site_probe_count(site);
				continue;
			}
			site_refuse(site, REASON_NO_DEBUG_REGISTER, 0);
		}
	}
	plan_share_probes(plan);
}

int plan_finish(struct plan *plan, size_t registers, struct error *err)
{
	int result;

	drop_doubles(plan);
	result = plan_sort_methods(plan, err);
	if (result)
		return result;
	judge_precompiled(plan);
	give_registers(plan, registers);
	return 0;
}

void site_use_uprobe(struct site *site, size_t file, struct file_offset offset)
{
	if (site->mechanism != MECHANISM_BREAKPOINT && site->reason != REASON_NO_DEBUG_REGISTER)
		return;
	if (site->cost != INSN_EMULATED && site->cost != INSN_SINGLE_STEPPED)
		return;
	/* Which method it is only breakpoints ask. */
	if (site->stub || site->shares_probe)
		return;
	site->file = file;
	site->offset = offset;
	site->mechanism = MECHANISM_UPROBE;
	site->reason = REASON_NONE;
}

/* Where the sites of @method begin in plan->by_method. */
static size_t first_of_method(const struct plan *plan, const char *method)
{
	size_t low = 0, high = plan->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(plan->by_method[middle]->method, method) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Code that is in a file may lie in memory more than once, or elsewhere than before. */
static bool same_code(const struct site *a, const struct site *b)
{
	if (a->file != PLAN_NO_FILE && b->file != PLAN_NO_FILE && a->offset.value)
		return a->offset.value == b->offset.value && strcmp(a->image, b->image) == 0;
	return a->address.value == b->address.value;
}

const struct site *plan_find(const struct plan *plan, const struct site *site)
{
	for (size_t i = first_of_method(plan, site->method);
	     i < plan->count && strcmp(plan->by_method[i]->method, site->method) == 0; i++) {
		if (same_code(plan->by_method[i], site))
			return plan->by_method[i];
	}
	return NULL;
}

const struct site *plan_find_method(const struct plan *plan, const struct site *site)
{
	const struct site *found = NULL;

	for (size_t i = first_of_method(plan, site->method);
	     i < plan->count && strcmp(plan->by_method[i]->method, site->method) == 0; i++) {
		if (strcmp(plan->by_method[i]->image, site->image) == 0)
			return plan->by_method[i];
		if (!found)
			found = plan->by_method[i];
	}
	return found;
}

void plan_deinit(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		site_deinit(&plan->sites[i]);
	free(plan->by_method);
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
