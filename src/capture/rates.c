// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --max-rate: which sites are of one method, as the programs have it (bpf/shed.bpf.h). Told when
 * they are loaded, and again when sites have come up.
 */
#include <errno.h>
#include <sys/mman.h>

#include <bpf/libbpf.h>

#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture.h"
#include "capture/capture_internal.h"

static size_t rate_bytes(const struct capture *capture)
{
	return capture->rate_count * sizeof(*capture->rates);
}

int capture_map_rates(struct capture *capture)
{
	void *mapped;

	if (!capture->options->max_rate)
		return 0;
	capture->rate_count = bpf_map__max_entries(capture->bpf->maps.shed_sites);
	mapped = mmap(NULL, rate_bytes(capture), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(capture->bpf->maps.shed_sites), 0);
	if (mapped == MAP_FAILED)
		return -errno;
	capture->rates = mapped;
	/* What is hit before it is known here has a rate of its own. */
	for (size_t i = 0; i < capture->rate_count; i++)
		capture->rates[i].first_site = (uint32_t)i;
	capture_group_methods(capture);
	return 0;
}

void capture_unmap_rates(struct capture *capture)
{
	if (capture->rates)
		munmap(capture->rates, rate_bytes(capture));
	capture->rates = NULL;
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

			if (site < capture->rate_count)
				__atomic_store_n(&capture->rates[site].first_site, first_site,
						 __ATOMIC_RELAXED);
		}
	}
}
