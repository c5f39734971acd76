/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first phase: from a PID to everything that is known of its code, by all runtimes, and from
 * there to a plan for the user's patterns.
 */
#ifndef SESSION_RESOLVE_H
#define SESSION_RESOLVE_H

#include "plan/plan.h"
#include "runtime/runtime.h"
#include "target/target.h"

struct error;
struct pattern;
struct symbols;

struct resolution {
	struct target *target; /* borrowed */
	uint64_t looked;       /* its version, as the runtimes know it */
	uint64_t version;      /* goes up when code has come or gone */
	struct runtimes runtimes;
	bool managed; /* one of them runs methods in the target */
};

/*
 * With all runtimes, which have not looked at @target yet: for ranges of code that files tell of.
 * It must outlive the result, which is to be deinitialised in any case. -ENOMEM with @err set.
 */
int resolution_begin(struct resolution *resolution, struct target *target, struct error *err);

/* All that may be in a target, NULL at the end: one more is registered there. */
extern const struct runtime_ops *const resolution_runtimes[];

/* Look at @target, which must outlive the result. -errno with @err set. */
int resolution_init(struct resolution *resolution, struct target *target, struct error *err);

/* -ENOTSUP with @err set if it is no .NET process: what is asked for is managed. */
int resolution_require_runtime(const struct resolution *resolution, struct error *err);
void resolution_deinit(struct resolution *resolution);

/* The name of bit @source of a site's sources: "metadata", or a map file's. */
const char *resolution_source_name(const struct resolution *resolution, unsigned int source);

/* What a plan is made of. */
struct resolution_query {
	struct pattern **patterns;
	size_t count;
	size_t roots; /* see struct request */
	bool nested;
	const bool *known; /* these two as struct body_query has them */
	size_t known_count;
	size_t registers; /* debug registers that it may have */
	bool *matched;	  /* by pattern, to be filled; may be NULL */
};

/*
 * Make @plan, which is empty, of all that matches and has not been thrown away by the target
 * meanwhile; @dropped were. It borrows image names from @resolution. -errno with @err set.
 */
int resolution_plan(struct resolution *resolution, const struct resolution_query *query,
		    struct plan *plan, size_t *dropped, struct error *err);

/*
 * On a kernel whose uprobes fire in shared mappings: use them for code compiled at run time, so far
 * as it lies in a file, and not the few debug registers. -ENOMEM or -ESRCH with @err set.
 */
int resolution_use_uprobes(struct resolution *resolution, struct plan *plan, struct error *err);

/*
 * Does @pattern ask for native functions, and for nothing else: those of an ELF file that the
 * target has mapped by now, and that no managed image shares its name with? What can be no method's
 * name does in any case.
 */
bool resolution_asks_native(const struct resolution *resolution, const struct pattern *pattern);

/*
 * Look at what the target has mapped by now, as target_look(), and have the runtimes look at it. It
 * is for the one thread that names things. 1 if code has come or gone, 0, or -errno with @err set:
 * so when the target has exited, and then what was known still holds.
 */
int resolution_refresh(struct resolution *resolution, struct error *err);

/*
 * Drop the bodies that are no longer what they were when they were matched, since the target has
 * thrown them away meanwhile: a part of resolution_plan(). -ENOMEM with @err set.
 */
int resolution_drop_changed(struct resolution *resolution, struct plan *plan, size_t *dropped,
			    struct error *err);

/* Does code jump back to its beginning, so that a probe there counts rounds of a loop? */
bool resolution_jumps_to_entry(const struct resolution *resolution, struct address start,
			       uint32_t size);

/*
 * Names for the frames of what was resolved, from its runtimes. @directories may be NULL.
 * @resolution must outlive the result. -ENOMEM with @err set.
 */
int frame_names_create(struct symbols **symbols, struct resolution *resolution,
		       enum source_lines lines, const struct symbol_directories *directories,
		       struct error *err);

#endif
