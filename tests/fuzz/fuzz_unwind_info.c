// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as an image with unwind information, and as one function's: rows must be in order. */
#include "tests/fuzz/fuzz.h"
#include "code/unwind_info.h"
#include "image/pe.h"
#include "tests/unit/unwind_row.h"

static void check_rows(struct unwind_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		check((!i || rows->rows[i - 1].begin < rows->rows[i].begin) &&
		      rows->rows[i].frame < rows->frames->count &&
		      unwind_rows_frame(rows, &rows->rows[i]).rule <= UNWIND_UNSUPPORTED);
	}
	unwind_rows_deinit(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span bytes = { data, size };
	struct unwind_info_counts counts;
	struct unwind_frames frames = { 0 };
	struct unwind_rows rows = { .frames = &frames };
	struct pe pe;

	unwind_info_rows(bytes, 0x1000, &rows);
	check_rows(&rows);
	if (pe_init(&pe, bytes, NULL) == 0 && unwind_info_image(&pe, &rows, &counts, NULL) == 0)
		check_rows(&rows);
	return 0;
}
