// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree of a trace, for tracing.c. Calls come in the order in which they ended, so from the last
 * to the first each comes after the one that it is within, which began before it and has a smaller
 * depth. That also holds for what is left if some are missing.
 */
#include "session/trace_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bpf/latency.h"

#define NO_NODE SIZE_MAX

/* How a node hangs together with others while the tree is made. Its parent was made before it. */
struct branch {
	size_t parent;
	size_t first; /* child */
	size_t next;  /* sibling */
	uint64_t children_ns;
};

/* One that the next call may be within. */
struct around {
	const struct traced_call *call;
	size_t node;
};

struct making {
	struct trace_node *nodes;
	struct branch *branches;
	size_t count;
	struct around around[LATENCY_DEPTH]; /* the innermost last: each has a greater depth */
	size_t around_count;
};

static bool is_within(const struct traced_call *call, const struct traced_call *around)
{
	return call->depth > around->depth && call->entered_ns >= around->entered_ns;
}

static size_t add_node(struct making *making, size_t parent, uint32_t method)
{
	making->nodes[making->count] = (struct trace_node){ .method = method };
	making->branches[making->count] = (struct branch){ parent, NO_NODE, NO_NODE, 0 };
	return making->count++;
}

/*
 * That of @method within @parent. It becomes the first there: of the calls that have been seen the
 * one it is taken for began first.
 */
static size_t take_node(struct making *making, size_t parent, uint32_t method)
{
	size_t *link = &making->branches[parent].first, node;

	while (*link != NO_NODE && making->nodes[*link].method != method)
		link = &making->branches[*link].next;
	node = *link;
	if (node != NO_NODE)
		*link = making->branches[node].next;
	else
		node = add_node(making, parent, method);
	making->branches[node].next = making->branches[parent].first;
	making->branches[parent].first = node;
	return node;
}

static void add_call(struct making *making, const struct traced_call *call)
{
	size_t node;

	if (call->depth >= LATENCY_DEPTH || call->fate >= WATCH_FATES)
		return;
	if (making->count == 0) {
		node = add_node(making, NO_NODE, call->method);
	} else if (is_within(call, making->around[0].call)) {
		while (!is_within(call, making->around[making->around_count - 1].call))
			making->around_count--;
		node = take_node(making, making->around[making->around_count - 1].node,
				 call->method);
	} else {
		return; /* it is of no tree of this root */
	}
	making->nodes[node].calls++;
	making->nodes[node].fates[call->fate]++;
	if (call->fate != WATCH_UNSEEN)
		making->nodes[node].took_ns += call->took_ns;
	making->around[making->around_count++] = (struct around){ call, node };
}

static void find_self(const struct making *making)
{
	for (size_t i = making->count; i-- > 0;) {
		const struct branch *branch = &making->branches[i];
		struct trace_node *node = &making->nodes[i];

		/* Of one whose end was not seen that is all that is known. */
		if (node->fates[WATCH_UNSEEN] && node->took_ns < branch->children_ns)
			node->took_ns = branch->children_ns;
		if (node->took_ns > branch->children_ns)
			node->self_ns = node->took_ns - branch->children_ns;
		if (branch->parent != NO_NODE)
			making->branches[branch->parent].children_ns += node->took_ns;
	}
}

static void put_in_order(const struct making *making, struct trace_node *ordered)
{
	const struct branch *branches = making->branches;
	size_t count = 0, node = 0;
	uint32_t depth = 0;

	while (node != NO_NODE && count < making->count) {
		ordered[count] = making->nodes[node];
		ordered[count++].depth = depth;
		if (branches[node].first != NO_NODE) {
			node = branches[node].first;
			depth++;
			continue;
		}
		while (branches[node].next == NO_NODE && branches[node].parent != NO_NODE) {
			node = branches[node].parent;
			depth--;
		}
		node = branches[node].next;
	}
}

int trace_tree_make(struct trace_tree *tree, const struct traced_call *calls, size_t count)
{
	_cleanup_free_ struct trace_node *nodes = calloc(count + 1, sizeof(*nodes));
	_cleanup_free_ struct branch *branches = calloc(count + 1, sizeof(*branches));
	struct making making = { .nodes = nodes, .branches = branches };

	*tree = (struct trace_tree){ 0 };
	if (!nodes || !branches)
		return -ENOMEM;
	for (size_t i = count; i-- > 0;)
		add_call(&making, &calls[i]);
	find_self(&making);
	tree->nodes = calloc(making.count + 1, sizeof(*tree->nodes));
	if (!tree->nodes)
		return -ENOMEM;
	tree->count = making.count;
	if (tree->count)
		put_in_order(&making, tree->nodes);
	return 0;
}

void trace_tree_deinit(struct trace_tree *tree)
{
	free(tree->nodes);
	*tree = (struct trace_tree){ 0 };
}
