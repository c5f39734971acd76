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

#include "registers/scheduler.h"
#include "follow/follow.h"
#include "plan/plan.h"

struct bodies;
struct error;

/* What is known of where calls of a body end. */
enum body_exits {
	BODY_EXITS_UNKNOWN,
	BODY_EXITS_KNOWN,
	BODY_EXITS_REFUSED, /* they cannot have probes, or there are too many */
};

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
	bool final; /* it goes on in no other body (OSR) */
	/* Where calls are timed. */
	enum body_exits exits_are;
	uint64_t entry_flags; /* of the cookie of the probe at its entry */
	size_t exit_count;
	uint64_t added_ns;
	/* Where bodies take turns: since when it has been watched, or has waited; how long it was watched before. */
	uint64_t turn_ns;
	uint64_t watched_ns;
	bool leaving; /* its turn is over, but for calls that are under way */
	struct register_claim exits[SCHEDULER_EXITS_MAX];
};

/* @first_site: how many sites there were before. -ENOMEM with @err set. */
int bodies_create(struct bodies **bodies, size_t first_site, struct scheduler *scheduler,
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

/* What the scheduler needs to know to watch it. */
struct register_claim body_claim(const struct body *body);

/*
 * Take the exits that @site has, as timed.h says. Those of an OSR body go to the body that calls enter,
 * beside its own.
 */
void body_take_exits(struct body *body, const struct site *site);

/* Have calls of the body timed, as far as its exits are known and there are registers for them. */
void bodies_time(struct bodies *bodies, struct body *body);

/* Calls of bodies of @method that may go on in an OSR body may end where no probe is: they are timed no more. */
void bodies_leave_unseen(struct bodies *bodies, uint64_t method);

/* Another body of @method than that of @site; or NULL. */
const struct body *bodies_find_method(const struct bodies *bodies, uint64_t method, uint32_t site);

/* The body that calls of @method enter, or are in, if they may go on in an OSR body; or NULL. */
struct body *bodies_find_entered(struct bodies *bodies, uint64_t method);

/* Watch the body. 0, -ENOSPC or another error. @evicted as scheduler_arm() has it. */
int bodies_arm(struct bodies *bodies, struct body *body, uint32_t *evicted, struct error *err);

/* @body's MethodDesc stands for another method now, or for none: what it had is gone. */
void bodies_retire(struct bodies *bodies, uint64_t method);

/* Other code lies there now. Returns how many breakpoints were taken away. */
int bodies_retire_range(struct bodies *bodies, struct address start, uint64_t size);

/*
 * What was decided meanwhile (see follow_decide()), and registers for bodies that went without, unless they get them @multiplexed. True
 * if there are bodies that still have none.
 */
bool bodies_tend(struct bodies *bodies, bool multiplexed);

/* All of them, dead ones too. */
size_t bodies_count(const struct bodies *bodies);
struct body *bodies_at(struct bodies *bodies, size_t index);
/* Also of a site that shares the probe of the body's own. */
const struct body *bodies_of_site(const struct bodies *bodies, uint32_t site);
struct scheduler *bodies_scheduler(const struct bodies *bodies);

/* Do calls go to it, so that it is to have its turn? */
bool bodies_is_multiplexed(const struct bodies *bodies, const struct body *body);

/* Those that lack a register now are in trouble. */
void bodies_blame_lacking(struct bodies *bodies);

/* @site has the probe of site @with, and what befalls that. */
void bodies_share(struct bodies *bodies, size_t site, size_t with);

void bodies_add_trouble(struct bodies *bodies, size_t site, unsigned int trouble);
unsigned int bodies_trouble(const struct bodies *bodies, size_t site);

/* For the other thread; see follow.h. */
size_t bodies_site_count(const struct bodies *bodies);
const struct site *bodies_site(const struct bodies *bodies, size_t number);
bool bodies_is_undecided(const struct bodies *bodies, size_t number);
void bodies_decide(struct bodies *bodies, size_t number, bool matches);
bool bodies_matches(const struct bodies *bodies, size_t number);
void bodies_mark_retired(struct bodies *bodies, size_t site);

#endif
