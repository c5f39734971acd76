// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The entries of .eh_frame one after the other, for cfi.c; and that of the function that holds an
 * address, for runtimes and for the follower's probes.
 */
#include "image/cfi.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/vector.h"
#include "image/elf.h"

enum {
	LONG_LENGTH = -1, /* marks the 64-bit format */

	ENCODING_FORMAT = 0x0f,
	ENCODING_BASE = 0x70,
	SHIFT_MAX = 63,
	/* Of an entry, up to its instructions: far more than compilers write. */
	HEAD_MAX_BYTES = 256,
	USUAL_FDE_BYTES = 36, /* 37 to 41 in node, libc and libstdc++ */

	/* Of the table to search: where code begins, and its entry. */
	TABLE_VERSION = 1,
	ROW_BYTES = 8,
	ROW_ENTRY = 4,
};

/* Numbers --------------------------------------------------------------------------------- */

static uint64_t read_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift <= SHIFT_MAX)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift <= SHIFT_MAX && (byte & 0x40))
		value |= ~UINT64_C(0) << shift;
	return value;
}

uint64_t cfi_read_uleb(struct cursor *c)
{
	return read_leb(c, false);
}

int64_t cfi_read_sleb(struct cursor *c)
{
	return (int64_t)read_leb(c, true);
}

