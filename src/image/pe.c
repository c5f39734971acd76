// SPDX-License-Identifier: GPL-2.0-or-later
/* Sections and places of PE images, for .NET's images. */
#include "image/pe.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"

enum {
	DOS_MAGIC = 0x5a4d, /* "MZ" */
	DOS_PE_OFFSET = 0x3c,
	PE_MAGIC = 0x00004550, /* "PE\0\0" */

	RUNTIME_FUNCTION_BYTES = 12, /* x64: begin, end, unwind information */
	DEBUG_ENTRY_BYTES = 28,

	COFF_SKIPPED = 12, /* time stamp and symbol table */
	OPTIONAL_MAGIC_32 = 0x10b,
	OPTIONAL_MAGIC_64 = 0x20b,
	OPTIONAL_IMAGE_SIZE = 56,
	OPTIONAL_DIRECTORIES_32 = 92, /* where NumberOfRvaAndSizes lies */
	OPTIONAL_DIRECTORIES_64 = 108,

	SECTION_NAME_BYTES = 8,
	SECTION_SKIPPED = 12, /* relocations and line numbers */
	SECTION_EXECUTE = 0x20000000,
};

struct coff_header {
	uint16_t section_count;
	uint16_t optional_size;
	size_t optional_offset;
};

static int read_coff_header(struct pe *pe, struct coff_header *coff, struct error *err)
{
	struct cursor file = cursor_over(pe->file);
	struct cursor c = file;

	if (cursor_u16(&c) != DOS_MAGIC)
		return error_set(err, -EBADMSG, "not a PE file: it does not begin with MZ");
	c = cursor_at(&file, DOS_PE_OFFSET);
	c = cursor_at(&file, cursor_u32(&c));
	if (cursor_u32(&c) != PE_MAGIC)
		return error_set(err, -EBADMSG, "not a PE file: it has no PE signature");

	pe->machine = cursor_u16(&c);
	coff->section_count = cursor_u16(&c);
	cursor_skip(&c, COFF_SKIPPED);
	coff->optional_size = cursor_u16(&c);
	cursor_skip(&c, sizeof(uint16_t));
	coff->optional_offset = cursor_offset(&c);
	if (!cursor_ok(&c))
		return error_set(err, -EBADMSG, "the PE file ends within its headers");
	if (coff->section_count > PE_MAX_SECTIONS)
		return error_set(err, -EBADMSG, "the PE file says it has %u sections",
				 coff->section_count);
	return 0;
}

static int read_optional_header(struct pe *pe, const struct coff_header *coff, struct error *err)
{
	struct span bytes = span_part(pe->file, coff->optional_offset, coff->optional_size);
	struct cursor header = cursor_over(bytes);
	struct cursor c = header;
	uint16_t magic = cursor_u16(&c);
	uint32_t count;

	if (magic != OPTIONAL_MAGIC_32 && magic != OPTIONAL_MAGIC_64)
		return error_set(err, -EBADMSG, "the PE file has no optional header");

	c = cursor_at(&header, OPTIONAL_IMAGE_SIZE);
	pe->image_size = cursor_u32(&c);
	c = cursor_at(&header, magic == OPTIONAL_MAGIC_64 ? OPTIONAL_DIRECTORIES_64 :
							    OPTIONAL_DIRECTORIES_32);
	count = cursor_u32(&c);
	for (uint32_t i = 0; i < count && i < PE_DIRECTORIES; i++) {
		pe->directories[i].rva.value = cursor_u32(&c);
		pe->directories[i].size = cursor_u32(&c);
	}
	if (!cursor_ok(&c))
		return error_set(err, -EBADMSG, "the PE file ends within its headers");
	return 0;
}

static int read_sections(struct pe *pe, const struct coff_header *coff, bool loaded,
			 struct error *err)
{
	struct cursor file = cursor_over(pe->file);
	struct cursor c = cursor_at(&file, coff->optional_offset + coff->optional_size);

	for (unsigned int i = 0; i < coff->section_count; i++) {
		struct pe_section *section = &pe->sections[i];
		struct span name = cursor_take(&c, SECTION_NAME_BYTES);
		uint64_t in_file;

		if (name.start)
			memcpy(section->name, name.start, name.size);
		section->virtual_size = cursor_u32(&c);
		section->rva.value = cursor_u32(&c);
		section->raw_size = cursor_u32(&c);
		section->raw_offset = cursor_u32(&c);
		cursor_skip(&c, SECTION_SKIPPED);
		section->executable = cursor_u32(&c) & SECTION_EXECUTE;
		if (loaded) {
			section->raw_offset = section->rva.value;
			if (section->raw_size < section->virtual_size)
				section->raw_size = section->virtual_size;
		}

		/* A slice or a damaged file may end before the section does. */
		in_file = section->raw_offset < pe->file.size ?
				  pe->file.size - section->raw_offset :
				  0;
		if (section->raw_size > in_file)
			section->raw_size = (uint32_t)in_file;
	}
	if (!cursor_ok(&c))
		return error_set(err, -EBADMSG, "the PE file ends within its section table");
	pe->section_count = coff->section_count;
	return 0;
}

