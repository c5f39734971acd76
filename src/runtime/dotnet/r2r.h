/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ReadyToRun: the precompiled bodies in a .NET image, and which method each one is.
 *
 * An image is a PE of one assembly, or a composite of many ("app.r2r.dll") whose
 * components are the assemblies: those carry the metadata, the composite the code.
 *
 * Source of the format: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md
 * and src/coreclr/inc/readytorun.h; seen alike in R2R 9.1 (.NET 8), 10.1 (9), 16.0 (10).
 */
#ifndef RUNTIME_DOTNET_R2R_H
#define RUNTIME_DOTNET_R2R_H

#include "image/cursor.h"
#include "image/space.h"

struct error;
struct metadata;
struct method_name;
struct pe;
struct r2r;
struct text;

enum { R2R_NO_ASSEMBLY = UINT32_MAX };

/* What kind of ReadyToRun header a PE carries. */
enum r2r_kind {
	R2R_NONE,      /* IL only */
	R2R_IMAGE,     /* one assembly with its own code */
	R2R_COMPOSITE, /* the code of many assemblies */
	R2R_COMPONENT, /* an assembly whose code is in a composite */
};

enum r2r_kind r2r_kind_of(const struct pe *pe);

/* For R2R_COMPONENT: the file name of the composite ("app.r2r.dll"), not NUL-terminated. */
struct span r2r_owner_composite(const struct pe *pe);

/*
 * Open the code of @pe (R2R_IMAGE or R2R_COMPOSITE), which must outlive the result.
 * -EBADMSG, -ENOTSUP (another architecture, unknown major version) or -ENOMEM with @err set.
 */
int r2r_create(struct r2r **r2r, const struct pe *pe, struct error *err);
void r2r_destroy(struct r2r *r2r);

/*
 * The major version of its format, and the only one that a version of .NET takes; 0: not known.
 * READYTORUN_MAJOR_VERSION in dotnet/runtime src/coreclr/inc/readytorun.h, and tried.
 */
unsigned int r2r_major(const struct r2r *r2r);
unsigned int r2r_major_of(unsigned int dotnet_major);

/*
 * The assemblies whose methods the image holds: 1 for R2R_IMAGE, more for a composite.
 * The caller gives each its metadata as far as it has it (borrowed); methods of one
 * without metadata are passed over by r2r_each_body() and counted in r2r_unnamed().
 * The name is that of the composite's manifest; NULL for the image's own assembly.
 */
uint32_t r2r_component_count(const struct r2r *r2r);
const char *r2r_component_name(const struct r2r *r2r, uint32_t component);
void r2r_set_metadata(struct r2r *r2r, uint32_t component, const struct metadata *metadata);

/* What r2r_set_metadata() was given; NULL if nothing, or for no component. */
const struct metadata *r2r_metadata(const struct r2r *r2r, uint32_t component);

/*
 * An image may have been compiled as one with assemblies that are not in it, and then
 * names their types by rows of their metadata. @find gives it by simple name, or NULL;
 * without it those types are spelled "?".
 */
typedef const struct metadata *(*r2r_find_fn)(const char *name, void *ctx);
void r2r_set_references(struct r2r *r2r, r2r_find_fn find, void *ctx);

/* Of the assemblies that the image refers to; NULL if it has none of its own. */
struct metadata *r2r_manifest(const struct r2r *r2r);

/* The metadata's bytes if the composite has them in itself; none if they are in the component. */
struct span r2r_component_metadata(const struct r2r *r2r, uint32_t component);

/* One precompiled body: a method, or one instantiation of a generic one. */
struct r2r_body {
	const struct r2r *r2r;
	uint32_t component;	 /* whose metadata the row below is in */
	uint32_t method_rid;	 /* MethodDef row, 0 if the method is named by a MemberRef */
	uint32_t member_ref_rid; /* MemberRef row, or 0 */
	uint32_t type_rid;	 /* TypeDef that owns the MethodDef, 0 if not known */
	uint32_t instance;	 /* 0, or offset+1 of the instantiation's signature */
	uint32_t function;	 /* RUNTIME_FUNCTION index of the entry */
	struct rva rva;		 /* of the entry */
};

/*
 * Call @fn for each body of methods and instantiations; @fn returns 0 to go on, anything
 * else ends the walk and is returned. An entry that does not parse is passed over and
 * counted in r2r_damaged().
 */
typedef int (*r2r_body_fn)(const struct r2r_body *body, void *ctx);
int r2r_each_body(const struct r2r *r2r, r2r_body_fn fn, void *ctx);

/* The body of a MethodDef that is not an instantiation. 1 if there is one, 0 if not, -EBADMSG. */
int r2r_find_method(const struct r2r *r2r, uint32_t component, uint32_t method_rid,
		    struct r2r_body *body);

/*
 * The body whose code holds @rva: its entry, one of its funclets or its cold part.
 * 1 if there is one, 0 if not. The first call builds an index (thread-unsafe).
 */
int r2r_find_rva(struct r2r *r2r, struct rva rva, struct r2r_body *body);

/* Is @rva in a thunk by which calls leave the image at first? Thunks belong to no method. */
bool r2r_is_call_thunk(const struct r2r *r2r, struct rva rva);

/* The metadata that the body's MethodDef or MemberRef is a row of; NULL if it is not at hand. */
const struct metadata *r2r_body_metadata(const struct r2r_body *body);

/* Put the parts of @body's name into @name (cleared first). */
void r2r_body_name(const struct r2r_body *body, struct method_name *name);

/*
 * Append the name as crossgen2 --perfmap prints it: return type, arguments in place of
 * the generic parameters, full CLR names, but not the arguments of a generic method.
 */
void r2r_body_map_name(const struct r2r_body *body, struct text *out);

/* Only the cheap parts, for a first look: the open type name and the method's own name. */
void r2r_body_short_name(const struct r2r_body *body, struct method_name *name);

/* One contiguous run of a body's code. */
struct r2r_part {
	struct rva rva;
	uint32_t size;
	bool funclet; /* a handler or a filter, not reached by a call */
	bool cold;
};

/*
 * The parts of @body, the entry's first, then funclets and cold code, at most @capacity.
 * Returns how many there are.
 */
size_t r2r_body_parts(const struct r2r_body *body, struct r2r_part *parts, size_t capacity);

/*
 * Is the code at @rva, of @body, an exception filter? Those run before an exception unwinds
 * anything, other handlers after that.
 */
bool r2r_in_filter(const struct r2r_body *body, struct rva rva);

/* The offset in the method's IL that the code at @rva, of @body, was made of. False: not known. */
bool r2r_find_il(const struct r2r_body *body, struct rva rva, uint32_t *il_offset);

/*
 * Entries that could not be parsed, and bodies without metadata, seen by walks so far;
 * the latter also counts names with a "?" in them for want of metadata.
 */
uint64_t r2r_damaged(const struct r2r *r2r);
uint64_t r2r_unnamed(const struct r2r *r2r);

/* Make now what looking for parts would make first, so that it never takes long. */
bool r2r_prepare(const struct r2r *r2r);

/* Inlining ----------------------------------------------------------------------------------- */

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
 * Call @fn for each method that methods of the image have inlined. One method may have entries in
 * several tables. -EBADMSG with @err set where a table is damaged; what came before it was good,
 * and tables behind it are still read.
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
