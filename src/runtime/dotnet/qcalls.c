// SPDX-License-Identifier: GPL-2.0-or-later
/* From a name to the runtime's function, in bytes that anyone may have written. */
#include "runtime/dotnet/qcalls.h"

#include <string.h>

#include "image/elf.h"
#include "image/relocation.h"

enum {
	WORD_BYTES = 8,
	PLACES_MAX = 8, /* of the name; the linker leaves one */
};

struct search {
	struct elf elf;
	uint64_t names[PLACES_MAX]; /* where the name is, as linked */
	size_t count;
	uint64_t function; /* 0: none so far */
	bool several;
};

static void find_in_segment(struct search *search, const struct elf_segment *segment,
			    const char *name)
{
	struct span rest = segment->bytes;
	const uint8_t *hit;

	/* With its NUL; it may be the end of another name. */
	while (search->count < PLACES_MAX && rest.size &&
	       (hit = memmem(rest.start, rest.size, name, strlen(name) + 1))) {
		search->names[search->count++] =
			segment->address + (uint64_t)(hit - segment->bytes.start);
		rest.size -= (size_t)(hit + 1 - rest.start);
		rest.start = hit + 1;
	}
}

static bool is_name(const struct search *search, uint64_t address)
{
	for (size_t i = 0; i < search->count; i++) {
		if (search->names[i] == address)
			return true;
	}
	return false;
}

/* The word at @at points to the name: what is behind it? */
static void look_at_row(struct search *search, uint64_t at)
{
	uint64_t function;

	if (!relocation_at(&search->elf, at + WORD_BYTES, &function) ||
	    !elf_is_code(&search->elf, function))
		return;
	search->several |= search->function && search->function != function;
	search->function = function;
}

bool qcall_find(struct span file, const char *name, struct file_offset *offset)
{
	struct search search = { .count = 0 };
	struct relocation relocation;
	struct relocations walk;
	size_t rows = 0;

	if (!elf_init(&search.elf, file))
		return false;
	for (unsigned int i = 0; i < search.elf.segment_count; i++)
		find_in_segment(&search, &search.elf.segments[i], name);
	relocations_begin(&walk, &search.elf);
	/* Each row is a walk of its own. */
	while (search.count && rows < PLACES_MAX && relocations_next(&walk, &relocation)) {
		if (!is_name(&search, relocation.value))
			continue;
		rows++;
		look_at_row(&search, relocation.at);
	}
	return search.function && !search.several &&
	       elf_code_offset(&search.elf, search.function, offset);
}
