/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What following brings to the plan while it goes on: new sites, with their full names, and the
 * story of each body for the log.
 */
#ifndef SESSION_FOLLOWED_H
#define SESSION_FOLLOWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct follow;
struct pattern;
struct plan;
struct request;
struct resolution;
struct site_counters;

struct followed {
	const struct request *methods;
	bool verbose;
	bool remap; /* breakpoints are for what that cannot be done with */
	struct follow *follow;
	struct plan *plan;	       /* grows */
	struct resolution *resolution; /* names are read through it; NULL while there is none */
	struct pattern **patterns;
	size_t first;	     /* sites that were there before */
	uint64_t retired_ns; /* when that was last looked for */
	size_t named;	     /* of those that came, the first that is not */
	size_t waiting;	     /* sites of the start that had no debug register */
	bool warned;	     /* of what breakpoints may do in a virtual machine */
	size_t unsure;	     /* sites of which it could not be told whether they match */
};

/*
 * Take over the sites that have come up. What cannot be named for want of a resolution waits,
 * unless this is the @last time. 1 if the plan has changed, 0, or -ENOMEM with @err set.
 */
int followed_absorb(struct followed *followed, bool last, struct error *err);

/* Is there a site that only memory can name? */
bool followed_lacks_names(const struct followed *followed);

/* Give up the sites of modules that have been unloaded: their registers are needed. */
void followed_retire(struct followed *followed);

/* Hits of methods that turned out to be others' do not count. */
void followed_clear_others(const struct followed *followed, struct site_counters *counters);

/* Tell what has happened: everything with -v, else only what bears on the result. */
void followed_log_notes(struct followed *followed);

/* A breakpoint is set: in a virtual machine that is told, once. */
void followed_warn(struct followed *followed);

/* At the end: how fast it was. */
void followed_log_times(const struct followed *followed);

#endif
