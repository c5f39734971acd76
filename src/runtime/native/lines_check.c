// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bounds on what libdw is given, for lines.c: it takes whatever a file says for true, and what it
 * has read of a unit stays in memory.
 *
 * Source of the format: DWARF 5, sections 6.2.4 (line programs), 7.5.3 (abbreviations); System V
 * ABI, "Compression Header".
 */
#include <dwarf.h>
#include <string.h>

#include "image/cfi.h"
#include "image/cursor.h"
#include "runtime/native/lines_internal.h"

enum {
	UNPACKED_MAX_BYTES = 512 << 20, /* of compressed sections, in all */
	UNIT_MAX_BYTES = 32 << 20,
	LINE_UNIT_MAX_BYTES = 4 << 20, /* a line takes some 100 bytes of memory for one of these */
	ABBREVIATIONS_MAX = 1 << 16,   /* of a unit */
	ATTRIBUTES_MAX = 32,	       /* of an abbreviation */
};

const char *lines_debug_name(const char *name)
{
	if (name && strncmp(name, ".debug_", 7) == 0)
		return name + 1;
	return name && strncmp(name, ".zdebug_", 8) == 0 ? name + 2 : NULL;
}

const char *lines_section_name(Elf *elf, Elf_Scn *section, GElf_Shdr *header)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) != 0 || !gelf_getshdr(section, header))
		return NULL;
	return elf_strptr(elf, strings, header->sh_name);
}

/* How large it gets; "ZLIB" and the size are the older form. */
static uint64_t unpacked_bytes(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	GElf_Chdr packed;
	Elf_Data *raw;
	uint64_t size = 0;

	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &packed) ? packed.ch_size : UINT64_MAX;
	if (strncmp(name, ".z", 2) != 0)
		return 0;
	raw = elf_rawdata(section, NULL);
	if (!raw || !raw->d_buf || raw->d_size < 12 || memcmp(raw->d_buf, "ZLIB", 4) != 0)
		return 0;
	for (size_t i = 4; i < 12; i++)
		size = size << 8 | ((const uint8_t *)raw->d_buf)[i];
	return size;
}

bool lines_check_file(Elf *elf, bool *packed)
{
	uint64_t left = UNPACKED_MAX_BYTES;
	Elf_Scn *section = NULL;

	*packed = false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = lines_section_name(elf, section, &header);
		uint64_t bytes;

		if (!lines_debug_name(name))
			continue;
		bytes = unpacked_bytes(section, &header, name);
		if (bytes > left)
			return false;
		left -= bytes;
		*packed |= bytes > 0;
	}
	return true;
}

/* What libdw has made of it; it unpacks sections where they are. */
static struct span section_bytes(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = lines_debug_name(lines_section_name(elf, section, &header));
		Elf_Data *data;

		if (!name || strcmp(name, wanted) != 0)
			continue;
		data = elf_getdata(section, NULL);
		return data && data->d_buf ? (struct span){ data->d_buf, data->d_size } :
					     (struct span){ 0 };
	}
	return (struct span){ 0 };
}

static bool begin_at(struct cursor *c, struct span bytes, uint64_t offset)
{
	*c = cursor_over(bytes);
	if (offset >= bytes.size)
		return false;
	cursor_skip(c, offset);
	return true;
}

/* Of those with any number of attributes that take no room libdw passes over each, for each DIE. */
static bool check_abbreviations(struct span section, uint64_t offset)
{
	struct cursor c;

	if (!begin_at(&c, section, offset))
		return false;
	for (int i = 0; i < ABBREVIATIONS_MAX && cursor_ok(&c); i++) {
		int attributes = 0;

		if (cfi_read_uleb(&c) == 0)
			return cursor_ok(&c);
		cfi_read_uleb(&c); /* tag */
		cursor_u8(&c);	   /* has children */
		while (cursor_ok(&c)) {
			uint64_t name = cfi_read_uleb(&c), form = cfi_read_uleb(&c);

			if (name == 0 && form == 0)
				break;
			if (++attributes > ATTRIBUTES_MAX)
				return false;
			if (form == DW_FORM_implicit_const)
				(void)cfi_read_sleb(&c);
		}
	}
	return false;
}

/* How long the unit's line program is; 0: it has none. */
static bool check_lines(struct span section, Dwarf_Die *die, uint64_t *bytes)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	struct cursor c;

	*bytes = 0;
	if (!dwarf_attr(die, DW_AT_stmt_list, &attribute))
		return true;
	if (dwarf_formudata(&attribute, &offset) != 0 || !begin_at(&c, section, offset))
		return false;
	*bytes = cursor_u32(&c);
	if (*bytes == UINT32_MAX)
		*bytes = cursor_u64(&c);
	return cursor_ok(&c) && *bytes <= LINE_UNIT_MAX_BYTES;
}

bool lines_check_unit(Elf *elf, const struct unit_range *unit, Dwarf_Die *die, uint64_t *line_bytes)
{
	return unit->size <= UNIT_MAX_BYTES &&
	       check_abbreviations(section_bytes(elf, "debug_abbrev"), unit->abbreviations) &&
	       check_lines(section_bytes(elf, "debug_line"), die, line_bytes);
}
