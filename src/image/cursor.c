// SPDX-License-Identifier: GPL-2.0-or-later
/* Bounds-checked reading: below every parser of files. */
#include "image/cursor.h"

struct span span_part(struct span s, uint64_t offset, uint64_t size)
{
	if (!s.start || offset > s.size || size > s.size - offset)
		return (struct span){ 0 };
	return (struct span){ .start = s.start + offset, .size = (size_t)size };
}

bool span_copy(struct span s, void *to, size_t size)
{
	if (!s.start || s.size < size)
		return false;
	memcpy(to, s.start, size);
	return true;
}

struct cursor cursor_over(struct span s)
{
	return (struct cursor){
		.start = s.start,
		.end = s.start ? s.start + s.size : NULL,
		.pos = s.start,
		.bad = s.start == NULL,
	};
}

struct cursor cursor_at(const struct cursor *c, size_t offset)
{
	struct cursor at = *c;

	at.bad = c->start == NULL || offset > (size_t)(c->end - c->start);
	if (!at.bad)
		at.pos = c->start + offset;
	return at;
}

struct span cursor_take(struct cursor *c, size_t size)
{
	struct span taken = { .start = c->pos, .size = size };

	if (c->bad || size > cursor_left(c)) {
		c->bad = true;
		return (struct span){ 0 };
	}
	c->pos += size;
	return taken;
}

const char *cursor_string(struct cursor *c)
{
	const char *text = (const char *)c->pos;
	const uint8_t *nul = cursor_left(c) ? memchr(c->pos, 0, cursor_left(c)) : NULL;

	if (!nul) {
		c->bad = true;
		return NULL;
	}
	c->pos = nul + 1;
	return text;
}

void cursor_skip(struct cursor *c, size_t size)
{
	(void)cursor_take(c, size);
}
