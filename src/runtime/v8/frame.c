// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/frame_internal.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "runtime/v8/js_string.h"
#include "runtime/v8/positions.h"
#include "runtime/v8/properties.h"

enum { NAME, FUNCTION, SCRIPT };

#define NO_STRING SIZE_MAX

int v8_namer_create(struct v8_namer **out, struct memory *memory, const struct v8_layout *layout,
		    struct error *err)
{
	struct v8_namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return error_set(err, -ENOMEM, "no memory for the names of JavaScript functions");
	namer->heap = (struct v8_heap){ memory, layout };
	v8_scripts_begin(&namer->scripts);
	*out = namer;
	return 0;
}

void v8_namer_forget_places(struct v8_namer *namer)
{
	namer->places = (struct v8_script_places){ 0 };
}

/* By its numbers, wherever it is by now. */
static bool find_alive(struct v8_namer *namer, const struct v8_raw *raw,
		       struct v8_function *function)
{
	return v8_function_find(&namer->heap, &namer->places, raw->isolate, raw->script_id,
				raw->literal_id, function);
}

bool v8_namer_has_function(struct v8_namer *namer, const struct v8_raw *raw)
{
	struct v8_function function;

	return find_alive(namer, raw, &function);
}

void v8_namer_destroy(struct v8_namer *namer)
{
	if (!namer)
		return;
	v8_scripts_deinit(&namer->scripts);
	free(namer);
}

bool v8_marker_is(const struct v8_layout *layout, uint64_t marker, enum v8_field kind)
{
	/* It is no small integer as in objects: it is not shifted that far. */
	return v8_is_smi(marker) && v8_layout_has(layout, kind) &&
	       marker >> 1 == (uint64_t)layout->at[kind];
}

bool v8_marker_constructs(const struct v8_layout *layout, uint64_t marker)
{
	return v8_marker_is(layout, marker, V8_FRAME_CONSTRUCT) ||
	       v8_marker_is(layout, marker, V8_FRAME_FAST_CONSTRUCT);
}

