/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How wide each column of each metadata table is in one image: that depends on
 * how many rows the tables have and how long the heaps are.
 *
 * Source of the format: ECMA-335 6th edition, II.22 (columns) and II.24.2.6 (widths).
 */
#ifndef RUNTIME_DOTNET_METADATA_SCHEMA_H
#define RUNTIME_DOTNET_METADATA_SCHEMA_H

#include "runtime/dotnet/metadata.h"

enum {
	METADATA_MAX_COLUMNS = 9,

	/* Which heaps are indexed by 4 bytes rather than 2. */
	HEAP_WIDE_STRINGS = 0x01,
	HEAP_WIDE_GUIDS = 0x02,
	HEAP_WIDE_BLOBS = 0x04,
};

struct table_layout {
	uint8_t row_bytes;
	uint8_t offsets[METADATA_MAX_COLUMNS];
	uint8_t widths[METADATA_MAX_COLUMNS]; /* 2 or 4; 0 for a column the table does not have */
};

/* The layout of @table, given the @rows of all tables and the image's HEAP_ flags. */
void table_layout_init(struct table_layout *layout, enum metadata_table table,
		       const uint32_t rows[METADATA_TABLES], uint8_t heap_flags);

#endif
