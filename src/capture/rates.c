// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --max-rate: which sites are of one method, as the programs have it (bpf/shed.bpf.h). Told when
 * they are loaded, and again when sites have come up.
 */

#include "capture/capture_internal.h"

void capture_begin_rates(struct capture *capture)
{
	/* What is hit before it is known here has a rate of its own. */
	for (uint32_t i = 0; capture->rates && i < capture_sites_with_counters(capture); i++)
		capture->rates[i].first_site = i;
	capture_group_methods(capture);
}

/* The end of the method whose first site in plan->by_method is at @first. */
static size_t end_of_method(const struct plan *plan, size_t first, uint32_t *lowest)
{
	size_t end = plan_method_end(plan, first);

	*lowest = UINT32_MAX;
	for (size_t i = first; i < end; i++) {
		uint32_t site = (uint32_t)(plan->by_method[i] - plan->sites);

		if (site < *lowest)
			*lowest = site;
	}
	return end;
}

void capture_group_methods(struct capture *capture)
{
	const struct plan *plan = capture->plan;
	uint32_t first_site;

	if (!capture->rates)
		return;
	for (size_t at = 0, end; at < plan->count; at = end) {
		end = end_of_method(plan, at, &first_site);
		for (size_t i = at; i < end; i++) {
			size_t site = (size_t)(plan->by_method[i] - plan->sites);

			if (site < capture_sites_with_counters(capture))
				__atomic_store_n(&capture->rates[site].first_site, first_site,
						 __ATOMIC_RELAXED);
		}
	}
}