static uint64_t read_encoded_value(struct cursor *c, uint8_t encoding)
{
	switch (encoding & ENCODING_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_u64(c);
	case DW_EH_PE_uleb128:
		return cfi_read_uleb(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_read_sleb(c);
	case DW_EH_PE_udata2:
		return cursor_u16(c);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case DW_EH_PE_udata4:
		return cursor_u32(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(c);
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t cfi_read_address(const struct cfi_section *section, struct cursor *c, uint8_t encoding)
{
	uint64_t here = section->address + (size_t)(c->pos - section->bytes.start);
	uint64_t value = read_encoded_value(c, encoding);

	switch (encoding & (ENCODING_BASE | DW_EH_PE_indirect)) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return here + value;
	default:
		c->bad = true; /* nobody encodes the addresses of functions so */
		return 0;
	}
}

/* Entries --------------------------------------------------------------------------------- */

static void read_augmentation(struct cursor *c, const char *letters, struct cfi_cie *cie)
{
	struct span part;
	struct cursor data;

	if (letters[0] != 'z') {
		cie->usable = letters[0] == '\0';
		return;
	}
	cie->augmented = true;
	part = cursor_take(c, cfi_read_uleb(c));
	data = cursor_over(part);
	for (const char *letter = letters + 1; *letter && cursor_ok(&data); letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = cursor_u8(&data);
			break;
		case 'P':
			read_encoded_value(&data, cursor_u8(&data));
			break;
		case 'L':
			cursor_skip(&data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			/* 'B' is of arm64; others do not change what comes after them. */
			break;
		}
	}
}

static struct cfi_cie read_cie(size_t offset, struct cursor c)
{
	struct cfi_cie cie = { .offset = offset, .usable = true };
	uint8_t version = cursor_u8(&c);
	const char *letters = cursor_string(&c);

	if (version == 4)
		cursor_skip(&c, 2); /* sizes of an address and of a segment's selector */
	cie.code_factor = cfi_read_uleb(&c);
	cie.data_factor = cfi_read_sleb(&c);
	cie.return_register = version == 1 ? cursor_u8(&c) : cfi_read_uleb(&c);
	if (letters)
		read_augmentation(&c, letters, &cie);
	cie.instructions = (struct span){ c.pos, cursor_left(&c) };
	if (!cursor_ok(&c) || !letters)
		cie.usable = false;
	return cie;
}

static bool read_fde(const struct cfi_section *section, const struct cfi_cie *cie, struct cursor c,
		     struct cfi_fde *fde)
{
	if (!cie || !cie->usable)
		return false;
	fde->begin = cfi_read_address(section, &c, cie->encoding);
	fde->size = read_encoded_value(&c, cie->encoding & ENCODING_FORMAT);
	if (cie->augmented)
		cursor_skip(&c, cfi_read_uleb(&c));
	fde->instructions = (struct span){ c.pos, cursor_left(&c) };
	return cursor_ok(&c);
}

/* An entry of either kind, told apart by what stands where functions point to their CIE. */
struct entry {
	size_t offset; /* where it is in the section */
	uint64_t length;
	struct cursor rest;
	bool is_cie;
	uint64_t cie; /* of a function: the CIE's offset */
};

static struct entry take_entry(const struct cfi_section *section, struct cursor *c)
{
	struct entry entry = { .offset = cursor_offset(c), .length = cursor_u32(c) };
	bool is_long = entry.length == (uint32_t)LONG_LENGTH;
	size_t pointer_offset;
	uint64_t pointer;

	if (is_long)
		entry.length = cursor_u64(c);
	pointer_offset = cursor_offset(c);
	entry.rest = cursor_over(cursor_take(c, entry.length));
	if (!section->debug_frame) {
		pointer = cursor_u32(&entry.rest);
		entry.is_cie = pointer == 0;
		entry.cie = pointer_offset - pointer;
	} else {
		entry.cie = is_long ? cursor_u64(&entry.rest) : cursor_u32(&entry.rest);
		entry.is_cie = entry.cie == (is_long ? UINT64_MAX : UINT32_MAX);
	}
	return entry;
}

/* They were added in the order of their offsets. */
static const struct cfi_cie *find_cie(const struct cfi_entries *entries, uint64_t offset)
{
	return entries->cie_count ? bsearch(&offset, entries->cies, entries->cie_count,
					    sizeof(*entries->cies), by_leading_number) :
				    NULL;
}

static bool read_function(const struct cfi_entries *entries, const struct cfi_section *section,
			  const struct entry *entry, struct cfi_fde *fde)
{
	const struct cfi_cie *cie = find_cie(entries, entry->cie);

	if (!read_fde(section, cie, entry->rest, fde))
		return false;
	fde->cie = (uint32_t)(cie - entries->cies);
	return true;
}

static bool add_entry(struct cfi_entries *entries, const struct cfi_section *section,
		      const struct entry *entry)
{
	struct sorted_place place = { .at = entry->offset };
	struct cfi_fde fde;

	if (entry->is_cie)
		return vector_add(&entries->cies, &entries->cie_count, &entries->cie_capacity,
				  read_cie(entry->offset, entry->rest));
	if (!read_function(entries, section, entry, &fde)) {
		entries->damaged++;
		return true;
	}
	place.number = fde.begin;
	return vector_add(&entries->fdes, &entries->fde_count, &entries->fde_capacity, place);
}

bool cfi_entries_read(struct cfi_entries *entries, const struct cfi_section *section)
{
	struct cursor c = cursor_over(section->bytes);

	/* To grow is to copy megabytes several times. */
	if (!vector_reserve(&entries->fdes, &entries->fde_capacity,
			    section->bytes.size / USUAL_FDE_BYTES))
		return false;
	while (cursor_left(&c) >= sizeof(uint32_t)) {
		struct entry entry = take_entry(section, &c);

		if (!cursor_ok(&c))
			entries->damaged++;
		/* Linkers end what came from one file with an empty entry. */
		else if (entry.length && !add_entry(entries, section, &entry))
			return false;
	}
	return true;
}

bool cfi_entries_get(const struct cfi_entries *entries, const struct cfi_section *section,
		     size_t offset, struct cfi_fde *fde)
{
	struct cursor start = cursor_over(section->bytes), c = cursor_at(&start, offset);
	struct entry entry = take_entry(section, &c);

	return !entry.is_cie && read_function(entries, section, &entry, fde);
}

void cfi_entries_deinit(struct cfi_entries *entries)
{
	free(entries->cies);
	free(entries->fdes);
	*entries = (struct cfi_entries){ 0 };
}

/* One function --------------------------------------------------------------------------- */

/* The entry at @offset, without most of its instructions. */
static struct entry read_head(const struct cfi_section *section, uint64_t offset)
{
	struct cursor start = cursor_over(section->bytes), c = cursor_at(&start, offset);
	struct entry entry = take_entry(section, &c);

	if (cursor_left(&entry.rest) > HEAD_MAX_BYTES)
		entry.rest.end = entry.rest.pos + HEAD_MAX_BYTES;
	return entry;
}

/*
 * Where the code is of the function whose entry is at @offset; false if no entry is there. Takes
 * the same time whatever the bytes are, and reads no instructions.
 */
static bool read_one(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde)
{
	struct entry of_function = read_head(section, offset);
	struct entry of_cie = read_head(section, of_function.cie);
	struct cfi_cie cie = read_cie(of_cie.offset, of_cie.rest);

	return !of_function.is_cie && of_cie.is_cie &&
	       read_fde(section, &cie, of_function.rest, fde);
}

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

	if (version != TABLE_VERSION || count != DW_EH_PE_udata4 ||
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
	    !read_one(&table.section, find_entry(&table, address) - table.section.address, &fde) ||
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
