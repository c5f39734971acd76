// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings that grow, for names and messages. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shortage.h"
#include "base/vector.h"

void text_deinit(struct text *t)
{
	free(t->chars);
	*t = (struct text){ 0 };
}

void text_clear(struct text *t)
{
	text_cut(t, 0);
	t->failed = false;
}

void text_cut(struct text *t, size_t length)
{
	if (length >= t->length)
		return;
	t->length = length;
	t->chars[length] = '\0';
}

/* Make room for @more characters and the NUL. */
static bool text_reserve(struct text *t, size_t more)
{
	if (!t->failed && !vector_reserve(&t->chars, &t->capacity, t->length + more + 1)) {
		shortage_note();
		t->failed = true;
	}
	return !t->failed;
}

void text_add_bytes(struct text *t, const char *s, size_t length)
{
	if (!text_reserve(t, length))
		return;
	memcpy(t->chars + t->length, s, length);
	t->length += length;
	t->chars[t->length] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
	text_add_bytes(t, &c, 1);
}

void text_add_number(struct text *t, uint64_t number, size_t width, char fill)
{
	char digits[20], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	for (size_t count = (size_t)(digits + sizeof(digits) - at); count < width; count++)
		text_add_char(t, fill);
	text_add_bytes(t, at, (size_t)(digits + sizeof(digits) - at));
}

void text_add_printable(struct text *t, const char *s)
{
	size_t from = t->length;

	text_add(t, s);
	if (t->length > from)
		text_make_printable(t->chars + from, t->length - from);
}

void text_make_printable(char *s, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)s[i];
		unsigned char next = i + 1 < length ? (unsigned char)s[i + 1] : 0;

		if (c < ' ' || c == 0x7f)
			s[i] = '?';
		else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			s[i] = s[i + 1] = '?'; /* U+0080 to U+009F: CSI and the like */
	}
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0 || !text_reserve(t, (size_t)length))
		return;
	va_start(args, fmt);
	vsnprintf(t->chars + t->length, (size_t)length + 1, fmt, args);
	va_end(args);
	t->length += (size_t)length;
}

void text_add_code_point(struct text *t, uint32_t code_point)
{
	char bytes[4];
	size_t length = code_point < 0x80    ? 1 :
			code_point < 0x800   ? 2 :
			code_point < 0x10000 ? 3 :
					       4;

	for (size_t i = length; i-- > 1; code_point >>= 6)
		bytes[i] = (char)(0x80 | (code_point & 0x3f));
	bytes[0] = (char)(length == 1 ? code_point : (0xf00U >> length & 0xff) | code_point);
	text_add_bytes(t, bytes, length);
}

int text_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

/*
 * How many bytes the UTF-8 character at @p has, 0 if it is none: overlong, a surrogate, cut short.
 */
static size_t utf8_length(const unsigned char *p)
{
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (length == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0)))
		return 0;
	if (length == 4 &&
	    (p[0] > 0xf4 || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90)))
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

size_t text_utf8_prefix(const char *s)
{
	size_t at = 0, length;

	while (s[at] && (length = utf8_length((const unsigned char *)s + at)) > 0)
		at += length;
	return at;
}
