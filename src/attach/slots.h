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
	bool reserved;	 /* we have the register */
	bool used;	 /* for the claim */
	bool superseded; /* calls go to a newer body */
};

struct slots {
	struct breakpoints *breakpoints;
	struct follow_shared *shared; /* tells when each was hit last */
	struct slot_use uses[BREAKPOINTS_MAX];
};

/* @breakpoints may have some already: see slots_adopt(). */
void slots_init(struct slots *slots, struct breakpoints *breakpoints, struct follow_shared *shared);

/* Breakpoint @slot is there already, for @claim. */
void slots_adopt(struct slots *slots, int slot, const struct slot_claim *claim);

/* Take registers in advance, up to @count in all: the first one takes the kernel milliseconds. */
void slots_reserve(struct slots *slots, int count);

/*
 * Watch @claim. A body that was superseded keeps its register for a while after its last hit; this
 * waits for that, 2 ms at most. 0, -ENOSPC, or another error with @err set. @loser is set to the
 * site that has lost its register though calls may still go to it, or SLOTS_NO_SITE.
 */
int slots_arm(struct slots *slots, const struct slot_claim *claim, uint32_t *loser,
	      struct error *err);

/* Could @claim be watched at once, without anyone's loss? */
bool slots_have_room(const struct slots *slots);

/* A newer body of @method is there, for calls after this: that of @site. */
void slots_supersede(struct slots *slots, uint64_t method, uint32_t site);

/* Give up the breakpoint of @site, or those in code that has been freed. Returns how many. */
int slots_drop_site(struct slots *slots, uint32_t site);
int slots_drop_range(struct slots *slots, struct address start, uint64_t size);

bool slots_has_site(const struct slots *slots, uint32_t site);

#endif
