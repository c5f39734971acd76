/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that were counted and not reported, as --sample and --max-rate ask for. For report.c. */
#ifndef SESSION_SHED_H
#define SESSION_SHED_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct output_shed;
struct plan;
struct site_counters;

/*
 * By method, those that were called: an array that the caller frees, with names of the plan.
 * -ENOMEM with @err set.
 */
int shed_collect(struct output_shed **shed, size_t *count, const struct plan *plan,
		 const struct site_counters *counters, struct error *err);

/* Tell people, the first few or @all. */
void shed_log(const struct output_shed *shed, size_t count, bool all);

#endif
