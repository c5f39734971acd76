/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a ReadyToRun image says of inlining: which of its methods have which others inlined.
 *
 * The compiler notes every inlining that it did, also of what was inlined into the inlined,
 * by the methods' definitions: one entry stands for all instantiations. It leaves out methods
 * marked [NonVersionable], which it may inline anywhere, on either side.
 *
 * Source of the format: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md,
 * "InliningInfo2" (composites, and single images before .NET 8) and "CrossModuleInlineInfo"
 * (all others); src/coreclr/vm/inlinetracking.cpp reads them and
 * tools/aot/ILCompiler.ReadyToRun InliningInfoNode.cs writes them. The two differ: the indexes
 * of cross-module inliners are written as they are, not as differences, and the rows of a
 * single-module image as differences, which the runtime does not add up.
 */
#ifndef RUNTIME_DOTNET_R2R_INLINING_H
#define RUNTIME_DOTNET_R2R_INLINING_H

#include "image/cursor.h"

struct error;
struct metadata;
struct method_name;
struct r2r;

/* A method's definition. */
struct r2r_method {
	const struct metadata *metadata; /* NULL if not at hand */
	uint32_t method_rid;		 /* MethodDef row; or 0, and then */
	uint32_t member_ref_rid;	 /* MemberRef row of the image's manifest */
};

/* One that was inlined, and where the image lists into which methods. */
struct r2r_inlinee {
	const struct r2r *r2r;
	uint32_t table;	 /* with the offset, what r2r_inlinee_read() takes */
	uint32_t offset; /* of the entry in the table */
	struct r2r_method method;

	struct cursor numbers; /* the rest of the entry */
	uint32_t number_count;
	const struct metadata *own; /* of inliners that name no module */
	bool modules;		    /* how the rest is written */
	bool imports;
};

/* False if the image has no table at all, so that nothing is known of its inlining. */
bool r2r_has_inlining(const struct r2r *r2r);

/* 0 to go on; anything else ends the walk, and is returned. */
typedef int (*r2r_inlinee_fn)(const struct r2r_inlinee *inlinee, void *ctx);
typedef int (*r2r_inliner_fn)(const struct r2r_method *inliner, void *ctx);

/*
 * Call @fn for each method that methods of the image have inlined. One method may have entries
 * in several tables. -EBADMSG with @err set where a table is damaged; what came before it was good, and tables
 * behind it are still read.
 */
int r2r_each_inlinee(const struct r2r *r2r, r2r_inlinee_fn fn, void *ctx, struct error *err);

/* Read an entry again, by where it is. False if it is damaged. */
bool r2r_inlinee_read(struct r2r_inlinee *inlinee, const struct r2r *r2r, uint32_t table,
		      uint32_t offset);

/*
 * Call @fn for each method that has @inlinee inlined, as above. -EBADMSG if the list is
 * damaged. A method in an assembly that is not at hand comes without metadata.
 */
int r2r_each_inliner(const struct r2r_inlinee *inlinee, r2r_inliner_fn fn, void *ctx);

/* Put the parts of a definition's name into @name (cleared first); its metadata must be at hand. */
void r2r_method_name(const struct r2r_method *method, struct method_name *name);

#endif
