/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make up metadata.h share: tables, and the cells of their rows. */
#ifndef RUNTIME_DOTNET_METADATA_INTERNAL_H
#define RUNTIME_DOTNET_METADATA_INTERNAL_H

#include "runtime/dotnet/metadata.h"

/* The columns that are read here. */
enum {
	TYPE_REF_SCOPE = 0,
	TYPE_DEF_FLAGS = 0,
	TYPE_NAME = 1, /* of TypeDef and TypeRef */
	TYPE_NAMESPACE = 2,
	TYPE_DEF_EXTENDS = 3,
	TYPE_DEF_FIELDS = 4,
	TYPE_DEF_METHODS = 5,
	FIELD_FLAGS = 0,
	FIELD_NAME = 1,
	FIELD_SIGNATURE = 2,
	PARAM_FLAGS = 0,
	PARAM_SEQUENCE = 1,
	PARAM_NAME = 2,
	CONSTANT_PARENT = 1,
	CONSTANT_VALUE = 2,
	METHOD_DEF_PARAMS = 5,
	METHOD_PTR_METHOD = 0,
	METHOD_DEF_RVA = 0,
	METHOD_DEF_IMPL_FLAGS = 1,
	METHOD_DEF_NAME = 3,
	METHOD_DEF_SIGNATURE = 4,
	MEMBER_REF_PARENT_COLUMN = 0,
	MEMBER_REF_NAME = 1,
	MEMBER_REF_SIGNATURE = 2,
	TYPE_SPEC_SIGNATURE = 0,
	STAND_ALONE_SIGNATURE = 0,
	GENERIC_PARAM_OWNER = 2,
	MODULE_MVID = 2,
	GUID_BYTES = 16,
	ATTRIBUTE_PARENT = 0,
	ATTRIBUTE_CONSTRUCTOR = 1,
	ATTRIBUTE_VALUE = 2,
	ASSEMBLY_NAME = 7,
	ASSEMBLY_REF_NAME = 6,
	IMPL_MAP_FLAGS = 0,
	IMPL_MAP_FORWARDED = 1,
	IMPL_MAP_NAME = 2,
	IMPL_MAP_SCOPE = 3,
	MODULE_REF_NAME = 0,
	NESTED_CLASS_NESTED = 0,
	NESTED_CLASS_ENCLOSING = 1,
	DOCUMENT_NAME = 0,
	DEBUG_INFORMATION_DOCUMENT = 0,
	DEBUG_INFORMATION_POINTS = 1,

	OWNER_TAG_BITS = 1, /* of TypeOrMethodDef */
	OWNER_TYPE_DEF = 0,
	OWNER_METHOD_DEF = 1,
	FORWARDED_TAG_BITS = 1, /* of MemberForwarded */
	FORWARDED_METHOD_DEF = 1,
	ATTRIBUTE_PARENT_TAG_BITS = 5, /* of HasCustomAttribute; 0 is MethodDef */
	CONSTRUCTOR_TAG_BITS = 3,      /* of CustomAttributeType */
	CONSTRUCTOR_TAG_MASK = 7,
	CONSTRUCTOR_METHOD_DEF = 2,
	CONSTRUCTOR_MEMBER_REF = 3,
	CONSTANT_TAG_BITS = 2, /* of HasConstant; 0 is Field */
	ATTRIBUTE_PARENT_TYPE_DEF = 3,
	EXTENDS_TAG_MASK = 3,
	EXTENDS_TAG_BITS = 2,
	EXTENDS_TYPE_DEF = 0,
	EXTENDS_TYPE_REF = 1,
	SCOPE_TAG_MASK = 3,
	SCOPE_TAG_BITS = 2,
	SCOPE_MODULE_REF = 1,
	SCOPE_ASSEMBLY_REF = 2,
	SCOPE_TYPE_REF = 3,
	PARENT_TAG_MASK = 7,
	PARENT_TAG_BITS = 3,
};

enum { METADATA_MAX_COLUMNS = 9 };

/* How wide each column of a table is in one image, and where in a row it lies. */
struct table_layout {
	uint8_t row_bytes;
	uint8_t offsets[METADATA_MAX_COLUMNS];
	uint8_t widths[METADATA_MAX_COLUMNS]; /* 2 or 4; 0 for a column the table does not have */
};

struct table {
	const uint8_t *rows;
	uint32_t count;
	struct table_layout layout;
};

struct metadata {
	struct table tables[METADATA_TABLES];
	struct span strings; /* ends with the last NUL, so every offset is a string */
	struct span blobs;
	struct span guids;
	struct span pdb;	/* the stream that only a Portable PDB has */
	uint64_t module;	/* see metadata_module() */
	uint32_t *method_order; /* MethodDef rid - 1 -> MethodPtr rid; NULL if the same */
};

/* Of @table, given the @rows of all tables and the image's HEAP_ flags (metadata_schema.c). */
void table_layout_init(struct table_layout *layout, enum metadata_table table,
		       const uint32_t rows[METADATA_TABLES], uint8_t heap_flags);

/* A cell's value, 0 if there is no such row. */
uint32_t metadata_cell(const struct metadata *metadata, unsigned int table_id, uint32_t rid,
		       unsigned int column);

/*
 * The run of rows of table @table_id that belong to a TypeDef, as its @column and that of the next
 * have it: not checked against the table.
 */
void metadata_type_run(const struct metadata *metadata, uint32_t type_rid, unsigned int column,
		       unsigned int table_id, uint32_t *first, uint32_t *end);
const char *metadata_string_cell(const struct metadata *metadata, enum metadata_table table,
				 uint32_t rid, unsigned int column);
/* A blob: its length, compressed as in II.23.2, then its bytes. */
struct span metadata_blob_at(const struct metadata *metadata, uint32_t offset);
struct span metadata_blob_cell(const struct metadata *metadata, enum metadata_table table,
			       uint32_t rid, unsigned int column);

/*
 * The last row of a table sorted by @column whose cell is not above @value, 0 if none is.
 * If a damaged table is not sorted the answer means nothing, but is a row or 0.
 */
uint32_t metadata_last_not_above(const struct metadata *metadata, enum metadata_table table,
				 unsigned int column, uint32_t value);

/* Likewise the last row whose cell is @value itself; 0 if none is, as of @value 0. */
uint32_t metadata_row_of(const struct metadata *metadata, enum metadata_table table,
			 unsigned int column, uint32_t value);

#endif
