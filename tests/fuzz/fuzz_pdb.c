// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a Portable PDB, as an image that has or names one, and as debug info of code. */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "base/text.h"
#include "image/pe.h"
#include "runtime/dotnet/debug_info.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/pdb.h"

enum { MAX_ROWS = 64, UNPACKED_MOST = 1 << 20 };

static void look_at_pdb(struct span bytes)
{
	static const uint8_t id[PDB_ID_BYTES];
	struct text name = { 0 };
	struct metadata *pdb;

	if (metadata_create(&pdb, bytes, NULL) < 0)
		return;
	(void)pdb_has_id(pdb, id);
	for (uint32_t row = 0; row < MAX_ROWS; row++) {
		struct pdb_point point;

		check(!pdb_find_point(pdb, row, UINT32_MAX, &point) || point.line > 0);
		(void)pdb_find_point(pdb, row, row, &point);
		check(!pdb_document_name(pdb, row, &name) || name.length > 0);
	}
	text_deinit(&name);
	metadata_destroy(pdb);
}

static void look_at_image(struct span bytes)
{
	struct pdb_link link;
	struct pe pe;
	uint8_t *unpacked;
	size_t size;

	if (pe_init(&pe, bytes, NULL) < 0 || !pdb_link_read(&link, &pe))
		return;
	for (size_t i = 0; i < link.name.size; i++)
		check(link.name.start[i] != '/' && link.name.start[i] != '\0');
	unpacked = pdb_unpack(link.embedded, UNPACKED_MOST, &size);
	if (unpacked)
		look_at_pdb((struct span){ unpacked, size });
	free(unpacked);
}

static void look_at_code(struct span bytes, enum debug_info_format format)
{
	struct debug_info_bounds bounds;
	uint32_t il;

	if (!debug_info_read_head(bytes, format, &bounds))
		return;
	for (uint32_t offset = 0; offset < MAX_ROWS; offset++)
		(void)debug_info_find_il(span_part(bytes, bounds.offset, bounds.size), format,
					 offset * offset, &il);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span bytes = { data, size };

	look_at_pdb(bytes);
	look_at_image(bytes);
	look_at_code(bytes, DEBUG_INFO_NIBBLES);
	look_at_code(bytes, DEBUG_INFO_PACKED);
	look_at_code(bytes, DEBUG_INFO_SIZED);
	return 0;
}
