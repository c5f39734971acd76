/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A string that grows, for names under construction. Running out of memory is sticky, so
 * that a parser checks once, at the end. Inline: a map has a million names.
 */
#ifndef MAPPARSE_BUFFER_H
#define MAPPARSE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct mapparse_buffer {
	char *chars; /* not NUL-terminated */
	size_t length;
	size_t capacity;
	bool failed;
};

/* Make room for @more characters. False without memory. */
bool mapparse_buffer_grow(struct mapparse_buffer *b, size_t more);

static inline bool buffer_has_room(struct mapparse_buffer *b, size_t more)
{
	return b->capacity - b->length >= more || mapparse_buffer_grow(b, more);
}

static inline void buffer_add_char(struct mapparse_buffer *b, char c)
{
	if (buffer_has_room(b, 1))
		b->chars[b->length++] = c;
}

static inline void buffer_add_bytes(struct mapparse_buffer *b, const char *s, size_t length)
{
	if (length && buffer_has_room(b, length)) {
		memcpy(b->chars + b->length, s, length);
		b->length += length;
	}
}

static inline void buffer_add(struct mapparse_buffer *b, const char *s)
{
	buffer_add_bytes(b, s, strlen(s));
}

void mapparse_buffer_add_number(struct mapparse_buffer *b, size_t number);

void mapparse_buffer_free(struct mapparse_buffer *b);

/* The characters as a string to free(), which empties the buffer; NULL without memory. */
char *mapparse_buffer_take(struct mapparse_buffer *b);

#endif
