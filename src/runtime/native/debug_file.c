// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stripped file says of its debug file, for debug_files.c. */
#include "runtime/native/debug_file.h"

#include <string.h>
#include <zlib.h>

#include "image/elf.h"
#include "image/libelf.h"

enum {
	LINK_ALIGN = 4,
	CRC_MAX_BYTES = 1u << 31,  /* a file that is larger is not asked for its checksum */
	CRC_STEP_BYTES = 64 << 20, /* zlib counts in 32 bits */
};

static size_t aligned(size_t size)
{
	return (size + LINK_ALIGN - 1) & ~(size_t)(LINK_ALIGN - 1);
}

/* The name, padded with zeros to 4 bytes, and then the checksum. It leads to no other directory. */
static void read_link(struct debug_link *link, const struct elf *elf)
{
	struct span section;
	struct cursor c;
	const char *name;
	uint64_t address;
	uint32_t crc;

	if (!elf_section(elf, ".gnu_debuglink", &section, &address))
		return;
	c = cursor_over(section);
	name = cursor_string(&c);
	if (!cursor_ok(&c))
		return;
	cursor_skip(&c, aligned(cursor_offset(&c)) - cursor_offset(&c));
	crc = cursor_u32(&c);
	if (!cursor_ok(&c) || !*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return;
	link->name = name;
	link->crc = crc;
}

bool debug_link_read(struct debug_link *link, struct span file)
{
	struct elf elf;

	*link = (struct debug_link){ 0 };
	if (!elf_init(&elf, file))
		return false;
	link->build_id = build_id_of(&elf);
	read_link(link, &elf);
	return link->build_id.start || link->name;
}

static bool has_crc(struct span file, uint32_t wanted)
{
	uLong crc = crc32(0, NULL, 0);

	if (file.size > CRC_MAX_BYTES)
		return false;
	while (file.size) {
		size_t step = file.size < CRC_STEP_BYTES ? file.size : CRC_STEP_BYTES;

		crc = crc32(crc, file.start, (uInt)step);
		file.start += step;
		file.size -= step;
	}
	return crc == wanted;
}

bool debug_file_matches(const struct debug_link *link, struct span debug, enum debug_match by)
{
	struct span build_id;
	struct elf elf;
	bool same;

	if (!elf_init(&elf, debug))
		return false;
	build_id = build_id_of(&elf);
	same = build_id.start && build_id.size == link->build_id.size &&
	       memcmp(build_id.start, link->build_id.start, build_id.size) == 0;
	if (by == DEBUG_MATCH_BUILD_ID)
		return same;
	return (same || !build_id.start || !link->build_id.start) && has_crc(debug, link->crc);
}

/* Where the first loadable segment is linked to; the debug file may lack what was in it. */
static bool first_address(struct span file, uint64_t *address)
{
	_cleanup_(elf_end_at) Elf *elf = libelf_over(file);
	size_t count;

	if (!elf || elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD) {
			*address = header.p_vaddr;
			return true;
		}
	}
	return false;
}

bool debug_file_shift(struct span file, struct span debug, uint64_t *shift)
{
	uint64_t here, there;

	if (!first_address(file, &here) || !first_address(debug, &there))
		return false;
	*shift = here - there;
	return true;
}