/* "entry" and the like; NULL: it is not known. */
static const char *marker_name(const struct v8_layout *layout, uint64_t marker)
{
	static const struct {
		enum v8_field kind;
		const char *name;
	} names[] = {
		{ V8_FRAME_ENTRY, "entry" },
		{ V8_FRAME_CONSTRUCT_ENTRY, "construct entry" },
		{ V8_FRAME_EXIT, "exit" },
		{ V8_FRAME_BUILTIN_EXIT, "builtin exit" },
		{ V8_FRAME_API_EXIT, "API callback exit" },
		{ V8_FRAME_CONSTRUCT, "construct" },
		{ V8_FRAME_FAST_CONSTRUCT, "fast construct" },
		{ V8_FRAME_STUB, "stub" },
		{ V8_FRAME_INTERNAL, "internal" },
		{ V8_FRAME_WASM, "WebAssembly" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (v8_marker_is(layout, marker, names[i].kind))
			return names[i].name;
	}
	return NULL;
}

/* Adding frames ---------------------------------------------------------------------------- */

static struct v8_frame *add_frame(struct v8_frames *out, enum v8_frame_kind kind, enum v8_tier tier)
{
	struct v8_frame *frame = &out->frames[out->count];
	size_t *strings = out->string_at[out->count++];

	*frame = (struct v8_frame){ .kind = kind, .tier = tier };
	strings[NAME] = strings[FUNCTION] = strings[SCRIPT] = NO_STRING;
	return frame;
}

void v8_add_unknown(struct v8_frames *out, enum v8_tier tier, enum v8_reason reason)
{
	if (out->count < V8_FRAMES_MAX)
		add_frame(out, V8_UNKNOWN, tier)->reason = reason;
}

void v8_frames_lose(struct v8_frames *frames)
{
	frames->count = 0;
	v8_add_unknown(frames, V8_TIER_NONE, V8_MOVED);
}

/* What was added from @begin on: if that is not the @whole string, there is none. */
static size_t end_string(struct v8_frames *out, size_t begin, bool whole)
{
	if (!whole) {
		text_cut(&out->strings, begin);
		return NO_STRING;
	}
	text_add_char(&out->strings, '\0');
	return begin;
}

static void add_strings(const struct v8_naming *naming, const struct v8_call *call)
{
	const struct v8_heap *heap = &naming->namer->heap;
	struct v8_frames *out = naming->out;
	size_t *strings = out->string_at[out->count - 1];
	uint64_t known_as = v8_function_known_as(call->function);
	size_t begin = out->strings.length;
	bool whole = v8_add_call_name(heap, call, naming->raw->moving, out);

	strings[NAME] = end_string(out, begin, whole);
	begin = out->strings.length;
	whole = !known_as || v8_string_add(heap, known_as, V8_NAME_MAX, &out->strings);
	strings[FUNCTION] = end_string(out, begin, whole);
	begin = out->strings.length;
	whole = v8_script_add_name(heap, call->function->script, &out->strings);
	strings[SCRIPT] = end_string(out, begin, whole);
}

void v8_add_function(const struct v8_naming *naming, const struct v8_call *call, enum v8_tier tier,
		     int32_t at, bool inlined)
{
	const struct v8_function *function = call->function;
	/* Builtins that stack traces do not show either carry no function of anyone's. */
	bool stub = (function->builtin >= 0 && !function->native) || function->external;
	uint64_t isolate = naming->raw->isolate;
	struct v8_frame *frame;

	if (naming->out->count == V8_FRAMES_MAX)
		return;
	frame = add_frame(naming->out, stub ? V8_STUB : V8_FUNCTION, tier);
	frame->inlined = inlined;
	frame->script_id = function->script_id;
	frame->literal_id = function->literal_id;
	frame->script_object = function->script;
	add_strings(naming, call);
	if (function->script &&
	    !v8_script_position(&naming->namer->scripts, &naming->namer->heap,
				isolate ? isolate : function->script, function->script, at,
				&frame->line, &frame->column))
		frame->reason = V8_NO_POSITION;
	if (naming->out->string_at[naming->out->count - 1][NAME] == NO_STRING ||
	    v8_script_has_lost_name(&naming->namer->heap, function->script))
		frame->reason = V8_MOVED;
}

void v8_add_outermost(const struct v8_naming *naming, enum v8_tier tier, int32_t at)
{
	const struct v8_call call = {
		.function = naming->function,
		.closure = naming->raw->function,
		.receiver = naming->raw->receiver,
		.receiver_map = naming->raw->receiver_map,
		.construct = naming->raw->construct,
		.moved = naming->raw->moved,
		.stale = naming->raw->stale,
	};

	v8_add_function(naming, &call, tier, at, false);
}

/* Interpreter and baseline code ------------------------------------------------------------ */

int32_t v8_bytecode_position(const struct v8_heap *heap, const struct v8_function *function,
			     uint64_t bytecodes, int64_t offset)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct span table;
	uint64_t position;

	if (!v8_is(heap, bytecodes, V8_TYPE_BYTECODES))
		return -1;
	bytes = v8_byte_array(heap, v8_field(heap, bytecodes, V8_BYTECODES_SOURCE_POSITIONS),
			      &table);
	if (!bytes)
		return -1;
	if (v8_positions_find(heap->layout, table, offset, &position))
		return v8_position_offset(position);
	/* It is being entered, if there are any. */
	return v8_positions_find(heap->layout, table, INT32_MAX, &position) ? function->start : -1;
}

/* Another function may be where the one on the stack was, but not with the same bytecode. */
static bool is_same_function(const struct v8_naming *naming)
{
	uint64_t bytecodes = v8_function_bytecodes(&naming->namer->heap, naming->function);

	return !bytecodes || bytecodes == naming->raw->bytecodes;
}

static void name_interpreted(const struct v8_naming *naming)
{
	const struct v8_heap *heap = &naming->namer->heap;
	/* Counted from the object's tag. */
	int64_t offset =
		(int64_t)v8_smi(naming->raw->offset) - heap->layout->at[V8_BYTECODES_DATA] + 1;

	if (!is_same_function(naming))
		v8_add_unknown(naming->out, V8_TIER_INTERPRETER, V8_MOVED);
	else
		v8_add_outermost(naming, V8_TIER_INTERPRETER,
				 v8_bytecode_position(heap, naming->function,
						      naming->raw->bytecodes, offset));
}

