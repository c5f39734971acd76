/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocation policy of the debug registers: there are fewer of them than bodies. Pure functions
 * over values that describe the registers and the bodies. The flow: a new body → follow/ → bodies →
 * scheduler, which asks here what to do.
 *
 * An entry gets the register of the first rule that has one:
 *
 * | rule                | whose register, and who misses calls by that                            |
 * |---------------------|-------------------------------------------------------------------------|
 * | POLICY_FREE         | nobody's                                                                |
 * | POLICY_DRAINED      | of a superseded body that is drained, of several the one hit longest    |
 * |                     | ago: nobody misses any                                                  |
 * | POLICY_EXITS        | an exit's: of a superseded body, first of one without calls under way,  |
 * |                     | or of the method asked for last, if that is later. Nobody misses calls, |
 * |                     | but that body's are timed no more                                       |
 * | POLICY_SUPERSEDED   | of the superseded body that was hit longest ago, not of a guaranteed    |
 * |                     | method. It misses calls unless it drains while the scheduler may wait   |
 * | POLICY_IDLE         | of a body in use that nobody has entered for POLICY_IDLE_NS, of several |
 * |                     | the one hit longest ago; not of the guaranteed methods. It is watched   |
 * |                     | again when its turn comes                                               |
 * | POLICY_LATER_METHOD | of the method asked for last, if that is later than this one and not    |
 * |                     | among the first POLICY_GUARANTEED: that body misses calls               |
 * | POLICY_KEPT         | of a guaranteed method's superseded body, likewise; but for methods     |
 * |                     | that are not only if it drains                                          |
 * | (once more)         | of the older body of its own method, which is superseded now: the same  |
 * |                     | again, without a wait                                                   |
 *
 * Exits: all of a body get one, or none (policy_exit). How many are taken beforehand:
 * policy_reservation(). At the start: policy_start_fits().
 *
 * Where bodies in use outnumber registers they take turns, so that no register rests while a body
 * has none. With --share all are alike: the longest turn gives way to the longest wait. Else:
 *
 * | rule                | what it says                                                            |
 * |---------------------|-------------------------------------------------------------------------|
 * | policy_rank         | the first POLICY_GUARANTEED named methods, then other named ones, then  |
 * |                     | what a glob or a regex matches; if no more than POLICY_GUARANTEED       |
 * |                     | methods are asked for, as they were asked for                           |
 * | policy_may_give_way | the guaranteed ones keep theirs                                         |
 * | policy_is_idle      | who was not hit for POLICY_IDLE_NS gives way to anybody                 |
 * | policy_slice_is_over| who is hit has POLICY_SLICE_NS                                          |
 * | policy_first_is_over| who is hit in its first turn has POLICY_FIRST_SLICE_NS if another waits |
 * |                     | that was never watched: it is known to be busy then                     |
 * | policy_claim        | who waits gets one by how long, and by what is known of it: never       |
 * |                     | watched yet, named, compiled anew since it is called often              |
 * | policy_trials       | some registers are for bodies that may be idle, also while busier ones  |
 * |                     | wait: one, or half while there are bodies that were never watched       |
 */
#ifndef REGISTERS_POLICY_H
#define REGISTERS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/breakpoints.h"

enum {
	POLICY_REGISTERS = BREAKPOINTS_MAX,
	/*
	 * While methods are tiered, old and new bodies are both entered for a moment: so with one
	 * register more than methods, none of these first methods ever lacks one. The others get
	 * what is left.
	 */
	POLICY_GUARANTEED = POLICY_REGISTERS - 1,
	/* What all registers leave beside the entry. */
	POLICY_EXITS_MAX = POLICY_REGISTERS - 1,

	/* Ranks, where bodies take turns, of methods that are not guaranteed. */
	POLICY_RANK_NAMED = POLICY_GUARANTEED,
	POLICY_RANK_MATCHED,

	POLICY_IDLE_NS = 100 * 1000 * 1000,
	POLICY_SLICE_NS = 100 * 1000 * 1000,
	POLICY_FIRST_SLICE_NS = 20 * 1000 * 1000,
};

/* Registers --------------------------------------------------------------------------------- */

struct policy_register {
	bool reserved;	 /* it is ours */
	bool used;	 /* and watches something: */
	bool exit;	 /* an exit; else an entry */
	bool superseded; /* of a body that has a newer one, */
	bool drained;	 /* which calls have left, as far as that was asked; of entries */
	bool has_calls;	 /* timed calls of its body are under way */
	bool idle;	 /* by policy_is_idle(), and its body may give way */
	bool guaranteed; /* its body may not */
	uint32_t body;
	uint32_t rank; /* of its method: the lower was asked for earlier */
	uint64_t last_hit_ns;
};

enum policy_rule {
	POLICY_NONE, /* there is no register */
	POLICY_FREE,
	POLICY_DRAINED,
	POLICY_EXITS,
	POLICY_SUPERSEDED,
	POLICY_IDLE,
	POLICY_LATER_METHOD,
	POLICY_KEPT,
};

struct policy_choice {
	enum policy_rule rule;
	int slot; /* -1 with POLICY_NONE */
};

/* The register for an entry of a method of @rank. */
struct policy_choice policy_entry(const struct policy_register registers[POLICY_REGISTERS],
				  uint32_t rank);

/*
 * May the choice be other when it is known which superseded bodies are drained? To find that out is
 * dear.
 */
