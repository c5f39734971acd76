// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/elf.h"

#include <elf.h>
#include <gelf.h>
#include <string.h>

static void add_segment(struct elf *elf, struct cursor c)
{
	struct elf_segment *segment = &elf->segments[elf->segment_count];
	uint32_t type = cursor_u32(&c);
	uint32_t flags = cursor_u32(&c);
	uint64_t size;

	*segment = (struct elf_segment){
		.writable = flags & PF_W,
		.executable = flags & PF_X,
	};
	segment->offset = cursor_u64(&c);
	segment->address = cursor_u64(&c);
	(void)cursor_u64(&c); /* physical address */
	size = cursor_u64(&c);
	segment->bytes = span_part(elf->file, segment->offset, size);
	if (cursor_ok(&c) && type == PT_LOAD && segment->bytes.start)
		elf->segment_count++;
}

bool elf_init(struct elf *elf, struct span file)
{
	struct cursor start = cursor_over(file), c = start;
	struct span ident = cursor_take(&c, EI_NIDENT);
	uint16_t entry_size, count;
	uint64_t table;

	*elf = (struct elf){ .file = file };
	if (!ident.start || memcmp(ident.start, ELFMAG, SELFMAG) != 0 ||
	    ident.start[EI_CLASS] != ELFCLASS64 || ident.start[EI_DATA] != ELFDATA2LSB)
		return false;
	c = cursor_at(&start, offsetof(Elf64_Ehdr, e_phoff));
	table = cursor_u64(&c);
	c = cursor_at(&start, offsetof(Elf64_Ehdr, e_phentsize));
	entry_size = cursor_u16(&c);
	count = cursor_u16(&c);
	if (!cursor_ok(&c) || entry_size < sizeof(Elf64_Phdr) || table > file.size)
		return false;
	for (unsigned int i = 0; i < count && elf->segment_count < ELF_MAX_SEGMENTS; i++)
		add_segment(elf, cursor_at(&start, table + (uint64_t)i * entry_size));
	return true;
}

static uint64_t find_in_section(Elf *file, Elf_Scn *section, const GElf_Shdr *header,
				const char *symbol)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < count; i++) {
		GElf_Sym entry;
		const char *name;

		if (!gelf_getsym(data, (int)i, &entry) || entry.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(file, header->sh_link, entry.st_name);
		if (name && strcmp(name, symbol) == 0)
			return entry.st_value;
	}
	return 0;
}

uint64_t elf_export(const struct elf *elf, const char *symbol)
{
	Elf_Scn *section = NULL;
	uint64_t found = 0;
	Elf *file;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return 0;
	/* libelf does not write to what it is given here, it only lacks the const. */
	file = elf_memory((char *)(uintptr_t)elf->file.start, elf->file.size);
	while (file && !found && (section = elf_nextscn(file, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			found = find_in_section(file, section, &header, symbol);
	}
	elf_end(file);
	return found;
}

bool elf_load_bias(const struct elf *elf, struct file_offset offset, struct address start,
		   uint64_t *bias)
{
	const uint64_t page_mask = 4095;

	for (unsigned int i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (!segment->executable || (segment->offset & ~page_mask) != offset.value)
			continue;
		*bias = start.value - (segment->address & ~page_mask);
		return true;
	}
	return false;
}

const uint8_t *elf_find_in_data(const struct elf *elf, const void *needle, size_t size,
				struct span *segment)
{
	for (unsigned int i = 0; i < elf->segment_count; i++) {
		struct span bytes = elf->segments[i].bytes;
		const uint8_t *found;

		if (!elf->segments[i].writable)
			continue;
		found = memmem(bytes.start, bytes.size, needle, size);
		if (found) {
			*segment = bytes;
			return found;
		}
	}
	return NULL;
}
