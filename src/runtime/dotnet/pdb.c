// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads Portable PDBs, for lines.c. */
#include "runtime/dotnet/pdb.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "image/pe.h"
#include "runtime/dotnet/metadata_internal.h"

enum {
	DEBUG_CODEVIEW = 2, /* types of entries of the debug directory */
	DEBUG_EMBEDDED = 17,
	PORTABLE_MINOR = 0x504d, /* the version of such an entry of a Portable PDB: "MP" */

	CODEVIEW_MAGIC = 0x53445352, /* "RSDS" */
	EMBEDDED_MAGIC = 0x4244504d, /* "MPDB" */
	AGE_BYTES = 4,

	ENTRIES_MAX = 64,   /* of the debug directory, that are looked through */
	DEFLATE_BITS = -15, /* zlib's for a stream without header */

	DOCUMENT_NAME_MAX = 4096,
};

/* The link ---------------------------------------------------------------------------------- */

/* What follows the last separator of a path, of whichever system it was built on. */
static struct span file_name(struct span path)
{
	const uint8_t *end = path.size ? memchr(path.start, '\0', path.size) : NULL;
	size_t length = end ? (size_t)(end - path.start) : 0, begin = length;

	while (begin > 0 && path.start[begin - 1] != '/' && path.start[begin - 1] != '\\')
		begin--;
	length -= begin;
	if (length == 0 || length > NAME_MAX || path.start[begin] == '.')
		return (struct span){ 0 };
	return (struct span){ path.start + begin, length };
}

/* The id of the PDB, which is a GUID and the entry's stamp, and where it was written. */
static bool read_codeview(struct pdb_link *link, const struct pe_debug_entry *entry)
{
	struct cursor c = cursor_over(entry->data);

	if (entry->minor != PORTABLE_MINOR || cursor_u32(&c) != CODEVIEW_MAGIC)
		return false;
	cursor_copy(&c, link->id, GUID_BYTES);
	for (unsigned int i = 0; i < sizeof(entry->stamp); i++)
		link->id[GUID_BYTES + i] = (uint8_t)(entry->stamp >> 8 * i);
	cursor_skip(&c, AGE_BYTES);
	if (!cursor_ok(&c))
		return false;
	link->name = file_name(cursor_take(&c, cursor_left(&c)));
	return true;
}

bool pdb_link_read(struct pdb_link *link, const struct pe *pe)
{
	struct pe_debug_entry entry;
	bool found = false;

	*link = (struct pdb_link){ 0 };
	for (unsigned int i = 0; i < ENTRIES_MAX && pe_debug_entry(pe, i, &entry); i++) {
		if (entry.type == DEBUG_CODEVIEW && !found)
			found = read_codeview(link, &entry);
		if (entry.type == DEBUG_EMBEDDED)
			link->embedded = entry.data;
	}
	return found;
}

static bool inflate_all(struct span from, uint8_t *to, size_t size)
{
	z_stream stream = {
		.next_in = (uint8_t *)(uintptr_t)from.start,
		.avail_in = (uInt)from.size,
		.next_out = to,
		.avail_out = (uInt)size,
	};
	int result;

	if (inflateInit2(&stream, DEFLATE_BITS) != Z_OK)
		return false;
	result = inflate(&stream, Z_FINISH);
	(void)inflateEnd(&stream);
	return result == Z_STREAM_END && stream.avail_out == 0;
}

uint8_t *pdb_unpack(struct span embedded, size_t most, size_t *size)
{
	struct cursor c = cursor_over(embedded);
	uint32_t magic = cursor_u32(&c), unpacked = cursor_u32(&c);
	uint8_t *bytes;

	if (!cursor_ok(&c) || magic != EMBEDDED_MAGIC || unpacked == 0 || unpacked > most ||
	    embedded.size > UINT32_MAX)
		return NULL;
	bytes = malloc(unpacked);
	if (bytes && !inflate_all(cursor_take(&c, cursor_left(&c)), bytes, unpacked)) {
		free(bytes);
		return NULL;
	}
	*size = unpacked;
	return bytes;
}

