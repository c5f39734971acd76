// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of --flame, as one tree from the outermost frame in: a frame is kept once, a node is its
 * parent and its frame, and has what ends in it. Frames that differ in tier or line only are nodes of
 * their own; the page draws them as one.
 */
#include "output/flame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/vector.h"

/* How a frame of the page begins; those of functions are frame_kind_name(). */
#define KIND_THREAD "thread"
#define KIND_NOTE   "note"

/* Bits of a frame of the page. */
enum { FRAME_IS_INLINED = 1, FRAME_IS_GUESSED = 2, FRAME_IS_TOLD_BY_LINE = 4 };

struct link {
	uint32_t parent;
	uint32_t frame;
};

void flame_string(struct text *to, const char *s)
{
	struct text plain = { 0 };
	const char *at, *tag;

	json_string(&plain, s);
	if (!text_ok(&plain))
		to->failed = true;
	for (at = text_chars(&plain); (tag = strchr(at, '<')); at = tag + 1) {
		text_add_bytes(to, at, (size_t)(tag - at));
		text_add(to, "\\u003c");
	}
	text_add(to, at);
	text_deinit(&plain);
}

void flame_put(struct output *output, struct text *line)
{
	text_add_bytes(&output->line, text_chars(line), line->length);
	output_line(output);
	text_clear(line);
}

/* [KIND,NAME,MODULE,SOURCE,LINE,COLUMN,TIER,BITS], which page/model.js reads. */
static void add_function(struct text *to, const struct frame *frame)
{
	int bits = (frame->inlined ? FRAME_IS_INLINED : 0) |
		   (frame->guessed ? FRAME_IS_GUESSED : 0) |
		   (output_is_told_by_line(frame) ? FRAME_IS_TOLD_BY_LINE : 0);

	text_printf(to, "[\"%s\",", frame_kind_name(frame->kind));
	flame_string(to, frame->name);
	text_add_char(to, ',');
	flame_string(to, frame->module);
	text_add_char(to, ',');
	flame_string(to, frame->source);
	text_printf(to, ",%" PRIu32 ",%" PRIu32 ",", frame->line, frame->column);
	flame_string(to, frame->tier);
	text_printf(to, ",%d]", bits);
}

static void add_word(struct text *to, const char *kind, const char *name)
{
	text_printf(to, "[\"%s\",", kind);
	flame_string(to, name);
	text_add(to, ",null,null,0,0,null,0]");
}

/* The number of the frame in tree->frame, which it empties. */
static uint32_t number_of_frame(struct flame_tree *tree, size_t *room)
{
	uint32_t number = INTERNED_NONE;

	if (text_ok(&tree->frame))
		number = interned_add(&tree->frames, text_chars(&tree->frame), tree->frame.length,
				      room);
	text_clear(&tree->frame);
	return number;
}

static uint32_t number_of_word(struct flame_tree *tree, const char *kind, const char *name,
			       size_t *room)
{
	add_word(&tree->frame, kind, name);
	return number_of_frame(tree, room);
}

static uint32_t number_of_function(struct flame_tree *tree, const struct frame *frame, size_t *room)
{
	/* What is kept with a frame does not say whether it was guessed. */
	struct rendering *rendering = frame->guessed ? NULL : frame->rendering;
	uint32_t number;

	if (output_known_number(rendering, &number))
		return number;
	add_function(&tree->frame, frame);
	number = number_of_frame(tree, room);
	if (number != INTERNED_NONE)
		output_keep_number(rendering, number);
	return number;
}

/* The node of @frame in @parent; INTERNED_NONE, as either may be, if there is no room. */
static uint32_t step(struct flame_tree *tree, uint32_t parent, uint32_t frame, size_t *room)
{
	const struct link link = { parent, frame };
	const struct flame_node node = { .parent = parent, .frame = frame };
	uint32_t number;

	if (parent == INTERNED_NONE || frame == INTERNED_NONE)
		return INTERNED_NONE;
	number = interned_add(&tree->links, &link, sizeof(link), room);
	if (number == INTERNED_NONE || number < tree->count)
		return number;
	/* Beyond the next there are those that have a number and no node. */
	if (number > tree->count || !interned_take(room, sizeof(node)) ||
	    !vector_add(&tree->nodes, &tree->count, &tree->capacity, node))
		return INTERNED_NONE;
	return number;
}

