/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text in the columns of a terminal, of which a character takes one, two or none, and bars. Without
 * UTF-8, what is not ASCII is '?'. With it the locale's LC_CTYPE must be UTF-8 (screen.h sees to
 * it): which characters are wide only the C library knows.
 */
#ifndef SCREEN_COLUMNS_H
#define SCREEN_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* How many columns @s takes. */
size_t columns_of(const char *s, bool utf8);

/*
 * Append @s, which takes @columns at most: of what is longer the middle is left out, more of it
 * before than behind, since the end of a name tells it from others. Returns how many it takes.
 */
size_t columns_add(struct text *to, const char *s, size_t columns, bool utf8);

/* The same of what is cut at its end. */
size_t columns_add_head(struct text *to, const char *s, size_t columns, bool utf8);

/* Append @count blanks. */
void columns_add_blanks(struct text *to, size_t count);

/* Append a bar of @share, from 0 to 1, of @columns, and blanks up to them. */
void columns_add_bar(struct text *to, double share, size_t columns, bool utf8);

#endif
