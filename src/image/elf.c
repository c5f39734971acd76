// SPDX-License-Identifier: GPL-2.0-or-later
/* Segments, sections and exports of ELF files, for runtimes and the follower's probes. */
#include "image/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "image/libelf.h"
#include "image/symbol_table.h"

enum {
	TLS_MAX = 1 << 24,
	NOTE_ALIGN = 4,
	NOTES_MAX = 64, /* that are looked through */
};

static void add_segment(struct elf *elf, struct cursor c)
{
	uint32_t type = cursor_u32(&c);
	uint32_t flags = cursor_u32(&c);
	struct elf_segment segment = {
		.writable = flags & PF_W,
		.executable = flags & PF_X,
	};
	uint64_t size, memory_size, alignment;

	segment.offset = cursor_u64(&c);
	segment.address = cursor_u64(&c);
	(void)cursor_u64(&c); /* physical address */
	size = cursor_u64(&c);
	memory_size = cursor_u64(&c);
	alignment = cursor_u64(&c);
	alignment = alignment ? alignment : 1;
	if (cursor_ok(&c) && type == PT_TLS && memory_size < TLS_MAX && alignment < TLS_MAX)
		elf->tls_bytes = (memory_size + alignment - 1) / alignment * alignment;
	segment.bytes = span_part(elf->file, segment.offset, size);
	if (!cursor_ok(&c) || !segment.bytes.start)
		return;
	if (type == PT_LOAD && elf->segment_count < ELF_MAX_SEGMENTS)
		elf->segments[elf->segment_count++] = segment;
	else if (type == PT_DYNAMIC)
		elf->dynamic = segment;
	else if (type == PT_INTERP)
		elf->interpreter = segment;
	else if (type == PT_GNU_EH_FRAME)
		elf->eh_frame_hdr = segment;
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
	for (unsigned int i = 0; i < count; i++)
		add_segment(elf, cursor_at(&start, table + (uint64_t)i * entry_size));
	return true;
}

static bool is_defined(const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0;
}

static bool find_export(const struct elf *elf, const char *symbol, Elf64_Sym *export)
{
	const size_t length = strlen(symbol);
	struct symbol_table table;
	int result;

	if (!symbol_table_find(&table, elf->file, SHT_DYNSYM))
		return false;
	result = symbol_table_look_up(&table, elf->file, -1, symbol, export);
	if (result != -ENODATA)
		return result == 0 && is_defined(export);
	for (size_t i = 0; i < table.count; i++) {
		const uint8_t *name;

		*export = symbol_table_get(&table, i);
		if (!is_defined(export))
			continue;
		/* Hardly any other name has an end just there. */
		name = span_part(table.names, export->st_name, length + 1).start;
		if (name && name[length] == '\0' && memcmp(name, symbol, length) == 0)
			return true;
	}
	return false;
}

void elf_each_symbol(const struct elf *elf, elf_symbol_fn fn, void *ctx)
{
	struct symbol_table table;

	/* .symtab has all that .dynsym has. */
	if ((!symbol_table_find(&table, elf->file, SHT_SYMTAB) || table.count == 0) &&
	    !symbol_table_find(&table, elf->file, SHT_DYNSYM))
		return;
	for (size_t i = 0; i < table.count; i++) {
		const Elf64_Sym found = symbol_table_get(&table, i);
		const struct elf_symbol symbol = {
			.name = symbol_table_name(&table, &found),
			.address = found.st_value,
			.size = found.st_size,
			.is_thread_local = ELF64_ST_TYPE(found.st_info) == STT_TLS,
		};

		symbol_table_prefetch(&table, i);
		if (found.st_shndx != SHN_UNDEF && symbol.name)
			fn(ctx, &symbol);
	}
}

uint64_t elf_export(const struct elf *elf, const char *symbol)
{
	Elf64_Sym export;

	return find_export(elf, symbol, &export) ? export.st_value : 0;
}

