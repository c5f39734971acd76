// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What --if asks of a call itself, whatever it is given: how long it took, what has left it, which
 * thread made it. For filter.c.
 */
#include <string.h>

#include "value/compiler.h"

static int compare_time(struct compiler *compiler, const struct filter_node *node, size_t otherwise)
{
	if (node->path_count > 1)
		return compiler_refuse_what(compiler, node->at, "'took' is a time, without fields");
	if (node->literal != FILTER_TIME)
		return compiler_refuse_what(compiler, node->literal_at,
					    "a time with its unit, such as 5ms, should be");
	compiler_take(compiler, WATCH_TOOK);
	compiler_add_order(compiler, node->order, node->number, UINT64_MAX, otherwise);
	return 0;
}

/* An exception, or else, has left the call, or one of a type. */
static int compare_threw(struct compiler *compiler, const struct filter_node *node,
			 size_t otherwise)
{
	bool so = node->order == FILTER_EQUAL ? node->number : !node->number;

	if (node->path_count > 1)
		return compiler_refuse_what(compiler, node->at, "'threw' has no fields");
	if (node->literal == FILTER_TYPE) {
		compiler_take(compiler, WATCH_TYPES);
		compiler_add_change(compiler, WATCH_MASK, 1ULL << node->number);
		compiler_add_test(compiler, WATCH_IF_ZERO, COMPILER_VALUE, 0, otherwise);
		return 0;
	}
	if (node->literal != FILTER_BOOL ||
	    (node->order != FILTER_EQUAL && node->order != FILTER_NOT_EQUAL))
		return compiler_refuse_what(
			compiler, node->literal_at,
			"'threw' is true or false, or of a type: 'threw is System.Exception'");
	compiler_take(compiler, WATCH_LEFT);
	compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_VALUE, so, otherwise);
	return 0;
}

/* As the kernel has it: with zeros behind it. */
static int compare_thread_name(struct compiler *compiler, const struct filter_node *node,
			       size_t otherwise)
{
	uint64_t words[2] = { 0 };

	if (node->literal != FILTER_STRING || strlen(node->text) >= sizeof(words))
		return compiler_refuse_what(
			compiler, node->literal_at,
			"the name of a thread should be, in quotes, of which the kernel keeps 15 bytes");
	memcpy(words, node->text, strlen(node->text));
	compiler_take(compiler, WATCH_NAME_0);
	compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_VALUE, words[0], otherwise);
	compiler_take(compiler, WATCH_NAME_1);
	compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_VALUE, words[1], otherwise);
	return 0;
}

static int compare_thread(struct compiler *compiler, const struct filter_node *node,
			  size_t otherwise)
{
	bool is_name = node->path_count == 2 && strcmp(node->path[1], "name") == 0;
	size_t differs = compiler_label(compiler);
	int result;

	if (!is_name && (node->path_count != 2 || strcmp(node->path[1], "id") != 0))
		return compiler_refuse_what(
			compiler, node->at,
			"a thread has 'thread.id' and 'thread.name' (@thread is a "
			"parameter of that name)");
	if (!is_name && (node->literal != FILTER_NUMBER || node->negative))
		return compiler_refuse_what(compiler, node->literal_at,
					    "the id of a thread should be, a whole number");
	if (!is_name) {
		compiler_take(compiler, WATCH_TID);
		compiler_add_order(compiler, node->order, node->number, UINT64_MAX, otherwise);
		return 0;
	}
	if (node->order == FILTER_EQUAL)
		return compare_thread_name(compiler, node, otherwise);
	if (node->order != FILTER_NOT_EQUAL)
		return compiler_refuse_what(
			compiler, node->at,
			"there is a name, which is equal (==) to another or not (!=)");
	result = compare_thread_name(compiler, node, differs);
	compiler_add_jump(compiler, otherwise);
	compiler_set_label(compiler, differs);
	return result;
}

int filter_compare_call(struct compiler *compiler, const struct filter_node *node, size_t otherwise)
{
	switch (node->operand) {
	case FILTER_TOOK:
		return compare_time(compiler, node, otherwise);
	case FILTER_THREW:
		return compare_threw(compiler, node, otherwise);
	default:
		return compare_thread(compiler, node, otherwise);
	}
}