static uint32_t add_thread(struct flame_tree *tree, const struct hit *hit, bool by_tid,
			   size_t *room)
{
	struct text name = { 0 };
	uint32_t frame;

	text_add(&name, hit->comm);
	if (by_tid)
		text_printf(&name, "-%d", (int)hit->tid);
	frame = number_of_word(tree, KIND_THREAD, text_chars(&name), room);
	text_deinit(&name);
	return step(tree, FLAME_ROOT, frame, room);
}

uint32_t flame_tree_add(struct flame_tree *tree, const struct hit *hit, bool by_tid, size_t *room)
{
	const struct stack *stack = hit->stack;
	const struct frame method = { .name = hit->method, .tier = hit->tier };
	uint32_t at = add_thread(tree, hit, by_tid, room);

	if (stack && stack->end != STACK_WHOLE)
		at = step(tree, at,
			  number_of_word(tree, KIND_NOTE, stack_end_name(stack->end), room), room);
	for (size_t i = stack ? stack->count : 0; i > 0 && at != INTERNED_NONE; i--)
		at = step(tree, at, number_of_function(tree, &stack->frames[i - 1], room), room);
	if ((!stack || !stack->count) && at != INTERNED_NONE)
		at = step(tree, at, number_of_function(tree, &method, room), room);
	return at == INTERNED_NONE ? FLAME_OTHERS : at;
}

bool flame_tree_init(struct flame_tree *tree)
{
	const struct flame_node root = { .parent = INTERNED_NONE };
	size_t any = SIZE_MAX;
	const struct link top = { INTERNED_NONE, 0 };

	if (number_of_word(tree, KIND_NOTE, "all", &any) != 0 ||
	    interned_add(&tree->links, &top, sizeof(top), &any) != FLAME_ROOT ||
	    !vector_add(&tree->nodes, &tree->count, &tree->capacity, root))
		return false;
	return step(tree, FLAME_ROOT, number_of_word(tree, KIND_NOTE, "other stacks", &any),
		    &any) == FLAME_OTHERS;
}

void flame_tree_deinit(struct flame_tree *tree)
{
	interned_deinit(&tree->frames);
	interned_deinit(&tree->links);
	free(tree->nodes);
	text_deinit(&tree->frame);
	*tree = (struct flame_tree){ 0 };
}

/* Columns, which are read faster than rows --------------------------------------------------- */

static uint64_t column(const struct flame_node *node, unsigned int which)
{
	switch (which) {
	case 0:
		return node->parent;
	case 1:
		return node->frame;
	case 2:
	case 3:
		return node->count[which - 2];
	default:
		return node->time_ns[which - 4];
	}
}

static void write_column(const struct flame_tree *tree, struct output *output, const char *name,
			 unsigned int which)
{
	bool any = which < 2;

	for (size_t i = 0; i < tree->count && !any; i++)
		any = column(&tree->nodes[i], which);
	if (!any)
		return;
	fprintf(output->to, "%s\"%s\":[", which ? ",\n" : "", name);
	for (size_t i = 0; i < tree->count; i++) {
		if (i)
			fputc(',', output->to);
		if (which == 0 && i == FLAME_ROOT)
			fputs("-1", output->to);
		else
			fprintf(output->to, "%" PRIu64, column(&tree->nodes[i], which));
	}
	fputc(']', output->to);
}

void flame_tree_write(const struct flame_tree *tree, struct output *output)
{
	static const char *const columns[] = { "parent",     "frame", "count",
					       "base_count", "time",  "base_time" };

	fputs("\"frames\":[", output->to);
	for (size_t i = 0; i < tree->frames.count; i++) {
		fputs(i ? ",\n" : "\n", output->to);
		fwrite(tree->frames.items[i].bytes, 1, tree->frames.items[i].length, output->to);
	}
	fputs("],\n\"nodes\":{", output->to);
	for (unsigned int i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		write_column(tree, output, columns[i], i);
	fputc('}', output->to);
}
