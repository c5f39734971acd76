/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPUs are switched on, and whether that has changed: for breakpoints.c, whose events a CPU
 * loses when it is switched off. In a container the list may be made up. And how many there can be.
 */
#ifndef PROBE_ONLINE_CPUS_H
#define PROBE_ONLINE_CPUS_H

#include <stdbool.h>

struct error;

enum { ONLINE_CPUS_BYTES = 1024 };

struct online_cpus {
	int fd;			      /* the kernel's list, or -1 */
	char list[ONLINE_CPUS_BYTES]; /* what it said last, as "0-3,8" */
};

/* Read the list for the first time; the caller closes its descriptor. No list never changes. */
void online_cpus_open(struct online_cpus *cpus);

/* Read it again. Has it changed? */
bool online_cpus_changed(struct online_cpus *cpus);

/* Was @cpu in the list when it was read last? */
bool online_cpus_has(const struct online_cpus *cpus, int cpu);

/* How many CPUs there can be: by that what is counted by CPU is sized. -errno with @err set. */
int possible_cpus(struct error *err);

#endif
