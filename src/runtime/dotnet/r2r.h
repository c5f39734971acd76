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
void r2r_set_references(struct r2r *r2r,
			const struct metadata *(*find)(const char *name, void *ctx), void *ctx);

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
int r2r_each_body(const struct r2r *r2r, int (*fn)(const struct r2r_body *body, void *ctx),
		  void *ctx);

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

#endif
