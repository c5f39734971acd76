/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hits that were counted and not shown, as was asked for (--sample, --max-rate): by method. */
#ifndef SESSION_SHED_H
#define SESSION_SHED_H

#include "bpf/event.h"
#include "output/output.h"
#include "plan/plan.h"

/*
 * Of all sites of @plan, along @counters; ends with a method of NULL. To be freed; its strings are
 * the plan's. NULL for want of memory. And tell people of them.
 */
struct output_shed *shed_collect(const struct plan *plan, const struct site_counters *counters);
void shed_log(const struct output_shed *shed);

#endif
