// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens metadata, and finds its rows, for all files of this folder. */
#include "runtime/dotnet/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/metadata_internal.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "image/pe.h"
#include "base/text.h"

enum {
	ROOT_MAGIC = 0x424a5342, /* "BSJB" */
	ROOT_VERSION_BYTES = 8,	 /* two versions and a reserved word */
	STREAM_NAME_MAX = 32,
	STREAM_ALIGNMENT = 4,

	TABLES_HEAP_FLAGS = 6, /* where they lie in the tables stream */
	TABLES_VALID = 8,
	TABLES_ROWS = 24,
	HEAP_EXTRA_DATA = 0x40, /* 4 more bytes follow the row counts */
	TABLES_MAX = 64,

	CLI_METADATA = 8, /* where the CLI header has the metadata's place */
	CLI_HEADER_BYTES = 72,

	NESTING_MAX = 64,
	NAME_MAX_BYTES = 1024, /* the runtime takes no longer names either */

	TABLE_METHOD_PTR = 0x05,

	TYPE_VISIBILITY_MASK = 7,
	TYPE_VISIBILITY_NESTED = 2, /* this and above: the type lies in another */
};

/* The name of a stream, padded with NULs to a multiple of 4 bytes. */
static const char *read_stream_name(struct cursor *c)
{
	size_t start = cursor_offset(c);
	const char *name = cursor_string(c);
	size_t length = cursor_offset(c) - start;

	if (!name || length > STREAM_NAME_MAX)
		return NULL;
	cursor_skip(c, (STREAM_ALIGNMENT - length % STREAM_ALIGNMENT) % STREAM_ALIGNMENT);
	return cursor_ok(c) ? name : NULL;
}

/* The heaps; and @tables, which is the stream with the tables. */
static int read_streams(struct metadata *metadata, struct span bytes, struct span *tables,
			struct error *err)
{
	struct cursor c = cursor_over(bytes);
	uint16_t count;

	if (cursor_u32(&c) != ROOT_MAGIC)
		return error_set(err, -EBADMSG, "the metadata does not begin with BSJB");
	cursor_skip(&c, ROOT_VERSION_BYTES);
	cursor_skip(&c, cursor_u32(&c));
	cursor_skip(&c, sizeof(uint16_t));
	count = cursor_u16(&c);

	for (unsigned int i = 0; i < count; i++) {
		uint32_t offset = cursor_u32(&c);
		uint32_t size = cursor_u32(&c);
		const char *name = read_stream_name(&c);

		if (!name)
			return error_set(err, -EBADMSG, "the metadata's stream %u is damaged", i);
		if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0)
			*tables = span_part(bytes, offset, size);
		else if (strcmp(name, "#Strings") == 0)
			metadata->strings = span_part(bytes, offset, size);
		else if (strcmp(name, "#Blob") == 0)
			metadata->blobs = span_part(bytes, offset, size);
		else if (strcmp(name, "#GUID") == 0)
			metadata->guids = span_part(bytes, offset, size);
		else if (strcmp(name, "#Pdb") == 0)
			metadata->pdb = span_part(bytes, offset, size);
	}
	if (!cursor_ok(&c) || !tables->start)
		return error_set(err, -EBADMSG, "the metadata has no tables");
	while (metadata->strings.size > 0 &&
	       metadata->strings.start[metadata->strings.size - 1] != '\0')
		metadata->strings.size--;
	return 0;
}

/* The row counts of the tables that are there. */
static int read_row_counts(struct cursor *c, uint32_t rows[METADATA_TABLES], struct error *err)
{
	struct cursor at = cursor_at(c, TABLES_VALID);
	uint64_t valid = cursor_u64(&at);

	*c = cursor_at(c, TABLES_ROWS);
	for (unsigned int i = 0; i < TABLES_MAX; i++) {
		uint32_t count = valid >> i & 1 ? cursor_u32(c) : 0;

		if (count > TOKEN_ROW_MASK)
			return error_set(err, -EBADMSG, "metadata table 0x%02x has %u rows", i,
					 count);
		if (i < METADATA_TABLES)
			rows[i] = count;
	}
	return 0;
}

static int read_tables(struct metadata *metadata, struct span bytes, struct error *err)
{
	struct cursor c = cursor_over(bytes);
	struct cursor at = cursor_at(&c, TABLES_HEAP_FLAGS);
	uint8_t heap_flags = cursor_u8(&at);
	uint32_t rows[METADATA_TABLES] = { 0 };
	int status = read_row_counts(&c, rows, err);

	if (status < 0)
		return status;
	if (heap_flags & HEAP_EXTRA_DATA)
		cursor_skip(&c, sizeof(uint32_t));

	for (unsigned int i = 0; i < METADATA_TABLES; i++) {
		struct table *table = &metadata->tables[i];

		table_layout_init(&table->layout, (enum metadata_table)i, rows, heap_flags);
		table->count = rows[i];
		table->rows = cursor_take(&c, (size_t)rows[i] * table->layout.row_bytes).start;
		if (!cursor_ok(&c))
			return error_set(err, -EBADMSG, "the metadata ends within table 0x%02x", i);
	}
	return 0;
}

