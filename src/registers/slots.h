/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has which debug register while methods are compiled anew: there are fewer registers than
 * bodies, so a new body takes the register of one that calls no longer go to.
 *
 * Where calls are timed, a body has one at each exit too, or at none. Entries go first: then each call
 * is counted at least.
 */
#ifndef REGISTERS_SLOTS_H
#define REGISTERS_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/breakpoints.h"
#include "registers/entrants.h"
#include "image/space.h"

struct error;
struct follow_shared;
struct timed_site;

/*
 * While methods are tiered, old and new bodies are both entered for a moment: so with one register
 * more than methods, none of these first methods ever lacks one. The others get what is left.
 */
enum { SLOTS_GUARANTEED = BREAKPOINTS_MAX - 1 };

#define SLOTS_NO_SITE UINT32_MAX

/* So long after a newer body was there, calls have left the older one, if nothing has proved it before. */
enum { SLOTS_LEFT_NS = 200 * 1000 * 1000 };

/* What four registers leave beside the entry. */
enum { SLOTS_EXITS_MAX = BREAKPOINTS_MAX - 1 };

/* A place in a body that is to be watched: its entry or, see slots_arm_exits(), an exit. */
struct slot_claim {
	uint32_t site;
	struct address address;
	uint64_t flags;	   /* of the cookie, beside the site; see bpf/latency.h */
	uint64_t method;   /* its MethodDesc; 0 if not known */
	uint32_t rank;	   /* of its method: the lower goes first */
	bool may_be_freed; /* other code may take its place */
};

struct slot_use {
	struct slot_claim claim;
	bool reserved; /* we have the register */
	bool used;     /* for the claim */
	bool exit;     /* which is an exit */

	/* There is a newer body of the method: the thread that made it, and when; where it is. */
	bool superseded;
	uint32_t newer_thread;
	uint64_t newer_ns;
	int newer_slot; /* -1: it has none */
	bool published; /* calls are known to go to it */
	bool passed;	/* and nobody is on the way here any more */
};

struct slots {
	struct breakpoints *breakpoints;
	struct follow_shared *shared;	 /* tells when each was hit last */
	struct entrants *entrants;	 /* tell who is on the way; NULL: nobody can. Atomic */
	struct entrants_runtime runtime; /* as they want to have it */
	/* Until then whoever has a new body compiled can wait for an older one to be left; 0: 2 ms. */
	uint64_t wait_until_ns;
	struct slot_use uses[BREAKPOINTS_MAX];
	uint32_t left; /* see slots_left() */
	/* By site: which have probes at all exits. NULL: calls are not timed. */
	struct timed_site *timed;
	uint32_t timed_last; /* the number given last, see bpf/latency.h */
};

/* @breakpoints may have some already: see slots_adopt(). */
void slots_init(struct slots *slots, struct breakpoints *breakpoints, struct follow_shared *shared);

/*
 * From now on it can be known when a body is left: before, whoever takes its register makes it lose. Any thread may say
 * so. @entrants must outlive @slots.
 */
void slots_ask(struct slots *slots, struct entrants *entrants);

/* Breakpoint @slot is there already, for @claim, which is of an exit or an entry. */
void slots_adopt(struct slots *slots, int slot, const struct slot_claim *claim, bool exit);

/*
 * Take registers, up to @count in all. That takes the kernel milliseconds, so it is not done while a
 * thread waits. False if there are no more.
 */
bool slots_reserve(struct slots *slots, int count);
int slots_reserved(const struct slots *slots);

/*
 * Watch @claim. A body that was superseded keeps its register until calls are known to go to the
 * newer one, for a while after its last hit, and until nobody is on the way there; if it @may_wait this
 * waits for that, until @slots->wait_until_ns.
 * 0, -ENOSPC, or another error with @err set. @loser is set to the site that has lost its register
 * though calls may still go to it, or SLOTS_NO_SITE.
 */
int slots_arm(struct slots *slots, const struct slot_claim *claim, bool may_wait, uint32_t *loser,
	      struct error *err);

/* The body that slots_arm() has left last, since nobody came by any more; or SLOTS_NO_SITE. */
uint32_t slots_left(struct slots *slots);

/* Could one more entry be watched at once, without any entry's loss? Those of a method of @rank take exits. */
bool slots_have_room(struct slots *slots, uint32_t rank);

/*
 * Watch @count @exits of @site's body, all that it has or more of them: its calls are timed from now on. Takes the registers
 * of exits of methods that come later, and of bodies that nobody comes by any more; if it @may_cut even of those in
 * which calls are under way. 0, -ENOSPC, or another error with @err set; then none are watched.
 */
int slots_arm_exits(struct slots *slots, uint32_t site, const struct slot_claim *exits,
		    size_t count, bool may_cut, struct error *err);

/* How many exits of @site are watched: the first ones of those it was given. */
size_t slots_exits(const struct slots *slots, uint32_t site);

/* Watch the entry of @site alone: its calls are timed no more. */
void slots_drop_exits(struct slots *slots, uint32_t site);

/* Calls that begin are not counted from now on, or are again; those under way may end. Only where calls are timed. */
void slots_close(const struct slots *slots, uint32_t site, bool closed);

/* Has @site registers, and nobody comes by any more? */
bool slots_are_left(struct slots *slots, uint32_t site);

/* Are there timed calls that began in the body of @site, and are still to end? */
bool slots_has_calls(const struct slots *slots, uint32_t site);

/* Registers that we have, and that watch nothing. */
int slots_free(const struct slots *slots);

/* Are its calls timed? */
bool slots_is_timed(const struct slots *slots, uint32_t site);

/* A newer body of @method is there, that of @site: @thread is about to let calls go to it. */
void slots_supersede(struct slots *slots, uint64_t method, uint32_t site, uint32_t thread);

/*
 * @thread has begun to compile something at @begun_ns: so it is done with what it compiled before
 * (src/coreclr/vm/tieredcompilation.cpp: each version is activated before the next is compiled).
 */
void slots_note_thread(struct slots *slots, uint32_t thread, uint64_t begun_ns);

/* Calls of @method are known to go to the newer body already. */
void slots_note_published(struct slots *slots, uint64_t method);

/* Give up the breakpoints of @site, or those in code that has been freed. Returns how many. */
int slots_drop_site(struct slots *slots, uint32_t site);
int slots_drop_range(struct slots *slots, struct address start, uint64_t size);

/* Is its entry watched? */
bool slots_has_site(const struct slots *slots, uint32_t site);

#endif
