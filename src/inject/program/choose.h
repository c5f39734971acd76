/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread is stopped: one that waits where the program cannot tell that it was stopped. */
#ifndef INJECT_PROGRAM_CHOOSE_H
#define INJECT_PROGRAM_CHOOSE_H

#include <stddef.h>
#include <sys/types.h>

#include "inject/program/subject.h"

enum { TRIED_MAX = 64 };

/* Those that have turned out not to be fit, for now. */
struct tried {
	pid_t tids[TRIED_MAX];
	size_t count;
};

/* A thread that is fit and was not tried, of those the best; 0 if there is none. */
pid_t choose_thread(const struct subject *subject, const struct tried *tried);

/* Not this one again, until @tried is emptied. */
void tried_add(struct tried *tried, pid_t tid);

#endif
