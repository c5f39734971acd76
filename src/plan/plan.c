// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bodies become sites, one at a time, and are found again; and what becomes of one site: copied,
 * refused, placed. finish.c has the last step.
 */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "base/error.h"
#include "base/sorted.h"
#include "plan/timed.h"

static bool is_in_file(const struct method_body *body)
{
	return body->file != BODY_NO_FILE;
}

/* Why calls of the method never come by the body. */
static enum reason unused(const struct method_body *body)
{
	/* A uprobe costs nothing where nobody comes by; a debug register is dear. */
	if (is_in_file(body))
		return REASON_NONE;
	if (body->tier == TIER_OSR)
		return REASON_OSR_BODY;
	return body->state == STATE_SUPERSEDED ? REASON_SUPERSEDED : REASON_NONE;
}

static enum reason refuse_instruction(const struct method_body *body, enum insn_probe *cost)
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

static enum reason refuse(const struct method_body *body, enum insn_probe *cost)
{
	static const enum reason of_absence[] = {
		[BODY_PRESENT] = REASON_NONE,	   [BODY_NOT_COMPILED] = REASON_NOT_COMPILED,
		[BODY_NO_IL] = REASON_NO_IL,	   [BODY_NATIVE_CALL] = REASON_NATIVE_CALL,
		[BODY_INDIRECT] = REASON_INDIRECT,
	};
	enum reason reason = of_absence[body->absent];

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

int plan_add(struct plan *plan, const struct method_body *body, struct error *err)
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
		.id = body->id,
		.traits = body->traits,
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
	if (!site->method || (body->made_from && !site->made_from)) {
		site_deinit(site);
		return error_set(err, -ENOMEM, "no memory for the name of a method");
	}
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
	if (why && !plan->open_ended)
		site_refuse(site, why, 0);
	return result;
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

int plan_add_found(const struct method_body *body, void *ctx)
{
	struct plan_search *search = ctx;
	struct plan *plan = search->plan;
	int result = plan_add(plan, body, search->err);

	search->found++;
	if (result == 0)
		plan->sites[plan->count - 1].root = search->root;
	return result;
}

void plan_leave_stubs(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].stub)
			site_refuse(&plan->sites[i], REASON_NATIVE_CALL, 0);
	}
}

/* Where the sites of @method begin in plan->by_method. */
static size_t first_of_method(const struct plan *plan, const char *method)
{
	return sorted_first(plan->count, i, strcmp(plan->by_method[i]->method, method) < 0);
}

/* Code that is in a file may lie in memory more than once, or elsewhere than before. */
static bool same_code(const struct site *a, const struct site *b)
{
	if (a->file != BODY_NO_FILE && b->file != BODY_NO_FILE && a->offset.value)
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

/* One site ------------------------------------------------------------------------------------ */

void site_refuse(struct site *site, enum reason reason, int kernel_error)
{
	site->mechanism = MECHANISM_NONE;
	site->reason = reason;
	site->kernel_error = kernel_error;
}

void site_place_compiled(struct site *site)
{
	site->file = BODY_NO_FILE;
	site->mechanism = MECHANISM_BREAKPOINT;
	if (site->tier == TIER_OSR)
		site_refuse(site, REASON_OSR_BODY, 0);
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
	return !site->traits.single;
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

/* Does the kernel take one at its entry? */
static bool takes_uprobe(const struct site *site)
{
	return site->cost == INSN_EMULATED || site->cost == INSN_SINGLE_STEPPED;
}

void site_use_uprobe(struct site *site, size_t file, struct file_offset offset)
{
	/* Which method it is only breakpoints ask. */
	if (!site_has_breakpoint(site) || !takes_uprobe(site) || site->stub || site->shares_probe)
		return;
	site->file = file;
	site->offset = offset;
	site->mechanism = MECHANISM_UPROBE;
	site->reason = REASON_NONE;
}

bool site_takes_remapped(const struct plan *plan, const struct site *site)
{
	/* The kernel makes a call of what is patchable, and a copy would not be as the file is. */
	if (site->file != BODY_NO_FILE || site->may_be_freed || site->stub || site->shares_probe ||
	    !site_has_breakpoint(site) || !takes_uprobe(site) || site->patchable)
		return false;
	for (uint32_t i = 0; i < site->exit_count; i++) {
		if (site->exits[i].refused)
			return false;
	}
	return !plan->timed || site->final;
}

void site_remap(struct site *site, struct file_offset offset)
{
	site->offset = offset;
	site->mechanism = MECHANISM_UPROBE;
	site->reason = REASON_NONE;
	/* Parts of a body may be on both sides of its entry. */
	for (uint32_t i = 0; i < site->exit_count; i++)
		site->exits[i].offset.value =
			offset.value + (site->exits[i].address.value - site->address.value);
}

void site_unmap(struct site *site)
{
	site->offset.value = 0;
	site->mechanism = MECHANISM_BREAKPOINT;
	for (uint32_t i = 0; i < site->exit_count; i++)
		site->exits[i].offset.value = 0;
}
