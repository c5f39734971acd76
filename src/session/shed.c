// SPDX-License-Identifier: GPL-2.0-or-later
/* What --sample and --max-rate have left out, by method: from counters to records. */
#include "session/shed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "bpf/event.h"
#include "output/output.h"
#include "plan/plan.h"

enum { METHODS_TOLD = 20 };

static void add_site(struct output_shed *to, const struct site_counters *counters)
{
	to->calls += counters->hits;
	to->sampled_out += counters->sampled_out;
	to->over_rate += counters->over_rate;
}

int shed_collect(struct output_shed **shed, size_t *count, const struct plan *plan,
		 const struct site_counters *counters, struct error *err)
{
	struct output_shed *methods = calloc(plan->count + 1, sizeof(*methods));
	size_t used = 0;

	*shed = methods;
	*count = 0;
	if (!methods)
		return error_set(err, -ENOMEM, "no memory for what was not shown of %zu sites",
				 plan->count);
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = plan->by_method[i];

		/* One that was not called makes room for the next. */
		if (i && !plan_same_method(plan->by_method[i - 1], site)) {
			used += methods[used].calls != 0;
			methods[used] = (struct output_shed){ 0 };
		}
		methods[used].method = site->method;
		if (site->mechanism != MECHANISM_NONE)
			add_site(&methods[used], &counters[site - plan->sites]);
	}
	*count = used + (methods[used].calls != 0);
	return 0;
}

void shed_log(const struct output_shed *shed, size_t count, bool all)
{
	size_t told = 0;

	for (size_t i = 0; i < count; i++) {
		const struct output_shed *of = &shed[i];

		if (of->sampled_out + of->over_rate == 0 || (told++ >= METHODS_TOLD && !all))
			continue;
		log_print("%s: %" PRIu64 " of %" PRIu64 " calls are counted and not shown, %" PRIu64
			  " by --sample and %" PRIu64 " by --max-rate",
			  of->method, of->sampled_out + of->over_rate, of->calls, of->sampled_out,
			  of->over_rate);
	}
	if (told > METHODS_TOLD && !all)
		log_print("and of %zu more methods (-v shows all)", told - METHODS_TOLD);
}
