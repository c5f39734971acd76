/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The little that is asked of an ELF file here: where its code and data lie, and what it
 * exports. What else it says is read by relocation.h and cfi.h.
 *
 * Source of the format: System V ABI, "Object Files"; <elf.h>.
 */
#ifndef IMAGE_ELF_H
#define IMAGE_ELF_H

#include "image/cursor.h"
#include "image/space.h"

enum {
	ELF_MAX_SEGMENTS = 64,
	BUILD_ID_MAX_BYTES = 64,
};

/* A segment, as far as the file holds it. */
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
	struct elf_segment segments[ELF_MAX_SEGMENTS]; /* PT_LOAD */

	/* One of a kind; without bytes if there is none. */
	struct elf_segment dynamic;
	struct elf_segment interpreter;
	struct elf_segment eh_frame_hdr;

	/* A thread's own copy of its thread-local storage, up to the next alignment; 0: none. */
	uint64_t tls_bytes;
};

/* Borrowed: the name lives as long as the file's bytes. */
struct elf_symbol {
	const char *name;
	uint64_t address; /* as linked; of a thread-local one the offset in the thread's block */
	uint64_t size;
	bool is_thread_local;
};

typedef void (*elf_symbol_fn)(void *ctx, const struct elf_symbol *symbol);

/* Read the program headers of @file, which must outlive @elf. False if it is no 64-bit ELF file. */
bool elf_init(struct elf *elf, struct span file);

/*
 * Call @fn for each that is defined in .symtab or .dynsym, whatever it is; maybe for both. A file
 * with more than one of each says the same again and again: only the first is read.
 */
void elf_each_symbol(const struct elf *elf, elf_symbol_fn fn, void *ctx);

/* The address, as linked, of what the file exports as @symbol (in .dynsym); 0 if it does not. */
uint64_t elf_export(const struct elf *elf, const char *symbol);

/*
 * Where the code of exported function @symbol begins in the file. False if there is no such
 * function, or if it is one that the loader asks which function to use (STT_GNU_IFUNC).
 */
bool elf_export_offset(const struct elf *elf, const char *symbol, struct file_offset *offset);

/*
 * The bytes of section @name, as the file has them, and its address as linked. False if there is no
 * such section, or none of it in the file (NOBITS, as where debug information was taken out).
 */
bool elf_section(const struct elf *elf, const char *name, struct span *bytes, uint64_t *address);

/*
 * The build ID: what tells the file from all others, also on another machine. Borrowed from the
 * file's bytes; none: it has no such note, or one that makes no sense.
 *
 * Source of the format: GNU ld manual, --build-id; <elf.h> NT_GNU_BUILD_ID.
 */
struct span build_id_of(const struct elf *elf);

/* What the file has at @address, as linked, up to its segment's end; none if it has nothing. */
struct span elf_bytes_from(const struct elf *elf, uint64_t address);

/* The same, of @size bytes; none if they are not all in one segment. */
struct span elf_bytes(const struct elf *elf, uint64_t address, uint64_t size);

/* Is there code at @address, as linked? And where is that in the file? */
bool elf_is_code(const struct elf *elf, uint64_t address);
bool elf_code_offset(const struct elf *elf, uint64_t address, struct file_offset *offset);

/*
 * How far the file is loaded from where it was linked, told by one executable mapping of it:
 * @offset of the file is at @start. False if no executable segment begins there.
 */
bool elf_load_bias(const struct elf *elf, struct file_offset offset, struct address start,
		   uint64_t *bias);

/*
 * Likewise of any executable mapping: one that has been split by its rights or by advice about its
 * pages, or that maps a part of a segment a second time.
 */
bool elf_part_bias(const struct elf *elf, struct file_offset offset, struct address start,
		   uint64_t *bias);

/* The first place of @needle in writable segments, where initialised data is; NULL if none. */
const uint8_t *elf_find_in_data(const struct elf *elf, const void *needle, size_t size,
				struct span *segment);

#endif
