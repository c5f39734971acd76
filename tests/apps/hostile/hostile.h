/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target that makes it hard for whoever looks at it: hostile.c has the protocol, ways.c and damage.c what it does. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is probed. It counts its calls. */
int hostile_hit(int value);
extern atomic_ulong hits;

/* Counted before it is entered: one that began before it was probed is never counted afterwards. */
static inline int make_hit(int value)
{
	atomic_fetch_add(&hits, 1);
	return hostile_hit(value);
}

/* Is it to go on? */
extern atomic_bool goes_on;

/* How many of what is to be done. */
extern unsigned long number;

/* A number that nobody can foresee who does not know the seed. */
uint64_t draw(uint64_t *seed);

/* Where it may write files, and its own program. */
extern const char *directory;
extern const char *program;

/* What is done until goes_on is false, at its own pace; each turn is counted. */
typedef void way_fn(void);
extern atomic_ulong turns;

way_fn way_rows, way_threads, way_forks, way_exec, way_unshare, way_files, way_ring, way_traps;
way_fn way_memory, way_symbols, way_truncate;

#endif
