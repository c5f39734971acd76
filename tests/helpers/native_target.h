/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A native function of a process that is probed through the library, by its address. For tests, benchmarks
 * and tools.
 */
#ifndef NATIVE_TARGET_H
#define NATIVE_TARGET_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "base/error.h"
#include "plan/timed.h"
#include "tests/helpers/capture_phases.h"
#include "session/resolve.h"
#include "unwind/tables.h"

/* All zero before it is opened. Without tables stacks are walked by frame pointers. */
struct native_target {
	struct target target;
	struct unwind_tables *tables;
	struct site site; /* the function */
	struct site_exit exit;
	struct plan plan;
};

/* Take hold of a process, and of the files that it has mapped. -errno with @err set. */
static inline int native_target_open(struct native_target *target, pid_t pid, struct error *err)
{
	int result = target_init(&target->target, pid, err);

	if (result == 0 && target_look(&target->target, err) < 0)
		result = -ESRCH;
	return result ? result : target_open_memory(&target->target, err);
}

/* Read how its stacks are unwound, as far as its files tell. -ENOMEM with @err set. */
static inline int native_target_read_unwind(struct native_target *target, struct error *err)
{
	struct resolution resolution;
	int result = resolution_begin(&resolution, &target->target, err);

	if (result == 0)
		result = unwind_tables_create(&target->tables, err);
	if (result == 0)
		result = unwind_tables_read(target->tables, &resolution.runtimes, err);
	resolution_deinit(&resolution);
	return result;
}

/*
 * Probe the function at @address, in a file that the process has mapped; it is for a capture that ends
 * before @target does. If it is to be timed, @exit is its only one, a return; else 0. -errno with @err set.
 */
static inline int native_target_time(struct native_target *target, uint64_t address, uint64_t exit,
				     const struct options *options, struct capture **capture,
				     struct error *err)
{
	const struct mapping *row =
		target_find_mapping(&target->target, (struct address){ address });
	const struct target_file *file = row ? target_find_file(&target->target, row) : NULL;

	if (!file)
		return error_set(err, -ENOENT, "no file is mapped at %#llx",
				 (unsigned long long)address);
	target->exit = (struct site_exit){
		.address = { exit },
		.offset = { mapping_offset(row, (struct address){ address }).value + exit -
			    address },
	};
	target->site = (struct site){
		.method = target->target.process.comm,
		.image = "",
		.mechanism = MECHANISM_UPROBE,
		.address = { address },
		.offset = mapping_offset(row, (struct address){ address }),
	};
	target->plan = (struct plan){ .sites = &target->site, .count = 1 };
	if (exit) {
		target->plan.timed = true;
		target->site.exits = &target->exit;
		target->site.exit_count = 1;
		if (plan_sort_methods(&target->plan, err))
			return -ENOMEM;
	}
	return capture_begin(capture, options, &target->target.process, &target->plan, &file->fd,
			     target->tables, err);
}

/* The same, of a function that is not timed. */
static inline int native_target_probe(struct native_target *target, uint64_t address,
				      const struct options *options, struct capture **capture,
				      struct error *err)
{
	return native_target_time(target, address, 0, options, capture, err);
}

static inline void native_target_close(struct native_target *target)
{
	free(target->plan.by_method);
	unwind_tables_destroy(target->tables);
	target_deinit(&target->target);
}

#endif
