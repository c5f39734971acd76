/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said of inlining: a call from a precompiled method that has inlined the callee does
 * not pass by the callee's body, and is not seen by a probe there.
 */
#ifndef SESSION_INLINED_H
#define SESSION_INLINED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct plan;
struct resolution;

/* Write a sentence for each method of @plan that was inlined, or of the first one, unless @all. */
void inlined_log(const struct resolution *resolution, const struct plan *plan, bool all, FILE *to);

/*
 * At the end: methods that were probed all the time and never hit, though they have code, and which
 * the JIT may well have inlined into their callers. @calls runs along the plan's sites; @watched:
 * see struct verdict.
 */
void inlined_hint(const struct plan *plan, const uint64_t *calls, const double *watched, bool all);

#endif
