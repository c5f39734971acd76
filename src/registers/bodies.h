/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bodies that want debug registers: each is a number, that of its site; which is the newest of
 * its method, where its exits are, whether it has a register. The flow: follow/ adds a body and has
 * it armed; scheduler.h gives it registers.
 */
#ifndef REGISTERS_BODIES_H
#define REGISTERS_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registers/policy.h"
#include "registers/scheduler.h"

struct error;

/* What is known of where calls of a body end. */
enum body_exits {
	BODY_EXITS_UNKNOWN,
	BODY_EXITS_KNOWN,
	BODY_EXITS_REFUSED, /* they cannot have probes, or there are too many */
};

struct body {
	uint32_t number;
	struct address address;
	uint64_t size;
	uint64_t method; /* any number that bodies of one method share; 0: it is not known */
	uint32_t rank;
	uint32_t rank_of_many; /* its rank once there are more methods, see bodies_are_many() */
	uint32_t publisher;    /* what lets calls go to it, see scheduler_supersede() */
	bool may_be_freed;
	bool reported;	       /* no other can come up at its address unless it is freed */
	bool entered_by_calls; /* else only in the middle of one */
	bool superseded;
	bool retired;
	bool final; /* its calls go on in no other body */
	/* Where calls are timed. */
	enum body_exits exits_are;
	uint64_t entry_flags; /* of the cookie of the probe at its entry */
	size_t exit_count;
	bool promoted; /* it was compiled since its method is called often */
	/*
	 * Calls may have gone to it since then, when they counted, until it was superseded or
	 * retired (0: they still do). Since when it has been watched, or has waited; how long it
	 * was watched before.
	 */
	uint64_t added_ns;
	uint64_t left_ns;
	uint64_t slice_ns;
	uint64_t watched_ns;
	bool watched;	      /* since @slice_ns */
	bool tried;	      /* now or before */
	bool first;	      /* for the first time */
	bool busy;	      /* it was hit until its last turn was over */
	uint64_t last_hit_ns; /* before it lost its register last */
	bool draining;	      /* its time slice is over, but for calls that are under way */
	struct register_claim exits[POLICY_EXITS_MAX];
};

struct bodies_config {
	size_t capacity;
	struct scheduler *scheduler;
	/* Is it what was asked for, and still there? If not, bodies_tend() retires it. */
	bool (*is_wanted)(void *ctx, uint32_t number);
	/* Calls of body @number may have gone by without a register. */
	void (*note_missed)(void *ctx, uint32_t number);
	void *ctx;
};

struct bodies {
	struct bodies_config config;
	struct scheduler *scheduler;
	struct body *bodies; /* all of them, retired ones too */
	size_t count;
};

/* -ENOMEM with @err set. */
int bodies_create(struct bodies **bodies, const struct bodies_config *config, struct error *err);
void bodies_destroy(struct bodies *bodies);

/* Add a body; NULL if there is no room. Older ones of its method are superseded by bodies_arm(). */
struct body *bodies_add(struct bodies *bodies, const struct body *body);

struct body *bodies_find(const struct bodies *bodies, uint32_t number);

/* The body at @address, not retired, that was not reported. */
struct body *bodies_find_unreported(struct bodies *bodies, struct address address);

/* It is reported now, and @publisher publishes it. */
void bodies_report(struct bodies *bodies, struct body *body, uint32_t publisher);

/* It is known that calls go to the body, and no longer to others of its method. */
void bodies_replace(struct bodies *bodies, const struct body *body);

/* What the scheduler needs to know to watch its entry. */
struct register_claim body_claim(const struct body *body);

/* One more exit; a body can have up to POLICY_EXITS_MAX. */
void body_add_exit(struct body *body, struct address address, uint64_t flags);

/* Have calls of the body timed, as far as its exits are known and there are registers for them. */
void bodies_time(struct bodies *bodies, struct body *body);

/*
 * Calls of bodies of @method that may go on in another may end where no probe is: they are timed no
 * more.
 */
void bodies_leave_unseen(struct bodies *bodies, uint64_t method);

/* Another body of @method than @number; or NULL. */
const struct body *bodies_find_method(const struct bodies *bodies, uint64_t method,
				      uint32_t number);

/* The body that calls of @method enter, or are in, if they may go on in another body; or NULL. */
struct body *bodies_find_entered(struct bodies *bodies, uint64_t method);

/* Watch the body. 0, -ENOSPC or another error. @evicted as scheduler_arm() has it. */
int bodies_arm(struct bodies *bodies, struct body *body, uint32_t *evicted, struct error *err);

/* @method stands for another method now, or for none: what it had is gone. */
void bodies_retire_method(struct bodies *bodies, uint64_t method);

/* Other code lies there now. Returns how many breakpoints were taken away. */
int bodies_retire_range(struct bodies *bodies, struct address start, uint64_t size);

/*
 * Registers for bodies that went without, unless they are @multiplexed. True if there are bodies
 * that still have none.
 */
bool bodies_tend(struct bodies *bodies, bool multiplexed);

/*
 * The counting begins: bodies that may not go without a register have one from now on, whoever
 * loses it, and those that lack one are noted as missed.
 */
void bodies_begin(struct bodies *bodies);

/* More than POLICY_GUARANTEED methods have come to be watched for: ranks are others by that. */
void bodies_are_many(struct bodies *bodies);

/* Calls count since @since_ns: what was watched before is forgotten. */
void bodies_count_from(struct bodies *bodies, uint64_t since_ns);

/* Multiplexing ------------------------------------------------------------------------------- */

/*
 * Where there are fewer debug registers than bodies in use, bodies share them in time. Who gives
 * way, and to whom, is policy.h's: by need, or all alike (--share). Calls that a body does not see
 * meanwhile are not counted. Call now and then; @turns: not by rank. @slice_ns: how long a time
 * slice is.
 */
void multiplexing_tend(struct bodies *bodies, enum policy_turns turns, uint64_t slice_ns);

/* For multiplexing.c. */
struct policy_body bodies_describe(const struct bodies *bodies, const struct body *body);

/* Do calls go to it, so that it is to have its time slice? */
bool body_wants_register(const struct body *body);
void bodies_note_missed(const struct bodies *bodies, const struct body *body);

/* How long a body was watched ----------------------------------------------------------------- */

/*
 * Of the time in which calls went to it; and whether it was hit. Kept by bodies.c and
 * multiplexing.c whenever it gets or loses a register, told at the end.
 */
struct body_time {
	uint64_t called_ns;  /* calls went to it for so long, */
	uint64_t watched_ns; /* and so long of that it was watched */
};

/* Until @now. */
struct body_time body_time(const struct body *body, uint64_t now);

/* It may have got a register, or lost the one it had. */
void body_note_register(struct body *body, const struct scheduler *scheduler);

/* Its turn begins now, though it was watched in part before. */
void body_begin_slice(struct body *body);

/* Before it is known to have lost it: when that was hit last. */
void body_note_last_hit(struct body *body, uint64_t last_hit_ns);
uint64_t body_last_hit_ns(const struct body *body, const struct scheduler *scheduler);

/* Calls do not go to it any more, or will not in a moment. */
void body_leave(struct body *body);

/*
 * Who was to let calls go to it was held until now, that it might be watched from the first on: no
 * call has gone to it yet.
 */
void body_let_go(struct body *body);

/* Calls count since @since_ns: what was watched before is forgotten. */
void body_count_from(struct body *body, uint64_t since_ns);

#endif
