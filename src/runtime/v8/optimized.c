// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that are active in a frame of optimised code: the one on the stack and those that
 * were inlined into it, by what the code has for deoptimisation, else by its source positions.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "runtime/v8/deopt.h"
#include "runtime/v8/frame_internal.h"
#include "runtime/v8/positions.h"
#include "target/memory.h"

static bool read_literal(const struct v8_heap *heap, uint64_t literals, uint64_t index,
			 struct v8_function *function)
{
	return v8_function_read(heap, v8_strong(v8_array_at(heap, literals, index)), function);
}

/* The frames of a position: each that is inlined says where it was called. */
static void name_position(const struct v8_naming *naming, const struct v8_code *code,
			  uint64_t position)
{
	const struct v8_heap *heap = &naming->namer->heap;
	const int32_t *at = heap->layout->at;
	uint64_t data = v8_field(heap, code->object, V8_CODE_DEOPT_DATA);
	uint64_t literals = v8_array_at(heap, data, (uint64_t)at[V8_DEOPT_LITERALS]);
	uint32_t number = v8_position_inlining(position);
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t size = 0;

	if (number)
		bytes = v8_byte_array(
			heap, v8_array_at(heap, data, (uint64_t)at[V8_DEOPT_INLINING]), &size);
	while (number && naming->out->count < V8_FRAMES_MAX - 1) {
		struct v8_function inlined = *naming->function;
		struct v8_inlining inlining;

		if (!bytes || !v8_inlining_at((struct span){ bytes, size }, number, &inlining) ||
		    (inlining.literal >= 0 &&
		     !read_literal(heap, literals, (uint64_t)inlining.literal, &inlined))) {
			v8_add_unknown(naming->out, code->tier, V8_MOVED);
			position = 0;
			break;
		}
		v8_add_function(naming, &(struct v8_call){ .function = &inlined }, code->tier,
				v8_position_offset(position), true);
		position = inlining.position;
		/* What is inlined comes after what it is inlined into. */
		if (v8_position_inlining(position) >= number)
			break;
		number = v8_position_inlining(position);
	}
	v8_add_outermost(naming, code->tier, v8_position_offset(position));
}

/* The table behind the instructions that says where calls return to. */
static uint8_t *read_safepoints(const struct v8_heap *heap, const struct v8_code *code,
				const struct v8_safepoints_form *form, size_t *size)
{
	uint8_t head[V8_SAFEPOINTS_HEAD_BYTES], *table;
	struct look look = look_into(heap->memory);

	look_copy(&look, code->start + code->size, head, sizeof(head));
	*size = v8_safepoints_size(form, (struct span){ head, sizeof(head) });
	table = look.bad || *size == 0 ? NULL : malloc(*size);
	if (table)
		look_copy(&look, code->start + code->size, table, *size);
	if (!look.bad)
		return table;
	free(table);
	return NULL;
}

/* Which entry of the deoptimisation data the pc is of. */
static bool find_entry(const struct v8_naming *naming, const struct v8_code *code,
		       struct address pc, uint32_t *entry)
{
	const struct v8_heap *heap = &naming->namer->heap;
	_cleanup_free_ uint8_t *table = NULL;
	struct v8_safepoints_form form;
	size_t size;

	if (!v8_safepoints_form(heap->layout, code->tier == V8_TIER_MAGLEV, &form))
		return false;
	table = read_safepoints(heap, code, &form, &size);
	return table && v8_safepoint_find(&form, (struct span){ table, size },
					  pc.value - code->start, entry);
}

/* What is active at the call that the pc returns to. */
static bool read_translation(const struct v8_naming *naming, const struct v8_code *code,
			     struct address pc, struct v8_deopt_frames *frames)
{
	const struct v8_heap *heap = &naming->namer->heap;
	uint64_t data = v8_field(heap, code->object, V8_CODE_DEOPT_DATA);
	const int32_t *at = heap->layout->at;
	_cleanup_free_ uint8_t *translations = NULL;
	uint64_t start, array;
	uint32_t entry;
	size_t size;

	if (!heap->layout->at[V8_TRANSLATION] || !find_entry(naming, code, pc, &entry))
		return false;
	array = v8_array_at(heap, data, (uint64_t)at[V8_DEOPT_TRANSLATION]);
	translations = v8_byte_array(heap, array, &size);
	start = v8_array_at(heap, data,
			    (uint64_t)at[V8_DEOPT_ENTRIES] +
				    V8_DEOPT_ENTRY_WORDS * (uint64_t)entry +
				    V8_DEOPT_ENTRY_TRANSLATION);
	return translations && v8_is_smi(start) && v8_smi(start) >= 0 &&
	       v8_translation_frames(heap->layout, (struct span){ translations, size },
				     (uint64_t)v8_smi(start), frames);
}

/* A function that is always the same is a literal, too; 0: it is not @function's. */
static uint64_t read_closure(const struct v8_heap *heap, uint64_t literals, int32_t index,
			     struct v8_function *function, bool of_function)
{
	uint64_t closure = index < 0 ? 0 : v8_strong(v8_array_at(heap, literals, (uint64_t)index));
	struct v8_function found;

	if (!v8_function_of(heap, closure, &found) ||
	    (of_function && found.shared != function->shared))
		return 0;
	*function = found;
	return closure;
}