static int32_t baseline_position(const struct v8_naming *naming, const struct v8_code *code)
{
	const struct v8_heap *heap = &naming->namer->heap;
	uint64_t in_code = naming->raw->pc.value - code->start + naming->raw->innermost;
	struct span table, bytecodes;
	_cleanup_free_ uint8_t *of_table =
		v8_byte_array(heap, v8_field(heap, code->object, V8_CODE_POSITIONS), &table);
	_cleanup_free_ uint8_t *of_bytecodes =
		v8_bytecodes(heap, naming->raw->bytecodes, &bytecodes);
	int32_t offset;

	if (!of_table || !of_bytecodes ||
	    !v8_baseline_offset(heap->layout, table, bytecodes, in_code, &offset))
		return -1;
	return v8_bytecode_position(heap, naming->function, naming->raw->bytecodes,
				    offset < 0 ? 0 : offset);
}

/* The code may have been thrown away, and be there all the same. */
static bool is_baseline_of(const struct v8_naming *naming, const struct v8_code *code)
{
	return is_same_function(naming) &&
	       (!naming->raw->aged || v8_field(&naming->namer->heap, naming->function->shared,
					       V8_SHARED_DATA) == code->object);
}

/* All kinds -------------------------------------------------------------------------------- */

/* @known: the function on the stack is what it was. Optimised code says it, too. */
static void name_in_heap(const struct v8_naming *naming, bool known)
{
	const struct v8_heap *heap = &naming->namer->heap;
	struct v8_code code;

	/* Where it was there may be other code, of the same function, too. */
	if (naming->raw->unsure) {
		v8_add_unknown(naming->out, V8_TIER_NONE, V8_MOVED);
		return;
	}
	if (!v8_code_find(&naming->namer->codes, heap, naming->raw->isolate, naming->raw->pc,
			  naming->raw->lowest, &code)) {
		v8_add_unknown(naming->out, V8_TIER_NONE, V8_NO_CODE);
		return;
	}
	naming->out->by_pc = true;
	if (code.tier == V8_TIER_MAGLEV || code.tier == V8_TIER_TURBOFAN) {
		/* Nothing that is known to be alive says whether it is. */
		if (naming->raw->aged)
			v8_add_unknown(naming->out, code.tier, V8_MOVED);
		else
			v8_name_optimized(naming, &code);
	} else if (!known || (code.tier == V8_TIER_BASELINE && !is_baseline_of(naming, &code))) {
		v8_add_unknown(naming->out, code.tier, V8_MOVED);
	} else if (code.tier == V8_TIER_BASELINE) {
		v8_add_outermost(naming, code.tier, baseline_position(naming, &code));
	} else {
		v8_add_outermost(naming, V8_TIER_BUILTIN, -1);
	}
}

bool v8_is_captured(const struct v8_raw *raw, const struct v8_function *function)
{
	return !raw->script_id ||
	       (function->script_id == raw->script_id && function->literal_id == raw->literal_id);
}

/* Is it there as it was captured? */
static bool read_captured(const struct v8_heap *heap, const struct v8_raw *raw,
			  struct v8_function *function)
{
	bool found = raw->shared ? v8_function_read(heap, raw->shared, function) :
				   v8_function_of(heap, raw->function, function);

	return found && v8_is_captured(raw, function);
}

/* Nothing tells whether one is alive that is in no script; the language's own are, always. */
static bool is_immortal(const struct v8_raw *raw, const struct v8_function *function)
{
	return !raw->script_id && (function->builtin >= 0 || function->external);
}

/* The function on the stack, also where it has moved; what else was captured has then as well. */
static bool read_function(struct v8_namer *namer, struct v8_raw *raw, struct v8_function *function)
{
	const struct v8_heap *heap = &namer->heap;
	bool there = read_captured(heap, raw, function);

	if ((!there || (raw->aged && !is_immortal(raw, function))) &&
	    !find_alive(namer, raw, function))
		return false;
	if (there && (!raw->shared || function->shared == raw->shared)) {
		/* Of what is being entered there may be no bytecode on the stack yet. */
		if (!raw->innermost && !v8_is(heap, raw->bytecodes, V8_TYPE_BYTECODES))
			raw->bytecodes = v8_function_bytecodes(heap, function);
		return true;
	}
	raw->function = raw->receiver = raw->receiver_map = 0;
	raw->moved = true;
	raw->bytecodes = v8_function_bytecodes(heap, function);
	return true;
}

