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

/* Finding one again ------------------------------------------------------------------------ */

enum {
	ROOTS_BYTES = 1 << 14, /* of an isolate, from its beginning, that may have the list */
	SCRIPTS_MAX = 1 << 16,
	CHECKED_MAX = 256, /* functions that are enough */

	/* Of a WeakArrayList. */
	LIST_LENGTH = 16,
	LIST_DATA = 24,

	CLEARED = 3, /* a weak reference to what is gone */
};

static uint32_t list_length(const struct v8_heap *heap, uint64_t list)
{
	uint64_t length;

	if (!v8_is(heap, list, V8_TYPE_WEAK_LIST))
		return 0;
	length = v8_word(heap, list, LIST_LENGTH);
	return v8_is_smi(length) && v8_smi(length) > 0 && v8_smi(length) <= SCRIPTS_MAX ?
		       (uint32_t)v8_smi(length) :
		       0;
}

struct search {
	const struct v8_heap *heap;
	bool (*on_script)(struct search *search, uint64_t script); /* true: it is the one */
	uint32_t left; /* entries, of the list and of scripts, that may still be looked at */
	int32_t id;
	uint64_t script; /* with that id; 0: not found */
	uint32_t right;	 /* functions that are where they should be */
	uint32_t wrong;
};

/* Is it the list of scripts? Then all that is looked for in one was looked for. */
static bool search_list(struct search *search, uint64_t list)
{
	const struct v8_heap *heap = search->heap;
	uint32_t length = list_length(heap, list);
	bool any = false;

	for (uint32_t i = 0; i < length && search->left > 0; i++) {
		uint64_t entry = v8_word(heap, list, LIST_DATA + 8 * (int32_t)i);

		search->left--;
		if ((uint32_t)entry == CLEARED)
			continue;
		if (!v8_is(heap, v8_strong(entry), V8_TYPE_SCRIPT))
			return false;
		any = true;
		if (search->on_script(search, v8_strong(entry)))
			break;
	}
	return any;
}

/* The list is one of the isolate's roots: the one that has scripts and nothing else. */
static void search_isolate(struct search *search, uint64_t isolate)
{
	search->left = SCRIPTS_MAX;
	if (!isolate || isolate % 8 != 0)
		return;
	for (int32_t at = 0; at < ROOTS_BYTES; at += 8) {
		uint64_t list = v8_word(search->heap, isolate + 1, at);

		if (v8_is_object(list) && search_list(search, list))
			break;
	}
}

static uint64_t function_at(const struct v8_heap *heap, uint64_t script, uint64_t number)
{
	return v8_strong(v8_array_at(heap, v8_field(heap, script, V8_SCRIPT_FUNCTIONS), number));
}

static bool has_id(struct search *search, uint64_t script)
{
	if (v8_smi(v8_field(search->heap, script, V8_SCRIPT_ID)) != search->id)
		return false;
	search->script = script;
	return true;
}

static bool has_function(const struct v8_heap *heap, uint64_t script, int32_t script_id,
			 int32_t literal_id, struct v8_function *function)
{
	return v8_is(heap, script, V8_TYPE_SCRIPT) &&
	       v8_function_read(heap, function_at(heap, script, (uint64_t)literal_id), function) &&
	       function->script == script && function->script_id == script_id &&
	       function->literal_id == literal_id;
}

bool v8_function_find(const struct v8_heap *heap, struct v8_script_places *known, uint64_t isolate,
		      int32_t script_id, int32_t literal_id, struct v8_function *function)
{
	struct search search = { .heap = heap, .on_script = has_id, .id = script_id };
	size_t number = (uint32_t)script_id % (sizeof(known->places) / sizeof(known->places[0]));
	struct v8_script_place *place = known ? &known->places[number] : NULL;

	if (script_id <= 0 || literal_id < 0)
		return false;
	if (place && place->isolate == isolate && place->id == script_id &&
	    has_function(heap, place->script, script_id, literal_id, function))
		return true;
	search_isolate(&search, isolate);
	if (place && search.script)
		*place = (struct v8_script_place){ isolate, search.script, script_id };
	return has_function(heap, search.script, script_id, literal_id, function);
}

static bool check_functions(struct search *search, uint64_t script)
{
	const struct v8_heap *heap = search->heap;
	uint32_t count = v8_array_length(heap, v8_field(heap, script, V8_SCRIPT_FUNCTIONS));
	struct v8_function function;

	for (uint32_t i = 0; i < count && search->left > 0; i++, search->left--) {
		/* Some were not made yet, some are gone, and one of the engine's has no number. */
		if (!v8_function_read(heap, function_at(heap, script, i), &function) ||
		    function.literal_id < 0)
			continue;
		if (function.script == script && function.literal_id == (int32_t)i)
			search->right++;
		else
			search->wrong++;
	}
	return search->right + search->wrong >= CHECKED_MAX;
}

bool v8_layout_fits(const struct v8_heap *heap, uint64_t isolate)
{
	struct search search = { .heap = heap, .on_script = check_functions };

	search_isolate(&search, isolate);
	return search.right > 0 && search.wrong == 0;
}
