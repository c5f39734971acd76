// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/positions.h"

enum {
	POSITION_BITS = 30,
	INLINING_SHIFT = 31,
	INLINING_MASK = 0xffff,
	INLINING_BYTES = 16,

	/* Prefixes of bytecodes: the operands of the next have two bytes, or four. */
	WIDE = 0,
	EXTRA_WIDE = 1,
	DEBUG_WIDE = 2,
	DEBUG_EXTRA_WIDE = 3,
};

uint64_t v8_vlq(struct cursor *c)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		byte = cursor_u8(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

/* How much further in the code an entry is. */
static uint64_t code_delta(const struct v8_layout *layout, uint64_t value)
{
	int64_t delta;

	if (layout->at[V8_POSITION_FLAGS])
		return value >> layout->at[V8_POSITION_FLAGS];
	delta = v8_zigzag(value);
	return delta >= 0 ? (uint64_t)delta : (uint64_t) - (delta + 1);
}

bool v8_positions_find(const struct v8_layout *layout, struct span table, int64_t at,
		       uint64_t *position)
{
	struct cursor c = cursor_over(table);
	uint64_t code = 0, source = 0;
	bool found = false;

	while (cursor_left(&c) > 0) {
		/* The first is counted from -1. */
		code += code_delta(layout, v8_vlq(&c));
		if (!cursor_ok(&c) || at < -1 || code > (uint64_t)(at + 1))
			break;
		source += (uint64_t)v8_zigzag(v8_vlq(&c));
		if (!cursor_ok(&c))
			break;
		*position = source;
		found = true;
	}
	return found && cursor_ok(&c);
}

int32_t v8_position_offset(uint64_t position)
{
	return (int32_t)(position >> 1 & ((1u << POSITION_BITS) - 1)) - 1;
}

uint32_t v8_position_inlining(uint64_t position)
{
	return position >> INLINING_SHIFT & INLINING_MASK;
}

bool v8_inlining_at(struct span array, uint32_t number, struct v8_inlining *inlining)
{
	struct cursor c;

	if (number == 0)
		return false;
	c = cursor_over(span_part(array, (uint64_t)(number - 1) * INLINING_BYTES, INLINING_BYTES));
	inlining->position = cursor_u64(&c);
	inlining->literal = (int32_t)cursor_u32(&c);
	return cursor_ok(&c);
}

/* Bytes of the bytecode that @c stands at, with its prefix; 0: there is no such. */
static uint32_t bytecode_size(const struct v8_layout *layout, struct cursor c)
{
	uint8_t code = cursor_u8(&c);
	uint32_t prefix = 0, scale = 0;

	if (code <= DEBUG_EXTRA_WIDE) {
		scale = code == WIDE || code == DEBUG_WIDE ? 1 : 2;
		prefix = 1;
		code = cursor_u8(&c);
	}
	if (!cursor_ok(&c) || code >= layout->bytecode_count)
		return 0;
	return prefix + layout->bytecode_sizes[scale * layout->bytecode_count + code];
}

bool v8_baseline_offset(const struct v8_layout *layout, struct span table, struct span bytecodes,
			uint64_t pc_offset, int32_t *offset)
{
	struct cursor deltas = cursor_over(table), code = cursor_over(bytecodes);
	uint64_t end = v8_vlq(&deltas);
	uint32_t size = 0;

	*offset = -1;
	if (!layout->bytecode_sizes)
		return false;
	while (cursor_ok(&deltas) && end < pc_offset && cursor_left(&deltas) > 0) {
		end += v8_vlq(&deltas);
		cursor_skip(&code, size);
		*offset = (int32_t)cursor_offset(&code);
		size = bytecode_size(layout, code);
		if (size == 0)
			return false;
	}
	return cursor_ok(&deltas) && end >= pc_offset;
}
