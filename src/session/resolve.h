/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first phase: from a PID to everything that is known of its code, and from there
 * to a plan for the user's patterns.
 */
#ifndef SESSION_RESOLVE_H
#define SESSION_RESOLVE_H

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/inlining.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/runtime.h"
#include "runtime/dotnet/mapfile.h"
#include "runtime/dotnet/perf_map.h"
#include "plan/plan.h"
#include "target/target.h"

struct error;
struct native_symbols;
struct pattern;

struct resolution {
	struct target target;
	uint64_t version;     /* goes up when code has come or gone */
	size_t files_read;    /* of the target's, for images */
	size_t images_linked; /* see dotnet_images_link_from() */
	bool managed;	      /* it has a runtime: */
	struct dotnet_runtime runtime;
	void *functions; /* of native code, by file; see resolution_functions() */
	struct dotnet_images images;
	struct memory *memory;
	struct jit *jit;		  /* NULL: see jit_problem */
	struct error *jit_problem;	  /* why run-time compiled code cannot be found, or NULL */
	struct dotnet_inlining *inlining; /* see resolution_read_inlining() */
	struct mapfile *mapfiles;	  /* the user's */
	size_t mapfile_count;
	size_t mapfile_capacity;
	struct perf_map *perf_map; /* of the target; see resolution_perf_map() */
	bool perf_map_looked_for;
	struct error *perf_map_problem; /* why the one there is is not used, or NULL */
};

/* Look at process @pid. -errno with @err set. */
int resolution_init(struct resolution *resolution, pid_t pid, struct error *err);

/* -ENOTSUP with @err set if it is no .NET process: what is asked for is managed. */
int resolution_require_runtime(const struct resolution *resolution, struct error *err);
void resolution_deinit(struct resolution *resolution);

/*
 * Use map file @path, or those of directory @path, as a source of names. What is wrong with one
 * row or file is told; the rest is used. -errno with @err set if nothing of it can be read.
 */
int resolution_add_maps(struct resolution *resolution, const char *path, mapfile_tell tell,
			void *ctx, struct error *err);

/* The perf map that the target's runtime writes, NULL if there is none that can be trusted. */
struct perf_map *resolution_perf_map(struct resolution *resolution);

/* The runtime among @files; false if there is none (yet). */
bool resolution_find_runtime(const struct target_files *files, struct dotnet_runtime *runtime);

/* The name of bit @source of a site's sources: "metadata", or a map file's. */
const char *resolution_source_name(const struct resolution *resolution, unsigned int source);

/*
 * Add what @pattern matches to @plan. Returns how many bodies and methods matched (saturated),
 * or -errno with @err set. The plan borrows image names from @resolution.
 */
int resolution_plan(struct resolution *resolution, struct pattern *pattern, bool nested,
		    struct plan *plan, struct error *err);

/*
 * On a kernel whose uprobes fire in shared mappings: use them for code compiled at run time, so far
 * as it lies in a file, and not the few debug registers. -ENOMEM or -ESRCH with @err set.
 */
int resolution_use_uprobes(struct resolution *resolution, struct plan *plan, struct error *err);

/*
 * Does @pattern ask for native functions, and for nothing else: those of an ELF file that the target has
 * mapped by now, and that no managed image shares its name with? What can be no method's name does in any case.
 */
bool resolution_asks_native(const struct resolution *resolution, const struct pattern *pattern);

/*
 * The native functions of @file by their symbols or those of its debug file;
 * read when they are first asked for. NULL if they cannot be had. For the one thread that names things.
 */
const struct native_symbols *resolution_functions(struct resolution *resolution,
						  const struct target_file *file);

/*
 * Look at what the target has mapped by now, as target_look(); images in new files and those in memory are
 * added. It is for the one thread that names things. 1 if code has come or gone, 0, or -errno with @err set: so when
 * the target has exited, and then what was known still holds.
 */
int resolution_refresh(struct resolution *resolution, struct error *err);

/* Find out which methods the images say have been inlined, and into which. -ENOMEM. */
int resolution_read_inlining(struct resolution *resolution, struct error *err);

/*
 * Before plan_finish(): drop the bodies that are no longer what they were when they were matched,
 * since the target has thrown them away meanwhile. -ENOMEM with @err set.
 */
int resolution_drop_changed(struct resolution *resolution, struct plan *plan, size_t *dropped,
			    struct error *err);

/* Does code of the target jump back to where it begins, so that a probe there counts turns of a loop? */
bool resolution_jumps_to_entry(const struct resolution *resolution, struct address start,
			       uint32_t size);

#endif
