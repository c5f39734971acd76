// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of metadata and the widths of their columns, for metadata.c: those depend on how many
 * rows the tables of an image have, and how long its heaps are.
 *
 * Source of the format: ECMA-335 6th edition, II.22 (columns) and II.24.2.6 (widths).
 */
#include "runtime/dotnet/metadata_internal.h"

/* Tables that only widths depend on; the others are in enum metadata_table. */
enum {
	FIELD = 0x04,
	PARAM = 0x08,
	INTERFACE_IMPL = 0x09,
	DECL_SECURITY = 0x0e,
	EVENT = 0x14,
	PROPERTY = 0x17,
	MODULE_REF = 0x1a,
	FILE_TABLE = 0x26,
	EXPORTED_TYPE = 0x27,
	MANIFEST_RESOURCE = 0x28,
	GENERIC_PARAM = 0x2a,
	GENERIC_PARAM_CONSTRAINT = 0x2c,
	NO_TABLE = 0xff,
};

/* Which heaps are indexed by 4 bytes rather than 2. */
enum {
	HEAP_WIDE_STRINGS = 0x01,
	HEAP_WIDE_GUIDS = 0x02,
	HEAP_WIDE_BLOBS = 0x04,
};

/* An index that can go into one of several tables: its low bits say which. */
enum coded_index {
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_CUSTOM_ATTRIBUTE,
	HAS_FIELD_MARSHAL,
	HAS_DECL_SECURITY,
	MEMBER_REF_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	CUSTOM_ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
	TYPE_OR_METHOD_DEF,
	CODED_INDEXES,

	CODED_MAX_TABLES = 22,
};

struct coded_tables {
	uint8_t tag_bits;
	uint8_t count;
	uint8_t tables[CODED_MAX_TABLES];
};

static const struct coded_tables coded[CODED_INDEXES] = {
	[TYPE_DEF_OR_REF] = { 2, 3, { TABLE_TYPE_DEF, TABLE_TYPE_REF, TABLE_TYPE_SPEC } },
	[HAS_CONSTANT] = { 2, 3, { FIELD, PARAM, PROPERTY } },
	[HAS_CUSTOM_ATTRIBUTE] = { 5,
				   22,
				   { TABLE_METHOD_DEF,	 FIELD,		  TABLE_TYPE_REF,
				     TABLE_TYPE_DEF,	 PARAM,		  INTERFACE_IMPL,
				     TABLE_MEMBER_REF,	 TABLE_MODULE,	  DECL_SECURITY,
				     PROPERTY,		 EVENT,		  TABLE_STAND_ALONE_SIG,
				     MODULE_REF,	 TABLE_TYPE_SPEC, TABLE_ASSEMBLY,
				     TABLE_ASSEMBLY_REF, FILE_TABLE,	  EXPORTED_TYPE,
				     MANIFEST_RESOURCE,	 GENERIC_PARAM,	  GENERIC_PARAM_CONSTRAINT,
				     TABLE_METHOD_SPEC } },
	[HAS_FIELD_MARSHAL] = { 1, 2, { FIELD, PARAM } },
	[HAS_DECL_SECURITY] = { 2, 3, { TABLE_TYPE_DEF, TABLE_METHOD_DEF, TABLE_ASSEMBLY } },
	[MEMBER_REF_PARENT] = { 3,
				5,
				{ TABLE_TYPE_DEF, TABLE_TYPE_REF, MODULE_REF, TABLE_METHOD_DEF,
				  TABLE_TYPE_SPEC } },
	[HAS_SEMANTICS] = { 1, 2, { EVENT, PROPERTY } },
	[METHOD_DEF_OR_REF] = { 1, 2, { TABLE_METHOD_DEF, TABLE_MEMBER_REF } },
	[MEMBER_FORWARDED] = { 1, 2, { FIELD, TABLE_METHOD_DEF } },
	[IMPLEMENTATION] = { 2, 3, { FILE_TABLE, TABLE_ASSEMBLY_REF, EXPORTED_TYPE } },
	[CUSTOM_ATTRIBUTE_TYPE] = { 3,
				    5,
				    { NO_TABLE, NO_TABLE, TABLE_METHOD_DEF, TABLE_MEMBER_REF,
				      NO_TABLE } },
	[RESOLUTION_SCOPE] = { 2,
			       4,
			       { TABLE_MODULE, MODULE_REF, TABLE_ASSEMBLY_REF, TABLE_TYPE_REF } },
	[TYPE_OR_METHOD_DEF] = { 1, 2, { TABLE_TYPE_DEF, TABLE_METHOD_DEF } },
};

