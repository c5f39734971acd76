/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The little that is asked of an ELF file here: where its data lies, and whether it
 * exports a symbol. Symbols and unwind tables are native/'s business.
 *
 * Source of the format: System V ABI, "Object Files"; <elf.h>.
 */
#ifndef IMAGE_ELF_H
#define IMAGE_ELF_H

#include "image/cursor.h"

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

/* Does the file export @symbol (in .dynsym)? */
bool elf_exports(const struct elf *elf, const char *symbol);

/* The first place of @needle in writable segments, where initialised data is; NULL if none. */
const uint8_t *elf_find_in_data(const struct elf *elf, const void *needle, size_t size,
				struct span *segment);

#endif
