// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/refind.h"

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
	size_t place = (uint32_t)script_id % (sizeof(known->places) / sizeof(known->places[0]));

	if (script_id <= 0 || literal_id < 0)
		return false;
	if (known && known->places[place].isolate == isolate &&
	    known->places[place].id == script_id &&
	    has_function(heap, known->places[place].script, script_id, literal_id, function))
		return true;
	search_isolate(&search, isolate);
	if (known && search.script) {
		known->places[place].isolate = isolate;
		known->places[place].id = script_id;
		known->places[place].script = search.script;
	}
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
