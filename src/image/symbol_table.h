/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of an ELF file. Large programs have some hundred thousand, which are gone through
 * more than once before anything can be probed: so without a library between.
 *
 * Source of the format: System V ABI, "Sections" and "Symbol Table"; <elf.h>.
 */
#ifndef IMAGE_SYMBOL_TABLE_H
#define IMAGE_SYMBOL_TABLE_H

#include <elf.h>

#include "image/cursor.h"

/* All zero: there is none. */
struct symbol_table {
	struct span symbols;
	struct span names; /* ends with a NUL */
	size_t count;
};

/*
 * The table of @type (SHT_SYMTAB, SHT_DYNSYM) of @file, which must outlive it. If there are several
 * it is the first. False if there is none, or @file is no 64-bit ELF file.
 */
bool symbol_table_find(struct symbol_table *table, struct span file, uint32_t type);

/*
 * By the linker's hash of the names of @table, the .dynsym of @file: the first symbol that the
 * file defines as @name, into @symbol. -ENOENT: it has none. -ENODATA: there is no hash.
 *
 * @fd is the file's, or -1. Names that follow each other in the alphabet lie anywhere in the file:
 * in a virtual machine to read a few bytes of a page takes a tenth of what it takes to touch it.
 *
 * Source of the format: binutils' bfd/elflink.c, .gnu.hash; glibc's elf/dl-lookup.c.
 */
int symbol_table_look_up(const struct symbol_table *table, struct span file, int fd,
			 const char *name, Elf64_Sym *symbol);

/* The symbol with @number, below the count. */
static inline Elf64_Sym symbol_table_get(const struct symbol_table *table, size_t number)
{
	Elf64_Sym symbol;

	memcpy(&symbol, table->symbols.start + number * sizeof(symbol), sizeof(symbol));
	return symbol;
}

/* Its name, in the file; NULL: it says that it is somewhere else. */
static inline const char *symbol_table_name(const struct symbol_table *table,
					    const Elf64_Sym *symbol)
{
	return symbol->st_name < table->names.size ?
		       (const char *)table->names.start + symbol->st_name :
		       NULL;
}

/*
 * How far ahead names are fetched where all are read: they lie in another order, over 12 MB of
 * node, so waiting for memory takes longer than all else.
 */
enum { SYMBOLS_AHEAD = 16 };

/* Symbol @number is next, one after the other. */
static inline void symbol_table_prefetch(const struct symbol_table *table, size_t number)
{
	Elf64_Sym symbol;

	if (table->count <= SYMBOLS_AHEAD || number >= table->count - SYMBOLS_AHEAD)
		return;
	symbol = symbol_table_get(table, number + SYMBOLS_AHEAD);
	__builtin_prefetch(symbol_table_name(table, &symbol));
}

#endif
