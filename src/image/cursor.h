/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounds-checked reader over bytes that someone else wrote.
 *
 * Reading past the end does not fail there and then: the cursor turns bad,
 * every later read gives 0, and the caller checks once, at the end of a
 * record, with cursor_ok(). So a parser reads like the format it parses.
 * All numbers are little-endian, as in every format read here.
 */
#ifndef IMAGE_CURSOR_H
#define IMAGE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Some bytes of a file or of memory, borrowed; { NULL, 0 } is none. */
struct span {
	const uint8_t *start;
	size_t size;
};

struct cursor {
	const uint8_t *start;
	const uint8_t *end;
	const uint8_t *pos;
	bool bad;
};

/* The part of @s from @offset on, of @size bytes; none if it does not lie inside. */
struct span span_part(struct span s, uint64_t offset, uint64_t size);

/* Copy the first @size bytes of @s. False if it has fewer. */
bool span_copy(struct span s, void *to, size_t size);

struct cursor cursor_over(struct span s);

/* A cursor over the same bytes that stands at @offset; bad if that is outside. */
struct cursor cursor_at(const struct cursor *c, size_t offset);

/* The next @size bytes, or none and a bad cursor if fewer are left. */
struct span cursor_take(struct cursor *c, size_t size);

/* The bytes up to a NUL, which must be there; a borrowed C string, or NULL and a bad cursor. */
const char *cursor_string(struct cursor *c);

void cursor_skip(struct cursor *c, size_t size);

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->bad;
}

static inline size_t cursor_offset(const struct cursor *c)
{
	return (size_t)(c->pos - c->start);
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->pos);
}

/* Copy the next @size bytes to @to, or turn bad and leave zeros. */
static inline void cursor_copy(struct cursor *c, void *to, size_t size)
{
	if (size > cursor_left(c)) {
		c->bad = true;
		memset(to, 0, size);
		return;
	}
	memcpy(to, c->pos, size);
	c->pos += size;
}

/* The parsers read little else, hundreds of thousands of times for an image: so inline. */
static inline uint8_t cursor_u8(struct cursor *c)
{
	uint8_t value;

	cursor_copy(c, &value, sizeof(value));
	return value;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	uint8_t b[2];

	cursor_copy(c, b, sizeof(b));
	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	uint8_t b[4];

	cursor_copy(c, b, sizeof(b));
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	uint64_t low = cursor_u32(c);

	return low | (uint64_t)cursor_u32(c) << 32;
}

#endif
