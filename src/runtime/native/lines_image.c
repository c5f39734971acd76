// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small ELF file in memory of the sections that lines are read from, for lines.c, where they are
 * compressed: libelf unpacks sections in place, and what the target has mapped stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/native/lines_internal.h"

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

static bool is_wanted(const char *name)
{
	static const char *const wanted[] = { "info",	"abbrev",   "line", "line_str",	   "str",
					      "ranges", "rnglists", "addr", "str_offsets", NULL };

	name = lines_debug_name(name);
	for (size_t i = 0; name && wanted[i]; i++) {
		if (strcmp(name + strlen("debug_"), wanted[i]) == 0)
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
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = lines_section_name(elf, section, &header);
		const Elf_Data *raw = is_wanted(name) ? elf_rawdata(section, NULL) : NULL;

		if (!raw || !raw->d_buf)
			continue;
		header = (GElf_Shdr){
			.sh_type = SHT_PROGBITS,
			.sh_flags = header.sh_flags & SHF_COMPRESSED,
			.sh_size = raw->d_size,
			.sh_addralign = 1,
		};
		if (!add(image, name, header, raw->d_buf))
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
