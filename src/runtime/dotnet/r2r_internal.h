/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the ReadyToRun reader share:
 *   r2r_header.c    find and read the headers
 *   r2r.c           open an image, walk over its entry points
 *   r2r_body.c      entry points and addresses -> bodies, and a body's parts
 *   r2r_name.c      the signatures of instantiations, bodies -> names
 *   r2r_inlining.c  which methods have inlined which
 *   r2r_debug.c     addresses -> offsets in IL
 */
#ifndef RUNTIME_DOTNET_R2R_INTERNAL_H
#define RUNTIME_DOTNET_R2R_INTERNAL_H

#include "runtime/dotnet/native_format.h"
#include "runtime/dotnet/r2r.h"
#include "runtime/dotnet/signature.h"
#include "image/pe.h"

enum {
	R2R_FLAG_COMPONENT = 0x20,
	R2R_FLAG_MULTI_MODULE = 0x40,

	R2R_SECTION_FIRST = 100,
	R2R_SECTION_IMPORTS = 101,
	R2R_SECTION_RUNTIME_FUNCTIONS = 102,
	R2R_SECTION_METHOD_ENTRY_POINTS = 103,
	R2R_SECTION_EXCEPTION_INFO = 104,
	R2R_SECTION_DEBUG_INFO = 105,
	R2R_SECTION_CALL_THUNKS = 106,
	R2R_SECTION_INSTANCE_ENTRY_POINTS = 109,
	R2R_SECTION_MANIFEST_METADATA = 112,
	R2R_SECTION_INLINING = 114,
	R2R_SECTION_COMPONENT_ASSEMBLIES = 115,
	R2R_SECTION_OWNER_COMPOSITE = 116,
	R2R_SECTION_CROSS_MODULE_INLINING = 119,
	R2R_SECTION_HOT_COLD_MAP = 120,
	R2R_SECTIONS = 24, /* from R2R_SECTION_FIRST on; later ones are of no use here */
};

enum { R2R_NO_INSTANCE = UINT32_MAX }; /* in no image: no signature begins there */

/* The image's header, or that of one component of a composite. */
struct r2r_header {
	uint16_t major;
	uint16_t minor;
	uint32_t flags;
	struct pe_directory sections[R2R_SECTIONS];
};

/* Read the image's own header. False if it has none. */
bool r2r_header_find(struct r2r_header *header, const struct pe *pe);

/* Read the part that a component of a composite has too: flags and sections. */
bool r2r_header_read_core(struct r2r_header *header, struct cursor c);

/* The place of section @type; size 0 if there is none. */
struct pe_directory r2r_header_section(const struct r2r_header *header, unsigned int type);

/* No flag says so reliably: 0x02 is also set where type checks may be skipped. */
bool r2r_header_is_composite(const struct r2r_header *header);

struct r2r_component {
	const char *name;		 /* in the manifest's metadata; NULL for the image's own */
	const struct metadata *metadata; /* may come while others read: by r2r_metadata() only */
	struct native_array methods;	 /* count 0 if it has no code */
	struct pe_directory inlining;
	struct rva cli_header; /* 0 unless the composite has the metadata too */
};

/* Made when it is first needed: see r2r_body.c. */
struct r2r_index {
	bool built;
	uint32_t *owners; /* RUNTIME_FUNCTION -> entry + 1, 0 if nobody's */
	struct r2r_entry *entries;
	uint32_t entry_count;
	uint32_t entry_capacity;
};

/* Likewise: see r2r_inlining.c. */
struct r2r_imports {
	bool read;
	struct r2r_method *methods; /* without rows where the signature makes no sense */
	uint32_t count;
};

/* What becomes known of an image while it is only read. */
struct r2r_learnt {
	struct r2r_index index;
	struct r2r_imports imports;
	uint64_t damaged; /* entries that could not be parsed, seen by walks so far */
	uint64_t unnamed; /* bodies without metadata, and names with a "?" for want of it */
};

struct r2r {
	const struct pe *pe;
	struct r2r_header header;
	bool composite;
	struct span functions; /* RUNTIME_FUNCTIONs, sorted by address */
	uint32_t function_count;
	struct span hot_cold; /* pairs of RUNTIME_FUNCTION indexes: cold, hot */
	uint32_t hot_cold_count;
	struct native_hashtable instances; /* without buckets if it has none */
	struct metadata *manifest;	   /* owned; NULL if the image has none */
	uint32_t component_count;
	struct r2r_component *components;
	r2r_find_fn find_assembly;
	void *find_ctx;
	struct r2r_learnt *learnt;
};

/* One entry point as the image lists it, before anything is looked up. */
struct r2r_entry {
	uint32_t component;  /* of a MethodDef; R2R_NO_ASSEMBLY for an instantiation */
	uint32_t method_rid; /* MethodDef row, or 0 */
	uint32_t instance;   /* offset+1 of an instantiation's signature, or 0 */
	uint32_t function;
	struct rva rva;			   /* of that function, set by a walk */
	const struct r2r_instance *parsed; /* during a walk only, else NULL */
};

/* The bytes of section @type; none if there is none. */
struct span r2r_section(const struct r2r *r2r, unsigned int type);

/* Call @fn for each entry point; it ends the walk by returning something else than 0. */
typedef int (*r2r_entry_fn)(const struct r2r_entry *entry, void *ctx);
int r2r_each_entry(const struct r2r *r2r, r2r_entry_fn fn, void *ctx);

/* The runtime function @index as it stands. False if there is none or it is not code. */
bool r2r_function(const struct r2r *r2r, uint32_t index, struct rva *begin, struct rva *end);

/* The metadata that a module index of a signature means; NULL if not at hand. */
const struct metadata *r2r_module(const struct r2r *r2r, uint32_t index, uint32_t *component);

/* Likewise the image's own assembly of that name, or the component. */
const struct metadata *r2r_component_named(const struct r2r *r2r, const char *name,
					   uint32_t *component);

/* Where the MethodDef entry points or an instance's signature say which function it is. */
uint32_t r2r_read_function(struct cursor *c);

/* The signature of an instantiation, its arguments not yet read. */
struct r2r_instance {
	const struct metadata *metadata; /* of the method's token; NULL if not at hand */
	const struct metadata *context;	 /* of the method's arguments */
	uint32_t component;		 /* of the token's metadata, or R2R_NO_ASSEMBLY */
	uint32_t method_rid;		 /* one of the two */
	uint32_t member_ref_rid;
	bool has_owner;
	struct signature_owner owner;
	struct cursor type_args;   /* owner.arg_count types, of owner.metadata */
	struct cursor method_args; /* method_arg_count types, of context */
	uint32_t method_arg_count;
	uint32_t function;
	uint32_t types; /* how many were read, a measure of work */
};

/* Read the signature of @instance (offset+1). False if it is damaged. */
bool r2r_instance_read(struct r2r_instance *instance, const struct r2r *r2r, uint32_t offset_1);

/*
 * Read the method that stands at @at and step over it; its module is @module if it names none.
 * False if it is damaged.
 */
bool r2r_instance_read_method(struct r2r_instance *instance, const struct r2r *r2r, uint32_t module,
			      struct cursor *at);

/* A signature at @at that can name types of all the image's modules. */
void r2r_signature_init(struct signature *s, const struct r2r *r2r, struct cursor at,
			const struct metadata *metadata);

#endif
