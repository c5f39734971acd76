/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of place-probe, phase by phase: resolve, plan, attach, consume, report. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <stdio.h>

#include "cli/options.h"

struct error;

/* As documented in --help; a script can tell them apart. */
enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_ERROR = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NO_MATCH = 3,
	EXIT_STATUS_UNPLACEABLE = 4,
	EXIT_STATUS_LOST = 5,
};

/*
 * Do what @options ask; --remap=auto becomes what it can be here. Returns the exit status; @err
 * says why if it is not 0.
 */
enum exit_status session_run(struct options *options, struct error *err);

/*
 * --complete (complete.c), in the place of a run: what a shell may offer for the next word. Write a
 * line for each: of processes "PID NAME", if no PID was given; else of its methods, up to the next
 * part of the name. 0, or -errno with @err set.
 */
int complete(const struct options *options, FILE *to, struct error *err);

#endif
