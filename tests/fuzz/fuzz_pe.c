// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a PE file: headers, conversions between its spaces, what kind of image it is. */
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "image/pe.h"

enum { STEP = 0x80, STEPS = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err;
	struct pe pe;

	if (pe_init(&pe, (struct span){ data, size }, &err) < 0)
		return 0;
	for (uint32_t i = 0; i < STEPS; i++) {
		struct rva rva = { i * STEP };
		struct file_offset offset;
		struct rva back;

		if (pe_rva_to_offset(&pe, rva, &offset)) {
			if (offset.value >= size)
				__builtin_trap();
			(void)pe_offset_to_rva(&pe, offset, &back);
		}
		(void)pe_is_code(&pe, rva);
		(void)pe_bytes(&pe, rva, STEP);
		(void)pe_cursor(&pe, rva);
	}
	(void)metadata_of_pe(&pe);
	(void)r2r_kind_of(&pe);
	(void)r2r_owner_composite(&pe);
	return 0;
}
