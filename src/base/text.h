/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A string that grows: names are put together from many parts, thousands of
 * times in a run, so one buffer is cleared and filled again. Running out of
 * memory is sticky: further additions do nothing and text_ok() says so once.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *chars; /* NUL-terminated once anything was added; use text_chars() */
	size_t length;
	size_t capacity;
	bool failed;
};

void text_deinit(struct text *t);
void text_clear(struct text *t);
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t length);
void text_add_char(struct text *t, char c);
/* In decimal, with @fill before it until it has @width characters. */
void text_add_number(struct text *t, uint64_t number, size_t width, char fill);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with control characters as '?': names come from files, and go to terminals. */
void text_add_printable(struct text *t, const char *s);
void text_make_printable(char *s, size_t length);

/* A character by its number, of at most 0x10ffff, as UTF-8. */
void text_add_code_point(struct text *t, uint32_t code_point);

/* How much of @s is UTF-8. */
size_t text_utf8_prefix(const char *s);

/* The value of a hexadecimal digit; -1: it is none. */
int text_hex_digit(char c);

/* Drop everything after the first @length characters. */
void text_cut(struct text *t, size_t length);

static inline const char *text_chars(const struct text *t)
{
	return t->chars ? t->chars : "";
}

/* What a word ends with that is counted: "%zu probe%s"; and the verb behind it. */
static inline const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static inline const char *text_are(uint64_t count)
{
	return count == 1 ? "is" : "are";
}

static inline bool text_ok(const struct text *t)
{
	return !t->failed;
}

#endif
