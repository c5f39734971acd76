/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices of a name, and a line read from left to right: numbers, fields, words. */
#ifndef MAPPARSE_LINE_H
#define MAPPARSE_LINE_H

#include <string.h>

#include "mapparse.h"

enum mapparse_number {
	MAPPARSE_NUMBER_OK,
	MAPPARSE_NUMBER_NONE,  /* no digit here */
	MAPPARSE_NUMBER_LARGE, /* past 2^64 */
};

static inline int line_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits of @base (10 or 16) at the front of @s, cut off it. */
static inline enum mapparse_number line_number(struct mapparse_slice *s, unsigned int base,
					       uint64_t *value)
{
	uint64_t v = 0;
	bool large = false;
	size_t i;

	for (i = 0; i < s->length; i++) {
		int digit = line_hex_digit(s->start[i]);

		if (digit < 0 || (unsigned int)digit >= base)
			break;
		large |= __builtin_mul_overflow(v, (uint64_t)base, &v);
		large |= __builtin_add_overflow(v, (uint64_t)digit, &v);
	}
	*value = v;
	s->start += i;
	s->length -= i;
	return i == 0 ? MAPPARSE_NUMBER_NONE : large ? MAPPARSE_NUMBER_LARGE : MAPPARSE_NUMBER_OK;
}

static inline struct mapparse_slice slice_of(const char *start, const char *end)
{
	return (struct mapparse_slice){ start, (size_t)(end - start) };
}

static inline const char *slice_end(struct mapparse_slice s)
{
	return s.start + s.length;
}

static inline bool slice_begins(struct mapparse_slice s, const char *word)
{
	size_t length = strlen(word);

	return s.length >= length && memcmp(s.start, word, length) == 0;
}

static inline bool slice_ends(struct mapparse_slice s, const char *word)
{
	size_t length = strlen(word);

	return s.length >= length && memcmp(s.start + s.length - length, word, length) == 0;
}

static inline bool slice_is(struct mapparse_slice s, const char *word)
{
	return s.length == strlen(word) && memcmp(s.start, word, s.length) == 0;
}

/* Cut @word off the front. */
static inline bool line_skip(struct mapparse_slice *s, const char *word)
{
	if (!slice_begins(*s, word))
		return false;
	s->start += strlen(word);
	s->length -= strlen(word);
	return true;
}

/* The 0x or 0X of a hexadecimal number. */
static inline bool line_skip_hex(struct mapparse_slice *s)
{
	return line_skip(s, "0x") || line_skip(s, "0X");
}

static inline struct mapparse_slice line_trim(struct mapparse_slice s)
{
	while (s.length && (s.start[0] == ' ' || s.start[0] == '\t')) {
		s.start++;
		s.length--;
	}
	while (s.length && (s.start[s.length - 1] == ' ' || s.start[s.length - 1] == '\t' ||
			    s.start[s.length - 1] == '\r'))
		s.length--;
	return s;
}

/* Cut off what stands before @separator, and it; false, with nothing cut, if there is none. */
static inline bool line_field(struct mapparse_slice *s, char separator,
			      struct mapparse_slice *field)
{
	const char *p = s->length ? memchr(s->start, separator, s->length) : NULL;

	if (!p)
		return false;
	*field = slice_of(s->start, p);
	*s = slice_of(p + 1, slice_end(*s));
	return true;
}

/* The same from the right: the last field is cut off. */
static inline bool line_last_field(struct mapparse_slice *s, char separator,
				   struct mapparse_slice *field)
{
	const char *p = s->length ? memrchr(s->start, separator, s->length) : NULL;

	if (!p)
		return false;
	*field = slice_of(p + 1, slice_end(*s));
	*s = slice_of(s->start, p);
	return true;
}

#endif
