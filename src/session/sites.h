/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan's sites as records for the output: --list and --dry-run. */
#ifndef SESSION_SITES_H
#define SESSION_SITES_H

#include <stdbool.h>

struct error;
struct output;
struct plan;
struct resolution;

/*
 * Write all sites of @plan: those of one method together with all that is known of each, or, as
 * @commands are made of them, by file and offset without what takes long to find out. -ENOMEM.
 */
int sites_write(struct output *output, const struct plan *plan, struct resolution *resolution,
		bool commands, struct error *err);

#endif
