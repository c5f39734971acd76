// SPDX-License-Identifier: GPL-2.0-or-later
/* From section headers to a table of symbols and its names: for elf.c and runtime/native/. */
#include "image/symbol_table.h"

/* The section headers of a file. */
struct sections {
	struct span file;
	struct span headers;
	size_t count;
};

static Elf64_Shdr header_of(const struct sections *sections, size_t number)
{
	Elf64_Shdr header;

	memcpy(&header, sections->headers.start + number * sizeof(header), sizeof(header));
	return header;
}

static bool find_sections(struct sections *sections, struct span file)
{
	Elf64_Ehdr elf;

	if (!span_copy(file, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shoff == 0)
		return false;
	sections->file = file;
	sections->count = elf.e_shnum;
	sections->headers = span_part(file, elf.e_shoff, sizeof(Elf64_Shdr));
	/* Of very many sections the first says how many. */
	if (sections->headers.start && sections->count == 0)
		sections->count = header_of(sections, 0).sh_size;
	if (sections->count > file.size / sizeof(Elf64_Shdr))
		return false;
	sections->headers = span_part(file, elf.e_shoff, sections->count * sizeof(Elf64_Shdr));
	return sections->headers.start;
}

/* None if it is compressed: then no name is in the file. */
static struct span bytes_of(const struct sections *sections, const Elf64_Shdr *header)
{
	if (header->sh_flags & SHF_COMPRESSED)
		return (struct span){ 0 };
	return span_part(sections->file, header->sh_offset, header->sh_size);
}

/* Up to the last that ends. */
static struct span names_of(const struct sections *sections, uint32_t number)
{
	struct span names = { 0 };
	Elf64_Shdr header;

	if (number >= sections->count)
		return names;
	header = header_of(sections, number);
	if (header.sh_type == SHT_STRTAB)
		names = bytes_of(sections, &header);
	while (names.size && names.start[names.size - 1])
		names.size--;
	return names;
}

bool symbol_table_find(struct symbol_table *table, struct span file, uint32_t type)
{
	struct sections sections;

	*table = (struct symbol_table){ .count = 0 };
	if (!find_sections(&sections, file))
		return false;
	for (size_t i = 0; i < sections.count; i++) {
		Elf64_Shdr header = header_of(&sections, i);

		if (header.sh_type != type)
			continue;
		table->symbols = bytes_of(&sections, &header);
		table->names = names_of(&sections, header.sh_link);
		if (header.sh_entsize == sizeof(Elf64_Sym))
			table->count = table->symbols.size / sizeof(Elf64_Sym);
		return true;
	}
	return false;
}
