/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page of --flame is made of, between the files of that format: the tree of all stacks,
 * and the latencies over time. Both are of two runs where one is held against another: RUN_BASE is
 * the other. flame.c fills them in and writes the page around them.
 */
#ifndef OUTPUT_FLAME_H
#define OUTPUT_FLAME_H

#include "base/text.h"
#include "output/interned.h"
#include "output/ops.h"

/* Append @s as a JSON string within HTML: no "<" of it begins anything. NULL is null. */
void flame_string(struct text *to, const char *s);

/* The tree (flame_tree.c) --------------------------------------------------------------------- */

enum flame_run { RUN_NOW, RUN_BASE, FLAME_RUNS };

/* Whose records come. */
static inline enum flame_run flame_run_of(const struct output *output)
{
	return output->base ? RUN_BASE : RUN_NOW;
}

struct flame_node {
	uint32_t parent; /* a lower number; INTERNED_NONE: it is the root */
	uint32_t frame;
	uint64_t count[FLAME_RUNS]; /* hits or calls that end in it */
	uint64_t time_ns[FLAME_RUNS];
};

struct flame_tree {
	struct interned frames; /* as they are in the page */
	struct interned nodes;	/* struct flame_node, by parent and frame */
	struct text frame;	/* while one is made */
};

/* Nodes that are always there: of all, and of stacks that there was no room for. */
enum { FLAME_ROOT, FLAME_OTHERS, FLAME_FIXED };

bool flame_tree_init(struct flame_tree *tree);
void flame_tree_deinit(struct flame_tree *tree);

/*
 * The node that the stack of @hit ends in, made if it is new; FLAME_OTHERS if *@room has no place
 * for it. @by_tid: threads of one name are several.
 */
uint32_t flame_tree_add(struct flame_tree *tree, const struct hit *hit, bool by_tid, size_t *room);

/* "frames":[...],"nodes":{...} */
void flame_tree_write(const struct flame_tree *tree, struct output *output);

/* Latencies over time (flame_times.c) --------------------------------------------------------- */

struct flame_times {
	struct interned rows;  /* struct flame_row, by run, method, and thread or caller */
	struct interned cells; /* how many calls, by row, slice and bucket */
	struct flame_slices {
		uint64_t *ends_ns; /* after the start; of calls that come singly there are none */
		size_t count;
		size_t capacity;
	} slices[FLAME_RUNS];
	uint64_t dropped; /* calls that there was no room for */
	bool single;	  /* they come one by one */
	struct text label;
};

void flame_times_deinit(struct flame_times *times);

/* What is new since the last interval. */
void flame_times_add(struct flame_times *times, const struct output *output,
		     const struct output_hist *hist, size_t *room);

/* One call that has ended @after_ns after the start. */
void flame_times_add_call(struct flame_times *times, enum flame_run run, const struct hit *hit,
			  uint64_t after_ns, size_t *room);

/* An interval is over. */
void flame_times_cut(struct flame_times *times, const struct output *output);

/* "latency":{...} */
void flame_times_write(const struct flame_times *times, struct output *output);

#endif
