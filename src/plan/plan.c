// SPDX-License-Identifier: GPL-2.0-or-later
/* Bodies become sites, one at a time, and are found again. finish.c has the last step. */
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
