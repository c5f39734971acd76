// SPDX-License-Identifier: GPL-2.0-or-later
#include "buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	FIRST_BYTES = 256,

	/* Far above what a line of MAPPARSE_LINE_MAX can become, so that a bug ends here. */
	MAX_BYTES = 16 * 1024 * 1024,
};

bool mapparse_buffer_grow(struct mapparse_buffer *b, size_t more)
{
	size_t capacity = b->capacity ? b->capacity : FIRST_BYTES;
	char *chars;

	if (b->failed)
		return false;
	while (capacity - b->length < more && capacity < MAX_BYTES)
		capacity *= 2;
	chars = capacity - b->length < more ? NULL : realloc(b->chars, capacity);
	if (!chars) {
		b->failed = true;
		return false;
	}
	b->chars = chars;
	b->capacity = capacity;
	return true;
}

void mapparse_buffer_add_number(struct mapparse_buffer *b, size_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%zu", number);
	buffer_add(b, digits);
}

char *mapparse_buffer_take(struct mapparse_buffer *b)
{
	char *chars;

	buffer_add_char(b, '\0');
	chars = b->chars;
	if (b->failed) {
		free(chars);
		chars = NULL;
		errno = ENOMEM;
	}
	*b = (struct mapparse_buffer){ 0 };
	return chars;
}

void mapparse_buffer_free(struct mapparse_buffer *b)
{
	free(b->chars);
	*b = (struct mapparse_buffer){ 0 };
}
