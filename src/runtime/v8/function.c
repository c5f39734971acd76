// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/function.h"

#include "runtime/v8/js_string.h"

/* Of a ScopeInfo: what follows its map, word by word. */
enum {
	SCOPE_FLAGS = 0,
	SCOPE_POSITIONS = 3, /* where they come before the names */
	SCOPE_KIND = 15,
	SCOPE_RECEIVER_SHIFT = 7,
	SCOPE_RECEIVER_MASK = 3,
	SCOPE_RECEIVER_UNUSED = 3,
	SCOPE_SAVED_CLASS = 1 << 10,
	SCOPE_FUNCTION_NAME = 3 << 12,
	SCOPE_INFERRED_NAME = 1 << 14,
	NAMES_INLINE_MAX = 75, /* from that on they are in a hash table */
	LOCALS_MAX = 1 << 20,
};

/* Of a function's flags: its FunctionKind, in the lowest bits. */
enum {
	KIND_MASK = 31,
	KIND_CLASS_FIRST = 3,
	KIND_CLASS_LAST = 6,
};

struct scope {
	const struct v8_heap *heap;
	uint64_t at;
	uint32_t flags;
	int32_t next; /* word that is read next */
};

static uint64_t scope_word(const struct scope *scope, int32_t index)
{
	return v8_word(scope->heap, scope->at, 8 + 8 * index);
}

static uint64_t next_word(struct scope *scope)
{
	return scope_word(scope, scope->next++);
}

/* What cannot be read stays what it is: a function with a lost name is not one without. */
static uint64_t string_or_none(const struct v8_heap *heap, uint64_t value)
{
	return v8_string_length(heap, value) > 0 || v8_is_lost(heap, value) ? value : 0;
}

static void read_positions(struct scope *scope, int32_t at, struct v8_function *function)
{
	uint64_t start = scope_word(scope, at), end = scope_word(scope, at + 1);

	if (v8_is_smi(start) && v8_is_smi(end) && v8_smi(start) >= 0 &&
	    v8_smi(start) <= v8_smi(end)) {
		function->start = v8_smi(start);
		function->end = v8_smi(end);
	}
}

static bool skip_locals(struct scope *scope)
{
	const int32_t *at = scope->heap->layout->at;
	int32_t locals = v8_smi(scope_word(scope, at[V8_SCOPE_LOCALS]));

	if (locals < 0 || locals > LOCALS_MAX)
		return false;
	scope->next = at[V8_SCOPE_FIRST];
	if ((int32_t)(scope->flags & SCOPE_KIND) == at[V8_SCOPE_MODULE])
		scope->next++;
	scope->next += (locals < NAMES_INLINE_MAX ? locals : 1) + locals;
	return true;
}

static bool has_receiver(const struct scope *scope)
{
	uint32_t receiver = scope->flags >> SCOPE_RECEIVER_SHIFT & SCOPE_RECEIVER_MASK;

	return scope->heap->layout->at[V8_SCOPE_RECEIVER] && receiver &&
	       receiver != SCOPE_RECEIVER_UNUSED;
}

static void read_scope(const struct v8_heap *heap, uint64_t info, struct v8_function *function)
{
	struct scope scope = { .heap = heap, .at = info };
	uint64_t flags = scope_word(&scope, SCOPE_FLAGS);
	bool positions_end = heap->layout->at[V8_SCOPE_POSITIONS_END];

	/* A small integer, in later versions a number as it is. */
	scope.flags = (uint32_t)flags ? (uint32_t)flags : (uint32_t)(flags >> 32);
	if (!skip_locals(&scope))
		return;
	if (scope.flags & SCOPE_SAVED_CLASS)
		scope.next++;
	if (has_receiver(&scope))
		scope.next++;
	if (scope.flags & SCOPE_FUNCTION_NAME) {
		function->name = string_or_none(heap, next_word(&scope));
		scope.next++;
	}
	if (scope.flags & SCOPE_INFERRED_NAME)
		function->inferred = string_or_none(heap, next_word(&scope));
	read_positions(&scope, positions_end ? scope.next : SCOPE_POSITIONS, function);
}