uint32_t metadata_cell(const struct metadata *metadata, unsigned int table_id, uint32_t rid,
		       unsigned int column)
{
	const struct table *table = &metadata->tables[table_id];
	const uint8_t *p;

	if (rid == 0 || rid > table->count)
		return 0;
	p = table->rows + (size_t)(rid - 1) * table->layout.row_bytes +
	    table->layout.offsets[column];
	if (table->layout.widths[column] == 2)
		return (uint32_t)(p[0] | p[1] << 8);
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* In an uncompressed image a type's methods are a run of MethodPtr rows: turn that table round. */
static int invert_method_order(struct metadata *metadata, struct error *err)
{
	uint32_t methods = metadata->tables[TABLE_METHOD_DEF].count;
	uint32_t pointers = metadata->tables[TABLE_METHOD_PTR].count;

	if (pointers == 0 || methods == 0)
		return 0;
	metadata->method_order = calloc(methods, sizeof(*metadata->method_order));
	if (!metadata->method_order)
		return error_set(err, -ENOMEM, "no memory for %u methods", methods);
	for (uint32_t i = 1; i <= pointers; i++) {
		uint32_t rid = metadata_cell(metadata, TABLE_METHOD_PTR, i, METHOD_PTR_METHOD);

		if (rid > 0 && rid <= methods)
			metadata->method_order[rid - 1] = i;
	}
	return 0;
}

void metadata_destroy(struct metadata *metadata)
{
	if (!metadata)
		return;
	free(metadata->method_order);
	free(metadata);
}

CLEANUP_POINTER(metadata_destroy, struct metadata)

int metadata_create(struct metadata **created, struct span bytes, struct error *err)
{
	_cleanup_(metadata_destroy_at) struct metadata *metadata = calloc(1, sizeof(*metadata));
	struct span tables = { 0 };
	int status;

	*created = NULL;
	if (!metadata)
		return error_set(err, -ENOMEM, "no memory for an assembly's metadata");

	status = read_streams(metadata, bytes, &tables, err);
	if (status == 0)
		status = read_tables(metadata, tables, err);
	if (status == 0)
		status = invert_method_order(metadata, err);
	if (status == 0)
		*created = cleanup_take(metadata);
	return status;
}

struct span metadata_of_header(const struct pe *pe, struct rva cli_header)
{
	struct cursor c = cursor_over(pe_bytes(pe, cli_header, CLI_HEADER_BYTES));
	struct rva rva;

	cursor_skip(&c, CLI_METADATA);
	rva.value = cursor_u32(&c);
	return pe_bytes(pe, rva, cursor_u32(&c));
}

struct span metadata_of_pe(const struct pe *pe)
{
	return metadata_of_header(pe, pe->directories[PE_DIRECTORY_CLI].rva);
}

const char *metadata_string_cell(const struct metadata *metadata, enum metadata_table table,
				 uint32_t rid, unsigned int column)
{
	uint32_t offset = metadata_cell(metadata, table, rid, column);

	return offset < metadata->strings.size ? (const char *)metadata->strings.start + offset :
						 "";
}

struct span metadata_blob_at(const struct metadata *metadata, uint32_t offset)
{
	struct cursor c = cursor_over(metadata->blobs);

	c = cursor_at(&c, offset);
	return cursor_take(&c, metadata_compressed(&c));
}

struct span metadata_blob_cell(const struct metadata *metadata, enum metadata_table table,
			       uint32_t rid, unsigned int column)
{
	if (rid == 0 || rid > metadata->tables[table].count)
		return (struct span){ 0 };
	return metadata_blob_at(metadata, metadata_cell(metadata, table, rid, column));
}

uint32_t metadata_compressed(struct cursor *c)
{
	uint32_t first;

	if (cursor_left(c) > 0 && *c->pos < 0x80) /* nearly all are one byte long */
		return *c->pos++;
	first = cursor_u8(c);
	if ((first & 0x80) == 0)
		return first;
	if ((first & 0x40) == 0)
		return (first & 0x3f) << 8 | cursor_u8(c);
	first = (first & 0x1f) << 24 | (uint32_t)cursor_u8(c) << 16;
	first |= (uint32_t)cursor_u8(c) << 8;
	return first | cursor_u8(c);
}

uint32_t metadata_rows(const struct metadata *metadata, enum metadata_table table)
{
	return metadata->tables[table].count;
}

const char *metadata_assembly_name(const struct metadata *metadata)
{
	return metadata_string_cell(metadata, TABLE_ASSEMBLY, 1, ASSEMBLY_NAME);
}

/* Strings and blobs that are a cell of a row, whose number is all that has to be told. */
#define CELL_OF(type, name, cell, table, column)                      \
	type name(const struct metadata *metadata, uint32_t rid)      \
	{                                                             \
		return metadata_##cell(metadata, table, rid, column); \
	}
CELL_OF(const char *, metadata_assembly_ref_name, string_cell, TABLE_ASSEMBLY_REF,
	ASSEMBLY_REF_NAME)
CELL_OF(const char *, metadata_type_short_name, string_cell, TABLE_TYPE_DEF, TYPE_NAME)
CELL_OF(const char *, metadata_method_name, string_cell, TABLE_METHOD_DEF, METHOD_DEF_NAME)
CELL_OF(const char *, metadata_member_ref_name, string_cell, TABLE_MEMBER_REF, MEMBER_REF_NAME)
CELL_OF(const char *, metadata_field_name, string_cell, TABLE_FIELD, FIELD_NAME)
CELL_OF(struct span, metadata_type_spec_signature, blob_cell, TABLE_TYPE_SPEC, TYPE_SPEC_SIGNATURE)
CELL_OF(struct span, metadata_method_signature, blob_cell, TABLE_METHOD_DEF, METHOD_DEF_SIGNATURE)
CELL_OF(struct span, metadata_member_ref_signature, blob_cell, TABLE_MEMBER_REF,
	MEMBER_REF_SIGNATURE)
CELL_OF(struct span, metadata_field_signature, blob_cell, TABLE_FIELD, FIELD_SIGNATURE)

uint32_t metadata_last_not_above(const struct metadata *metadata, enum metadata_table table,
				 unsigned int column, uint32_t value)
{
	return (uint32_t)sorted_first(metadata->tables[table].count, i,
				      metadata_cell(metadata, table, (uint32_t)i + 1, column) <=
					      value);
}

uint32_t metadata_row_of(const struct metadata *metadata, enum metadata_table table,
			 unsigned int column, uint32_t value)
{
	uint32_t row = metadata_last_not_above(metadata, table, column, value);

	return metadata_cell(metadata, table, row, column) == value ? row : 0;
}

uint32_t metadata_type_enclosing(const struct metadata *metadata, uint32_t type_rid)
{
	uint32_t flags = metadata_cell(metadata, TABLE_TYPE_DEF, type_rid, TYPE_DEF_FLAGS);
	uint32_t row;

	if ((flags & TYPE_VISIBILITY_MASK) < TYPE_VISIBILITY_NESTED)
		return 0;
	row = metadata_row_of(metadata, TABLE_NESTED_CLASS, NESTED_CLASS_NESTED, type_rid);
	return metadata_cell(metadata, TABLE_NESTED_CLASS, row, NESTED_CLASS_ENCLOSING);
}

/* The TypeRef that @rid is nested in, 0 if in none. */
static uint32_t enclosing_type_ref(const struct metadata *metadata, uint32_t rid)
{
	uint32_t scope = metadata_cell(metadata, TABLE_TYPE_REF, rid, TYPE_REF_SCOPE);

	return (scope & SCOPE_TAG_MASK) == SCOPE_TYPE_REF ? scope >> SCOPE_TAG_BITS : 0;
}

static void add_name(struct text *out, const char *name)
{
	text_add_bytes(out, name, strnlen(name, NAME_MAX_BYTES));
}

/* Of a TypeDef or TypeRef; of nested ones only the outermost has a namespace. */
static void add_type_name(const struct metadata *metadata, enum metadata_table table, uint32_t rid,
			  uint32_t (*enclosing)(const struct metadata *metadata, uint32_t rid),
			  struct text *out)
{
	uint32_t chain[NESTING_MAX]; /* innermost first */
	uint32_t outer = rid;
	unsigned int length = 0;
	const char *space;

	for (; outer && length < NESTING_MAX; outer = enclosing(metadata, outer))
		chain[length++] = outer;
	if (outer || length == 0 || rid > metadata->tables[table].count) {
		text_add_char(out, '?');
		return;
	}
	space = metadata_string_cell(metadata, table, chain[length - 1], TYPE_NAMESPACE);
	if (*space) {
		add_name(out, space);
		text_add_char(out, '.');
	}
	for (unsigned int i = length; i-- > 0;) {
		add_name(out, metadata_string_cell(metadata, table, chain[i], TYPE_NAME));
		if (i > 0)
			text_add_char(out, '+');
	}
}

void metadata_type_name(const struct metadata *metadata, uint32_t type_rid, struct text *out)
{
	add_type_name(metadata, TABLE_TYPE_DEF, type_rid, metadata_type_enclosing, out);
}

void metadata_type_ref_name(const struct metadata *metadata, uint32_t rid, struct text *out)
{
	add_type_name(metadata, TABLE_TYPE_REF, rid, enclosing_type_ref, out);
}

const char *metadata_type_ref_module(const struct metadata *metadata, uint32_t rid)
{
	uint32_t scope = 0;

	for (unsigned int length = 0; rid && length < NESTING_MAX; length++) {
		scope = metadata_cell(metadata, TABLE_TYPE_REF, rid, TYPE_REF_SCOPE);
		rid = enclosing_type_ref(metadata, rid);
	}
	if ((scope & SCOPE_TAG_MASK) == SCOPE_ASSEMBLY_REF)
		return metadata_assembly_ref_name(metadata, scope >> SCOPE_TAG_BITS);
	if ((scope & SCOPE_TAG_MASK) == SCOPE_MODULE_REF)
		return metadata_string_cell(metadata, TABLE_MODULE_REF, scope >> SCOPE_TAG_BITS, 0);
	return "";
}

void metadata_type_run(const struct metadata *metadata, uint32_t type_rid, unsigned int column,
		       unsigned int table_id, uint32_t *first, uint32_t *end)
{
	*first = metadata_cell(metadata, TABLE_TYPE_DEF, type_rid, column);
	*end = type_rid < metadata->tables[TABLE_TYPE_DEF].count ?
		       metadata_cell(metadata, TABLE_TYPE_DEF, type_rid + 1, column) :
		       metadata->tables[table_id].count + 1;
}

void metadata_type_methods(const struct metadata *metadata, uint32_t type_rid, uint32_t *first,
			   uint32_t *end)
{
	uint32_t methods = metadata->tables[TABLE_METHOD_DEF].count;
	uint32_t types = metadata->tables[TABLE_TYPE_DEF].count;

	metadata_type_run(metadata, type_rid, TYPE_DEF_METHODS, TABLE_METHOD_DEF, first, end);
	if (metadata->method_order) {
		/* MethodPtr rows: only if they are in order do they say a run of methods. */
		uint32_t last =
			metadata_cell(metadata, TABLE_METHOD_PTR, *end - 1, METHOD_PTR_METHOD);

		*first = metadata_cell(metadata, TABLE_METHOD_PTR, *first, METHOD_PTR_METHOD);
		*end = last >= *first ? last + 1 : *first;
	}
	if (*end > methods + 1)
		*end = methods + 1;
	if (type_rid > types || *first == 0 || *first >= *end)
		*first = *end = 0;
}

uint32_t metadata_method_type(const struct metadata *metadata, uint32_t method_rid)
{
	if (method_rid == 0 || method_rid > metadata->tables[TABLE_METHOD_DEF].count)
		return 0;
	if (metadata->method_order)
		method_rid = metadata->method_order[method_rid - 1];
	return method_rid ? metadata_last_not_above(metadata, TABLE_TYPE_DEF, TYPE_DEF_METHODS,
						    method_rid) :
			    0;
}

uint32_t metadata_member_ref_parent(const struct metadata *metadata, uint32_t rid,
				    enum metadata_table *table)
{
	static const enum metadata_table tables[] = { TABLE_TYPE_DEF, TABLE_TYPE_REF,
						      TABLE_MODULE_REF, TABLE_METHOD_DEF,
						      TABLE_TYPE_SPEC };
	uint32_t parent = metadata_cell(metadata, TABLE_MEMBER_REF, rid, MEMBER_REF_PARENT_COLUMN);
	uint32_t tag = parent & PARENT_TAG_MASK;

	if (tag >= sizeof(tables) / sizeof(tables[0]))
		return 0;
	*table = tables[tag];
	return parent >> PARENT_TAG_BITS;
}

struct span metadata_mvid(const struct metadata *metadata)
{
	/* Indexes of GUIDs count from 1. */
	uint64_t index = metadata_cell(metadata, TABLE_MODULE, 1, MODULE_MVID);

	return index ? span_part(metadata->guids, (index - 1) * GUID_BYTES, GUID_BYTES) :
		       (struct span){ 0 };
}

void metadata_set_place(struct metadata *metadata, uint64_t place)
{
	struct span mvid = metadata_mvid(metadata);
	uint64_t hash = hash_bytes(HASH_START, mvid.start, mvid.size);

	metadata->module = hash_number(hash, place) | 1;
}

uint64_t metadata_module(const struct metadata *metadata)
{
	return metadata->module;
}
