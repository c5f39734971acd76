// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strings and names of the target on their way to a terminal or into JSON: UTF-8 without control
 * characters, whatever they were. For print.c.
 */
#include "value/print.h"

#include <string.h>

enum {
	SURROGATE_FIRST = 0xd800,
	SURROGATE_LOW = 0xdc00,
	SURROGATE_END = 0xe000,
	DELETE = 0x7f,
	C1_END = 0xa0,
	FIRST_OF_TWO_UNITS = 0x10000,
};

/* Those that end a line, or change the direction in which what follows is shown. */
static bool is_unseen(uint32_t c)
{
	return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb);
}

static void add_char(struct text *out, uint32_t c)
{
	static const char letters[] = "\bb\tt\nn\ff\rr";
	const char *letter = c && c < ' ' ? strchr(letters, (int)c) : NULL;

	if (letter)
		text_printf(out, "\\%c", letter[1]);
	else if (c == '"' || c == '\\')
		text_printf(out, "\\%c", (char)c);
	else if (c < ' ' || (c >= DELETE && c < C1_END) || is_unseen(c) ||
		 (c >= SURROGATE_FIRST && c < SURROGATE_END))
		text_printf(out, "\\u%04x", c);
	else
		text_add_code_point(out, c);
}

static uint32_t unit(const uint8_t *bytes, size_t i)
{
	return (uint32_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
}

void print_utf16(struct text *out, const uint8_t *bytes, size_t units)
{
	for (size_t i = 0; i < units; i++) {
		uint32_t c = unit(bytes, i);
		uint32_t next = i + 1 < units ? unit(bytes, i + 1) : 0;

		if (c >= SURROGATE_FIRST && c < SURROGATE_LOW && next >= SURROGATE_LOW &&
		    next < SURROGATE_END) {
			c = FIRST_OF_TWO_UNITS + ((c - SURROGATE_FIRST) << 10) +
			    (next - SURROGATE_LOW);
			i++;
		}
		add_char(out, c);
	}
}

/* The character at the start of valid UTF-8. */
static uint32_t decode(const char **s)
{
	uint8_t first = (uint8_t) * (*s)++;
	unsigned int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	uint32_t c = more ? first & (0x3fU >> more) : first;

	for (; more; more--)
		c = c << 6 | ((uint8_t) * (*s)++ & 0x3f);
	return c;
}

void print_utf8(struct text *out, const char *s)
{
	while (*s) {
		const char *end = s + text_utf8_prefix(s);

		while (s < end)
			add_char(out, decode(&s));
		if (*s) {
			text_add(out, "\\ufffd");
			s++;
		}
	}
}

void print_string(struct text *out, bool json, const uint8_t *bytes, size_t units, uint64_t length)
{
	bool cut = length > units;

	if (units > length)
		units = (size_t)length;
	/* Of a pair of them the other half is cut off. */
	if (cut && units && unit(bytes, units - 1) >= SURROGATE_FIRST &&
	    unit(bytes, units - 1) < SURROGATE_LOW)
		units--;
	text_add_char(out, '"');
	print_utf16(out, bytes, units);
	text_add_char(out, '"');
	if (cut && json)
		text_printf(out, ",\"length\":%llu,\"cut\":true", (unsigned long long)length);
	else if (cut)
		text_add(out, "…");
}

void print_bytes(struct text *out, const uint8_t *bytes, size_t size)
{
	char chars[WATCH_COPY + 1];

	size = size < WATCH_COPY ? size : WATCH_COPY;
	memcpy(chars, bytes, size);
	chars[size] = '\0';
	print_utf8(out, chars);
}
