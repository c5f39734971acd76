/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compilations of a runtime: each event of its JIT comes here from the event loop (follow.c),
 * its body gets a site and a debug register (registers/), and the held thread goes on. On the way
 * of a held thread nothing prints or reads the target's memory.
 */
#ifndef FOLLOW_COMPILATIONS_H
#define FOLLOW_COMPILATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "bpf/follow.h"
#include "code/exits.h"
#include "follow/jit/watch.h"
#include "plan/plan.h"
#include "registers/bodies.h"

struct error;

/* Copies -------------------------------------------------------------------------------------- */

/*
 * Memory of the target that the programs are asked to copy while they hold a thread: this side must
 * not read it itself (follow.h). Images go to watch.h then, code to timing.c.
 */
enum { COPIES_MAX = 16 };

struct copied {
	uint8_t *bytes; /* malloc'd */
	size_t size;
	size_t got; /* the others could not be read, and are 0 */
};

struct copy {
	uint64_t hold; /* 0: there is none */
	uint64_t asked_ns;
	struct compile_event event;
	uint64_t at[FOLLOW_COPIES];
	struct copied ranges[FOLLOW_COPIES];
	/* Of code: whose it is. An image's has none. */
	bool of_code;
	const struct watch_row *row;
	bool may_be_freed;
};

struct copies {
	struct copy copies[COPIES_MAX];
};

/* Room for @ranges, asked for with @event. NULL: there is no more, or no memory. */
struct copy *copies_add(struct copies *copies, const struct compile_event *event,
			const struct hold_copy ranges[FOLLOW_COPIES]);

/* The one that was asked for with the hold @hold, or NULL. */
struct copy *copies_find(struct copies *copies, uint64_t hold);

void copies_take(struct copies *copies, const struct chunk_event *chunk);

/* All of the range was read, or nothing is given. */
struct span copy_bytes(const struct copy *copy, size_t range);

/* Its bytes go with it, as far as they have not been taken over. */
void copy_drop(struct copy *copy);
void copies_deinit(struct copies *copies);

/* Compilations -------------------------------------------------------------------------------- */

struct compilations_config {
	const struct request *methods; /* there may be no pattern */
	const struct follow_snapshot *snapshot;
	struct watch_maps maps;
	int stub_sites_fd;
	struct messages *messages;
	struct breakpoints *breakpoints; /* this room's alone from now on */
	const struct plan *plan;	 /* sites that are attached already */
	const int *slots;		 /* by slot: the site of its breakpoint, or -1 */
	uint64_t share_ns;		 /* --share: how long a time slice is; 0: no multiplexing */
	/* By site, those to come included. NULL: calls are not timed. */
	struct timed_site *timed;
	const struct probe_cost *costs; /* by kind of probe */
};

enum { TIMES_MAX = 1 << 14 };

struct compilations {
	struct compilations_config config;
	struct messages *messages;
	struct watch *watch; /* the methods that are asked for */
	struct scheduler scheduler;
	struct bodies *bodies;
	struct copies copies;
	struct exits exits;	 /* of one body after another */
	struct text stub_params; /* of the stub that is being answered for */
	/* From any thread: when bodies that have no register any more are drained for sure. */
	enum policy_turns turns;
	bool active; /* calls count */
	bool many;   /* more than POLICY_GUARANTEED methods are watched for */
	_Atomic uint64_t settled_ns;
	uint64_t try_again_ns;	   /* to get another debug register */
	unsigned int try_again_ms; /* between the last two times */
	_Atomic int registers;	   /* from any thread: how many can be had */
	size_t time_count;
	uint64_t times[TIMES_MAX]; /* last: a held thread must not wait for more pages */
};

int compilations_create(struct compilations **jit, const struct compilations_config *config,
			struct error *err);
void compilations_destroy(struct compilations *jit);

/* Take over what the plan has armed, and what it wants to have armed. */
void compilations_adopt_plan(struct compilations *jit);

/* Take the debug registers that may be needed, beside those that the plan has. */
void compilations_adopt_registers(struct compilations *jit);

/* A site that has come up since the plan was made. */
void compilations_add(struct compilations *jit, const struct site *site);

/* What the programs report. @detail is NULL, or of FOLLOW_DETAIL_BYTES. */
void compilations_answer(struct compilations *jit, const struct compile_event *event,
			 const uint8_t *detail);

/* Now and then: registers for bodies that lack one, and multiplexing. */
void compilations_tick(struct compilations *jit);

/* At the end: what was asked for does not come any more, but its bodies are there. */
void compilations_give_up(struct compilations *jit);

#endif
