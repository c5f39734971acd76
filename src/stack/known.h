/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that were seen before: most hits of a method come by the same ways. What was made of the
 * same raw frames, names and what a format has written of them, is found by a hash of these. For
 * session/; stack.c makes those that are new.
 */
#ifndef STACK_KNOWN_H
#define STACK_KNOWN_H

#include "stack/stack.h"

struct error;
struct known_stacks;

struct known_stack {
	struct stack stack;
	struct rendering rendering; /* the stack's */

	/* For known.c. */
	unsigned int users;
	uint64_t hash;
	struct known_stack *chain; /* the next with the same hash, or nearly */
	struct known_stack *older, *newer;
	size_t bytes; /* of memory, as last counted */
	uint64_t entry;
	uint32_t raw_count; /* its raw frames, without frame pointers */
	struct event_frame raw[];
};

/* They take up to @bytes_max of memory. -ENOMEM with @err set. */
int known_stacks_create(struct known_stacks **known, size_t bytes_max, struct error *err);
void known_stacks_destroy(struct known_stacks *known);

/*
 * The stack of @event, by stack_resolve() if it is new; all arguments are as there. NULL for want
 * of memory. Whoever has it must release it, and may do so after known_stacks_destroy().
 */
struct known_stack *known_stacks_get(struct known_stacks *known, struct symbols *symbols,
				     const struct hit_event *event, struct address entry,
				     enum stack_frames frames);
void known_stack_release(struct known_stack *stack);

/* Others name them now. */
void known_stacks_forget(struct known_stacks *known);

/* How many were thrown away to make room for others. */
uint64_t known_stacks_evicted(const struct known_stacks *known);

#endif
