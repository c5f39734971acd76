/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Have all threads come out of what they may have been in the middle of? For what is short, and
 * makes no system call: the copying of a few bytes to their place.
 */
#ifndef TARGET_SETTLE_H
#define TARGET_SETTLE_H

struct error;
struct process;

/*
 * Wait until each thread that the process has now has ended, was seen asleep in a system call, or
 * has had a CPU for longer than any such thing takes, all of it since now. That time has passed
 * proves nothing: a thread may be without a CPU for any time. -EAGAIN with @err set if it cannot be
 * told of one within @most_ms, another -errno likewise if nothing can.
 */
int process_settle(const struct process *process, unsigned int most_ms, struct error *err);

#endif
