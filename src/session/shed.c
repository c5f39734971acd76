// SPDX-License-Identifier: GPL-2.0-or-later
/* What of the counters was neither shown nor lost; for report.c. */
#include "session/shed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* That of @method, which may be the next. */
static struct output_shed *shed_of(struct output_shed *list, const char *method)
{
	while (list->method && strcmp(list->method, method) != 0)
		list++;
	list->method = method;
	return list;
}

struct output_shed *shed_collect(const struct plan *plan, const struct site_counters *counters)
{
	struct output_shed *list = calloc(plan->count + 1, sizeof(*list));

	for (size_t i = 0; list && i < plan->count; i++) {
		struct output_shed *shed;

		if (!counters[i].sampled_out && !counters[i].shed)
			continue;
		shed = shed_of(list, plan->sites[i].method);
		shed->sampled_out += counters[i].sampled_out;
		shed->shed += counters[i].shed;
	}
	return list;
}

void shed_log(const struct output_shed *shed)
{
	for (; shed && shed->method; shed++) {
		if (shed->sampled_out)
			log_print("%s: %" PRIu64 " hits are counted and not shown (--sample)",
				  shed->method, shed->sampled_out);
		if (shed->shed)
			log_print("%s: %" PRIu64 " hits are counted and not shown (--max-rate)",
				  shed->method, shed->shed);
	}
}
