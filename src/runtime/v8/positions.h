/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that lead from an offset in code or bytecode to a position in the source. They work on
 * bytes that were copied out of the target.
 *
 * Of optimised code there is also what it has for deoptimisation: at each call it knows which
 * functions of the source are active, how far each of them is, and more. It is what V8 makes its
 * own stack traces of. Positions are less: they leave out builtins that were inlined, and Maglev's
 * code of V8 13.6 has none.
 *
 * Source: V8's src/codegen/source-position-table.cc, source-position.h, safepoint-table.cc,
 * src/base/vlq.h, src/baseline/bytecode-offset-iterator.cc, src/interpreter/bytecodes.h,
 * src/deoptimizer/frame-translation-builder.cc, translation-opcode.h, translated-state.cc.
 */
#ifndef RUNTIME_V8_POSITIONS_H
#define RUNTIME_V8_POSITIONS_H

#include "image/cursor.h"
#include "runtime/v8/layout.h"

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

enum {
	V8_DEOPT_FRAMES_MAX = 32,

	/* An entry of the deoptimisation data: bytecode offset, translation, pc. */
	V8_DEOPT_ENTRY_WORDS = 3,
	V8_DEOPT_ENTRY_TRANSLATION = 1,

	V8_SAFEPOINTS_HEAD_BYTES = 16, /* at most */
	V8_SAFEPOINTS_MAX_BYTES = 1 << 20,
};

/* One function that is active, the innermost last. What is -1 is not known. */
struct v8_deopt_frame {
	bool builtin; /* one of the language, which has no bytecode */
	bool construct;
	int32_t bytecode_offset;
	int32_t shared;	   /* index in the literals */
	int32_t bytecodes; /* index in the protected literals; -1: those of the function */
	int32_t closure;   /* index in the literals, if it is always the same */
	int32_t receiver;  /* likewise what it is called on */
};

struct v8_deopt_frames {
	struct v8_deopt_frame frames[V8_DEOPT_FRAMES_MAX];
	size_t count;
	bool constructs; /* what the innermost has called there was called by new */
};

/* The encodings that are known: V8_TRANSLATION of the layout. */
enum {
	V8_TRANSLATION_NONE,
	V8_TRANSLATION_10_2,
	V8_TRANSLATION_11_3,
	V8_TRANSLATION_12_4,
	V8_TRANSLATION_13_6
};

/*
 * Decode the translation that begins at @start of @bytes. False if it is damaged, or its encoding
 * is not known.
 */
bool v8_translation_frames(const struct v8_layout *layout, struct span bytes, uint64_t start,
			   struct v8_deopt_frames *out);

/* How the table behind the code is written: TurboFan and Maglev have one each. */
struct v8_safepoints_form {
	int32_t head_bytes;
	int32_t count_at;   /* how many entries there are, and behind it what they consist of */
	int32_t more_bytes; /* of each entry */
};

/* That of Maglev's code, or of TurboFan's. False: not known of this version. */
bool v8_safepoints_form(const struct v8_layout *layout, bool maglev,
			struct v8_safepoints_form *form);

/* How large the table is by its first bytes, of its head; 0 if it makes no sense. */
size_t v8_safepoints_size(const struct v8_safepoints_form *form, struct span head);

/*
 * Which entry of the deoptimisation data is for the call that returns to @pc_offset, by that
 * table. False: there is none.
 */
bool v8_safepoint_find(const struct v8_safepoints_form *form, struct span table, uint64_t pc_offset,
		       uint32_t *entry);

#endif
