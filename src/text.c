// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	size_t wanted = t->length + more + 1;
	size_t capacity = t->capacity ? t->capacity : 128;
	char *chars;

	if (t->failed)
		return false;
	if (wanted <= t->capacity)
		return true;
	while (capacity < wanted)
		capacity *= 2;
	chars = realloc(t->chars, capacity);
	if (!chars) {
		t->failed = true;
		return false;
	}
	t->chars = chars;
	t->capacity = capacity;
	return true;
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

void text_add_printable(struct text *t, const char *s)
{
	size_t from = t->length;

	text_add(t, s);
	for (size_t i = from; i < t->length; i++) {
		if ((unsigned char)t->chars[i] < ' ' || t->chars[i] == 0x7f)
			t->chars[i] = '?';
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
