/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call frame information that compilers write for debuggers and exceptions (.eh_frame,
 * .debug_frame): made into unwind rows (cfi.c), of its entries (cfi_entries.c), which say what
 * functions there are, and have the instructions of each. And where one function ends: every one of
 * an x86-64 file has an entry, also of a stripped one.
 *
 * Source of the format: DWARF 5, 6.4; Linux Standard Base Core 5.0, 10.6 (what .eh_frame has
 * otherwise, and .eh_frame_hdr). The machine has its registers' numbers (arch/arch.h).
 */
#ifndef IMAGE_CFI_H
#define IMAGE_CFI_H

#include "base/sorted.h"
#include "image/cursor.h"

struct elf;
struct error;
struct unwind_rows;

struct cfi_section {
	struct span bytes;
	uint64_t address; /* as linked: pointers are relative to where they are */
	bool debug_frame; /* or .eh_frame */
};

/* What came of it. */
struct cfi_counts {
	uint64_t functions;
	uint64_t damaged;     /* entries that do not parse, which have no rows */
	uint64_t unsupported; /* rows of the kind UNWIND_UNSUPPORTED */
};

/*
 * Add the rows of all functions of @section to @rows, which is empty, by address as linked. What
 * lies between functions is UNWIND_UNKNOWN. -ENOMEM with @err set.
 */
int cfi_rows(const struct cfi_section *section, struct unwind_rows *rows, struct cfi_counts *counts,
	     struct error *err);

/* Entries --------------------------------------------------------------------------------- */

/* What is common to many functions. */
struct cfi_cie {
	uint64_t offset; /* where it is in the section; first: base/sorted.h */
	struct span instructions;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register; /* as DWARF numbers them on the machine */
	uint8_t encoding;	  /* of addresses */
	bool augmented;		  /* each entry has a part that is to be skipped */
	bool signal;
	bool usable;
};

struct cfi_fde {
	uint64_t begin; /* of its code, as linked; first: base/sorted.h */
	uint64_t size;
	struct span instructions;
	uint32_t cie; /* its index */
};

struct cfi_entries {
	struct cfi_cie *cies;
	size_t cie_count;
	size_t cie_capacity;
	/*
	 * Of each function where its code begins, and where its entry is in the section. To read an
	 * entry again takes less time than memory for all would.
	 */
	struct sorted_place *fdes;
	size_t fde_count;
	size_t fde_capacity;
	uint64_t damaged; /* entries that do not parse, and are left out */
};

/* Find all of @section that makes sense, for @entries, which are empty; false: no memory for it. */
bool cfi_entries_read(struct cfi_entries *entries, const struct cfi_section *section);

/* One that was found, at @offset of the same section. */
bool cfi_entries_get(const struct cfi_entries *entries, const struct cfi_section *section,
		     size_t offset, struct cfi_fde *fde);
void cfi_entries_deinit(struct cfi_entries *entries);

uint64_t cfi_read_uleb(struct cursor *c);
int64_t cfi_read_sleb(struct cursor *c);

/*
 * An address in an encoding (DW_EH_PE_...) at @c, which is over bytes of @section. One that is not
 * used for functions makes @c bad.
 */
uint64_t cfi_read_address(const struct cfi_section *section, struct cursor *c, uint8_t encoding);

/*
 * The code of the function that begins at @address, as linked; none if there is no table, if it is
 * not as linkers write it on x86-64, or if no function begins there.
 */
struct span eh_frame_function(const struct elf *elf, uint64_t address);

/*
 * The code with an entry of its own that holds @address, and in @begin where it begins: a function,
 * or the part of one that the compiler has put elsewhere. None as above.
 */
struct span eh_frame_code(const struct elf *elf, uint64_t address, uint64_t *begin);

#endif