bool elf_export_offset(const struct elf *elf, const char *symbol, struct file_offset *offset)
{
	Elf64_Sym export;

	return find_export(elf, symbol, &export) && ELF64_ST_TYPE(export.st_info) == STT_FUNC &&
	       elf_code_offset(elf, export.st_value, offset);
}

bool elf_section(const struct elf *elf, const char *name, struct span *bytes, uint64_t *address)
{
	_cleanup_(elf_end_at) Elf *file = libelf_over(elf->file);
	Elf_Scn *section = NULL;
	size_t names;

	if (!file || elf_getshdrstrndx(file, &names) != 0)
		return false;
	while ((section = elf_nextscn(file, section))) {
		const char *found_name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		found_name = elf_strptr(file, names, header.sh_name);
		if (!found_name || strcmp(found_name, name) != 0)
			continue;
		*bytes = span_part(elf->file, header.sh_offset, header.sh_size);
		*address = header.sh_addr;
		if (bytes->start)
			return true;
	}
	return false;
}

static size_t aligned(size_t size)
{
	return (size + NOTE_ALIGN - 1) & ~(size_t)(NOTE_ALIGN - 1);
}

/* Notes of kind "GNU": size of the name, size of the content, type, then both. */
static struct span find_build_id(struct span notes)
{
	struct cursor c = cursor_over(notes);

	for (int i = 0; i < NOTES_MAX && cursor_left(&c); i++) {
		uint32_t name_size = cursor_u32(&c);
		uint32_t size = cursor_u32(&c);
		uint32_t type = cursor_u32(&c);
		struct span name = cursor_take(&c, aligned(name_size));
		struct span content = cursor_take(&c, size);

		if (!cursor_ok(&c))
			break;
		if (type == NT_GNU_BUILD_ID && name_size == sizeof(ELF_NOTE_GNU) &&
		    memcmp(name.start, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 && size > 0 &&
		    size <= BUILD_ID_MAX_BYTES)
			return content;
		if (cursor_left(&c) < aligned(size) - size)
			break;
		cursor_skip(&c, aligned(size) - size);
	}
	return (struct span){ 0 };
}

struct span build_id_of(const struct elf *elf)
{
	struct span notes;
	uint64_t address;

	if (!elf_section(elf, ".note.gnu.build-id", &notes, &address))
		return (struct span){ 0 };
	return find_build_id(notes);
}

static const struct elf_segment *segment_at(const struct elf *elf, uint64_t address)
{
	for (unsigned int i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (address - segment->address < segment->bytes.size)
			return segment;
	}
	return NULL;
}

struct span elf_bytes_from(const struct elf *elf, uint64_t address)
{
	const struct elf_segment *segment = segment_at(elf, address);
	uint64_t offset;

	if (!segment)
		return (struct span){ 0 };
	offset = address - segment->address;
	return span_part(segment->bytes, offset, segment->bytes.size - offset);
}

struct span elf_bytes(const struct elf *elf, uint64_t address, uint64_t size)
{
	return span_part(elf_bytes_from(elf, address), 0, size);
}

bool elf_is_code(const struct elf *elf, uint64_t address)
{
	const struct elf_segment *segment = segment_at(elf, address);

	return segment && segment->executable;
}

bool elf_code_offset(const struct elf *elf, uint64_t address, struct file_offset *offset)
{
	const struct elf_segment *segment = segment_at(elf, address);

	if (!segment || !segment->executable)
		return false;
	offset->value = segment->offset + (address - segment->address);
	return true;
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

bool elf_part_bias(const struct elf *elf, struct file_offset offset, struct address start,
		   uint64_t *bias)
{
	/* Two segments may share a page. */
	if (elf_load_bias(elf, offset, start, bias))
		return true;
	for (unsigned int i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (!segment->executable || offset.value < segment->offset ||
		    offset.value - segment->offset >= segment->bytes.size)
			continue;
		*bias = start.value - (segment->address + (offset.value - segment->offset));
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
