/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native functions that are asked for, of files that come while the target is followed: of
 * libraries that it loads, and of a program that is being started. For loads.h, which probes them.
 */
#ifndef FOLLOW_NATIVES_H
#define FOLLOW_NATIVES_H

#include <stdbool.h>

#include "plan/plan.h"

struct error;
struct file_query;
struct pattern;
struct process;
struct request;
struct runtime_ops;
struct watch;

struct natives_config {
	const struct request *request; /* with all patterns */
	const struct runtime_ops *const *offered;
	struct process *process;
	struct watch *watch; /* managed images that may have the name of a program */
};

struct natives {
	struct natives_config config;
	struct pattern **patterns; /* our own: matching changes them */
	struct pattern **meant;	   /* those of a file */
	bool *matched;		   /* by pattern: it has matched any of them */
};

int natives_create(struct natives **natives, const struct natives_config *config,
		   struct error *err);
void natives_destroy(struct natives *natives);

/*
 * Is there a pattern that may mean native functions at all, and one that may mean those of a file
 * called @name?
 */
bool natives_wanted(const struct natives *natives);
bool natives_want(const struct natives *natives, const char *name);

/*
 * Add the functions that match to @plan, of @file, whose patterns are filled in. @is_host: it
 * starts a program of its name, so names are those of methods. -ENOMEM; where a regex runs away
 * nothing more is added.
 */
int natives_plan(struct natives *natives, struct file_query *file, bool is_host, struct plan *plan);

#endif
