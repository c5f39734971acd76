/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan: every body that matched, where it would be probed and what a hit costs, or
 * why it cannot be. Made before anything is attached, printed by --list.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "code/insn.h"
#include "image/space.h"
#include "method/body.h"

struct error;

enum mechanism {
	MECHANISM_NONE,
	MECHANISM_UPROBE,
	MECHANISM_BREAKPOINT, /* a debug register: code that no uprobe can enter */
};

enum reason {
	REASON_NONE,
	REASON_NOT_COMPILED,
	REASON_NO_IL,
	REASON_NATIVE_CALL,
	REASON_REFUSED_INSTRUCTION,
	REASON_CORRUPTED_INSTRUCTION,
	REASON_UNDECODABLE,
	REASON_ENTRY_IS_LOOP_TARGET,
	REASON_NOT_A_FUNCTION_START,
	REASON_NOT_FILE_BACKED,
	REASON_SAME_CODE,
	REASON_SUPERSEDED,
	REASON_REJECTED,
	REASON_OSR_BODY,
	REASON_NO_DEBUG_REGISTER,
	REASON_KERNEL_REFUSED,
	REASON_OTHER_METHOD,
	REASON_EXIT_REFUSED,
	REASON_INDIRECT,
	REASON_EXITS, /* and more: by enum exits_refusal, which says why the exits are not known */
};

/* The reason that stands for @refusal, which is not 0. */
static inline enum reason reason_of_exits(unsigned int refusal)
{
	return (enum reason)(REASON_EXITS + refusal);
}

struct site {
	char *method;
	char *made_from; /* "state machine of App.Orders::Checkout(int32)", or NULL */
	const char *image;
	struct method_id id;
	struct method_traits traits;
	enum tier tier;
	enum body_state state;
	uint64_t method_desc;
	bool final;
	bool may_be_freed;
	unsigned char missing; /* looks in a row in which its method was not there */
	bool precompiled_rejected;
	bool leaves_at_entry : 1; /* its first instruction is an exit, too */
	bool jumps_at_entry : 1;  /* that goes on to another function */
	bool patchable;		  /* it is insn_is_patchable() */
	bool stub;		  /* hits are told apart by the method that is called */
	bool shares_probe;	  /* with the site before it, which has the address */
	bool root;		  /* --trace: its method is one that traces begin at */
	struct address precompiled;
	uint64_t sources;
	enum mechanism mechanism;
	enum reason reason;
	int kernel_error;     /* with REASON_KERNEL_REFUSED: a positive errno */
	enum insn_probe cost; /* of a uprobe */
	size_t file;
	struct file_offset offset;
	struct address address;
	uint32_t size;
	uint32_t exit_count;	 /* of a plan that is timed; see timed.h */
	struct site_exit *exits; /* NULL if they are not known, but not if there are none */
};

/* Has it a uprobe in code that is in no file, which is private for that? */
static inline bool site_is_remapped(const struct site *site)
{
	return site->mechanism == MECHANISM_UPROBE && site->file == BODY_NO_FILE;
}

/* Has it a breakpoint, or will it have one when there is a register? */
static inline bool site_has_breakpoint(const struct site *site)
{
	return site->mechanism == MECHANISM_BREAKPOINT || site->reason == REASON_NO_DEBUG_REGISTER;
}

struct plan {
	bool timed;	 /* calls are followed to their end; set before the first body is added */
	bool open_ended; /* likewise, but those whose end cannot be seen are probed all the same */
	struct site *sites;
	size_t count;
	size_t capacity;
	const struct site **by_method; /* all sites, those of one method together; plan_finish() */
};

/* Decide on one body. -ENOMEM. */
int plan_add(struct plan *plan, const struct method_body *body, struct error *err);

/* The same as a body_fn, whose @ctx is a struct plan_search. */
struct plan_search {
	struct plan *plan;
	struct error *err;
	size_t found;
	bool root; /* what is found is, see struct site */
};
int plan_add_found(const struct method_body *body, void *ctx);

/*
 * Sort the sites by file and offset and drop what stands there twice: a body that two
 * patterns match is one site; a second name of the same code gets REASON_SAME_CODE. Precompiled
 * bodies learn what has become of them, and @registers debug registers are given out. -ENOMEM.
 */
int plan_finish(struct plan *plan, size_t registers, struct error *err);
/*
 * Code that was thought to be in no file lies in @file after all, where this kernel's uprobes reach
 * it: use one, unless the kernel does not take the first instruction.
 */
void site_use_uprobe(struct site *site, size_t file, struct file_offset offset);

/*
 * May it have a uprobe in code compiled at run time, if that was mapped so that uprobes fire there?
 * Where calls are timed, only if they all end in this body.
 */
bool site_takes_remapped(const struct plan *plan, const struct site *site);

/* It gets one, in a file of which the byte at its address is at @offset; or no more. */
void site_remap(struct site *site, struct file_offset offset);
void site_unmap(struct site *site);

/* The same sites again, as some need no register any more: those that had none may get one. */
void plan_give_registers(struct plan *plan, size_t registers);

/*
 * Add a site that came up while the others are attached already: they keep their numbers, and it
 * gets the next. Its strings are copied. Then, once, plan_sort_methods(). -ENOMEM with @err set.
 */
int plan_append(struct plan *plan, const struct site *site, struct error *err);
int plan_sort_methods(struct plan *plan, struct error *err);

void plan_deinit(struct plan *plan);

/* It cannot be probed after all; @kernel_error is the positive errno of the kernel, or 0. */
void site_refuse(struct site *site, enum reason reason, int kernel_error);

/* Of a body that has just been compiled, by its tier. */
void site_place_compiled(struct site *site);

/* A copy with strings of its own; false if there is no memory for it. */
bool site_copy(struct site *copy, const struct site *site);
void site_deinit(struct site *site);

size_t plan_placeable(const struct plan *plan);

/* Do without what is of stubs. */
void plan_leave_stubs(struct plan *plan);

/* What shares the probe of another site fares as that does. */
void plan_share_probes(struct plan *plan);

/*
 * Sites that have no register, and need no more than @registers, wait for one: they are to be
 * probed. Returns how many.
 */
size_t plan_await_registers(struct plan *plan, size_t registers);

/* Is there a site that only needs a debug register to be probed? */
bool plan_lacks_registers(const struct plan *plan);

/* Is it of one instantiation of several, or cannot that be told? */
bool site_may_be_instance(const struct site *site);

/* May calls have come by a body that is not probed? */
bool site_is_missed(const struct site *site);

/* Are both bodies of one method? */
bool plan_same_method(const struct site *a, const struct site *b);

/* Along plan->by_method, where sites of the method that begins at @first end. */
size_t plan_method_end(const struct plan *plan, size_t first);

/* The site for the code that @site of another plan of the same target stands for, or NULL. */
const struct site *plan_find(const struct plan *plan, const struct site *site);

/* The first site of the method that @site of another plan is of, or NULL. */
const struct site *plan_find_method(const struct plan *plan, const struct site *site);

const char *mechanism_name(enum mechanism mechanism);

/*
 * The reason's code, as in JSON, the sentence that explains it, and what to do then, which can
 * follow it after a semicolon. NULL for REASON_NONE.
 */
const char *reason_code(enum reason reason);
const char *reason_text(enum reason reason);
const char *reason_next(enum reason reason);

#endif
