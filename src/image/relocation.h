/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pointers in an ELF file's data, which the loader puts there: those relative to where the
 * file is loaded, and those to symbols of its own. Found by PT_DYNAMIC, as the loader does.
 *
 * Source of the format: System V ABI, "Dynamic Section" and "Relocation", with DT_RELR as in its
 * draft of 2022; x86-64 psABI, table 4.9.
 */
#ifndef IMAGE_RELOCATION_H
#define IMAGE_RELOCATION_H

#include "image/elf.h"

/* The word at .at will hold .value; both as linked. */
struct relocation {
	uint64_t at;
	uint64_t value;
};

struct relocations {
	const struct elf *elf;
	struct cursor rela; /* what is left of DT_RELA */
	struct cursor relr; /* and of DT_RELR */
	uint64_t symbols;   /* address of DT_SYMTAB */
	uint64_t relr_next; /* what the next bitmap begins with */
	uint64_t bits; /* of a bitmap, what is left; it stands for the words from .bits_at on */
	uint64_t bits_at;
	uint32_t left; /* how many more words may be looked at, if the file is made to be slow */
};

/* A walk over those of @elf, which must outlive it. */
void relocations_begin(struct relocations *walk, const struct elf *elf);

/* The next one, or false at the end. */
bool relocations_next(struct relocations *walk, struct relocation *relocation);

/* What the word at @address will hold; false if the loader puts no pointer of this file there. */
bool relocation_at(const struct elf *elf, uint64_t address, uint64_t *value);

#endif
