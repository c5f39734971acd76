// SPDX-License-Identifier: GPL-2.0-or-later
/* See build_id.h: looked for among the notes of a file. */
#include "image/build_id.h"

#include <string.h>

#include "image/elf.h"
#include "image/libelf.h"

enum {
	NOTE_ALIGN = 4,
	NOTES_MAX = 64, /* that are looked through */
};

static size_t aligned(size_t size)
{
	return (size + NOTE_ALIGN - 1) & ~(size_t)(NOTE_ALIGN - 1);
}

/* Notes of kind "GNU": size of the name, size of the content, type, then both. */
static struct span find(struct span notes)
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
	return find(notes);
}
