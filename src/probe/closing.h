/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes go when the last descriptor of them is closed. The kernel gives that up for each one that
 * is still to go once a fatal signal has come for whoever closes (its change of the target's memory
 * ends with EINTR), and leaves them in the target for good. So the last ones are the broker's, whom
 * nobody ends by a signal; without a broker they are ours.
 */
#ifndef PROBE_CLOSING_H
#define PROBE_CLOSING_H

#include <stddef.h>

/* Close the @count descriptors @fds of probes, but for negative ones: they are gone then. */
void closing_probes(const int *fds, size_t count);

/* Close those of ours alone, side by side, as each waits for running programs. */
void closing_side_by_side(const int *fds, size_t count);

#endif
