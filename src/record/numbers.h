/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as a record has them: 7 bits a byte, the lowest first, the eighth bit where more follow;
 * those that may be negative with their sign in the lowest bit.
 */
#ifndef RECORD_NUMBERS_H
#define RECORD_NUMBERS_H

#include "base/text.h"
#include "image/cursor.h"

static inline void number_add(struct text *to, uint64_t number)
{
	char bytes[10];
	size_t count = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[count++] = (char)(number | 0x80);
	bytes[count++] = (char)number;
	text_add_bytes(to, bytes, count);
}

static inline void number_add_signed(struct text *to, int64_t number)
{
	number_add(to, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

/* The next one, or 0 and a bad cursor. */
static inline uint64_t number_take(struct cursor *c)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		if (shift == 63 && byte > 1)
			break;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return number;
	}
	c->bad = true;
	return 0;
}

static inline int64_t number_take_signed(struct cursor *c)
{
	uint64_t number = number_take(c);

	return (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

#endif
