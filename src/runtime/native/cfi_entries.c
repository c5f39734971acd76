// SPDX-License-Identifier: GPL-2.0-or-later
/* The entries of call frame information: which functions there are, and the instructions of each. */
#include <dwarf.h>
#include <stdlib.h>

#include "runtime/native/cfi_internal.h"
#include "base/vector.h"

enum {
	LONG_LENGTH = -1, /* marks the 64-bit format */

	ENCODING_FORMAT = 0x0f,
	ENCODING_BASE = 0x70,
	SHIFT_MAX = 63,
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

uint64_t cfi_read_address(const struct cfi_reader *reader, struct cursor *c, uint8_t encoding)
{
	uint64_t here = reader->section->address + (size_t)(c->pos - reader->section->bytes.start);
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
			/* 'B' is of arm64; what else there may be does not change what comes after it. */
			break;
		}
	}
}

static bool add_cie(struct cfi_reader *reader, size_t offset, struct cursor c)
{
	struct cfi_cie cie = { .offset = offset, .usable = true };
	uint8_t version = cursor_u8(&c);
	const char *letters = cursor_string(&c);
	uint64_t return_register;

	if (version == 4)
		cursor_skip(&c, 2); /* sizes of an address and of a segment's selector */
	cie.code_factor = cfi_read_uleb(&c);
	cie.data_factor = cfi_read_sleb(&c);
	return_register = version == 1 ? cursor_u8(&c) : cfi_read_uleb(&c);
	if (letters)
		read_augmentation(&c, letters, &cie);
	cie.instructions = (struct span){ c.pos, cursor_left(&c) };
	if (!cursor_ok(&c) || !letters || return_register != CFI_RETURN_ADDRESS)
		cie.usable = false;
	if (!vector_reserve(&reader->cies, &reader->cie_capacity, reader->cie_count + 1))
		return false;
	reader->cies[reader->cie_count++] = cie;
	return true;
}

/* They were added in the order of their offsets. */
static const struct cfi_cie *find_cie(const struct cfi_reader *reader, uint64_t offset)
{
	size_t low = 0, high = reader->cie_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->cies[middle].offset == offset)
			return &reader->cies[middle];
		if (reader->cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool add_fde(struct cfi_reader *reader, uint64_t cie_offset, struct cursor c)
{
	const struct cfi_cie *cie = find_cie(reader, cie_offset);
	struct cfi_fde fde;

	if (!cie || !cie->usable) {
		reader->counts->damaged++;
		return true;
	}
	fde.begin = cfi_read_address(reader, &c, cie->encoding);
	fde.size = read_encoded_value(&c, cie->encoding & ENCODING_FORMAT);
	if (cie->augmented)
		cursor_skip(&c, cfi_read_uleb(&c));
	fde.instructions = (struct span){ c.pos, cursor_left(&c) };
	fde.cie = (uint32_t)(cie - reader->cies);
	if (!cursor_ok(&c)) {
		reader->counts->damaged++;
		return true;
	}
	/* Linkers leave entries of functions that they have thrown away, at address 0. */
	if (fde.begin < reader->base || fde.size == 0 || fde.begin - reader->base > UINT32_MAX ||
	    fde.size > UINT32_MAX || fde.begin - reader->base + fde.size > UINT32_MAX ||
	    (fde.begin == 0 && reader->section->debug_frame))
		return true;
	if (!vector_reserve(&reader->fdes, &reader->fde_capacity, reader->fde_count + 1))
		return false;
	reader->fdes[reader->fde_count++] = fde;
	return true;
}

/* Entries are of two kinds, told apart by what other entries have as the pointer to theirs. */
bool cfi_read_entries(struct cfi_reader *reader)
{
	const struct cfi_section *section = reader->section;
	struct cursor c = cursor_over(section->bytes);

	while (cursor_left(&c) >= sizeof(uint32_t)) {
		size_t offset = cursor_offset(&c), pointer_offset;
		uint64_t length = cursor_u32(&c), pointer, cie_mark;
		bool is_long = length == (uint32_t)LONG_LENGTH, added;
		struct span entry;
		struct cursor e;

		if (length == 0 && !section->debug_frame)
			continue;
		if (is_long)
			length = cursor_u64(&c);
		pointer_offset = cursor_offset(&c);
		entry = cursor_take(&c, length);
		if (!cursor_ok(&c)) {
			reader->counts->damaged++;
			break;
		}
		e = cursor_over(entry);
		pointer = is_long && section->debug_frame ? cursor_u64(&e) : cursor_u32(&e);
		cie_mark = !section->debug_frame ? 0 : is_long ? UINT64_MAX : UINT32_MAX;
		if (pointer == cie_mark)
			added = add_cie(reader, offset, e);
		else
			added = add_fde(reader,
					section->debug_frame ? pointer : pointer_offset - pointer,
					e);
		if (!added)
			return false;
	}
	return true;
}
