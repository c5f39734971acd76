/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware execution breakpoints, for code that uprobes do not reach. Each takes one of the
 * few debug registers that every CPU has, on every CPU at once: so all threads of the target
 * are covered, those that are there and those to come, and none is ever listed. The kernel
 * fires for whoever gets to the address; the BPF program looks whether it is the target.
 * With one thread asked for, the breakpoints are that thread's alone.
 *
 * Every breakpoint lives in descriptors of this process: however it ends, they end with it.
 */
#ifndef PROBE_BREAKPOINTS_H
#define PROBE_BREAKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "image/space.h"

struct breakpoints;
struct error;

/* How many there can be at a time; fewer if others have some too. */
enum { BREAKPOINTS_MAX = DEBUG_REGISTERS };

struct breakpoints_config {
	int program_fd; /* of type perf_event, run for each hit */
	int sites_fd;	/* its hash map from u64 address to struct breakpoint_site */
	struct process *process;
	pid_t tid;   /* 0: all threads */
	bool unused; /* there will be none, so it is not tried whether they fire */
};

/* @config->process must outlive the result. -ENOMEM, or -errno with @err set. */
int breakpoints_create(struct breakpoints **breakpoints, const struct breakpoints_config *config,
		       struct error *err);

/*
 * Arm one more breakpoint, with @cookie for the program. Returns its slot, from 0 to
 * BREAKPOINTS_MAX - 1.
 * -ENOSPC if no debug register is free: @err says who has them, as far as that can be known. It
 * is armed for all threads or, after an error, for none. It tries for some 50 ms, since others may
 * have one for a moment, to see whether there is any.
 */
int breakpoints_add(struct breakpoints *breakpoints, struct address address, uint64_t cookie,
		    struct error *err);

/*
 * Take one more debug register, for breakpoints_move(); until then it watches nothing. Returns
 * its slot, or an error as breakpoints_add() does; unless it is @patient, at once.
 */
int breakpoints_reserve(struct breakpoints *breakpoints, bool patient, struct error *err);

/* Let the breakpoint of @slot watch nothing until it is moved. */
void breakpoints_park(struct breakpoints *breakpoints, int slot);

/*
 * Move the breakpoint of @slot: when this returns 0 every thread has it at the new address and none
 * at the old. Hits of the old address that are still under way keep their site. After an
 * error it is where it was.
 */
int breakpoints_move(struct breakpoints *breakpoints, int slot, struct address address,
		     uint64_t cookie, struct error *err);

/*
 * Have every thread that the breakpoint of @slot could fire for enter the kernel, if it runs, now:
 * what is known of its registers is no older than that.
 */
void breakpoints_interrupt(const struct breakpoints *breakpoints, int slot);

/* Take the breakpoint of @slot away. */
void breakpoints_remove(struct breakpoints *breakpoints, int slot);

/*
 * A CPU that is switched on has no breakpoints: give them to it. Call now and then. 1 if that was
 * necessary (calls may have been missed), 0 if not, or a negative errno with @err set.
 */
int breakpoints_keep(struct breakpoints *breakpoints, struct error *err);

size_t breakpoints_count(const struct breakpoints *breakpoints);

/* Those of them that watch something just now; any thread may ask. */
size_t breakpoints_watching(const struct breakpoints *breakpoints);

/* Let none fire any more, and count what the kernel has counted: all hits of all slots ever. */
uint64_t breakpoints_stop(struct breakpoints *breakpoints);

/* Hits of @slot since it was added, as the kernel counted them, wherever it has been meanwhile. */
uint64_t breakpoints_read(const struct breakpoints *breakpoints, int slot);

void breakpoints_destroy(struct breakpoints *breakpoints);

/* How many debug registers are free on every CPU; -errno with @err set if there are none to use. */
int breakpoints_free(struct error *err);

#endif