static int init(struct pe *pe, struct span bytes, bool loaded, struct error *err)
{
	struct coff_header coff = { 0 };
	int status;

	*pe = (struct pe){ .file = bytes };
	status = read_coff_header(pe, &coff, err);
	if (status == 0)
		status = read_optional_header(pe, &coff, err);
	if (status == 0)
		status = read_sections(pe, &coff, loaded, err);
	return status;
}

int pe_init(struct pe *pe, struct span file, struct error *err)
{
	return init(pe, file, false, err);
}

int pe_init_loaded(struct pe *pe, struct span image, struct error *err)
{
	return init(pe, image, true, err);
}

/* Loaded, a section is as long as the longer of its two sizes says. */
static const struct pe_section *section_of(const struct pe *pe, struct rva rva)
{
	for (unsigned int i = 0; i < pe->section_count; i++) {
		const struct pe_section *section = &pe->sections[i];
		uint32_t size = section->virtual_size > section->raw_size ? section->virtual_size :
									    section->raw_size;

		if (rva.value >= section->rva.value && rva.value - section->rva.value < size)
			return section;
	}
	return NULL;
}

bool pe_rva_to_offset(const struct pe *pe, struct rva rva, struct file_offset *offset)
{
	const struct pe_section *section = section_of(pe, rva);

	if (!section || rva.value - section->rva.value >= section->raw_size)
		return false;
	offset->value = (uint64_t)section->raw_offset + (rva.value - section->rva.value);
	return true;
}

bool pe_offset_to_rva(const struct pe *pe, struct file_offset offset, struct rva *rva)
{
	for (unsigned int i = 0; i < pe->section_count; i++) {
		const struct pe_section *section = &pe->sections[i];
		uint64_t distance = offset.value - section->raw_offset;

		if (offset.value < section->raw_offset || distance >= section->raw_size)
			continue;
		if (distance > UINT32_MAX - section->rva.value)
			return false;
		rva->value = section->rva.value + (uint32_t)distance;
		return true;
	}
	return false;
}

bool pe_is_code(const struct pe *pe, struct rva rva)
{
	const struct pe_section *section = section_of(pe, rva);

	return section && section->executable;
}

struct cursor pe_cursor(const struct pe *pe, struct rva rva)
{
	const struct pe_section *section = section_of(pe, rva);
	struct cursor c = { .bad = true };

	if (!section)
		return c;
	c = cursor_over(span_part(pe->file, section->raw_offset, section->raw_size));
	return cursor_at(&c, rva.value - section->rva.value);
}

struct span pe_bytes(const struct pe *pe, struct rva rva, uint32_t size)
{
	struct cursor c = pe_cursor(pe, rva);

	return cursor_take(&c, size);
}

static uint32_t function_begin(struct cursor table, size_t number)
{
	struct cursor c = cursor_at(&table, number * RUNTIME_FUNCTION_BYTES);

	return cursor_u32(&c);
}

int pe_function_at(const struct pe *pe, struct rva rva, struct pe_function *function)
{
	const struct pe_directory *directory = &pe->directories[PE_DIRECTORY_EXCEPTION];
	struct span table = pe_bytes(pe, directory->rva, directory->size);
	struct cursor c = cursor_over(table);
	size_t count = table.size / RUNTIME_FUNCTION_BYTES;
	size_t at = sorted_first(count, i, function_begin(c, i) < rva.value);

	if (count == 0)
		return -ENOENT;
	if (at == count || function_begin(c, at) != rva.value)
		return 0;
	c = cursor_at(&c, at * RUNTIME_FUNCTION_BYTES + sizeof(uint32_t));
	function->size = cursor_u32(&c) - rva.value;
	cursor_skip(&c, sizeof(uint32_t)); /* unwind information */
	function->next = cursor_u32(&c);
	if (!cursor_ok(&c))
		function->next = UINT32_MAX;
	return 1;
}

bool pe_debug_entry(const struct pe *pe, unsigned int index, struct pe_debug_entry *entry)
{
	const struct pe_directory *directory = &pe->directories[PE_DIRECTORY_DEBUG];
	const struct cursor table = cursor_over(pe_bytes(pe, directory->rva, directory->size));
	struct cursor c = cursor_at(&table, (size_t)index * DEBUG_ENTRY_BYTES);
	struct rva rva;
	uint32_t size;

	cursor_skip(&c, sizeof(uint32_t));
	entry->stamp = cursor_u32(&c);
	entry->major = cursor_u16(&c);
	entry->minor = cursor_u16(&c);
	entry->type = cursor_u32(&c);
	size = cursor_u32(&c);
	rva.value = cursor_u32(&c); /* 0: it is not loaded */
	entry->data = rva.value ? pe_bytes(pe, rva, size) : (struct span){ 0 };
	if (!entry->data.start)
		entry->data = span_part(pe->file, cursor_u32(&c), size);
	return cursor_ok(&c);
}

struct span pe_debug_data(const struct pe *pe, uint32_t type)
{
	struct pe_debug_entry entry;

	for (unsigned int i = 0; pe_debug_entry(pe, i, &entry); i++) {
		if (entry.type == type)
			return entry.data;
	}
	return (struct span){ 0 };
}
