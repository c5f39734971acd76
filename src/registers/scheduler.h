/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has which debug register while methods are compiled anew: there are fewer registers than
 * bodies, so a new body takes the register of one that calls no longer go to.
 *
 * Where calls are timed, a body has one at each exit too, or at none. Entries go first: then each call
 * is counted at least.
 */
#ifndef REGISTERS_SCHEDULER_H
#define REGISTERS_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/breakpoints.h"
#include "registers/in_flight.h"
#include "image/space.h"

struct error;
struct follow_shared;
struct timed_site;

/*
 * While methods are tiered, old and new bodies are both entered for a moment: so with one register
 * more than methods, none of these first methods ever lacks one. The others get what is left.
 */
enum { SCHEDULER_GUARANTEED = BREAKPOINTS_MAX - 1 };

#define SCHEDULER_NO_BODY UINT32_MAX

/* So long after a newer body was there, calls have left the older one, if nothing has proved it before. */
enum { SCHEDULER_DRAINED_NS = 200 * 1000 * 1000 };

/* What four registers leave beside the entry. */
enum { SCHEDULER_EXITS_MAX = BREAKPOINTS_MAX - 1 };

/* A place in a body that is to be watched: its entry or, see scheduler_arm_exits(), an exit. */
struct register_claim {
	uint32_t site;
	struct address address;
	uint64_t flags;	   /* of the cookie, beside the site; see bpf/latency.h */
	uint64_t method;   /* its MethodDesc; 0 if not known */
	uint32_t rank;	   /* of its method: the lower goes first */
	bool may_be_freed; /* other code may take its place */
};

struct register_use {
	struct register_claim claim;
	bool reserved; /* we have the register */
	bool used;     /* for the claim */
	bool exit;     /* which is an exit */

	/* There is a newer body of the method: the thread that made it, and when; where it is. */
	bool superseded;
	uint32_t newer_thread;
	uint64_t newer_ns;
	int newer_slot;	     /* -1: it has none */
	bool published;	     /* calls are known to go to it */
	bool none_in_flight; /* and nobody is on the way here any more */
};

struct scheduler {
	struct breakpoints *breakpoints;
	struct follow_shared *shared; /* tells when each was hit last */
	struct in_flight *in_flight;  /* tell who is on the way; NULL: nobody can. Atomic */
	struct dispatch_code runtime; /* as they want to have it */
	/* Until then whoever has a new body compiled can wait for an older one to be left; 0: 2 ms. */
	uint64_t wait_until_ns;
	struct register_use uses[BREAKPOINTS_MAX];
	uint32_t drained; /* see scheduler_take_drained() */
	/* By site: which have probes at all exits. NULL: calls are not timed. */
	struct timed_site *timed;
	uint32_t timed_last; /* the number given last, see bpf/latency.h */
};

/* @breakpoints may have some already: see scheduler_adopt(). */
void scheduler_init(struct scheduler *scheduler, struct breakpoints *breakpoints,
		    struct follow_shared *shared);

/*
 * From now on it can be known when a body is left: before, whoever takes its register makes it lose. Any thread may say
 * so. @in_flight must outlive @scheduler.
 */
void scheduler_use_in_flight(struct scheduler *scheduler, struct in_flight *in_flight);

/* Breakpoint @slot is there already, for @claim, which is of an exit or an entry. */
void scheduler_adopt(struct scheduler *scheduler, int slot, const struct register_claim *claim,
		     bool exit);

/*
 * Take registers, up to @count in all. That takes the kernel milliseconds, so it is not done while a
 * thread waits. False if there are no more.
 */
bool scheduler_reserve(struct scheduler *scheduler, int count);
int scheduler_reserved(const struct scheduler *scheduler);

/*
 * Watch @claim. A body that was superseded keeps its register until calls are known to go to the
 * newer one, for a while after its last hit, and until nobody is on the way there; if it @may_wait this
 * waits for that, until @scheduler->wait_until_ns.
 * 0, -ENOSPC, or another error with @err set. @evicted is set to the site that has lost its register
 * though calls may still go to it, or SCHEDULER_NO_BODY.
 */
int scheduler_arm(struct scheduler *scheduler, const struct register_claim *claim, bool may_wait,
		  uint32_t *evicted, struct error *err);

/* The body that scheduler_arm() has left last, since nobody came by any more; or SCHEDULER_NO_BODY. */
uint32_t scheduler_take_drained(struct scheduler *scheduler);

/* Could one more entry be watched at once, without any entry's loss? Those of a method of @rank take exits. */
bool scheduler_have_room(struct scheduler *scheduler, uint32_t rank);

/*
 * Watch @count @exits of @site's body, all that it has or more of them: its calls are timed from now on. Takes the registers
 * of exits of methods that come later, and of bodies that nobody comes by any more; if it @may_cut even of those in
 * which calls are under way. 0, -ENOSPC, or another error with @err set; then none are watched.
 */
int scheduler_arm_exits(struct scheduler *scheduler, uint32_t site,
			const struct register_claim *exits, size_t count, bool may_cut,
			struct error *err);

/* How many exits of @site are watched: the first ones of those it was given. */
size_t scheduler_exits(const struct scheduler *scheduler, uint32_t site);

/* Watch the entry of @site alone: its calls are timed no more. */
void scheduler_drop_exits(struct scheduler *scheduler, uint32_t site);

/* Calls that begin are not counted from now on, or are again; those under way may end. Only where calls are timed. */
void scheduler_close(const struct scheduler *scheduler, uint32_t site, bool closed);

/* Has @site registers, and nobody comes by any more? */
bool scheduler_is_drained(struct scheduler *scheduler, uint32_t site);

/* Are there timed calls that began in the body of @site, and are still to end? */
bool scheduler_has_calls(const struct scheduler *scheduler, uint32_t site);

/* Registers that we have, and that watch nothing. */
int scheduler_free(const struct scheduler *scheduler);

/* Are its calls timed? */
bool scheduler_is_timed(const struct scheduler *scheduler, uint32_t site);

/* A newer body of @method is there, that of @site: @thread is about to let calls go to it. */
void scheduler_supersede(struct scheduler *scheduler, uint64_t method, uint32_t site,
			 uint32_t thread);

/*
 * @thread has begun to compile something at @begun_ns: so it is done with what it compiled before
 * (src/coreclr/vm/tieredcompilation.cpp: each version is activated before the next is compiled).
 */
void scheduler_note_thread(struct scheduler *scheduler, uint32_t thread, uint64_t begun_ns);

/* Calls of @method are known to go to the newer body already. */
void scheduler_note_published(struct scheduler *scheduler, uint64_t method);

/* Give up the breakpoints of @site, or those in code that has been freed. Returns how many. */
int scheduler_drop_site(struct scheduler *scheduler, uint32_t site);
int scheduler_drop_range(struct scheduler *scheduler, struct address start, uint64_t size);

/* Is its entry watched? */
bool scheduler_has_site(const struct scheduler *scheduler, uint32_t site);

#endif
