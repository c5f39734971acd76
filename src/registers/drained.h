/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the parts of scheduler.h: whether calls have left the body, which was superseded, that
 * register @slot watches. Timed calls may still be under way in it.
 */
#ifndef REGISTERS_DRAINED_H
#define REGISTERS_DRAINED_H

#include <stdbool.h>
#include <stdint.h>

struct scheduler;

uint64_t slot_last_hit_ns(const struct scheduler *scheduler, int slot);
bool slot_is_drained(struct scheduler *scheduler, int slot);

/* Is it in time? Until scheduler->wait_until_ns this waits for that. */
bool slot_wait_until_drained(struct scheduler *scheduler, int slot);

#endif