static int32_t active_position(const struct v8_naming *naming, uint64_t data,
			       const struct v8_function *function,
			       const struct v8_deopt_frame *frame)
{
	const struct v8_heap *heap = &naming->namer->heap;
	uint64_t bytecodes;

	if (frame->builtin)
		return -1;
	if (frame->bytecodes < 0)
		bytecodes = v8_function_bytecodes(heap, function);
	else
		bytecodes = v8_array_at(
			heap,
			v8_array_at(heap, data, (uint64_t)heap->layout->at[V8_DEOPT_PROTECTED]),
			(uint64_t)frame->bytecodes);
	return v8_bytecode_position(heap, function, bytecodes, frame->bytecode_offset);
}

/* One of those that are active, as its bytecode has it. */
static void name_active(const struct v8_naming *naming, const struct v8_code *code, uint64_t data,
			const struct v8_deopt_frame *frame)
{
	const struct v8_heap *heap = &naming->namer->heap;
	uint64_t literals = v8_array_at(heap, data, (uint64_t)heap->layout->at[V8_DEOPT_LITERALS]);
	struct v8_function function;
	struct v8_call call = { .function = &function, .construct = frame->construct };

	if (frame->shared < 0 ||
	    !read_literal(heap, literals, (uint64_t)frame->shared, &function)) {
		v8_add_unknown(naming->out, code->tier, V8_MOVED);
		return;
	}
	/* Maglev has the function there that calls the builtin. */
	call.closure = read_closure(heap, literals, frame->closure, &function, !frame->builtin);
	if (frame->receiver >= 0)
		call.receiver = v8_strong(v8_array_at(heap, literals, (uint64_t)frame->receiver));
	v8_add_function(naming, &call, code->tier, active_position(naming, data, &function, frame),
			true);
}

static bool name_by_deopt(const struct v8_naming *naming, const struct v8_code *code)
{
	const struct v8_heap *heap = &naming->namer->heap;
	uint64_t data = v8_field(heap, code->object, V8_CODE_DEOPT_DATA);
	struct v8_deopt_frames frames;

	if (naming->raw->innermost || !read_translation(naming, code, naming->raw->pc, &frames))
		return false;
	for (size_t i = frames.count; i-- > 1;)
		name_active(naming, code, data, &frames.frames[i]);
	v8_add_outermost(naming, code->tier,
			 active_position(naming, data, naming->function, &frames.frames[0]));
	return true;
}

bool v8_is_constructed(const struct v8_naming *naming, bool *constructed)
{
	struct v8_namer *namer = naming->namer;
	const struct v8_raw *raw = naming->raw;
	struct v8_deopt_frames frames;
	struct v8_code code;

	*constructed = false;
	if (!v8_code_find(&namer->codes, &namer->heap, raw->isolate, raw->outer_pc,
			  raw->outer_lowest, &code))
		return !raw->aged;
	if (code.tier != V8_TIER_MAGLEV && code.tier != V8_TIER_TURBOFAN)
		return true;
	*constructed = !raw->aged && read_translation(naming, &code, raw->outer_pc, &frames) &&
		       frames.constructs;
	return !raw->aged;
}

/* Which function code was made for, as the code itself says. */
static uint64_t code_function(const struct v8_heap *heap, const struct v8_code *code)
{
	uint64_t data = v8_field(heap, code->object, V8_CODE_DEOPT_DATA);
	uint64_t shared = v8_array_at(heap, data, (uint64_t)heap->layout->at[V8_DEOPT_SHARED]);

	if (v8_is(heap, shared, V8_TYPE_SHARED_WRAPPER))
		shared = v8_field(heap, shared, V8_WRAPPER_SHARED);
	return shared;
}

static void name_by_positions(const struct v8_naming *naming, const struct v8_code *code)
{
	const struct v8_heap *heap = &naming->namer->heap;
	/* Where a call returns to, the position is that of the call. */
	int64_t in_code = (int64_t)(naming->raw->pc.value - code->start) - !naming->raw->innermost;
	_cleanup_free_ uint8_t *table = NULL;
	uint64_t position;
	size_t size;

	table = v8_byte_array(heap, v8_field(heap, code->object, V8_CODE_POSITIONS), &size);
	if (table &&
	    v8_positions_find(heap->layout, (struct span){ table, size }, in_code, &position))
		name_position(naming, code, position);
	else
		v8_add_outermost(naming, code->tier, -1);
}

void v8_name_optimized(const struct v8_naming *on_stack, const struct v8_code *code)
{
	const struct v8_heap *heap = &on_stack->namer->heap;
	struct v8_raw raw = *on_stack->raw;
	struct v8_function function;
	const struct v8_naming naming = { on_stack->namer, &raw, &function, on_stack->out };
	uint64_t shared = code_function(heap, code);

	if (!v8_function_read(heap, shared, &function) || !v8_is_captured(&raw, &function)) {
		v8_add_unknown(naming.out, code->tier, V8_MOVED);
		return;
	}
	/* What the stack has said of the function may have moved since, and with it the rest. */
	if (on_stack->function->shared != shared) {
		raw.function = 0;
		raw.moved |= raw.stale;
		raw.receiver = 0;
		raw.receiver_map = 0;
	}
	if (!name_by_deopt(&naming, code))
		name_by_positions(&naming, code);
}
