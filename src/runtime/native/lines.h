/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source lines of native code, with the functions that were inlined there, from the DWARF of an
 * ELF file by elfutils' libdw. That was not written for hostile files: lines_check.c has what is
 * never given to it, and a file that takes too long is given up.
 */
#ifndef RUNTIME_NATIVE_LINES_H
#define RUNTIME_NATIVE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/cursor.h"

/* So many of one address at most: of more the innermost, and the function that is in no other. */
enum { NATIVE_LINES_MAX = 31 };

/* Strings are valid until the next is looked for. */
struct native_line {
	const char *function; /* as the linker has it, else as the source; NULL: not known */
	const char *file;     /* likewise */
	uint32_t line;	      /* these from 1; 0: not known */
	uint32_t column;
	uint64_t begin; /* of the last one's code, as linked; 0: not known */
};

/* Is there anything to read in @file? */
bool native_lines_are_in(struct span file);

/*
 * Those of @file, whose bytes must outlive the result; nothing is read before the first is asked
 * for. @shift is added to its addresses: see debug_file_shift(). NULL for want of memory.
 */
struct native_lines *native_lines_create(struct span file, uint64_t shift);
void native_lines_destroy(struct native_lines *lines);

/* Give back the memory of what has been read so far; strings that were found are gone too. */
void native_lines_forget(struct native_lines *lines);

/*
 * What is being executed at @address, as linked: the innermost function first, with its line, then
 * each that it was inlined into, with that of its call; the last is in no other. How many; 0: it is
 * not known.
 */
size_t native_lines_find(struct native_lines *lines, uint64_t address,
			 struct native_line found[NATIVE_LINES_MAX]);

#endif
