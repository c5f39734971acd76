/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said of inlining: a call from a precompiled method that has inlined the callee does
 * not pass by the callee's body, and is not seen by a probe there.
 */
#ifndef SESSION_INLINED_H
#define SESSION_INLINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct method_id;
struct plan;
struct resolution;

/* Names of methods that have inlined another; the list ends with NULL. */
struct inliner_names {
	char **names;
	size_t count;
};

/*
 * The precompiled methods that have inlined method @id. 1, 0 if these may not be all, or negative
 * if nothing is known; -ENOMEM if that is for want of memory. inliner_names_deinit() frees them.
 */
int inlined_names(struct inliner_names *names, const struct resolution *resolution,
		  const struct method_id *id);
void inliner_names_deinit(struct inliner_names *names);

/* Write a sentence for each method of @plan that was inlined, of the first few or of @all. */
void inlined_tell(const struct resolution *resolution, const struct plan *plan, bool all, FILE *to);

/*
 * At the end: methods that were probed and never hit, though they have code, and which the JIT may
 * well have inlined into their callers. @calls runs along the plan's sites.
 */
void inlined_hint(const struct plan *plan, const uint64_t *calls, bool all);

#endif
