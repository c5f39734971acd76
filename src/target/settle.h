/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Have all threads come out of what they may have been in the middle of? For what is short: the
 * copying of a few bytes to their place, with the calls for memory and for locks that go with it.
 */
#ifndef TARGET_SETTLE_H
#define TARGET_SETTLE_H

#include <stdbool.h>

struct error;
struct process;

/*
 * A thread has settled when it has ended, was seen asleep in a system call that it does not make in
 * the middle of that (for memory; for a lock, unless it waits there for half a second), or has had
 * a CPU for longer than any such thing takes, all of it since the beginning. That time has passed
 * proves nothing: a thread may be without a CPU for any time.
 */
struct settling;

/* From now on, of all threads there are. @process must outlive the result. -errno, @err set. */
int settling_begin(struct settling **settling, const struct process *process, struct error *err);

/* Look at those that are left; have all settled? */
bool settling_look(struct settling *settling);

void settling_end(struct settling *settling);

/* Wait for it. -EAGAIN with @err set if it is not told within @most_ms, or as settling_begin(). */
int process_settle(const struct process *process, unsigned int most_ms, struct error *err);

#endif
