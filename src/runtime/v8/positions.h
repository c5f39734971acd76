/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that lead from an offset in code or bytecode to a position in the source. They work on
 * bytes that were copied out of the target.
 *
 * Source: V8's src/codegen/source-position-table.cc, source-position.h, src/base/vlq.h,
 * src/baseline/bytecode-offset-iterator.cc, src/interpreter/bytecodes.h.
 */
#ifndef RUNTIME_V8_POSITIONS_H
#define RUNTIME_V8_POSITIONS_H

#include "image/cursor.h"
#include "runtime/v8/layout.h"

/* A number of 7 bits a byte, the lowest first; bad if it has more than 64 of them. */
uint64_t v8_vlq(struct cursor *c);

/* One with a sign, which is its lowest bit. */
static inline int64_t v8_zigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/*
 * The position that the last entry up to code offset @at of a table has. False if there is none
 * before it, or the table is damaged.
 */
bool v8_positions_find(const struct v8_layout *layout, struct span table, int64_t at,
		       uint64_t *position);

/* Where in the script's source a position is; -1: it is none of a script. */
int32_t v8_position_offset(uint64_t position);

/* Which of the code's inlining positions it is in, from 1; 0: in the function itself. */
uint32_t v8_position_inlining(uint64_t position);

/* One that was inlined: which function, by its index in the literals, and where it is called. */
struct v8_inlining {
	uint64_t position;
	int32_t literal; /* -1: the function itself */
};

/* Number @number, from 1, of an array of them; false: there is none. */
bool v8_inlining_at(struct span array, uint32_t number, struct v8_inlining *inlining);

/*
 * The offset of the bytecode whose baseline code, by the code's @table, holds @pc_offset: one that
 * a call returns to belongs to the call. -1: before the first; false if that cannot be told.
 */
bool v8_baseline_offset(const struct v8_layout *layout, struct span table, struct span bytecodes,
			uint64_t pc_offset, int32_t *offset);

#endif
