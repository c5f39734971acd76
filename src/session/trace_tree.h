/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the calls of one trace, as the programs have sent them, to its tree: which call was within
 * which, what of the time was its own, and those of one method in one place put together.
 */
#ifndef SESSION_TRACE_TREE_H
#define SESSION_TRACE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/watch.h"

/* One call that is over. */
struct traced_call {
	uint64_t entered_ns;
	uint64_t took_ns;
	uint32_t method; /* any number that calls of one method share */
	uint8_t depth;	 /* in the thread; the root's is 0 */
	uint8_t fate;	 /* enum watch_fate */
};

/* The calls of one method by one of another, all together. */
struct trace_node {
	uint32_t method;
	uint32_t depth; /* in the tree */
	uint64_t calls;
	uint64_t fates[WATCH_FATES];
	uint64_t took_ns; /* of all; of what was not seen to end what its own calls took */
	uint64_t self_ns; /* of that, what its own calls did not take */
};

struct trace_tree {
	struct trace_node *nodes; /* a caller before what it called, in the order of first calls */
	size_t count;
};

/*
 * Of @calls, in the order in which they ended; the last one is the root. Some may be missing: what
 * they called is their caller's then. -ENOMEM. In any case ends with trace_tree_deinit().
 */
int trace_tree_make(struct trace_tree *tree, const struct traced_call *calls, size_t count);
void trace_tree_deinit(struct trace_tree *tree);

#endif
