/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes a PID may be of: what shells offer for it. */
#ifndef TARGET_CANDIDATES_H
#define TARGET_CANDIDATES_H

#include <sys/types.h>

typedef void (*candidate_fn)(void *ctx, pid_t pid, const char *comm);

/*
 * Call @fn for each process that has mapped what .NET or V8 is known by, as far as we may look; its
 * name is printable. -errno if /proc cannot be read.
 */
int candidates_list(candidate_fn fn, void *ctx);

#endif
