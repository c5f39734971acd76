/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first phase: from a PID to everything that is known of its code, and from there
 * to a plan for the user's patterns.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include "dotnet/images.h"
#include "dotnet/runtime.h"
#include "place/plan.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/process.h"

struct error;
struct pattern;

struct resolution {
	struct process process;
	struct maps maps; /* at the start; the files below point into it */
	struct target_files files;
	struct dotnet_runtime runtime;
	struct dotnet_images images;
};

/* Look at process @pid; it must be a .NET process. -errno with @err set. */
int resolution_init(struct resolution *resolution, pid_t pid, struct error *err);
void resolution_deinit(struct resolution *resolution);

/*
 * Add what @pattern matches to @plan. Returns how many bodies and methods matched (saturated),
 * or -errno with @err set. The plan borrows image names from @resolution.
 */
int resolution_plan(struct resolution *resolution, struct pattern *pattern, struct plan *plan,
		    struct error *err);

/* Free the memory that reading the images took; what is looked at again comes back by itself. */
void resolution_forget_pages(const struct resolution *resolution);

#endif
