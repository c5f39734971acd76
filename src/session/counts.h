/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls by method, from calls by site: records for the output, and what is said of them. All @calls
 * run along the plan's sites.
 */
#ifndef SESSION_COUNTS_H
#define SESSION_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct output;
struct plan;

/* Why a method's count may be below the truth: a bit for each reason, along the plan's sites. */
struct count_bounds {
	const uint32_t *of_sites; /* NULL: they could not be judged; then each has: */
	uint32_t unjudged;
	unsigned int reasons;
	const char *(*code)(unsigned int reason); /* two reasons next to each other may share one */
	/*
	 * Along plan->by_method, where a method begins: which part of the time it was watched.
	 * NULL: that is not known.
	 */
	const double *watched;
	const uint64_t *all_calls; /* along the plan's sites, of the whole run */
};

enum { COUNT_BOUNDS_MAX = 32 };

/* Which part of the time the method was watched that begins at @first; 0: that is not known. */
static inline double count_watched(const struct count_bounds *bounds, size_t first)
{
	return bounds && bounds->watched ? bounds->watched[first] : 0;
}

/*
 * Codes of the reasons of the method whose sites begin at @first in plan->by_method, and NULL, into
 * @codes, which has room for @bounds->reasons and one more. Returns how many it wrote, with NULL.
 */
size_t count_bound_codes(const struct plan *plan, size_t first, const struct count_bounds *bounds,
			 const char **codes);

/* Write the calls of each method, body by body. @bounds is NULL before that is known. -ENOMEM. */
int counts_write(struct output *output, const struct plan *plan, const uint64_t *calls,
		 const struct count_bounds *bounds, struct error *err);

/* Say "Method: 12 r2r, 30 tier1" of all methods with several bodies that were called. */
void counts_log_tiers(const struct plan *plan, const uint64_t *calls);

#endif
