/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debug-register scheduler: which body has which debug register while newer bodies come. There
 * are fewer registers than bodies, so a new body takes the register of one that calls no longer go
 * to; policy.h has the rules. Bodies are numbers here; bodies.h has what is known of them.
 *
 * Where calls are timed, a body has a register at each exit too, or at none. Entries go first: then
 * each call is counted at least.
 */
#ifndef REGISTERS_SCHEDULER_H
#define REGISTERS_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/breakpoints.h"
#include "registers/in_flight.h"

struct error;

#define SCHEDULER_NO_BODY UINT32_MAX

/* So long after a newer body was there, calls go to it, if nothing has proved it before. */
enum { SCHEDULER_PUBLISHED_NS = 200 * 1000 * 1000 };

/* A place in a body that is to be watched: its entry or, see scheduler_arm_exits(), an exit. */
struct register_claim {
	uint32_t body;
	struct address address;
	uint64_t flags;	   /* of the cookie, beside the body's number; see bpf/latency.h */
	uint32_t rank;	   /* of its method: the lower goes first */
	bool may_be_freed; /* other code may take its place */
};

struct register_use {
	struct register_claim claim;
	bool reserved; /* we have the register */
	bool used;     /* for the claim */
	bool exit;     /* which is an exit */
	uint64_t armed_ns;

	/* There is a newer body: the thread that publishes it, since when it is there; where. */
	bool superseded;
	uint32_t publisher;
	uint64_t newer_ns;
	int newer_slot;	     /* -1: it has none */
	uint64_t looked_ns;  /* when scheduler_look() has looked last; 0: not yet */
	bool published;	     /* calls are known to go to it, */
	bool none_in_flight; /* and no thread is in flight to this one any more */
};

struct scheduler {
	struct breakpoints *breakpoints;
	struct follow_shared *shared; /* tells when each was hit last */
	struct in_flight
		*in_flight; /* finds threads in flight; NULL: they cannot be found. Atomic */
	struct dispatch_code dispatch; /* where they look up where to go */
	/* Until then whoever has a new body can wait for an older one to drain; 0: 2 ms. */
	uint64_t wait_until_ns;
	struct register_use uses[BREAKPOINTS_MAX];
	uint32_t drained; /* see scheduler_take_drained() */
	/* By body: which have probes at all exits. NULL: calls are not timed. */
	struct timed_site *timed;
	uint32_t timed_last; /* the number given last, see bpf/latency.h */
};

/* @breakpoints may have some already: see scheduler_adopt(). */
void scheduler_init(struct scheduler *scheduler, struct breakpoints *breakpoints,
		    struct follow_shared *shared);

/*
 * From now on it can be known when a body is drained: before, whoever takes its register evicts it.
 * Any thread may call this. @in_flight must outlive @scheduler.
 */
void scheduler_use_in_flight(struct scheduler *scheduler, struct in_flight *in_flight);

/* Breakpoint @slot is there already, for @claim, which is of an exit or an entry. */
void scheduler_adopt(struct scheduler *scheduler, int slot, const struct register_claim *claim,
		     bool exit);

/*
 * Take registers, up to @count in all. That takes the kernel milliseconds, so it is not done while
 * a thread waits. False if there are no more: if it is @patient, not for some 50 ms either.
 */
bool scheduler_reserve(struct scheduler *scheduler, int count, bool patient);
int scheduler_reserved(const struct scheduler *scheduler);

/* Registers that we have, and that watch nothing. */
int scheduler_idle(const struct scheduler *scheduler);

/*
 * Watch the entry that @claim is of. A body that was superseded keeps its register until it is
 * drained; if it @may_wait this waits for that, until @scheduler->wait_until_ns. 0, -ENOSPC, or
 * another error with @err set. @evicted is set to the body that has lost its register though calls
 * may still go to it, or to SCHEDULER_NO_BODY.
 */
int scheduler_arm(struct scheduler *scheduler, const struct register_claim *claim, bool may_wait,
		  uint32_t *evicted, struct error *err);

/* The superseded body whose register scheduler_arm() has taken last; or SCHEDULER_NO_BODY. */
uint32_t scheduler_take_drained(struct scheduler *scheduler);

/*
 * Could one more entry be watched at once, without any entry's loss? Those of a method of @rank
 * take exits.
 */
bool scheduler_have_room(struct scheduler *scheduler, uint32_t rank);

/* Is its entry watched, and by which register? -1: by none. */
bool scheduler_has_entry(const struct scheduler *scheduler, uint32_t body);
int scheduler_slot_of(const struct scheduler *scheduler, uint32_t body);

/*
 * @body was superseded by body @newer: @publisher (a thread's id, or any number that tells
 * publishers apart) is about to let calls go there.
 */
void scheduler_supersede(struct scheduler *scheduler, uint32_t body, uint32_t newer,
			 uint32_t publisher);

/* @body, if it has a register, is of @rank from now on. */
void scheduler_rank(struct scheduler *scheduler, uint32_t body, uint32_t rank);

/* @publisher has begun something else at @begun_ns: what it was to publish before is published. */
void scheduler_note_publisher(struct scheduler *scheduler, uint32_t publisher, uint64_t begun_ns);

/* Calls of @body, which was superseded, are known to go to the newer one already. */
void scheduler_note_published(struct scheduler *scheduler, uint32_t body);

/*
 * Look whether superseded bodies are drained, the more seldom the longer they are not. Nothing is
 * done with it now: but when a register is needed it is known, whatever threads do then, such as
 * those of a target that is being frozen.
 */
void scheduler_look(struct scheduler *scheduler);

/* Has @body registers, and have calls left it? */
bool scheduler_is_drained(struct scheduler *scheduler, uint32_t body);

/* Give up the breakpoints of @body, or those in code that has been freed. Returns how many. */
int scheduler_drop(struct scheduler *scheduler, uint32_t body);
int scheduler_drop_range(struct scheduler *scheduler, struct address start, uint64_t size);

/*
 * Watch @count @exits of @body, all that it has or more of them: its calls are timed from now on.
 * Takes the registers of exits of methods that come later, and of drained bodies; if it @may_cut
 * even of those in which calls are under way. 0, -ENOSPC, or another error with @err set; then none
 * are watched.
 */
int scheduler_arm_exits(struct scheduler *scheduler, uint32_t body,
			const struct register_claim *exits, size_t count, bool may_cut,
			struct error *err);

/* How many exits of @body are watched: the first ones of those it was given. */
size_t scheduler_exits(const struct scheduler *scheduler, uint32_t body);

/* Are its calls timed? */
bool scheduler_is_timed(const struct scheduler *scheduler, uint32_t body);

/* Watch the entry of @body alone: its calls are timed no more. */
void scheduler_drop_exits(struct scheduler *scheduler, uint32_t body);

/*
 * Calls that begin are not counted from now on, or are again; those under way may end. Only where
 * calls are timed.
 */
void scheduler_close(const struct scheduler *scheduler, uint32_t body, bool closed);

/* Are there timed calls that began in @body, and are still to end? */
bool scheduler_has_calls(const struct scheduler *scheduler, uint32_t body);

/* For this room (drained.c) ------------------------------------------------------------------ */

uint64_t slot_last_hit_ns(const struct scheduler *scheduler, int slot);

/*
 * Have calls left the body, which was superseded, that register @slot watches? Timed calls may
 * still be under way in it.
 */
bool slot_is_drained(struct scheduler *scheduler, int slot);

/* Is it in time? Until scheduler->wait_until_ns this waits for that. */
bool slot_wait_until_drained(struct scheduler *scheduler, int slot);

#endif
