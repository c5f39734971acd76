/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of a pattern that must stand in the symbol of each function that matches: of those in
 * the pattern so much as no demangler writes by itself. For name_filter.h.
 */
#ifndef RUNTIME_NATIVE_NAME_WORDS_H
#define RUNTIME_NATIVE_NAME_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_WORDS_MAX = 8 };

struct name_word {
	const char *chars; /* letters and _ */
	size_t length;	   /* at least two */
};

struct name_words {
	struct name_word list[NAME_WORDS_MAX]; /* the longest first */
	size_t count;
};

/*
 * Those of @literals: runs of characters between '*' and '?', as they are in each name once blanks
 * are left out. They point into it.
 */
void name_words_find(struct name_words *words, const char *literals);

bool name_is_letter(char c);

#endif
