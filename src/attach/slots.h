/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has which debug register while methods are compiled anew: there are fewer registers than
 * bodies, so a new body takes the register of one that calls no longer go to.
 */
#ifndef ATTACH_SLOTS_H
#define ATTACH_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/breakpoints.h"
#include "image/space.h"

struct error;
struct follow_shared;

/*
 * While methods are tiered, old and new bodies are both entered for a moment: so with one register
 * more than methods, none of these first methods ever lacks one. The others get what is left.
 */
enum { SLOTS_GUARANTEED = BREAKPOINTS_MAX - 1 };

#define SLOTS_NO_SITE UINT32_MAX

/* So long after a newer body was there, calls have left the older one, if nothing has proved it before. */
enum { SLOTS_LEFT_NS = 200 * 1000 * 1000 };

/* A body that is to be watched. */
struct slot_claim {
	uint32_t site;
	struct address address;
	uint64_t method;   /* its MethodDesc; 0 if not known */
	uint32_t rank;	   /* of its method: the lower goes first */
	bool may_be_freed; /* other code may take its place */
};

struct slot_use {
	struct slot_claim claim;
	bool reserved; /* we have the register */
	bool used;     /* for the claim */

	/* There is a newer body of the method: the thread that made it, and when; where it is. */
	bool superseded;
	uint32_t newer_thread;
	uint64_t newer_ns;
	int newer_slot; /* -1: it has none */
	bool published; /* calls are known to go to it */
};

struct slots {
	struct breakpoints *breakpoints;
	struct follow_shared *shared; /* tells when each was hit last */
	struct slot_use uses[BREAKPOINTS_MAX];
	uint32_t left; /* see slots_left() */
};

/* @breakpoints may have some already: see slots_adopt(). */
void slots_init(struct slots *slots, struct breakpoints *breakpoints, struct follow_shared *shared);

/* Breakpoint @slot is there already, for @claim. */
void slots_adopt(struct slots *slots, int slot, const struct slot_claim *claim);

/*
 * Take registers, up to @count in all. That takes the kernel milliseconds, so it is not done while a
 * thread waits. False if there are no more.
 */
bool slots_reserve(struct slots *slots, int count);
int slots_reserved(const struct slots *slots);

/*
 * Watch @claim. A body that was superseded keeps its register until calls are known to go to the
 * newer one, and for a while after its last hit; if it @may_wait this waits for that, 2 ms at most.
 * 0, -ENOSPC, or another error with @err set. @loser is set to the site that has lost its register
 * though calls may still go to it, or SLOTS_NO_SITE.
 */
int slots_arm(struct slots *slots, const struct slot_claim *claim, bool may_wait, uint32_t *loser,
	      struct error *err);

/* The body that slots_arm() has left last, since nobody came by any more; or SLOTS_NO_SITE. */
uint32_t slots_left(struct slots *slots);

/* Could @claim be watched at once, without anyone's loss? */
bool slots_have_room(const struct slots *slots);

/* A newer body of @method is there, that of @site: @thread is about to let calls go to it. */
void slots_supersede(struct slots *slots, uint64_t method, uint32_t site, uint32_t thread);

/*
 * @thread has begun to compile something at @begun_ns: so it is done with what it compiled before
 * (src/coreclr/vm/tieredcompilation.cpp: each version is activated before the next is compiled).
 */
void slots_note_thread(struct slots *slots, uint32_t thread, uint64_t begun_ns);

/* Calls of @method are known to go to the newer body already. */
void slots_note_published(struct slots *slots, uint64_t method);

/* Give up the breakpoint of @site, or those in code that has been freed. Returns how many. */
int slots_drop_site(struct slots *slots, uint32_t site);
int slots_drop_range(struct slots *slots, struct address start, uint64_t size);

bool slots_has_site(const struct slots *slots, uint32_t site);

#endif