/*
 * A column: a fixed width, an index into a heap, or an index into tables. The
 * kind is in the upper bits, the table or coded index in the lower ones.
 */
enum {
	END = 0,
	U16 = 1,
	U32 = 2,
	STRING = 3,
	GUID = 4,
	BLOB = 5,
	KIND_MASK = 0xc0,
	KIND_TABLE = 0x40,
	KIND_LIST = 0x80,
	KIND_CODED = 0xc0,
};

#define ROW(table) (KIND_TABLE | (table))
/* Where a run of rows begins. It goes through the table before, if that has rows (II.22.28). */
#define LIST(table)  (KIND_LIST | (table))
#define CODED(index) (KIND_CODED | (index))

static const uint8_t schemas[METADATA_TABLES][METADATA_MAX_COLUMNS + 1] = {
	[0x00] = { U16, STRING, GUID, GUID, GUID },	      /* Module */
	[0x01] = { CODED(RESOLUTION_SCOPE), STRING, STRING }, /* TypeRef */
	[0x02] = { U32, STRING, STRING, CODED(TYPE_DEF_OR_REF), LIST(FIELD),
		   LIST(TABLE_METHOD_DEF) },			  /* TypeDef */
	[0x03] = { ROW(FIELD) },				  /* FieldPtr */
	[0x04] = { U16, STRING, BLOB },				  /* Field */
	[0x05] = { ROW(TABLE_METHOD_DEF) },			  /* MethodPtr */
	[0x06] = { U32, U16, U16, STRING, BLOB, LIST(PARAM) },	  /* MethodDef */
	[0x07] = { ROW(PARAM) },				  /* ParamPtr */
	[0x08] = { U16, U16, STRING },				  /* Param */
	[0x09] = { ROW(TABLE_TYPE_DEF), CODED(TYPE_DEF_OR_REF) }, /* InterfaceImpl */
	[0x0a] = { CODED(MEMBER_REF_PARENT), STRING, BLOB },	  /* MemberRef */
	[0x0b] = { U16, CODED(HAS_CONSTANT), BLOB },		  /* Constant */
	[0x0c] = { CODED(HAS_CUSTOM_ATTRIBUTE), CODED(CUSTOM_ATTRIBUTE_TYPE),
		   BLOB },					       /* CustomAttribute */
	[0x0d] = { CODED(HAS_FIELD_MARSHAL), BLOB },		       /* FieldMarshal */
	[0x0e] = { U16, CODED(HAS_DECL_SECURITY), BLOB },	       /* DeclSecurity */
	[0x0f] = { U16, U32, ROW(TABLE_TYPE_DEF) },		       /* ClassLayout */
	[0x10] = { U32, ROW(FIELD) },				       /* FieldLayout */
	[0x11] = { BLOB },					       /* StandAloneSig */
	[0x12] = { ROW(TABLE_TYPE_DEF), LIST(EVENT) },		       /* EventMap */
	[0x13] = { ROW(EVENT) },				       /* EventPtr */
	[0x14] = { U16, STRING, CODED(TYPE_DEF_OR_REF) },	       /* Event */
	[0x15] = { ROW(TABLE_TYPE_DEF), LIST(PROPERTY) },	       /* PropertyMap */
	[0x16] = { ROW(PROPERTY) },				       /* PropertyPtr */
	[0x17] = { U16, STRING, BLOB },				       /* Property */
	[0x18] = { U16, ROW(TABLE_METHOD_DEF), CODED(HAS_SEMANTICS) }, /* MethodSemantics */
	[0x19] = { ROW(TABLE_TYPE_DEF), CODED(METHOD_DEF_OR_REF),
		   CODED(METHOD_DEF_OR_REF) },				    /* MethodImpl */
	[0x1a] = { STRING },						    /* ModuleRef */
	[0x1b] = { BLOB },						    /* TypeSpec */
	[0x1c] = { U16, CODED(MEMBER_FORWARDED), STRING, ROW(MODULE_REF) }, /* ImplMap */
	[0x1d] = { U32, ROW(FIELD) },					    /* FieldRVA */
	[0x1e] = { U32, U32 },						    /* EncLog */
	[0x1f] = { U32 },						    /* EncMap */
	[0x20] = { U32, U16, U16, U16, U16, U32, BLOB, STRING, STRING },    /* Assembly */
	[0x21] = { U32 },						    /* AssemblyProcessor */
	[0x22] = { U32, U32, U32 },					    /* AssemblyOS */
	[0x23] = { U16, U16, U16, U16, U32, BLOB, STRING, STRING, BLOB },   /* AssemblyRef */
	[0x24] = { U32, ROW(TABLE_ASSEMBLY_REF) },		      /* AssemblyRefProcessor */
	[0x25] = { U32, U32, U32, ROW(TABLE_ASSEMBLY_REF) },	      /* AssemblyRefOS */
	[0x26] = { U32, STRING, BLOB },				      /* File */
	[0x27] = { U32, U32, STRING, STRING, CODED(IMPLEMENTATION) }, /* ExportedType */
	[0x28] = { U32, U32, STRING, CODED(IMPLEMENTATION) },	      /* ManifestResource */
	[0x29] = { ROW(TABLE_TYPE_DEF), ROW(TABLE_TYPE_DEF) },	      /* NestedClass */
	[0x2a] = { U16, U16, CODED(TYPE_OR_METHOD_DEF), STRING },     /* GenericParam */
	[0x2b] = { CODED(METHOD_DEF_OR_REF), BLOB },		      /* MethodSpec */
	[0x2c] = { ROW(GENERIC_PARAM), CODED(TYPE_DEF_OR_REF) },      /* GenericParamConstraint */
	[0x30] = { BLOB, GUID, BLOB, GUID },			      /* Document */
	[0x31] = { ROW(TABLE_DOCUMENT), BLOB },			      /* MethodDebugInformation */
};

