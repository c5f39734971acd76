// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last step of a plan: its sites are sorted, what stands there twice is dropped, and debug
 * registers are given out. See plan.h.
 */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/timed.h"
#include "registers/policy.h"

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
		bool same = before && same_place(before, site);

		if (before && strcmp(before->method, site->method) == 0 &&
		    (same || (!has_code(before) && !has_code(site) &&
			      strcmp(before->image, site->image) == 0))) {
			before->sources |= site->sources;
			before->root |= site->root;
			site_deinit(site);
			continue;
		}
		if (same && (before->stub || before->shares_probe)) {
			site->shares_probe = true;
		} else if (same) {
			/* What has several names is what any of them is. */
			before->root |= site->root;
			/*
			 * Not what one that is not probed itself stands before: then none would be.
			 */
			if (site->mechanism != MECHANISM_NONE &&
			    (before->mechanism != MECHANISM_NONE ||
			     before->reason == REASON_SAME_CODE))
				site_refuse(site, REASON_SAME_CODE, 0);
		}
		plan->sites[kept++] = *site;
	}
	plan->count = kept;
}

/* Which module defines the method; 0 if that is not known. */
static uint64_t definer(const struct site *site)
{
	return site->traits.defined ? site->id.module : 0;
}

bool plan_same_method(const struct site *a, const struct site *b)
{
	uint64_t of_a = definer(a), of_b = definer(b);

	if (a->tier == TIER_NATIVE || b->tier == TIER_NATIVE)
		return a->tier == b->tier && strcmp(a->method, b->method) == 0 &&
		       strcmp(a->image, b->image) == 0;
	return strcmp(a->method, b->method) == 0 && (of_a == of_b || !of_a || !of_b);
}

size_t plan_method_end(const struct plan *plan, size_t first)
{
	size_t end = first + 1;

	while (end < plan->count && plan_same_method(plan->by_method[first], plan->by_method[end]))
		end++;
	return end;
}

static int by_method(const void *left, const void *right)
{
	const struct site *a = *(const struct site *const *)left;
	const struct site *b = *(const struct site *const *)right;
	int order = strcmp(a->method, b->method);

	if (order == 0 && definer(a) != definer(b))
		order = definer(a) < definer(b) ? -1 : 1;
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
	return has_code(site) && !tier_is_precompiled(site->tier) && site->state != STATE_NO_BODY;
}

/* Operators may differ in what they return only, which is not in the name: their rows tell. */
static bool same_definition(const struct site *a, const struct site *b)
{
	return plan_same_method(a, b) && (!definer(a) || !definer(b) || a->id.token == b->id.token);
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

static void give_registers(struct plan *plan, size_t registers)
{
	static const enum body_state order[POLICY_START_TURNS] = {
		[POLICY_START_CALLED] = STATE_CURRENT,
		[POLICY_START_NEXT] = STATE_PENDING,
		[POLICY_START_UNKNOWN] = STATE_UNKNOWN,
	};
	size_t given = 0;

	for (size_t pass = 0; pass < POLICY_START_TURNS; pass++) {
		for (size_t i = 0; i < plan->count; i++) {
			struct site *site = &plan->sites[i];

			if (site->mechanism != MECHANISM_BREAKPOINT || site->state != order[pass] ||
			    site->shares_probe)
				continue;
			if (policy_start_fits(registers, given, site_probe_count(site))) {
				given += site_probe_count(site);
				continue;
			}
			site_refuse(site, REASON_NO_DEBUG_REGISTER, 0);
		}
	}
	plan_share_probes(plan);
}

void plan_give_registers(struct plan *plan, size_t registers)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct site *site = &plan->sites[i];

		if (site->reason == REASON_NO_DEBUG_REGISTER) {
			site->mechanism = MECHANISM_BREAKPOINT;
			site->reason = REASON_NONE;
		}
	}
	give_registers(plan, registers);
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
