/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows that have been made private and are to be shared again, whatever becomes of place-probe.
 */
#ifndef INJECT_PROGRAM_GUARD_H
#define INJECT_PROGRAM_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/message.h"
#include "inject/program/burst.h"
#include "inject/program/subject.h"

struct guard {
	struct inject_row rows[INJECT_GUARDED_MAX];
	size_t count;
};

/* Note rows that are about to be private. False if there is no room. */
bool guard_add(struct guard *guard, const struct inject_row *rows, size_t count);

/* These are shared again. */
void guard_remove(struct guard *guard, const struct inject_row *rows, size_t count);

/*
 * Make shared again all that are still what they were. Those that are not any more, and all if the
 * target has gone, are forgotten.
 */
enum inject_result guard_restore(struct guard *guard, struct subject *subject,
				 struct inject_answer *answer, burst_abort abort, void *ctx);

/*
 * Is a page of them another than in the file? So it is where a uprobe is, until that is removed. A
 * shared mapping drops probes that are still there, unnoticed by those who have set them.
 */
bool guard_sees_probes(const struct guard *guard, struct subject *subject);

#endif