/* What it has instead of bytecode, where it was not compiled yet or is no more. */
static void read_data(const struct v8_heap *heap, struct v8_function *function)
{
	uint64_t data = v8_field(heap, function->shared, V8_SHARED_DATA);
	int type;

	if (v8_is_smi(data) && v8_layout_has(heap->layout, V8_SHARED_UNTRUSTED_DATA))
		data = v8_field(heap, function->shared, V8_SHARED_UNTRUSTED_DATA);
	/* While one of a script is made, or goes as it is read, there may be a number, too. */
	function->builtin = v8_is_smi(data) && !function->script ? v8_smi(data) : -1;
	type = v8_type(heap, data);
	function->external =
		!function->script && type >= 0 && type == heap->layout->at[V8_TYPE_TEMPLATE];
	if (!function->inferred && type >= heap->layout->at[V8_TYPE_UNCOMPILED_FIRST] &&
	    type <= heap->layout->at[V8_TYPE_UNCOMPILED_LAST])
		function->inferred = string_or_none(heap, v8_field(heap, data, V8_UNCOMPILED_NAME));
}

bool v8_function_read(const struct v8_heap *heap, uint64_t shared, struct v8_function *function)
{
	uint64_t name, script;
	uint32_t flags;

	*function = (struct v8_function){ .shared = shared, .start = -1, .end = -1 };
	if (!v8_is(heap, shared, V8_TYPE_SHARED))
		return false;
	name = v8_field(heap, shared, V8_SHARED_NAME);
	script = v8_field(heap, shared, V8_SHARED_SCRIPT);
	flags = v8_field_u32(heap, shared, V8_SHARED_FLAGS);
	function->literal_id = (int32_t)v8_field_u32(heap, shared, V8_SHARED_LITERAL_ID);
	function->kind = (int32_t)(flags & KIND_MASK);
	function->native = flags >> heap->layout->at[V8_NATIVE_BIT] & 1;
	if (v8_is(heap, name, V8_TYPE_SCOPE_INFO))
		read_scope(heap, name, function);
	else
		function->name = string_or_none(heap, name);
	if (v8_is(heap, script, V8_TYPE_SCRIPT)) {
		function->script = script;
		function->script_id = v8_smi(v8_field(heap, script, V8_SCRIPT_ID));
	}
	read_data(heap, function);
	return true;
}

bool v8_function_of(const struct v8_heap *heap, uint64_t closure, struct v8_function *function)
{
	*function = (struct v8_function){ .builtin = -1, .start = -1, .end = -1 };
	return v8_is_function(heap, closure) &&
	       v8_function_read(heap, v8_field(heap, closure, V8_FUNCTION_SHARED), function);
}

uint64_t v8_function_bytecodes(const struct v8_heap *heap, const struct v8_function *function)
{
	enum { STEPS = 3 }; /* baseline code, what is interpreted apart, the bytecode */
	uint64_t data = v8_field(heap, function->shared, V8_SHARED_DATA);

	for (int i = 0; i < STEPS; i++) {
		if (v8_is(heap, data, V8_TYPE_BYTECODES))
			return data;
		if (v8_is(heap, data, V8_TYPE_CODE))
			data = v8_field(heap, data, V8_CODE_BYTECODES);
		else if (v8_is(heap, data, V8_TYPE_INTERPRETER))
			data = v8_field(heap, data, V8_INTERPRETER_BYTECODES);
		else
			break;
	}
	return 0;
}

bool v8_function_is_class(const struct v8_function *function)
{
	return function->kind >= KIND_CLASS_FIRST && function->kind <= KIND_CLASS_LAST;
}

uint64_t v8_function_known_as(const struct v8_function *function)
{
	return function->name ? function->name : function->inferred;
}
