/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows mapped anew, by threads of the target that are stopped for it, a few rows at a time. */
#ifndef INJECT_PROGRAM_BURST_H
#define INJECT_PROGRAM_BURST_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/message.h"
#include "inject/program/subject.h"

/* Ends the waiting for a thread that is fit. */
typedef bool (*burst_abort)(void);

/*
 * Map @rows privately, or shared, and check that they are. What is so already is left. The target
 * has been looked at (subject_look()). Fills @answer but for its first three members, and returns
 * its `result`.
 */
enum inject_result burst_run(struct subject *subject, const struct inject_row *rows, size_t count,
			     bool shared, struct inject_answer *answer, burst_abort abort);

#endif