bool pdb_has_id(const struct metadata *pdb, const uint8_t id[PDB_ID_BYTES])
{
	uint8_t own[PDB_ID_BYTES];

	return span_copy(pdb->pdb, own, sizeof(own)) && memcmp(own, id, sizeof(own)) == 0;
}

/* Sequence points --------------------------------------------------------------------------- */

/* A number with a sign, which is its lowest bit (II.23.2). */
static int32_t signed_compressed(struct cursor *c)
{
	size_t before = cursor_offset(c);
	uint32_t value = metadata_compressed(c);
	size_t bytes = cursor_offset(c) - before;
	int32_t half = bytes == 1 ? 1 << 6 : bytes == 2 ? 1 << 13 : 1 << 28;

	return (int32_t)(value >> 1) - (value & 1 ? half : 0);
}

/* Where the reading of a method's points has come to. */
struct points {
	struct cursor c;
	struct pdb_point last; /* that is not hidden; in the document of the next */
	uint32_t il_offset;
	bool began;
	bool shown; /* one was not hidden */
};

/* The offset of the next point; records between them change the document. */
static void read_offset(struct points *points)
{
	uint32_t delta = metadata_compressed(&points->c);

	while (points->began && delta == 0 && cursor_left(&points->c)) {
		points->last.document = metadata_compressed(&points->c);
		delta = metadata_compressed(&points->c);
	}
	points->began = true;
	points->il_offset += delta;
}

/* The next point; @visible: it is not hidden, and in points->last. False at the end. */
static bool next_point(struct points *points, bool *visible)
{
	struct cursor *c = &points->c;
	int32_t lines, columns;

	if (cursor_left(c) == 0)
		return false;
	read_offset(points);
	lines = (int32_t)metadata_compressed(c);
	columns = lines ? signed_compressed(c) : (int32_t)metadata_compressed(c);
	*visible = lines || columns;
	if (!*visible)
		return cursor_ok(c);
	if (points->shown) {
		points->last.line += (uint32_t)signed_compressed(c);
		points->last.column += (uint32_t)signed_compressed(c);
	} else {
		points->last.line = metadata_compressed(c);
		points->last.column = metadata_compressed(c);
	}
	points->shown = true;
	return cursor_ok(c);
}

bool pdb_find_point(const struct metadata *pdb, uint32_t method_rid, uint32_t il_offset,
		    struct pdb_point *point)
{
	struct points points = {
		.c = cursor_over(metadata_blob_cell(pdb, TABLE_METHOD_DEBUG_INFORMATION, method_rid,
						    DEBUG_INFORMATION_POINTS)),
		.last.document = metadata_cell(pdb, TABLE_METHOD_DEBUG_INFORMATION, method_rid,
					       DEBUG_INFORMATION_DOCUMENT),
	};
	bool visible, found = false;

	(void)metadata_compressed(&points.c); /* the signature of the method's locals */
	if (!points.last.document)
		points.last.document = metadata_compressed(&points.c);
	while (next_point(&points, &visible) && points.il_offset <= il_offset) {
		if (!visible)
			continue;
		*point = points.last;
		found = true;
	}
	return found && point->line > 0;
}

/* Documents --------------------------------------------------------------------------------- */

/* A separator, and the parts that it stands between, each in a blob of its own. */
bool pdb_document_name(const struct metadata *pdb, uint32_t rid, struct text *name)
{
	struct cursor c = cursor_over(metadata_blob_cell(pdb, TABLE_DOCUMENT, rid, DOCUMENT_NAME));
	char separator = (char)cursor_u8(&c);

	text_clear(name);
	for (bool first = true; cursor_left(&c) && name->length <= DOCUMENT_NAME_MAX;
	     first = false) {
		struct span part = metadata_blob_at(pdb, metadata_compressed(&c));

		if (!first && separator)
			text_add_char(name, separator);
		if (part.size > DOCUMENT_NAME_MAX)
			return false;
		/* It is a string for those that it is given to. */
		if (part.size)
			text_add_bytes(name, (const char *)part.start,
				       strnlen((const char *)part.start, part.size));
	}
	return cursor_ok(&c) && text_ok(name) && name->length > 0 &&
	       name->length <= DOCUMENT_NAME_MAX;
}
