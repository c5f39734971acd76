/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compilations of a runtime: each event of its JIT comes here from the event loop (follow.c),
 * its body gets a site and a debug register (registers/), and the held thread goes on. On the way
 * of a held thread nothing prints or reads the target's memory.
 */
#ifndef FOLLOW_COMPILATIONS_H
#define FOLLOW_COMPILATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/follow.h"
#include "follow/jit/watch.h"
#include "plan/plan.h"
#include "registers/body_time.h"

struct breakpoints;
struct compilations;
struct dispatch_code;
struct error;
struct in_flight;
struct messages;
struct probe_cost;
struct timed_site;

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

int compilations_create(struct compilations **jit, const struct compilations_config *config,
			struct error *err);
void compilations_destroy(struct compilations *jit);

/* The methods that are asked for. */
struct watch *compilations_watch(const struct compilations *jit);

/* Take over what the plan has armed, and what it wants to have armed. */
void compilations_adopt_plan(struct compilations *jit);

/* Take the debug registers that may be needed, beside those that the plan has. */
void compilations_adopt_registers(struct compilations *jit);

/* A site that has come up since the plan was made. */
void compilations_add(struct compilations *jit, const struct site *site);

/* The counting begins: see bodies_begin(). */
void compilations_begin(struct compilations *jit);

/* What the programs report. @detail is NULL, or of FOLLOW_DETAIL_BYTES. */
void compilations_answer(struct compilations *jit, const struct compile_event *event,
			 const uint8_t *detail);
void compilations_take_chunk(struct compilations *jit, const struct chunk_event *chunk);

/* Now and then: registers for bodies that lack one, and multiplexing. */
void compilations_tick(struct compilations *jit);

/* At the end: what was asked for does not come any more, but its bodies are there. */
void compilations_give_up(struct compilations *jit);

/*
 * When threads look up where to go, and how those in flight are found. The latter from any thread.
 */
void compilations_set_dispatch(struct compilations *jit, const struct dispatch_code *dispatch);
void compilations_use_in_flight(struct compilations *jit, struct in_flight *in_flight);

/*
 * From any thread: when bodies that have no register any more are drained for sure; are there no
 * registers at all?
 */
uint64_t compilations_settled_ns(const struct compilations *jit);
bool compilations_without_registers(const struct compilations *jit);

/* When the follower has ended: as follow_watched() and follow_times(). */
struct body_time compilations_watched(const struct compilations *jit, uint32_t site,
				      uint64_t ended_ns);
struct follow_times compilations_times(const struct compilations *jit);

#endif
