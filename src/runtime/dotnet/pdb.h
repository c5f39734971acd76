/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Portable PDBs: what leads from an image to its PDB, and from a method's IL to lines of source.
 * Works on bytes that it is given; lines.c finds them.
 *
 * Source of the format: dotnet/runtime docs/design/specs/PortablePdb-Metadata.md (tables, sequence
 * points, document names) and PE-COFF.md there (debug directory); ECMA-335 II.23.2 (numbers).
 */
#ifndef RUNTIME_DOTNET_PDB_H
#define RUNTIME_DOTNET_PDB_H

#include "image/cursor.h"

struct metadata;
struct pe;
struct text;

enum { PDB_ID_BYTES = 20 };

/* What an image says of its PDB; borrowed from the image's bytes. */
struct pdb_link {
	uint8_t id[PDB_ID_BYTES];
	struct span name;     /* of the file, without directory; none: no name that can be used */
	struct span embedded; /* the PDB itself, compressed; none: it is not in the image */
};

/* False if the image says of no Portable PDB that it is its own. */
bool pdb_link_read(struct pdb_link *link, const struct pe *pe);

/*
 * Unpack link->embedded: malloc'd, at most @most bytes. NULL if it is damaged or larger, or for
 * want of memory.
 */
uint8_t *pdb_unpack(struct span embedded, size_t most, size_t *size);

/* Was @pdb made with the image that has @id? */
bool pdb_has_id(const struct metadata *pdb, const uint8_t id[PDB_ID_BYTES]);

/* A place in source; lines and columns count from 1. */
struct pdb_point {
	uint32_t document; /* row */
	uint32_t line;
	uint32_t column;
};

/*
 * The last place of MethodDef @method_rid that is not behind @il_offset, but for those that the
 * compiler has hidden. False if there is none.
 */
bool pdb_find_point(const struct metadata *pdb, uint32_t method_rid, uint32_t il_offset,
		    struct pdb_point *point);

/* Put the name of document row @rid into @name (cleared first); false if it has none. */
bool pdb_document_name(const struct metadata *pdb, uint32_t rid, struct text *name);

#endif
