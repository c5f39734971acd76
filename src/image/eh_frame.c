// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/eh_frame.h"

enum {
	VERSION = 1,
	POINTER_UDATA4 = 0x03,
	POINTER_SDATA4 = 0x0b,
	POINTER_FORMAT = 0x0f,
	POINTER_DATAREL_SDATA4 = 0x3b,

	ROW_BYTES = 8,	  /* of the table to search: where code begins, and its entry */
	ENTRY_BYTES = 16, /* of an entry: its length, its CIE, where the code begins, its size */
	ENTRY_BEGIN = 8,  /* offset of where the code begins, relative to this very place */
	LONG_LENGTH = -1, /* marks the 64-bit format, which no compiler writes here */
};

/* The table, and what its rows are relative to. */
struct table {
	struct cursor rows;
	uint32_t count;
	uint64_t base;
};

static bool find_table(const struct elf *elf, struct table *table)
{
	struct cursor c = cursor_over(elf->eh_frame_hdr.bytes);
	uint8_t version = cursor_u8(&c), pointer = cursor_u8(&c) & POINTER_FORMAT;
	uint8_t count = cursor_u8(&c), rows = cursor_u8(&c);

	if (version != VERSION || (pointer != POINTER_UDATA4 && pointer != POINTER_SDATA4) ||
	    count != POINTER_UDATA4 || rows != POINTER_DATAREL_SDATA4)
		return false;
	cursor_skip(&c, sizeof(uint32_t)); /* where .eh_frame begins */
	table->count = cursor_u32(&c);
	table->rows = cursor_over((struct span){ c.pos, cursor_left(&c) });
	table->base = elf->eh_frame_hdr.address;
	return cursor_ok(&c) && table->count <= cursor_left(&c) / ROW_BYTES;
}

static uint64_t relative(struct cursor *c, uint64_t base)
{
	return base + (uint64_t)(int64_t)(int32_t)cursor_u32(c);
}

/* The entry of the last function that begins at or before @address; 0 if there is none. */
static uint64_t find_entry(const struct table *table, uint64_t address)
{
	uint32_t low = 0, high = table->count;
	uint64_t entry = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct cursor c = cursor_at(&table->rows, (size_t)middle * ROW_BYTES);
		uint64_t begin = relative(&c, table->base);

		if (begin <= address) {
			entry = relative(&c, table->base);
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return entry;
}

struct span eh_frame_code(const struct elf *elf, uint64_t address, uint64_t *begin)
{
	const struct span none = { 0 };
	struct table table;
	struct cursor c;
	uint64_t entry;
	uint32_t length, size;

	*begin = 0;
	if (!find_table(elf, &table))
		return none;
	entry = find_entry(&table, address);
	c = cursor_over(elf_bytes(elf, entry, ENTRY_BYTES));
	length = cursor_u32(&c);
	cursor_skip(&c, sizeof(uint32_t));
	/* How this is encoded is written in the CIE; if otherwise than always, it is somewhere else. */
	*begin = relative(&c, entry + ENTRY_BEGIN);
	size = cursor_u32(&c);
	if (!cursor_ok(&c) || length == (uint32_t)LONG_LENGTH ||
	    length < ENTRY_BYTES - sizeof(length) || address - *begin >= size ||
	    !elf_is_code(elf, *begin))
		return none;
	return elf_bytes(elf, *begin, size);
}

struct span eh_frame_function(const struct elf *elf, uint64_t address)
{
	uint64_t begin;
	struct span code = eh_frame_code(elf, address, &begin);

	return begin == address ? code : (struct span){ 0 };
}
