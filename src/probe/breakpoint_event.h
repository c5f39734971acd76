/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One hardware breakpoint as a perf event, and who else has some. */
#ifndef PROBE_BREAKPOINT_EVENT_H
#define PROBE_BREAKPOINT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "image/space.h"

/* What the kernel is asked for; a later change may differ in the address and in @disabled only. */
struct perf_event_attr breakpoint_event_attr(struct address address, bool disabled);

/* Open one, disabled: @cpu with @pid -1, or @pid (0: ourselves) with @cpu -1. Or -errno. */
int breakpoint_event_open(struct address address, pid_t pid, int cpu);

/* How many more could be opened, of BREAKPOINTS_MAX; -errno if the first fails but for ENOSPC. */
int breakpoint_events_free(pid_t pid, int cpu);

/*
 * Do they fire? There are hypervisors that let a guest set debug registers and deliver none of
 * their exceptions. Tried once on a function of our own, in this thread, with SIGTRAP handled
 * meanwhile; true as long as it cannot be tried, since others have all registers. From any thread.
 */
bool breakpoint_events_fire(void);

/* Why code that needs one is not probed then, as part of a sentence. */
#define BREAKPOINTS_DEAD \
	"hardware breakpoints do not fire on this machine: its hypervisor delivers no debug exceptions"

enum { BREAKPOINT_USERS_BYTES = 384 };

/*
 * Put into words who has the debug registers, as part of a sentence. We have @ours of them, for
 * all threads (@tid 0) or for one. Looks at every process, so it takes a while.
 */
void breakpoint_users_tell(int ours, pid_t tid, char words[BREAKPOINT_USERS_BYTES]);

#endif
