// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that are active in a frame of optimised code: the one on the stack and those that
 * were inlined into it, by what the code has for deoptimisation, else by its source positions.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "runtime/v8/frame_internal.h"
#include "runtime/v8/positions.h"
#include "target/memory.h"

/* What the deoptimisation data of @code has at an index of the layout, and so much @further. */
static uint64_t deopt_at(const struct v8_heap *heap, const struct v8_code *code,
			 enum v8_field index, uint64_t further)
{
	return v8_array_at(heap, v8_field(heap, code->object, V8_CODE_DEOPT_DATA),
			   (uint64_t)heap->layout->at[index] + further);
}

/* An object that the code refers to; 0: there is none, as of a negative @index. */
static uint64_t literal_at(const struct v8_heap *heap, const struct v8_code *code, int32_t index)
{
	if (index < 0)
		return 0;
	return v8_strong(
		v8_array_at(heap, deopt_at(heap, code, V8_DEOPT_LITERALS, 0), (uint64_t)index));
}

/* The frames of a position: each that is inlined says where it was called. */
static void name_position(const struct v8_naming *naming, const struct v8_code *code,
			  uint64_t position)
{
	const struct v8_heap *heap = &naming->namer->heap;
	uint32_t number = v8_position_inlining(position);
	_cleanup_free_ uint8_t *bytes = NULL;
	struct span table = { 0 };

	if (number)
		bytes = v8_byte_array(heap, deopt_at(heap, code, V8_DEOPT_INLINING, 0), &table);
	while (number && naming->out->count < V8_FRAMES_MAX - 1) {
		struct v8_function inlined = *naming->function;
		struct v8_inlining inlining;

		if (!bytes || !v8_inlining_at(table, number, &inlining) ||
		    (inlining.literal >= 0 &&
		     !v8_function_read(heap, literal_at(heap, code, inlining.literal), &inlined))) {
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

/*
 * Which entry of the deoptimisation data the pc is of, by the table behind the instructions that
 * says where calls return to.
 */
static bool find_entry(const struct v8_naming *naming, const struct v8_code *code,
		       struct address pc, uint32_t *entry)
{
	const struct v8_heap *heap = &naming->namer->heap;
	struct look look = look_into(heap->memory);
	uint8_t head[V8_SAFEPOINTS_HEAD_BYTES];
	_cleanup_free_ uint8_t *table = NULL;
	struct v8_safepoints_form form;
	size_t size;

	if (!v8_safepoints_form(heap->layout, code->tier == V8_TIER_MAGLEV, &form))
		return false;
	look_copy(&look, code->start + code->size, head, sizeof(head));
	size = v8_safepoints_size(&form, (struct span){ head, sizeof(head) });
	table = look.bad || size == 0 ? NULL : malloc(size);
	if (!table)
		return false;
	look_copy(&look, code->start + code->size, table, size);
	return !look.bad && v8_safepoint_find(&form, (struct span){ table, size },
					      pc.value - code->start, entry);
}

/* What is active at the call that the pc returns to. */
static bool read_translation(const struct v8_naming *naming, const struct v8_code *code,
			     struct address pc, struct v8_deopt_frames *frames)
{
	const struct v8_heap *heap = &naming->namer->heap;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct span translations;
	uint64_t start;
	uint32_t entry;

	if (!heap->layout->at[V8_TRANSLATION] || !find_entry(naming, code, pc, &entry))
		return false;
	bytes = v8_byte_array(heap, deopt_at(heap, code, V8_DEOPT_TRANSLATION, 0), &translations);
	start = deopt_at(heap, code, V8_DEOPT_ENTRIES,
			 V8_DEOPT_ENTRY_WORDS * (uint64_t)entry + V8_DEOPT_ENTRY_TRANSLATION);
	return bytes && v8_is_smi(start) && v8_smi(start) >= 0 &&
	       v8_translation_frames(heap->layout, translations, (uint64_t)v8_smi(start), frames);
}

/* A function that is always the same is a literal, too; 0: it is not @function's. */
static uint64_t read_closure(const struct v8_heap *heap, uint64_t closure,
			     struct v8_function *function, bool of_function)
{
	struct v8_function found;

	if (!v8_function_of(heap, closure, &found) ||
	    (of_function && found.shared != function->shared))
		return 0;
	*function = found;
	return closure;
}

static int32_t active_position(const struct v8_naming *naming, const struct v8_code *code,
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
		bytecodes = v8_array_at(heap, deopt_at(heap, code, V8_DEOPT_PROTECTED, 0),
					(uint64_t)frame->bytecodes);
	return v8_bytecode_position(heap, function, bytecodes, frame->bytecode_offset);
}

/* One of those that are active, as its bytecode has it. */
static void name_active(const struct v8_naming *naming, const struct v8_code *code,
			const struct v8_deopt_frame *frame)
{
	const struct v8_heap *heap = &naming->namer->heap;
	struct v8_function function;
	struct v8_call call = { .function = &function, .construct = frame->construct };

	if (!v8_function_read(heap, literal_at(heap, code, frame->shared), &function)) {
		v8_add_unknown(naming->out, code->tier, V8_MOVED);
		return;
	}
	/* Maglev has the function there that calls the builtin. */
	call.closure = read_closure(heap, literal_at(heap, code, frame->closure), &function,
				    !frame->builtin);
	call.receiver = literal_at(heap, code, frame->receiver);
	v8_add_function(naming, &call, code->tier, active_position(naming, code, &function, frame),
			true);
}

static bool name_by_deopt(const struct v8_naming *naming, const struct v8_code *code)
{
	struct v8_deopt_frames frames;

	if (naming->raw->innermost || !read_translation(naming, code, naming->raw->pc, &frames))
		return false;
	for (size_t i = frames.count; i-- > 1;)
		name_active(naming, code, &frames.frames[i]);
	v8_add_outermost(naming, code->tier,
			 active_position(naming, code, naming->function, &frames.frames[0]));
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
	uint64_t shared = deopt_at(heap, code, V8_DEOPT_SHARED, 0);

	if (v8_is(heap, shared, V8_TYPE_SHARED_WRAPPER))
		shared = v8_field(heap, shared, V8_WRAPPER_SHARED);
	return shared;
}

static void name_by_positions(const struct v8_naming *naming, const struct v8_code *code)
{
	const struct v8_heap *heap = &naming->namer->heap;
	/* Where a call returns to, the position is that of the call. */
	int64_t in_code = (int64_t)(naming->raw->pc.value - code->start) - !naming->raw->innermost;
	struct span table;
	_cleanup_free_ uint8_t *bytes =
		v8_byte_array(heap, v8_field(heap, code->object, V8_CODE_POSITIONS), &table);
	uint64_t position;

	if (bytes && v8_positions_find(heap->layout, table, in_code, &position))
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
		raw.function = raw.receiver = raw.receiver_map = 0;
		raw.moved |= raw.stale;
	}
	if (!name_by_deopt(&naming, code))
		name_by_positions(&naming, code);
}
