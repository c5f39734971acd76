/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .NET in a target, all that is known of it: its images, what it has compiled, and names from map
 * files. It is a struct runtime; src/session/resolve.c makes it.
 */
#ifndef RUNTIME_DOTNET_DOTNET_H
#define RUNTIME_DOTNET_DOTNET_H

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/inlining.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/mapfile.h"
#include "runtime/dotnet/perf_map.h"
#include "runtime/dotnet/runtime.h"
#include "runtime/runtime.h"

struct type_index;
struct target_files;

/* What has come of looking for PDBs so far, for the log; lines.c fills it. */
struct dotnet_pdbs {
	size_t missed;
	size_t in_symbols; /* were found in a directory of the user's */
	struct text where; /* a line for each that is missed */
};

struct dotnet {
	struct runtime runtime;
	struct target *target;
	const struct runtimes
		*others; /* which know native functions, and what lines are asked for */
	bool managed;	 /* it is there, as: */
	struct dotnet_runtime about;
	struct dotnet_images images;
	size_t files_read;		  /* of the target's, for images */
	size_t images_linked;		  /* see dotnet_images_link_from() */
	struct jit *jit;		  /* NULL: see jit_problem */
	struct error *jit_problem;	  /* why run-time compiled code cannot be found, or NULL */
	struct type_index *types;	  /* NULL: they have not been asked for */
	struct dotnet_inlining *inlining; /* NULL: it has not been asked for */
	struct mapfile *mapfiles;	  /* the user's */
	size_t mapfile_count;
	size_t mapfile_capacity;
	struct perf_map *perf_map; /* of the target; see dotnet_perf_map() */
	bool perf_map_looked_for;
	struct error *perf_map_problem; /* why the one there is is not used, or NULL */
	struct dotnet_pdbs pdbs;
};

/* There is one of it in any target: images may be mapped without .NET. */
extern const struct runtime_ops dotnet_ops;

/* The runtime among @files; false if there is none (yet). */
bool dotnet_find_runtime(const struct target_files *files, struct dotnet_runtime *runtime);

/*
 * Use map file @path, or those of directory @path, as a source of names. What is wrong with one
 * row or file is told; the rest is used. -errno with @err set if nothing of it can be read.
 */
int dotnet_add_maps(struct dotnet *dotnet, const char *path, mapfile_tell tell, void *ctx,
		    struct error *err);

/* The perf map that the target's runtime writes, NULL if there is none that can be trusted. */
struct perf_map *dotnet_perf_map(struct dotnet *dotnet);

#endif