/*
 * One of the language. Optimised code calls some that are constructors without a frame between, and
 * says so itself.
 */
static void name_builtin(const struct v8_naming *naming, struct v8_raw *raw)
{
	const struct v8_heap *heap = &naming->namer->heap;

	naming->out->by_pc = true;
	if (raw->outer_pc.value && !raw->construct &&
	    (!raw->function || v8_map_is_of_constructors(heap, v8_word(heap, raw->function, 0)))) {
		naming->out->by_outer = true;
		if (raw->outer_unsure || !v8_is_constructed(naming, &raw->construct)) {
			v8_add_unknown(naming->out, V8_TIER_BUILTIN, V8_MOVED);
			return;
		}
	}
	v8_add_outermost(naming, V8_TIER_BUILTIN, -1);
}

static void name_function(struct v8_namer *namer, const struct v8_raw *captured,
			  struct v8_frames *out)
{
	struct v8_raw raw = *captured;
	struct v8_function function;
	const struct v8_naming naming = { namer, &raw, &function, out };
	bool known = read_function(namer, &raw, &function);
	bool has_bytecodes = v8_is(&namer->heap, raw.bytecodes, V8_TYPE_BYTECODES);

	/* It has one of the language, which may be one that stack traces show. */
	if (v8_marker_is(namer->heap.layout, raw.marker, V8_FRAME_BUILTIN_EXIT)) {
		if (known)
			v8_add_outermost(&naming, V8_TIER_BUILTIN, -1);
		else
			v8_add_unknown(out, V8_TIER_BUILTIN, V8_MOVED);
	} else if (raw.place == V8_IN_HEAP) {
		name_in_heap(&naming, known);
	} else if (!known) {
		v8_add_unknown(out, V8_TIER_NONE, V8_MOVED);
	} else if (function.builtin >= 0) {
		name_builtin(&naming, &raw);
	} else if (has_bytecodes && v8_is_smi(raw.offset)) {
		name_interpreted(&naming);
	} else if (has_bytecodes) {
		/* A builtin without a frame of its own, which baseline code calls when entered. */
		v8_add_outermost(&naming, V8_TIER_BASELINE, function.start);
	} else {
		v8_add_outermost(&naming, V8_TIER_NONE, -1);
	}
}

static void name_marked(const struct v8_layout *layout, uint64_t marker, struct v8_frames *out)
{
	const char *name = marker_name(layout, marker);

	(void)add_frame(out, V8_STUB, V8_TIER_NONE);
	if (!name)
		return;
	text_add(&out->strings, name);
	out->string_at[0][NAME] = end_string(out, 0, true);
}

static const char *string_of(const struct v8_frames *frames, size_t at)
{
	return at == NO_STRING ? NULL : text_chars(&frames->strings) + at;
}

void v8_namer_name(struct v8_namer *namer, const struct v8_raw *raw, struct v8_frames *out)
{
	out->count = 0;
	out->by_pc = out->by_object = out->by_outer = out->plain = false;
	text_clear(&out->strings);
	v8_scripts_begin(&namer->scripts);
	if (v8_is_smi(raw->marker) &&
	    !v8_marker_is(namer->heap.layout, raw->marker, V8_FRAME_BUILTIN_EXIT))
		name_marked(namer->heap.layout, raw->marker, out);
	else
		name_function(namer, raw, out);
	if (!text_ok(&out->strings)) {
		text_deinit(&out->strings);
		out->count = 0;
		v8_add_unknown(out, V8_TIER_NONE, V8_NO_MEMORY);
	}
	for (size_t i = 0; i < out->count; i++) {
		out->frames[i].name = string_of(out, out->string_at[i][NAME]);
		out->frames[i].function = string_of(out, out->string_at[i][FUNCTION]);
		out->frames[i].script = string_of(out, out->string_at[i][SCRIPT]);
	}
}

bool v8_namer_source(const struct v8_namer *namer, uint64_t script, struct text *source)
{
	uint64_t string = v8_field(&namer->heap, script, V8_SCRIPT_SOURCE);

	return v8_string_length(&namer->heap, string) <= V8_SOURCE_MAX &&
	       v8_string_add(&namer->heap, string, V8_SOURCE_MAX, source) && text_ok(source);
}
