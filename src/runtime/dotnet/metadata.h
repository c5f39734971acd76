/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ECMA-335 metadata: the tables and heaps that name every type and method of an
 * assembly. Rows are read in place; nothing is copied or indexed up front,
 * except what makes owner and nesting look-ups fast. A Portable PDB is metadata too.
 *
 * Source of the format: ECMA-335 6th edition, II.22 to II.24; of Portable PDBs dotnet/runtime
 * docs/design/specs/PortablePdb-Metadata.md.
 */
#ifndef RUNTIME_DOTNET_METADATA_H
#define RUNTIME_DOTNET_METADATA_H

#include "image/cursor.h"
#include "image/space.h"

struct error;
struct pe;
struct text;

enum metadata_table {
	TABLE_MODULE = 0x00,
	TABLE_TYPE_REF = 0x01,
	TABLE_TYPE_DEF = 0x02,
	TABLE_FIELD_PTR = 0x03,
	TABLE_FIELD = 0x04,
	TABLE_METHOD_DEF = 0x06,
	TABLE_PARAM_PTR = 0x07,
	TABLE_PARAM = 0x08,
	TABLE_MEMBER_REF = 0x0a,
	TABLE_CONSTANT = 0x0b,
	TABLE_CUSTOM_ATTRIBUTE = 0x0c,
	TABLE_STAND_ALONE_SIG = 0x11,
	TABLE_MODULE_REF = 0x1a,
	TABLE_TYPE_SPEC = 0x1b,
	TABLE_IMPL_MAP = 0x1c,
	TABLE_ASSEMBLY = 0x20,
	TABLE_ASSEMBLY_REF = 0x23,
	TABLE_NESTED_CLASS = 0x29,
	TABLE_GENERIC_PARAM = 0x2a,
	TABLE_METHOD_SPEC = 0x2b,

	/* Of Portable PDBs, which have more, with rows that refer to their assembly's: pdb.h. */
	TABLE_DOCUMENT = 0x30,
	TABLE_METHOD_DEBUG_INFORMATION = 0x31,
	METADATA_TABLES = 0x32,
};

/* Of a token: the table, and below it the row, for which there are 24 bits. */
enum { TOKEN_TABLE_SHIFT = 24, TOKEN_ROW_MASK = 0x00ffffff };

struct metadata;

/*
 * Read the metadata root at the start of @bytes, which must outlive the result.
 * -EBADMSG or -ENOMEM with @err set.
 */
int metadata_create(struct metadata **metadata, struct span bytes, struct error *err);
void metadata_destroy(struct metadata *metadata);

/* The metadata root's bytes of a PE file, through its CLI header; none if it has none. */
struct span metadata_of_pe(const struct pe *pe);

/* The same through a CLI header that lies elsewhere, as a composite has those of its components. */
struct span metadata_of_header(const struct pe *pe, struct rva cli_header);

uint32_t metadata_rows(const struct metadata *metadata, enum metadata_table table);

/* The module's version id: 16 bytes, different for each compilation; none if damaged. */
struct span metadata_mvid(const struct metadata *metadata);

/*
 * Which module it is, by value: a hash of its version id and of @place, which tells copies of one
 * file apart; never 0. That is 0 until it has been set.
 */
void metadata_set_place(struct metadata *metadata, uint64_t place);
uint64_t metadata_module(const struct metadata *metadata);

/* The assembly's simple name ("System.Linq"), "" for a damaged or missing row. Borrowed. */
const char *metadata_assembly_name(const struct metadata *metadata);

/* The simple name of row @rid of AssemblyRef, "" if there is none. Borrowed. */
const char *metadata_assembly_ref_name(const struct metadata *metadata, uint32_t rid);

/* Short name of a TypeDef: "Box`1", no namespace, no enclosing type. Borrowed; "": damaged. */
const char *metadata_type_short_name(const struct metadata *metadata, uint32_t type_rid);

/* Append "Namespace.Outer+Inner`1". Loops in a damaged nesting table end with "?". */
void metadata_type_name(const struct metadata *metadata, uint32_t type_rid, struct text *out);

/* Append the name of a TypeRef as above: the name is known even where the assembly is not. */
void metadata_type_ref_name(const struct metadata *metadata, uint32_t rid, struct text *out);

/* The simple name of the assembly or module that a TypeRef is in, "" if it says none. Borrowed. */
const char *metadata_type_ref_module(const struct metadata *metadata, uint32_t rid);

/* A TypeSpec's signature blob, see signature.h. */
struct span metadata_type_spec_signature(const struct metadata *metadata, uint32_t rid);

