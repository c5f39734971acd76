/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of native functions: from .symtab, of the file or of its debug file, or where that was
 * taken out from .dynsym.
 *
 * Source of the format: System V ABI, "Symbol Table".
 */
#ifndef RUNTIME_NATIVE_SYMBOLS_H
#define RUNTIME_NATIVE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "image/cursor.h"

struct error;
struct name_filter;
struct native_symbols;

struct native_symbol {
	uint64_t begin; /* address as linked; first: base/sorted.h */
	uint64_t size;
	const char *name; /* as the linker has it; lives as long as the file's bytes */
	bool indirect;	  /* the loader asks it which function to use (STT_GNU_IFUNC) */
};

/*
 * The functions of ELF @file, which must outlive the result; maybe none. -ENOMEM with @err set.
 * @shift is added to its addresses: of the debug file of another, see debug_file_shift().
 */
int native_symbols_create(struct native_symbols **symbols, struct span file, uint64_t shift,
			  struct error *err);

/*
 * The file that @symbols were created of is @fd's, too, which outlives them: where few names are
 * wanted of many they are read by it, which is quicker than to touch each page of the file.
 */
void native_symbols_read_by(struct native_symbols *symbols, int fd);

/*
 * Add to @symbols, once, what .symtab of ELF file @more has, by the same addresses; that must
 * outlive them likewise.
 */
void native_symbols_add(struct native_symbols *symbols, struct span more);
void native_symbols_destroy(struct native_symbols *symbols);

/*
 * Names are numbered by address; of one address the plainest is the first. They are listed when
 * they are asked for first; for want of memory those that are missing are as if they were not there
 * (base/shortage.h).
 */
size_t native_symbols_count(struct native_symbols *symbols);
const struct native_symbol *native_symbols_get(struct native_symbols *symbols, size_t number);

/*
 * Copies of those that pass @filter, but for parts of functions, in the same order, in an array
 * that the caller frees. Nothing is kept of the others. -ENOMEM.
 */
int native_symbols_pick(const struct native_symbols *symbols, const struct name_filter *filter,
			struct native_symbol **picked, size_t *count);

/* Are they all that there were, from .symtab? Else there may be a debug file with more. */
bool native_symbols_complete(const struct native_symbols *symbols);

/* The function that holds @address, as linked; of several the one named plainest. NULL: none. */
const struct native_symbol *native_symbols_find(struct native_symbols *symbols, uint64_t address);

/* A mangled name (C++, Rust) as its source has it, which the caller frees; or NULL. */
char *native_symbol_demangle(const char *name);

/* The names of a function: as the linker has it, and as the source has it. */
enum { NATIVE_NAME_FORMS = 5 };

/* All zero to begin with; may be used for one function after another. */
struct native_name {
	struct text shown; /* for people */
	/*
	 * What it may be asked for by: the symbol, that without its version ("@@GLIBC_2.34") and
	 * the marks of the compiler's copies (".constprop.0", ".isra.0"), and that demangled: with
	 * what it returns, without, and without parameters.
	 */
	char *forms[NATIVE_NAME_FORMS];
	size_t count;
};

/* Read the names of the function with @symbol. -ENOMEM. */
int native_name_read(struct native_name *name, const char *symbol);
void native_name_deinit(struct native_name *name);

/* Is it the seldom used part of a function, put elsewhere and reached by jumps? */
bool native_name_is_part(const char *symbol);

#endif
