/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --expire: a process of its own that ends this one if its probes are still there after the time,
 * which a program that is stopped, or waits for a reader, cannot do itself. With it they are gone.
 */
#ifndef SESSION_EXPIRE_H
#define SESSION_EXPIRE_H

#include <stdint.h>

struct error;

/* So long it has to end in order once the time is up; until then it goes on if it is stopped. */
#define EXPIRE_GRACE_NS UINT64_C(3000000000)

/* Before anything is opened that probes hang on. Returns what the others take; -errno, @err set. */
int expire_start(struct error *err);

/* From now on so much time is left. @guard: as above; -1: there is none. */
void expire_in(int guard, uint64_t ns);

/* There is nothing left that could expire; *@guard is -1 from then on. */
void expire_end(int *guard);

#endif
