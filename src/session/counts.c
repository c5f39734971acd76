// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls by method: what the programs have counted at each site is put together here, on its way to
 * src/output/.
 */
#include "session/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "output/output.h"
#include "plan/plan.h"

/* One method: the sites [first, end) of plan->by_method. */
struct method_sites {
	const struct plan *plan;
	const uint64_t *calls;
	size_t first;
	size_t end;
	uint64_t total;
	size_t placed;
};

/* The next method from sites->end on that has a site; false if there is none. */
static bool next_method(struct method_sites *sites)
{
	const struct plan *plan = sites->plan;

	sites->total = sites->placed = 0;
	for (size_t at = sites->end; at < plan->count && sites->placed == 0; at = sites->end) {
		sites->first = at;
		sites->end = plan_method_end(plan, at);
		for (size_t i = at; i < sites->end; i++) {
			const struct site *site = plan->by_method[i];

			if (site->mechanism == MECHANISM_NONE)
				continue;
			sites->placed++;
			sites->total += sites->calls[site - plan->sites];
		}
	}
	return sites->placed != 0;
}

size_t count_bound_codes(const struct plan *plan, size_t first, const struct count_bounds *bounds,
			 const char **codes)
{
	uint32_t mask = bounds->of_sites ? 0 : bounds->unjudged;
	size_t count = 0;

	for (size_t i = first, end = plan_method_end(plan, first); bounds->of_sites && i < end; i++)
		mask |= bounds->of_sites[plan->by_method[i] - plan->sites];
	for (unsigned int reason = 0; reason < bounds->reasons; reason++) {
		if (mask >> reason & 1 &&
		    (count == 0 || strcmp(codes[count - 1], bounds->code(reason)) != 0))
			codes[count++] = bounds->code(reason);
	}
	codes[count] = NULL;
	return count + 1;
}

/* Records -------------------------------------------------------------------------------------- */

/* Those of all methods, and what they borrow. */
struct count_records {
	struct output_count *counts;
	size_t count;
	struct output_body *bodies;
	size_t body_count;
	const char **codes;
	size_t code_count;
};

static void add_count(struct count_records *records, const struct method_sites *sites,
		      const struct count_bounds *bounds)
{
	const struct plan *plan = sites->plan;
	struct output_count *count = &records->counts[records->count++];

	*count = (struct output_count){
		.method = plan->by_method[sites->first]->method,
		.calls = sites->total,
		.bodies = &records->bodies[records->body_count],
		.body_count = sites->placed,
	};
	for (size_t i = sites->first; i < sites->end; i++) {
		const struct site *site = plan->by_method[i];

		if (bounds && site->mechanism != MECHANISM_NONE)
			count->all_calls += bounds->all_calls[site - plan->sites];
		if (site->mechanism != MECHANISM_NONE)
			records->bodies[records->body_count++] = (struct output_body){
				.tier = tier_name(site->tier),
				.calls = sites->calls[site - plan->sites],
			};
	}
	if (!bounds)
		return;
	count->watched = count_watched(bounds, sites->first);
	count->lower_bound = &records->codes[records->code_count];
	records->code_count +=
		count_bound_codes(plan, sites->first, bounds, &records->codes[records->code_count]);
}

int counts_write(struct output *output, const struct plan *plan, const uint64_t *calls,
		 const struct count_bounds *bounds, struct error *err)
{
	size_t of_each = bounds ? bounds->reasons + 1 : 1;
	_cleanup_free_ struct output_count *counts = calloc(plan->count + 1, sizeof(*counts));
	_cleanup_free_ struct output_body *bodies = calloc(plan->count + 1, sizeof(*bodies));
	_cleanup_free_ const char **codes = calloc(plan->count + 1, of_each * sizeof(*codes));
	struct count_records records = { .counts = counts, .bodies = bodies, .codes = codes };
	struct method_sites sites = { .plan = plan, .calls = calls };

	if (!counts || !bodies || !codes)
		return error_set(err, -ENOMEM, "no memory for the counts");
	while (next_method(&sites))
		add_count(&records, &sites, bounds);
	output_counts(output, counts, records.count);
	return 0;
}

/* What is said --------------------------------------------------------------------------------- */

static const enum tier tiers[] = { TIER_R2R,	   TIER_TIER0, TIER_MINOPT, TIER_INSTRUMENTED,
				   TIER_OPTIMIZED, TIER_TIER1, TIER_NATIVE, TIER_UNKNOWN };

/* False if all calls went to one body. */
static bool describe_tiers(const struct method_sites *sites, struct text *out)
{
	size_t called = 0;

	for (size_t t = 0; t < sizeof(tiers) / sizeof(tiers[0]); t++) {
		uint64_t calls = 0;

		for (size_t i = sites->first; i < sites->end; i++) {
			const struct site *site = sites->plan->by_method[i];
			uint64_t of_site = sites->calls[site - sites->plan->sites];

			if (site->tier != tiers[t] || site->mechanism == MECHANISM_NONE)
				continue;
			calls += of_site;
			called += of_site > 0;
		}
		if (calls)
			text_printf(out, "%s%" PRIu64 " %s", out->length ? ", " : "", calls,
				    tier_name(tiers[t]));
	}
	return called > 1;
}

void counts_log_tiers(const struct plan *plan, const uint64_t *calls)
{
	struct method_sites sites = { .plan = plan, .calls = calls };

	while (next_method(&sites)) {
		_cleanup_(text_deinit) struct text text = { 0 };

		if (describe_tiers(&sites, &text))
			log_print("%s: %s", plan->by_method[sites.first]->method,
				  text_chars(&text));
	}
}
