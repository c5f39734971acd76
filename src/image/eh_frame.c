// SPDX-License-Identifier: GPL-2.0-or-later
/* The function that holds an address, by .eh_frame: for runtimes, and for the follower's probes. */
#include "image/eh_frame.h"

#include <dwarf.h>

#include "base/sorted.h"
#include "image/cfi.h"

enum {
	VERSION = 1,
	ROW_BYTES = 8, /* of the table to search: where code begins, and its entry */
	ROW_ENTRY = 4,
};

/* The table, what its rows are relative to, and the entries that they point to. */
struct table {
	struct cursor rows;
	uint32_t count;
	uint64_t base;
	struct cfi_section section;
};

static bool find_table(const struct elf *elf, struct table *table)
{
	const struct cfi_section header = {
		.bytes = elf->eh_frame_hdr.bytes,
		.address = elf->eh_frame_hdr.address,
	};
	struct cursor c = cursor_over(header.bytes);
	uint8_t version = cursor_u8(&c), pointer = cursor_u8(&c);
	uint8_t count = cursor_u8(&c), rows = cursor_u8(&c);
	uint64_t section = cfi_read_address(&header, &c, pointer);

	if (version != VERSION || count != DW_EH_PE_udata4 ||
	    rows != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	table->section = (struct cfi_section){ elf_bytes_from(elf, section), section, false };
	table->count = cursor_u32(&c);
	table->rows = cursor_over((struct span){ c.pos, cursor_left(&c) });
	table->base = header.address;
	return cursor_ok(&c) && table->count <= cursor_left(&c) / ROW_BYTES;
}

/* Of row @number where its function begins, or else where its entry is. */
static uint64_t row_of(const struct table *table, size_t number, bool entry)
{
	struct cursor c = cursor_at(&table->rows, number * ROW_BYTES + (entry ? ROW_ENTRY : 0));

	return table->base + (uint64_t)(int64_t)(int32_t)cursor_u32(&c);
}

/* Where the entry is of the last function that begins at or before @address; 0: there is none. */
static uint64_t find_entry(const struct table *table, uint64_t address)
{
	size_t count = sorted_first(table->count, i, row_of(table, i, false) <= address);

	return count ? row_of(table, count - 1, true) : 0;
}

struct span eh_frame_code(const struct elf *elf, uint64_t address, uint64_t *begin)
{
	const struct span none = { 0 };
	struct table table;
	struct cfi_fde fde;

	*begin = 0;
	if (!find_table(elf, &table) ||
	    !cfi_entry_read(&table.section, find_entry(&table, address) - table.section.address,
			    &fde) ||
	    address - fde.begin >= fde.size || !elf_is_code(elf, fde.begin))
		return none;
	*begin = fde.begin;
	return elf_bytes(elf, fde.begin, fde.size);
}

struct span eh_frame_function(const struct elf *elf, uint64_t address)
{
	uint64_t begin;
	struct span code = eh_frame_code(elf, address, &begin);

	return begin == address ? code : (struct span){ 0 };
}
