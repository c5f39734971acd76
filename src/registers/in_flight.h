/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads in flight: they have read where a body begins before calls went to a newer one, and have
 * not come there yet. A thread may lose its CPU between the two for any time, and a breakpoint must
 * not go before it has come. What a thread is about to do is in the registers with which it entered
 * the kernel. Asked by drained.c.
 */
#ifndef REGISTERS_IN_FLIGHT_H
#define REGISTERS_IN_FLIGHT_H

#include "image/space.h"

struct in_flight;
struct error;
struct process;

/* @process must outlive the result. -ENOTSUP with @err set if this kernel cannot tell. */
int in_flight_create(struct in_flight **in_flight, struct process *process, struct error *err);

/*
 * The code in which threads look up where to go, that of the library which it calls, and where
 * threads are held while they compile. All 0: not known.
 */
struct dispatch_code {
	struct address begin;
	struct address end;
	struct address library_begin;
	struct address library_end;
	struct address held_at;
};

/*
 * Is a thread about to enter the body that begins at @entry? 1 if one may be, 0 if none is, -errno
 * if that cannot be told now. What is known of a thread that runs is as old as its last entry into
 * the kernel: so have them all enter it before, and after new calls have gone elsewhere, which they
 * have at the first look with that @entry and @since_ns.
 *
 * A thread that is in the @dispatch code at that look, or in a system call without sleeping there,
 * may be in flight however its registers are: until it is seen elsewhere, or has had a CPU for
 * longer than it takes to get out of there. That time has passed proves nothing.
 */
int in_flight_look(struct in_flight *in_flight, struct address entry, uint64_t since_ns,
		   const struct dispatch_code *dispatch);

void in_flight_destroy(struct in_flight *in_flight);

#endif
