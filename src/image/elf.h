/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The little that is asked of an ELF file here: where its data lies, and what it
 * exports. Symbols and unwind tables are native/'s business.
 *
 * Source of the format: System V ABI, "Object Files"; <elf.h>.
 */
#ifndef IMAGE_ELF_H
#define IMAGE_ELF_H

#include "image/cursor.h"
#include "image/space.h"

enum { ELF_MAX_SEGMENTS = 64 };

/* A PT_LOAD segment, as far as the file holds it. */
struct elf_segment {
	struct span bytes;
	uint64_t offset;
	uint64_t address; /* as linked */
	bool writable;
	bool executable;
};

struct elf {
	struct span file;
	unsigned int segment_count;
	struct elf_segment segments[ELF_MAX_SEGMENTS];
};

/* Read the program headers of @file, which must outlive @elf. False if it is no 64-bit ELF file. */
bool elf_init(struct elf *elf, struct span file);

/* The address, as linked, of what the file exports as @symbol (in .dynsym); 0 if it does not. */
uint64_t elf_export(const struct elf *elf, const char *symbol);

/*
 * How far the file is loaded from where it was linked, told by one executable mapping of it:
 * @offset of the file is at @start. False if no executable segment begins there.
 */
bool elf_load_bias(const struct elf *elf, struct file_offset offset, struct address start,
		   uint64_t *bias);

/* The first place of @needle in writable segments, where initialised data is; NULL if none. */
const uint8_t *elf_find_in_data(const struct elf *elf, const void *needle, size_t size,
				struct span *segment);

#endif
