// SPDX-License-Identifier: GPL-2.0-or-later
/* A queue of hits in a ring of fixed size. For consume.c. */
#include "session/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

enum {
	HITS_MAX = 4096,
	FRAMES_MAX = 1 << 18, /* of all of them */
};

struct pending {
	size_t first;
	size_t count;
	size_t frames;
	struct pending_hit hits[HITS_MAX];
};

int pending_create(struct pending **out, struct error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : error_set(err, -ENOMEM, "no memory for hits");
}

void pending_destroy(struct pending *pending)
{
	for (size_t i = 0; pending && i < HITS_MAX; i++)
		known_stack_release(pending->hits[i].stack);
	free(pending);
}

bool pending_is_full(const struct pending *pending)
{
	return pending->count == HITS_MAX || pending->frames >= FRAMES_MAX;
}

struct pending_hit *pending_next(struct pending *pending)
{
	return &pending->hits[(pending->first + pending->count) % HITS_MAX];
}

void pending_add(struct pending *pending)
{
	const struct known_stack *stack = pending_next(pending)->stack;

	pending->frames += stack ? stack->stack.count : 0;
	pending->count++;
}

struct pending_hit *pending_first(struct pending *pending)
{
	return pending->count ? &pending->hits[pending->first] : NULL;
}

void pending_drop_first(struct pending *pending)
{
	struct known_stack **stack = &pending->hits[pending->first].stack;

	pending->frames -= *stack ? (*stack)->stack.count : 0;
	known_stack_release(*stack);
	*stack = NULL;
	pending->first = (pending->first + 1) % HITS_MAX;
	pending->count--;
}
