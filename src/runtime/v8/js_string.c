// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/js_string.h"

#include <string.h>

#include "target/memory.h"

/* Bits of a string's instance type. */
enum {
	REPRESENTATION = 7,
	SEQUENTIAL = 0,
	CONS = 1,
	EXTERNAL = 2,
	SLICED = 3,
	THIN = 5,
	ONE_BYTE = 8,
	UNCACHED = 16, /* of an external one: the object does not know where its characters are */
};

/* Offsets. */
enum {
	LENGTH = 12,
	CHARS = 16,
	CONS_FIRST = 16,
	CONS_SECOND = 24,
	SLICED_PARENT = 16,
	SLICED_OFFSET = 24,
	THIN_ACTUAL = 16,
	EXTERNAL_DATA = 24,
};

enum {
	LENGTH_MAX = 1 << 29,
	PENDING_MAX = 64,     /* pieces that are still to be read */
	STEPS_MAX = 1 << 14,  /* strings that a source may be made of */
	NAME_STEPS_MAX = 256, /* the same of a name */
	CHUNK = 1024,	      /* characters at a time */
};

struct piece {
	uint64_t string;
	uint32_t start;
	uint32_t count;
};

struct walk {
	const struct v8_heap *heap;
	v8_chars_fn fn;
	void *ctx;
	struct piece pending[PENDING_MAX];
	size_t pending_count;
	bool enough;
};

bool v8_is_string(const struct v8_heap *heap, uint64_t value)
{
	int type = v8_type(heap, value);

	return type >= 0 && type < heap->layout->at[V8_TYPE_NONSTRING];
}

uint32_t v8_string_length(const struct v8_heap *heap, uint64_t value)
{
	uint32_t length = v8_is_string(heap, value) ? v8_u32(heap, value, LENGTH) : 0;

	return length <= LENGTH_MAX ? length : 0;
}

static bool push(struct walk *walk, uint64_t string, uint32_t start, uint32_t count)
{
	if (count == 0)
		return true;
	if (walk->pending_count == PENDING_MAX)
		return false;
	walk->pending[walk->pending_count++] = (struct piece){ string, start, count };
	return true;
}

/* Of those at @at, of one byte each or of two. */
static bool read_flat(struct walk *walk, const struct piece *piece, uint64_t at, bool one_byte)
{
	uint32_t count = piece->count;
	struct look look = look_into(walk->heap->memory);
	uint16_t chars[CHUNK];
	uint8_t bytes[CHUNK];

	at += one_byte ? piece->start : 2 * (uint64_t)piece->start;
	while (count > 0 && !walk->enough) {
		uint32_t part = count < CHUNK ? count : CHUNK;

		if (one_byte) {
			look_copy(&look, at, bytes, part);
			for (uint32_t i = 0; i < part; i++)
				chars[i] = bytes[i];
		} else {
			look_copy(&look, at, chars, 2 * (size_t)part);
		}
		if (look.bad)
			return false;
		walk->enough = !walk->fn(walk->ctx, chars, part);
		at += one_byte ? part : 2 * (uint64_t)part;
		count -= part;
	}
	return true;
}

static bool read_cons(struct walk *walk, const struct piece *piece)
{
	uint64_t first = v8_word(walk->heap, piece->string, CONS_FIRST);
	uint64_t second = v8_word(walk->heap, piece->string, CONS_SECOND);
	uint32_t length = v8_string_length(walk->heap, first);
	uint32_t end = piece->start + piece->count;

	/* The second comes out last. */
	if (end > length && !push(walk, second, piece->start > length ? piece->start - length : 0,
				  end - (piece->start > length ? piece->start : length)))
		return false;
	return piece->start >= length ||
	       push(walk, first, piece->start, (end < length ? end : length) - piece->start);
}

static bool read_sliced(struct walk *walk, const struct piece *piece)
{
	uint64_t parent = v8_word(walk->heap, piece->string, SLICED_PARENT);
	uint64_t offset = v8_word(walk->heap, piece->string, SLICED_OFFSET);

	if (!v8_is_smi(offset) || v8_smi(offset) < 0 || v8_smi(offset) > LENGTH_MAX)
		return false;
	return push(walk, parent, (uint32_t)v8_smi(offset) + piece->start, piece->count);
}

