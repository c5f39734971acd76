// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as call frame information of both kinds: rows are in order and of known kinds. */
#include "tests/fuzz/fuzz.h"
#include "image/unwind_rows.h"
#include "image/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cfi_section section = {
		.bytes = { data + 1, size ? size - 1 : 0 },
		.address = 0x1000,
		.debug_frame = size && (data[0] & 1),
	};
	struct unwind_frames frames = { 0 };
	struct unwind_rows rows = { .frames = &frames };
	struct cfi_counts counts;

	if (size == 0 || cfi_rows(&section, &rows, &counts, NULL))
		return 0;
	for (size_t i = 0; i < rows.count; i++) {
		check((!i || rows.rows[i - 1].begin < rows.rows[i].begin) &&
		      rows.rows[i].frame < frames.count &&
		      frames.frames[rows.rows[i].frame].rule <= UNWIND_UNSUPPORTED);
	}
	unwind_rows_deinit(&rows);
	return 0;
}
