/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multiplexing: bodies share the debug registers in time, if they are asked to (--share). The body
 * whose time slice is over gives them to the one that has waited longest. Calls that
 * a body does not see meanwhile are not counted.
 */
#ifndef REGISTERS_MULTIPLEXING_H
#define REGISTERS_MULTIPLEXING_H

#include <stdint.h>

struct bodies;

/* Call now and then. @slice_ns: how long a time slice is. */
void multiplexing_tend(struct bodies *bodies, uint64_t slice_ns);

/* Which part of the time since it came up until @now the body of @number was watched: 0 to 1. */
double multiplexing_watched(const struct bodies *bodies, uint32_t number, uint64_t now);

#endif
