// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bounds on what libdw is given, for lines.c: it takes whatever a file says for true, and what it
 * has read of a unit stays in memory. Sections that are compressed libelf unpacks in place, and
 * what the target has mapped stays as it is: then it gets a small ELF file in memory of the
 * sections that lines are read from.
 *
 * Source of the format: DWARF 5, sections 6.2.4 (line programs), 7.5.3 (abbreviations); System V
 * ABI, "Compression Header".
 */
#include <dwarf.h>
#include <stdlib.h>
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

/* One of DWARF; zeros are in front of the first. */
struct section {
	Elf_Scn *section;
	GElf_Shdr header;
	const char *name; /* ".debug_info", ".zdebug_info" */
	const char *kind; /* "debug_info" of both */
};

/* The next one; false: there is none. */
static bool next_section(Elf *elf, struct section *next)
{
	size_t strings;

	while ((next->section = elf_nextscn(elf, next->section))) {
		if (elf_getshdrstrndx(elf, &strings) != 0 ||
		    !gelf_getshdr(next->section, &next->header))
			continue;
		next->name = elf_strptr(elf, strings, next->header.sh_name);
		if (next->name && strncmp(next->name, ".debug_", 7) == 0)
			next->kind = next->name + 1;
		else if (next->name && strncmp(next->name, ".zdebug_", 8) == 0)
			next->kind = next->name + 2;
		else
			continue;
		return true;
	}
	return false;
}

/* How large it gets; "ZLIB" and the size are the older form. */
static uint64_t unpacked_bytes(const struct section *section)
{
	GElf_Chdr packed;
	Elf_Data *raw;
	uint64_t size = 0;

	if (section->header.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section->section, &packed) ? packed.ch_size : UINT64_MAX;
	if (strncmp(section->name, ".z", 2) != 0)
		return 0;
	raw = elf_rawdata(section->section, NULL);
	if (!raw || !raw->d_buf || raw->d_size < 12 || memcmp(raw->d_buf, "ZLIB", 4) != 0)
		return 0;
	for (size_t i = 4; i < 12; i++)
		size = size << 8 | ((const uint8_t *)raw->d_buf)[i];
	return size;
}

bool lines_check_file(Elf *elf, bool *packed)
{
	uint64_t left = UNPACKED_MAX_BYTES;
	struct section section = { 0 };

	*packed = false;
	while (next_section(elf, &section)) {
		uint64_t bytes = unpacked_bytes(&section);

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
	struct section section = { 0 };
	Elf_Data *data;

	while (next_section(elf, &section)) {
		if (strcmp(section.kind, wanted) != 0)
			continue;
		data = elf_getdata(section.section, NULL);
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

/* Unpacked ------------------------------------------------------------------------------------ */

enum {
	IMAGE_MAX_BYTES = 256 << 20,
	SECTIONS_MAX = 32,
	NAME_BYTES = 24, /* for each; the longest is ".zdebug_str_offsets" */
	ALIGN = 16,
};

struct image {
	Elf64_Shdr headers[SECTIONS_MAX]; /* the first is none, the second has the names */
	const void *contents[SECTIONS_MAX];
	char names[SECTIONS_MAX * NAME_BYTES];
	size_t count;
	size_t size;
	Elf64_Half machine; /* as of the file */
};

static bool is_wanted(const struct section *section)
{
	static const char *const wanted[] = { "info",	"abbrev",   "line", "line_str",	   "str",
					      "ranges", "rnglists", "addr", "str_offsets", NULL };

	for (size_t i = 0; wanted[i]; i++) {
		if (strcmp(section->kind + strlen("debug_"), wanted[i]) == 0)
			return true;
	}
	return false;
}

/* False if there is no more room for it. */
static bool add(struct image *image, const char *name, Elf64_Shdr header, const void *contents)
{
	size_t at = image->count * NAME_BYTES;

	if (image->count == SECTIONS_MAX || strlen(name) >= NAME_BYTES ||
	    header.sh_size > IMAGE_MAX_BYTES - image->size)
		return false;
	memcpy(image->names + at, name, strlen(name) + 1);
	image->size = (image->size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	header.sh_name = (Elf64_Word)at;
	header.sh_offset = image->size;
	image->size += header.sh_size;
	image->headers[image->count] = header;
	image->contents[image->count++] = contents;
	return true;
}

static bool add_all(struct image *image, Elf *elf)
{
	struct section section = { 0 };

	while (next_section(elf, &section)) {
		const Elf_Data *raw =
			is_wanted(&section) ? elf_rawdata(section.section, NULL) : NULL;
		const Elf64_Shdr header = {
			.sh_type = SHT_PROGBITS,
			.sh_flags = section.header.sh_flags & SHF_COMPRESSED,
			.sh_size = raw ? raw->d_size : 0,
			.sh_addralign = 1,
		};

		if (raw && raw->d_buf && !add(image, section.name, header, raw->d_buf))
			return false;
	}
	return true;
}

static uint8_t *write_image(const struct image *image, size_t *size)
{
	size_t headers = (image->size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = image->machine,
		.e_version = EV_CURRENT,
		.e_shoff = headers,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)image->count,
		.e_shstrndx = 1,
	};
	uint8_t *bytes;

	*size = headers + image->count * sizeof(Elf64_Shdr);
	bytes = calloc(1, *size);
	if (!bytes)
		return NULL;
	memcpy(bytes, &head, sizeof(head));
	for (size_t i = 1; i < image->count; i++)
		memcpy(bytes + image->headers[i].sh_offset, image->contents[i],
		       image->headers[i].sh_size);
	memcpy(bytes + headers, image->headers, image->count * sizeof(Elf64_Shdr));
	return bytes;
}

uint8_t *lines_image_make(Elf *elf, size_t *size)
{
	const Elf64_Shdr names = {
		.sh_type = SHT_STRTAB,
		.sh_size = SECTIONS_MAX * NAME_BYTES,
		.sh_addralign = 1,
	};
	struct image image = { .count = 1, .size = sizeof(Elf64_Ehdr) };
	GElf_Ehdr head;

	if (!gelf_getehdr(elf, &head))
		return NULL;
	image.machine = head.e_machine;
	return add(&image, "", names, image.names) && add_all(&image, elf) ?
		       write_image(&image, size) :
		       NULL;
}
