/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites that come up while the target is followed, and what befalls all sites: the messages between
 * the follower, which adds sites and notes troubles, and the main thread, which takes sites,
 * decides and retires. Without locks: a site does not change once it is published, everything else
 * is one atomic word.
 */
#ifndef FOLLOW_SITES_H
#define FOLLOW_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

struct error;
struct sites;
struct watch_program;

/* How many sites can come up in a run; the BPF maps have room for so many more than the plan. */
enum { FOLLOW_SITES_MAX = 8192 };

/* Why the calls of a site may not all have been counted; a bit each. */
enum follow_trouble {
	TROUBLE_TIMED_OUT = 1,	 /* its thread was not held until the probe was there */
	TROUBLE_NOT_HELD = 2,	 /* nor held at all */
	TROUBLE_NO_REGISTER = 4, /* there was no debug register for it, at least for a time */
	TROUBLE_REFUSED = 8,	 /* the kernel refused the probe */
};

/* @first: how many sites there were before. -ENOMEM with @err set. */
int sites_create(struct sites **sites, size_t first, struct error *err);

/*
 * What captures values in calls of the sites of @plan is in @programs, by number: a site that comes
 * up gets that of an older one of its method. -ENOMEM with @err set.
 */
int sites_use_programs(struct sites *sites, const struct plan *plan, struct watch_program *programs,
		       struct error *err);
void sites_destroy(struct sites *sites);

/* How many there can be in all. */
size_t sites_capacity(const struct sites *sites);

/* Of the follower ---------------------------------------------------------------------------- */

/*
 * A site for what @like says; its strings are copied. NULL if there is no more room. @number counts
 * from the first site of the plan on. @undecided: only memory says whether it matches.
 */
struct site *sites_add(struct sites *sites, const struct site *like, bool undecided,
		       uint32_t *number);

/* Let the other thread see all sites made so far. */
void sites_publish(struct sites *sites);

/* @number has the probe of site @with, and what befalls that. Whose probe does @number have? */
void sites_share(struct sites *sites, size_t number, size_t with);
uint32_t sites_probe_of(const struct sites *sites, uint32_t number);

/* The other thread has found neither that @number is of another method nor that it is gone. */
bool sites_is_ours(const struct sites *sites, uint32_t number);

void sites_add_trouble(struct sites *sites, size_t number, unsigned int trouble);

/* Of the main thread, see follow_sites() ------------------------------------------------------ */

/* How many sites have come up; the one of a number, from 0. Both stay as they are. */
size_t sites_count(const struct sites *sites);
const struct site *sites_at(const struct sites *sites, size_t late);

/*
 * It is not certain whether such a site matches, or its name lacks what only memory has, until
 * sites_decide() says so.
 */
bool sites_is_undecided(const struct sites *sites, size_t late);
void sites_decide(struct sites *sites, size_t late, bool matches);

/* Site @number, from the first of the plan on, is of a module that has been unloaded. */
void sites_retire(struct sites *sites, size_t number);

/* Bits of enum follow_trouble, of any site of the plan: those of the start, then the others. */
unsigned int sites_trouble(const struct sites *sites, size_t number);

#endif
