// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a regex cannot do without, for pattern_parse.c: of those that are simple enough to tell. Of
 * others, which have groups, choices, classes or escapes of letters, nothing is said.
 */
#include <string.h>

#include "method/pattern_internal.h"

static bool is_plain(char c)
{
	return c && (strchr("_:~,<>&=!%;@\"'`-", c) || (c >= '0' && c <= '9') ||
		     (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

/* Another quantifier behind one makes that lazy or possessive, and finds no character here. */
static void make_optional(struct text *out)
{
	if (out->length && out->chars[out->length - 1] != '*')
		text_cut(out, out->length - 1);
}

void pattern_add_literals(struct text *out, const char *regex, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char c = regex[i];

		/* A string's end is found as well. */
		if (strchr("|()[]{}#", c)) {
			text_clear(out);
			return;
		}
		if (c == '\\' && (++i == length || !strchr("./*+?^$()[]{}|\\ ", regex[i]))) {
			text_clear(out);
			return;
		}
		if (c == '*' || c == '?')
			make_optional(out);
		text_add_char(out, is_plain(c) ? c : '*');
	}
}
