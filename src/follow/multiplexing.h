/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies that take turns on the debug registers, if they are asked to: who has had its registers for a turn gives
 * them to who has waited longest. Calls that a body does not see meanwhile are not counted.
 */
#ifndef FOLLOW_MULTIPLEXING_H
#define FOLLOW_MULTIPLEXING_H

#include <stdint.h>

struct bodies;

/* Call now and then. @turn_ns: how long a turn is. */
void multiplexing_tend(struct bodies *bodies, uint64_t turn_ns);

/* Which part of the time since it came up until @now the body of @site was watched: 0 to 1. */
double multiplexing_watched(const struct bodies *bodies, uint32_t site, uint64_t now);

#endif
