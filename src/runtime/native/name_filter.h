/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions can match a pattern at all, told by their symbols as they are: to demangle the
 * names of all functions of a large program takes seconds. What passes may still not match; what
 * does not pass cannot.
 *
 * Identifiers stand in a mangled name as they are, so a word of the pattern must be in it, unless
 * it may have come from elsewhere: see name_words.c and name_filter.c.
 */
#ifndef RUNTIME_NATIVE_NAME_FILTER_H
#define RUNTIME_NATIVE_NAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/cursor.h"

enum { NAME_WORDS_MAX = 8 };

struct name_word {
	const char *chars; /* letters and _ */
	size_t length;	   /* at least two */
};

/*
 * The words of a pattern that must stand in the symbol of each function that matches: of those in
 * the pattern so much as no demangler writes by itself.
 */
struct name_words {
	struct name_word list[NAME_WORDS_MAX]; /* the longest first */
	size_t count;
};

struct name_filter {
	struct name_words words;
	/* Two characters each of the longest word's halves: where none is, the word is not. */
	char pairs[2][2];
};

/* @literals as pattern_native_literals() has them, which must outlive the filter. */
void name_filter_init(struct name_filter *filter, const char *literals);

/* A file's table of names, one behind the other, of which the last ends with a NUL. */
struct name_table {
	struct span names;
	int fd;		 /* of the file, to read instead of touching each page; -1: there is none */
	uint64_t offset; /* of the table in it */
};

/*
 * Which names of @table may pass: a bit for each byte, as a name may begin within another; the
 * caller frees them. NULL: there is nothing to tell by, or no memory, and any may.
 */
uint8_t *name_filter_scan(const struct name_filter *filter, const struct name_table *table);

/* Does @marks, of name_filter_scan(), have a name that begins @at? */
static inline bool name_filter_marked(const uint8_t *marks, size_t at)
{
	return marks[at / 8] >> at % 8 & 1;
}

/* May the function with @symbol match? All do if there is no word to tell by. */
bool name_filter_passes(const struct name_filter *filter, const char *symbol);

/*
 * name_words.c. The words of @literals: runs of characters between '*' and '?', as they are in each
 * name once blanks are left out. They point into it.
 */
void name_words_find(struct name_words *words, const char *literals);

bool name_is_letter(char c);

#endif