bool policy_asks_drained(const struct policy_choice *choice);

/* May it be waited for that it is drained? And if it is not by then, is it taken all the same? */
bool policy_waits(const struct policy_choice *choice);
bool policy_may_evict(const struct policy_choice *choice, uint32_t rank);

/* Does nobody miss calls by that choice? */
bool policy_costs_no_calls(const struct policy_choice *choice);

enum policy_verdict {
	POLICY_NO,
	POLICY_YES,
	POLICY_IF_DRAINED,
	POLICY_IF_EMPTY, /* drained, and no calls are under way */
};

/*
 * May an exit of @body, whose method has @rank, have the register? @may_cut: even if calls of a
 * drained body, which are timed, are still under way.
 */
enum policy_verdict policy_exit(const struct policy_register *of, uint32_t body, uint32_t rank,
				bool may_cut);

/* Bodies ------------------------------------------------------------------------------------ */

struct policy_body {
	bool has_entry;	  /* its entry is watched, */
	bool has_exits;	  /* and all exits are */
	bool exits_known; /* calls are timed, and it is known where its own end */
	size_t exit_count;
	uint64_t slice_ns; /* since when it has been watched, or has waited */
	uint32_t rank;
	bool tried;	      /* it has been watched at all */
	bool promoted;	      /* it was compiled since its method is called often */
	bool busy;	      /* when it was watched last, it was hit until the end */
	uint64_t last_hit_ns; /* while it was watched; 0: never */
};

/* How bodies get registers that are fewer than they. */
enum policy_turns {
	POLICY_BY_RANK, /* those with the first ranks, for good */
	POLICY_BY_NEED, /* by turns, those that are called more often */
	POLICY_ALIKE,	/* by turns, all the same (--share) */
};

/* --share @alike, else by need; but what is @timed needs all its registers at once, for good. */
enum policy_turns policy_turns(bool alike, bool timed);

/*
 * The rank of a method that was asked for as the @rank-th, and by its name as the @named-th:
 * UINT32_MAX for none. @few: no more than POLICY_GUARANTEED methods were.
 */
uint32_t policy_rank(uint32_t rank, uint32_t named, enum policy_turns turns, bool few);

/* Of two bodies that lack the same: does that of @rank get it before that of rank @other? */
bool policy_goes_first(uint32_t rank, uint32_t other);

/* How long the exits of a body that was added at @added_ns wait for timed calls of older bodies. */
bool policy_may_cut(uint64_t added_ns, uint64_t now);

/*
 * Until when an older body may be waited for while a thread is held that goes on at @until_ns at
 * the latest, of a hold of @hold_ns: half of it is for what comes then, and for the thread that
 * waits next.
 */
uint64_t policy_wait_until(uint64_t until_ns, uint64_t hold_ns);

/* Multiplexing ------------------------------------------------------------------------------ */

/* Is all of @body watched that @reserved registers can watch of a body? */
bool policy_is_watched(const struct policy_body *body, int reserved);

/* Can it begin its time slice with @idle registers, of @reserved, that watch nothing? */
bool policy_slice_fits(const struct policy_body *body, int idle, int reserved);

/* Is its time slice of @slice_ns over, if another waits? */
bool policy_slice_is_over(const struct policy_body *body, uint64_t now, uint64_t slice_ns);

/* By need: may a body of @rank be without a register, so that others have it for a while? */
bool policy_may_give_way(uint32_t rank);

/* Was a body that has been watched since @armed_ns not hit for so long that others go first? */
bool policy_is_idle(uint64_t armed_ns, uint64_t last_hit_ns, uint64_t now);

/*
 * By need: it has its register for the first time, and one waits that was never watched. Is the
 * first turn over?
 */
bool policy_first_is_over(const struct policy_body *body, uint64_t now);

/* It has its register: is it one that is hit? Else it is on trial. */
bool policy_is_hit(const struct policy_body *body, uint64_t now);

/* How much a body that waits is in need of a register: the most goes first. */
uint64_t policy_claim(const struct policy_body *body, uint64_t now);

/*
 * Of @registers that are given by turns, how many are for bodies that may turn out to be idle;
 * @untried: some have not been watched yet.
 */
int policy_trials(int registers, bool untried);

/* Its time slice was over at @since_ns: may timed calls that are under way still end? */
bool policy_may_drain(uint64_t since_ns, uint64_t now, uint64_t slice_ns);

/* The start ---------------------------------------------------------------------------------- */

struct policy_demand {
	size_t methods;	  /* that are asked for, at least one for each pattern */
	size_t final;	  /* of those, that have a register and will not be compiled anew */
	bool open_ended;  /* more methods may come up */
	bool multiplexed; /* --share */
	bool timed;	  /* exits want registers too */
};

/*
 * How many registers to have: one for each method, and two for what is being replaced, since a body
 * that has just been left may still be in use when the next one comes. Others may want registers
 * too, so none for what is not asked for or will not be compiled again.
 */
int policy_reservation(const struct policy_demand *demand);

/* Which sites of a plan go first: where calls go now, then where they may go next. */
enum policy_start {
	POLICY_START_CALLED,
	POLICY_START_NEXT,
	POLICY_START_UNKNOWN,
	POLICY_START_TURNS,
};

/*
 * At the start, of @registers @given are given away: may a site have them that takes @wanted? All
 * it takes, or none.
 */
bool policy_start_fits(size_t registers, size_t given, size_t wanted);

#endif
