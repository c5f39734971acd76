/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of cfi.h share:
 *   cfi_entries.c   a section -> functions, each with its instructions
 *   cfi.c           instructions -> rows
 */
#ifndef RUNTIME_NATIVE_CFI_INTERNAL_H
#define RUNTIME_NATIVE_CFI_INTERNAL_H

#include <stddef.h>

#include "runtime/native/cfi.h"

enum { CFI_RETURN_ADDRESS = 16 }; /* a register, as DWARF numbers them on x86-64 */

/* What is common to many functions. */
struct cfi_cie {
	size_t offset; /* where it is in the section */
	struct span instructions;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding; /* of addresses */
	bool augmented;	  /* each entry has a part that is to be skipped */
	bool signal;
	bool usable;
};

struct cfi_fde {
	uint64_t begin; /* of its code, as linked */
	uint64_t size;
	struct span instructions;
	uint32_t cie; /* its index */
};

struct cfi_reader {
	const struct cfi_section *section;
	uint64_t base;
	struct unwind_rows *rows;
	struct cfi_counts *counts;

	struct cfi_cie *cies;
	size_t cie_count;
	size_t cie_capacity;
	struct cfi_fde *fdes;
	size_t fde_count;
	size_t fde_capacity;
};

/* Find all of @reader's section that makes sense; false if there is no memory for it. */
bool cfi_read_entries(struct cfi_reader *reader);

uint64_t cfi_read_uleb(struct cursor *c);
int64_t cfi_read_sleb(struct cursor *c);

/* An address in an encoding (DW_EH_PE_...); one that no function's is in makes @c bad. */
uint64_t cfi_read_address(const struct cfi_reader *reader, struct cursor *c, uint8_t encoding);

#endif
