/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bodies of watched methods: which are there, which is the newest of its method, which have a
 * debug register. And the sites that stand for them, which another thread reads.
 */
#ifndef FOLLOW_BODIES_H
#define FOLLOW_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/slots.h"
#include "follow/follow.h"
#include "place/plan.h"

struct bodies;
struct error;

struct body {
	uint32_t site;
	struct address address;
	uint64_t size;
	uint64_t method; /* MethodDesc */
	uint32_t rank;
	uint32_t thread; /* that compiled it */
	bool may_be_freed;
	bool known_by_event;   /* no other can be compiled at its address unless it is freed */
	bool entered_by_calls; /* not OSR */
	bool superseded;
	bool dead;
};

/* @first_site: how many sites there were before. -ENOMEM with @err set. */
int bodies_create(struct bodies **bodies, size_t first_site, struct slots *slots,
		  struct error *err);
void bodies_destroy(struct bodies *bodies);

/* A site for what @like says; its strings are copied. NULL if there is no more room. */
struct site *bodies_new_site(struct bodies *bodies, const struct site *like, bool undecided,
			     uint32_t *number);

/* Let the other thread see all sites made so far. */
void bodies_publish(struct bodies *bodies);

/* Add a body; NULL if there is no room. Older ones of its method are superseded by bodies_arm(). */
struct body *bodies_add(struct bodies *bodies, const struct body *body);

/* The live body at @address that was not seen being compiled. */
struct body *bodies_find_known(struct bodies *bodies, struct address address);

/* Its compilation, by @thread, is reported now. */
void bodies_confirm(struct bodies *bodies, struct body *body, uint32_t thread);

/* The runtime's books say that calls go to the body, and no longer to others of its method. */
void bodies_replace(struct bodies *bodies, const struct body *body);

/* There is a newer body of the method of @site. */
bool bodies_is_superseded(const struct bodies *bodies, uint32_t site);

/* What slots need to know to watch it. */
struct slot_claim body_claim(const struct body *body);

/* Watch the body. 0, -ENOSPC or another error. @loser as slots_arm() has it. */
int bodies_arm(struct bodies *bodies, struct body *body, uint32_t *loser, struct error *err);

/* @body's MethodDesc stands for another method now, or for none: what it had is gone. */
void bodies_bury(struct bodies *bodies, uint64_t method);

/* Other code lies there now. Returns how many breakpoints were taken away. */
int bodies_bury_range(struct bodies *bodies, struct address start, uint64_t size);

/*
 * What was decided meanwhile, and registers for bodies that went without: see follow_decide(). True
 * if there are bodies that still have none.
 */
bool bodies_tend(struct bodies *bodies);

/* Those that lack a register now are in trouble. */
void bodies_blame_lacking(struct bodies *bodies);

void bodies_add_trouble(struct bodies *bodies, size_t site, unsigned int trouble);
unsigned int bodies_trouble(const struct bodies *bodies, size_t site);

/* For the other thread; see follow.h. */
size_t bodies_site_count(const struct bodies *bodies);
const struct site *bodies_site(const struct bodies *bodies, size_t number);
bool bodies_is_undecided(const struct bodies *bodies, size_t number);
void bodies_decide(struct bodies *bodies, size_t number, bool matches);
bool bodies_matches(const struct bodies *bodies, size_t number);
void bodies_mark_buried(struct bodies *bodies, size_t site);

#endif
