/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hits with their stacks, named and not printed yet, in the order in which they came. Names are
 * looked up at once where they do not stay in the target; to print takes longer. For consume.c.
 */
#ifndef SESSION_PENDING_H
#define SESSION_PENDING_H

#include "bpf/event.h"
#include "stack/known.h"

struct error;
struct pending;

struct pending_hit {
	uint64_t time_ns;
	uint64_t duration_ns;
	uint32_t site;
	pid_t tid;
	char comm[EVENT_COMM_BYTES + 1];
	struct known_stack *stack; /* NULL: it has none */
};

/* -ENOMEM with @err set. */
int pending_create(struct pending **pending, struct error *err);
void pending_destroy(struct pending *pending);

/* Is there no room for one more? */
bool pending_is_full(const struct pending *pending);

/* Room for one more, to be filled in and then added; only if there is some. */
struct pending_hit *pending_next(struct pending *pending);
void pending_add(struct pending *pending);

/* The one that came first; NULL: there is none. */
struct pending_hit *pending_first(struct pending *pending);
void pending_drop_first(struct pending *pending);

#endif
