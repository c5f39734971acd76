// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds and reads the headers of precompiled code, before r2r.c opens it. */
#include <string.h>

#include "runtime/dotnet/r2r_internal.h"

enum {
	HEADER_MAGIC = 0x00525452, /* "RTR\0" */
	HEADER_MAX_SECTIONS = 256,

	CLI_HEADER_BYTES = 72,
	CLI_NATIVE_HEADER = 64,

	EXPORT_BYTES = 40,
	EXPORT_NAME_COUNT = 24, /* then the places of three tables: functions, names, ordinals */
	EXPORT_MAX_NAMES = 4096,
};

static const char export_name[] = "RTR_HEADER";

bool r2r_header_read_core(struct r2r_header *header, struct cursor c)
{
	uint32_t count;

	header->flags = cursor_u32(&c);
	count = cursor_u32(&c);
	if (count > HEADER_MAX_SECTIONS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t type = cursor_u32(&c);
		struct pe_directory place = { .rva.value = cursor_u32(&c) };

		place.size = cursor_u32(&c);
		if (type >= R2R_SECTION_FIRST && type - R2R_SECTION_FIRST < R2R_SECTIONS)
			header->sections[type - R2R_SECTION_FIRST] = place;
	}
	return cursor_ok(&c);
}

struct pe_directory r2r_header_section(const struct r2r_header *header, unsigned int type)
{
	return header->sections[type - R2R_SECTION_FIRST];
}

bool r2r_header_is_composite(const struct r2r_header *header)
{
	return r2r_header_section(header, R2R_SECTION_COMPONENT_ASSEMBLIES).size > 0;
}

/* Through the CLI header, where an assembly has it. */
static struct rva place_in_cli_header(const struct pe *pe)
{
	const struct pe_directory *cli = &pe->directories[PE_DIRECTORY_CLI];
	struct cursor c = cursor_over(pe_bytes(pe, cli->rva, CLI_HEADER_BYTES));

	cursor_skip(&c, CLI_NATIVE_HEADER);
	return (struct rva){ cursor_u32(&c) };
}

static bool is_export_name(const struct pe *pe, struct rva rva)
{
	struct span name = pe_bytes(pe, rva, sizeof(export_name));

	return name.start && memcmp(name.start, export_name, sizeof(export_name)) == 0;
}

/* Through the exports, where a composite has it. */
static struct rva place_in_exports(const struct pe *pe)
{
	const struct pe_directory *exports = &pe->directories[PE_DIRECTORY_EXPORT];
	struct cursor c = cursor_over(pe_bytes(pe, exports->rva, EXPORT_BYTES));
	struct rva none = { 0 };
	struct rva functions, names, ordinals;
	uint32_t name_count;

	cursor_skip(&c, EXPORT_NAME_COUNT);
	name_count = cursor_u32(&c);
	functions.value = cursor_u32(&c);
	names.value = cursor_u32(&c);
	ordinals.value = cursor_u32(&c);
	if (!cursor_ok(&c) || name_count > EXPORT_MAX_NAMES)
		return none;

	c = pe_cursor(pe, names);
	for (uint32_t i = 0; i < name_count && cursor_ok(&c); i++) {
		struct rva name = { cursor_u32(&c) };
		struct cursor at;
		uint32_t ordinal;

		if (!is_export_name(pe, name))
			continue;
		at = pe_cursor(pe, ordinals);
		cursor_skip(&at, (size_t)i * sizeof(uint16_t));
		ordinal = cursor_u16(&at);
		if (!cursor_ok(&at))
			return none;
		at = pe_cursor(pe, functions);
		cursor_skip(&at, (size_t)ordinal * sizeof(uint32_t));
		return (struct rva){ cursor_u32(&at) };
	}
	return none;
}

static bool read_header(struct r2r_header *header, const struct pe *pe, struct rva rva)
{
	struct cursor c = pe_cursor(pe, rva);

	*header = (struct r2r_header){ 0 };
	if (rva.value == 0 || cursor_u32(&c) != HEADER_MAGIC)
		return false;
	header->major = cursor_u16(&c);
	header->minor = cursor_u16(&c);
	return cursor_ok(&c) && r2r_header_read_core(header, c);
}

bool r2r_header_find(struct r2r_header *header, const struct pe *pe)
{
	return read_header(header, pe, place_in_cli_header(pe)) ||
	       read_header(header, pe, place_in_exports(pe));
}

enum r2r_kind r2r_kind_of(const struct pe *pe)
{
	struct r2r_header header;

	if (!r2r_header_find(&header, pe))
		return R2R_NONE;
	if (r2r_header_section(&header, R2R_SECTION_OWNER_COMPOSITE).size > 0 ||
	    (header.flags & R2R_FLAG_COMPONENT))
		return R2R_COMPONENT;
	return r2r_header_is_composite(&header) ? R2R_COMPOSITE : R2R_IMAGE;
}

struct span r2r_owner_composite(const struct pe *pe)
{
	struct r2r_header header;
	struct pe_directory place = { .size = 0 };
	struct span name;

	if (r2r_header_find(&header, pe))
		place = r2r_header_section(&header, R2R_SECTION_OWNER_COMPOSITE);
	if (place.size == 0)
		return (struct span){ 0 };
	name = pe_bytes(pe, place.rva, place.size);
	while (name.size > 0 && name.start[name.size - 1] == '\0')
		name.size--;
	return name;
}