static bool read_piece(struct walk *walk, const struct piece *piece)
{
	const struct v8_heap *heap = walk->heap;
	int type = v8_type(heap, piece->string);
	uint32_t length = v8_string_length(heap, piece->string);

	if (type < 0 || piece->start > length || piece->count > length - piece->start)
		return false;
	switch (type & REPRESENTATION) {
	case SEQUENTIAL:
		return read_flat(walk, piece, v8_address(piece->string, CHARS), type & ONE_BYTE);
	case CONS:
		return read_cons(walk, piece);
	case SLICED:
		return read_sliced(walk, piece);
	case THIN:
		return push(walk, v8_word(heap, piece->string, THIN_ACTUAL), piece->start,
			    piece->count);
	case EXTERNAL:
		return !(type & UNCACHED) &&
		       read_flat(walk, piece, v8_word(heap, piece->string, EXTERNAL_DATA),
				 type & ONE_BYTE);
	default:
		return false;
	}
}

bool v8_string_each(const struct v8_heap *heap, uint64_t value, uint32_t most, v8_chars_fn fn,
		    void *ctx)
{
	struct walk walk = { .heap = heap, .fn = fn, .ctx = ctx };
	uint32_t length = v8_string_length(heap, value);
	unsigned int most_steps = most > V8_NAME_MAX ? STEPS_MAX : NAME_STEPS_MAX;

	if (!v8_is_string(heap, value))
		return false;
	(void)push(&walk, value, 0, length < most ? length : most);
	for (unsigned int step = 0; walk.pending_count > 0 && !walk.enough; step++) {
		struct piece piece = walk.pending[--walk.pending_count];

		if (step == most_steps || !read_piece(&walk, &piece))
			return false;
	}
	return true;
}

/* UTF-8 ------------------------------------------------------------------------------------ */

enum { REPLACEMENT = 0xfffd };

struct utf8 {
	struct text *out;
	uint32_t high; /* the first half of a pair, or 0 */
};

/* A name ends where a NUL is. */
static void add_point(struct text *out, uint32_t point)
{
	text_add_code_point(out, point ? point : REPLACEMENT);
}

static bool add_chars(void *ctx, const uint16_t *chars, size_t count)
{
	struct utf8 *utf8 = ctx;

	for (size_t i = 0; i < count; i++) {
		uint32_t c = chars[i];
		bool low = c >= 0xdc00 && c < 0xe000;

		if (utf8->high && low) {
			add_point(utf8->out, 0x10000 + ((utf8->high - 0xd800) << 10) + c - 0xdc00);
			utf8->high = 0;
			continue;
		}
		if (utf8->high)
			add_point(utf8->out, REPLACEMENT);
		utf8->high = c >= 0xd800 && c < 0xdc00 ? c : 0;
		if (!utf8->high)
			add_point(utf8->out, low ? REPLACEMENT : c);
	}
	return true;
}

bool v8_string_add(const struct v8_heap *heap, uint64_t value, uint32_t most, struct text *out)
{
	struct utf8 utf8 = { .out = out };
	bool all = v8_string_each(heap, value, most, add_chars, &utf8);

	if (utf8.high)
		add_point(out, REPLACEMENT);
	return all;
}

/* Comparing -------------------------------------------------------------------------------- */

struct compared {
	const char *left;
	bool same;
};

static bool compare_chars(void *ctx, const uint16_t *chars, size_t count)
{
	struct compared *compared = ctx;

	for (size_t i = 0; i < count && compared->same; i++)
		compared->same = chars[i] == (unsigned char)*compared->left++;
	return compared->same;
}

bool v8_string_is(const struct v8_heap *heap, uint64_t value, const char *chars)
{
	struct compared compared = { .left = chars, .same = true };
	size_t length = strlen(chars);

	return v8_string_length(heap, value) == length &&
	       v8_string_each(heap, value, (uint32_t)length, compare_chars, &compared) &&
	       compared.same;
}
