/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call frame information that compilers write for debuggers and exceptions (.eh_frame,
 * .debug_frame), made into unwind rows.
 *
 * Source of the format: DWARF 5, 6.4; Linux Standard Base Core 5.0, 10.6 (what .eh_frame has
 * otherwise). The machine has its registers' numbers (arch/arch.h).
 */
#ifndef IMAGE_CFI_H
#define IMAGE_CFI_H

#include "image/cfi_entries.h"

struct error;
struct unwind_rows;

/* What came of it. */
struct cfi_counts {
	uint64_t functions;
	uint64_t damaged;     /* entries that do not parse, which have no rows */
	uint64_t unsupported; /* rows of the kind UNWIND_UNSUPPORTED */
};

/*
 * Add the rows of all functions of @section to @rows, which is empty, relative to @base: the
 * address, as linked, that offset 0 of the file has or would have. What lies between functions is
 * UNWIND_UNKNOWN. -ENOMEM with @err set.
 */
int cfi_rows(const struct cfi_section *section, uint64_t base, struct unwind_rows *rows,
	     struct cfi_counts *counts, struct error *err);

#endif
