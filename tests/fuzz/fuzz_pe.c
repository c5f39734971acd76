// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a PE file, and as one that was loaded: headers, conversions between its spaces, its
 * functions, what kind of image it is.
 */
#include "tests/fuzz/fuzz.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "image/pe.h"

enum { STEP = 0x80, STEPS = 512, MAX_ENTRIES = 16, DEBUG_CODE_VIEW = 2 };

static void look_at(const struct pe *pe, size_t size)
{
	struct pe_debug_entry entry;

	for (uint32_t i = 0; i < STEPS; i++) {
		struct rva rva = { i * STEP };
		struct pe_function function;
		struct file_offset offset;
		struct rva back;

		if (pe_rva_to_offset(pe, rva, &offset)) {
			check(offset.value < size);
			(void)pe_offset_to_rva(pe, offset, &back);
		}
		(void)pe_is_code(pe, rva);
		(void)pe_bytes(pe, rva, STEP);
		(void)pe_cursor(pe, rva);
		(void)pe_function_at(pe, rva, &function);
	}
	for (unsigned int i = 0; i < MAX_ENTRIES; i++)
		(void)pe_debug_entry(pe, i, &entry);
	(void)pe_debug_data(pe, DEBUG_CODE_VIEW);
	(void)metadata_of_pe(pe);
	(void)r2r_kind_of(pe);
	(void)r2r_owner_composite(pe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span bytes = { data, size };
	struct error err;
	struct pe pe;

	if (pe_init(&pe, bytes, &err) == 0)
		look_at(&pe, size);
	if (pe_init_loaded(&pe, bytes, &err) == 0)
		look_at(&pe, size);
	return 0;
}
