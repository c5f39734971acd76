/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multiplexing: where there are fewer debug registers than bodies in use, bodies share them in
 * time. Who gives way, and to whom, is policy.h's: by need, or all alike (--share). Calls that a
 * body does not see meanwhile are not counted.
 */
#ifndef REGISTERS_MULTIPLEXING_H
#define REGISTERS_MULTIPLEXING_H

#include <stdint.h>

#include "registers/policy.h"

struct bodies;

/* Call now and then; @turns: not by rank. @slice_ns: how long a time slice is. */
void multiplexing_tend(struct bodies *bodies, enum policy_turns turns, uint64_t slice_ns);

#endif