/* The TypeDef that @type_rid is nested in, 0 if in none. */
uint32_t metadata_type_enclosing(const struct metadata *metadata, uint32_t type_rid);

/*
 * The MethodDef rows [*first, *end) of a TypeDef; both 0 if it has none. (In an image with a
 * MethodPtr table that is not in order, which compilers do not write, the range is a guess.)
 */
void metadata_type_methods(const struct metadata *metadata, uint32_t type_rid, uint32_t *first,
			   uint32_t *end);

/* The TypeDef that owns a MethodDef, 0 if none does. */
uint32_t metadata_method_type(const struct metadata *metadata, uint32_t method_rid);

/* A MethodDef's name as in metadata (".ctor", "get_Count"). Borrowed, "" if damaged. */
const char *metadata_method_name(const struct metadata *metadata, uint32_t method_rid);

/* Has the method IL? Abstract, extern and runtime-provided ones have none, and so no body. */
bool metadata_method_has_il(const struct metadata *metadata, uint32_t method_rid);

/* The method's ImplFlags (II.23.1.11), and the RVA of its IL, 0 if it has none. */
uint16_t metadata_method_impl_flags(const struct metadata *metadata, uint32_t method_rid);
struct rva metadata_method_il(const struct metadata *metadata, uint32_t method_rid);

/* The signature of @token if that is of StandAloneSig: a method's locals. */
struct span metadata_stand_alone_signature(const struct metadata *metadata, uint32_t token);

/* Is the method generic, or its type? Then only instantiations of it have bodies. */
bool metadata_method_is_generic(const struct metadata *metadata, uint32_t method_rid);

struct metadata_attribute {
	const char *type;  /* short name of its class, without namespace; "" if damaged */
	struct span value; /* the blob of its arguments, ECMA-335 II.23.3 */
};

/* The @index-th custom attribute of a MethodDef; false if it has no more. Borrowed. */
bool metadata_method_attribute(const struct metadata *metadata, uint32_t method_rid, uint32_t index,
			       struct metadata_attribute *attribute);

/* What a P/Invoke calls. */
struct metadata_import {
	uint16_t flags;	     /* II.23.1.8 */
	const char *name;    /* of the function; borrowed, "" if damaged */
	const char *library; /* as the method has it ("libc"); likewise */
};

/* False if the method is no P/Invoke. */
bool metadata_method_import(const struct metadata *metadata, uint32_t method_rid,
			    struct metadata_import *import);

/* A MethodDef's signature blob. */
struct span metadata_method_signature(const struct metadata *metadata, uint32_t method_rid);

/*
 * What a method calls its parameter number @sequence, from 1 on; "" if it does not say. Borrowed.
 * @flags: II.23.1.13.
 */
const char *metadata_param_name(const struct metadata *metadata, uint32_t method_rid,
				uint32_t sequence, uint16_t *flags);

/* The Field rows [*first, *end) of a TypeDef; both 0 if it has none. */
void metadata_type_fields(const struct metadata *metadata, uint32_t type_rid, uint32_t *first,
			  uint32_t *end);

/* A Field's name, flags (II.23.1.5) and signature blob. Borrowed. */
const char *metadata_field_name(const struct metadata *metadata, uint32_t rid);
uint16_t metadata_field_flags(const struct metadata *metadata, uint32_t rid);
struct span metadata_field_signature(const struct metadata *metadata, uint32_t rid);

/* The number that a literal Field is, zero-extended; false if it is none. */
bool metadata_field_constant(const struct metadata *metadata, uint32_t rid, uint64_t *value);

/* Append the name of the type that a TypeDef derives from; nothing if of none, or a generic one. */
void metadata_type_base(const struct metadata *metadata, uint32_t type_rid, struct text *out);

/* Has a TypeDef the attribute of that short name? */
bool metadata_type_has_attribute(const struct metadata *metadata, uint32_t type_rid,
				 const char *name);

/* A MemberRef's name, "" if there is no such row. Borrowed. */
const char *metadata_member_ref_name(const struct metadata *metadata, uint32_t rid);

/* The row that a MemberRef belongs to, with its table in @table; 0 if there is none. */
uint32_t metadata_member_ref_parent(const struct metadata *metadata, uint32_t rid,
				    enum metadata_table *table);

/* A MemberRef's signature blob. */
struct span metadata_member_ref_signature(const struct metadata *metadata, uint32_t rid);

/* A number as metadata and signatures compress it, 1 to 4 bytes (II.23.2). */
uint32_t metadata_compressed(struct cursor *c);

#endif
