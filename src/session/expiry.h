/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --expire: a process of its own that sees to it that no probe is left after that time. The kernel
 * takes all probes away with the process that has them, but not from one that is only stopped, or
 * waits for whoever reads its output.
 */
#ifndef SESSION_EXPIRY_H
#define SESSION_EXPIRY_H

#include <stdint.h>

struct error;

/*
 * Watch this process, before there are threads or probes. At @at_ns it is to go on if it is
 * stopped; if it has not begun to remove its probes a while later, it is killed. Returns a
 * descriptor for the two below, or -errno with @err set.
 */
int expiry_begin(uint64_t at_ns, struct error *err);

/* The probes are being removed: it takes as long as it takes, but not while it is stopped. */
void expiry_detaching(int expiry);

/* There are none left. -1 is none. */
void expiry_end(int *expiry);

#endif
