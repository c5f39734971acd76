// SPDX-License-Identifier: GPL-2.0-or-later
/* How wide text is, how it is shortened, and bars: for the layouts of src/output/. */
#include "screen/columns.h"

#include <limits.h>
#include <string.h>
#include <wchar.h>

enum {
	HEAD_PART = 3,	   /* of what is shortened, so much stays of the beginning */
	HEAD_COLUMNS = 24, /* but of less than this only the end */
	EIGHTHS = 8,
};

/* A character, as it is shown. */
struct shown {
	const char *bytes;
	size_t length; /* of these, and of what they stand for in the text: */
	size_t taken;
	size_t columns;
};

static struct shown unknown(size_t taken)
{
	return (struct shown){ "?", 1, taken, 1 };
}

/* The character that @s begins with, which is not its end. */
static struct shown next(const char *s, bool utf8)
{
	unsigned char first = (unsigned char)*s;
	size_t taken = 1;
	mbstate_t state = { 0 };
	wchar_t wide;
	int columns;

	if (first < 0x80)
		return first < ' ' || first == 0x7f ? unknown(1) : (struct shown){ s, 1, 1, 1 };
	if (!utf8) {
		/* One '?' for the whole character. */
		while (((unsigned char)s[taken] & 0xc0) == 0x80)
			taken++;
		return unknown(taken);
	}
	taken = mbrtowc(&wide, s, strlen(s), &state);
	if (taken == 0 || taken > MB_LEN_MAX)
		return unknown(1);
	columns = wcwidth(wide);
	if (columns < 0)
		return unknown(taken);
	return (struct shown){ s, taken, taken, (size_t)columns };
}

size_t columns_of(const char *s, bool utf8)
{
	size_t columns = 0;

	while (*s) {
		struct shown character = next(s, utf8);

		columns += character.columns;
		s += character.taken;
	}
	return columns;
}

size_t columns_add_head(struct text *to, const char *s, size_t columns, bool utf8)
{
	size_t used = 0;

	while (*s) {
		struct shown character = next(s, utf8);

		if (used + character.columns > columns)
			break;
		text_add_bytes(to, character.bytes, character.length);
		used += character.columns;
		s += character.taken;
	}
	return used;
}

/* The end of @s, which takes @all columns, that takes @columns at most. */
static const char *tail(const char *s, size_t all, size_t columns, bool utf8)
{
	while (*s && all > columns) {
		struct shown character = next(s, utf8);

		all -= character.columns;
		s += character.taken;
	}
	return s;
}

size_t columns_add(struct text *to, const char *s, size_t columns, bool utf8)
{
	const char *ellipsis = utf8 ? "\xe2\x80\xa6" : "...";
	size_t all = columns_of(s, utf8), used = utf8 ? 1 : strlen(ellipsis), head;

	if (all <= columns)
		return columns_add_head(to, s, columns, utf8);
	if (columns <= used)
		return columns_add_head(to, tail(s, all, columns, utf8), columns, utf8);
	head = columns < HEAD_COLUMNS ? 0 : (columns - used) / HEAD_PART;
	head = columns_add_head(to, s, head, utf8);
	text_add(to, ellipsis);
	used += head;
	return used +
	       columns_add_head(to, tail(s, all, columns - used, utf8), columns - used, utf8);
}

void columns_add_blanks(struct text *to, size_t count)
{
	while (count--)
		text_add_char(to, ' ');
}

void columns_add_bar(struct text *to, double share, size_t columns, bool utf8)
{
	/* U+2588 is a whole column, those behind it seven eighths to one. */
	char block[] = "\xe2\x96\x88";
	size_t eighths = (size_t)(share * (double)(columns * EIGHTHS) + 0.5);
	size_t whole, rest;

	if (eighths > columns * EIGHTHS)
		eighths = columns * EIGHTHS;
	if (!utf8)
		eighths = (eighths + EIGHTHS / 2) / EIGHTHS * EIGHTHS;
	whole = eighths / EIGHTHS;
	rest = eighths % EIGHTHS;
	for (size_t i = 0; i < whole; i++)
		text_add(to, utf8 ? block : "*");
	if (rest) {
		block[2] = (char)((unsigned char)block[2] + EIGHTHS - rest);
		text_add(to, block);
	}
	columns_add_blanks(to, columns - whole - (rest > 0));
}