static uint8_t row_width(uint32_t rows)
{
	return rows > UINT16_MAX ? 4 : 2;
}

static uint8_t coded_width(const struct coded_tables *index, const uint32_t rows[METADATA_TABLES])
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < index->count; i++) {
		uint8_t table = index->tables[i];

		if (table != NO_TABLE && rows[table] > most)
			most = rows[table];
	}
	return most >= 1u << (16 - index->tag_bits) ? 4 : 2;
}

static uint8_t column_width(uint8_t column, const uint32_t rows[METADATA_TABLES],
			    uint8_t heap_flags)
{
	uint8_t detail = column & (uint8_t)~KIND_MASK;
	uint8_t wide;

	switch (column & KIND_MASK) {
	case KIND_TABLE:
		return row_width(rows[detail]);
	case KIND_LIST:
		return row_width(rows[detail - 1] ? rows[detail - 1] : rows[detail]);
	case KIND_CODED:
		return coded_width(&coded[detail], rows);
	default:
		break;
	}

	if (column == U16 || column == U32)
		return column == U16 ? 2 : 4;
	wide = column == STRING ? HEAP_WIDE_STRINGS :
	       column == GUID	? HEAP_WIDE_GUIDS :
				  HEAP_WIDE_BLOBS;
	return heap_flags & wide ? 4 : 2;
}

void table_layout_init(struct table_layout *layout, enum metadata_table table,
		       const uint32_t rows[METADATA_TABLES], uint8_t heap_flags)
{
	*layout = (struct table_layout){ 0 };
	for (unsigned int i = 0; schemas[table][i] != END; i++) {
		layout->offsets[i] = layout->row_bytes;
		layout->widths[i] = column_width(schemas[table][i], rows, heap_flags);
		layout->row_bytes += layout->widths[i];
	}
}
