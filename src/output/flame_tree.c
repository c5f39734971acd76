// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of --flame, as one tree from the outermost frame in: a frame is kept once, a node is
 * its parent and its frame, and has what ends in it. Frames that differ in tier or line only are
 * nodes of their own; the page draws them as one.
 */
#include "output/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"

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
	_cleanup_(text_deinit) struct text plain = { 0 };
	const char *at, *tag;

	json_string(&plain, s);
	if (!text_ok(&plain))
		to->failed = true;
	for (at = text_chars(&plain); (tag = strchr(at, '<')); at = tag + 1) {
		text_add_bytes(to, at, (size_t)(tag - at));
		text_add(to, "\\u003c");
	}
	text_add(to, at);
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

/* The number of the frame in tree->frame, which it empties. */
static uint32_t number_of_frame(struct flame_tree *tree, size_t *room)
{
	uint32_t number = interned_add_text(&tree->frames, &tree->frame, room);

	text_clear(&tree->frame);
	return number;
}

static uint32_t number_of_word(struct flame_tree *tree, const char *kind, const char *name,
			       size_t *room)
{
	text_printf(&tree->frame, "[\"%s\",", kind);
	flame_string(&tree->frame, name);
	text_add(&tree->frame, ",null,null,0,0,null,0]");
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

static uint32_t number_of_node(struct flame_tree *tree, uint32_t parent, uint32_t frame,
			       size_t *room)
{
	const struct link link = { parent, frame };
	struct flame_node *node =
		interned_row(&tree->nodes, &link, sizeof(link), sizeof(*node), room);

	if (!node)
		return INTERNED_NONE;
	node->parent = parent;
	node->frame = frame;
	return (uint32_t)(node - (struct flame_node *)tree->nodes.rows);
}

/* The node of @frame in @parent; INTERNED_NONE, as either may be, if there is no room. */
static uint32_t step(struct flame_tree *tree, uint32_t parent, uint32_t frame, size_t *room)
{
	return parent == INTERNED_NONE || frame == INTERNED_NONE ?
		       INTERNED_NONE :
		       number_of_node(tree, parent, frame, room);
}

static uint32_t add_thread(struct flame_tree *tree, const struct hit *hit, bool by_tid,
			   size_t *room)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	text_add(&name, hit->comm);
	if (by_tid)
		text_printf(&name, "-%d", (int)hit->tid);
	return step(tree, FLAME_ROOT, number_of_word(tree, KIND_THREAD, text_chars(&name), room),
		    room);
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
	size_t any = SIZE_MAX;

	return number_of_word(tree, KIND_NOTE, "all", &any) == 0 &&
	       number_of_node(tree, INTERNED_NONE, 0, &any) == FLAME_ROOT &&
	       step(tree, FLAME_ROOT, number_of_word(tree, KIND_NOTE, "other stacks", &any),
		    &any) == FLAME_OTHERS;
}

void flame_tree_deinit(struct flame_tree *tree)
{
	interned_deinit(&tree->frames);
	interned_deinit(&tree->nodes);
	text_deinit(&tree->frame);
	*tree = (struct flame_tree){ 0 };
}

/*
 * Numbers on their way into the page: seven bits a byte, the lowest first, then by zlib, then as
 * Base64. A browser takes longer to read all the letters of a page than to unpack them.
 */
enum {
	PLAIN_BYTES = 1 << 14,
	PACKED_BYTES = 3 << 12, /* whole groups of three, of which Base64 makes four letters each */
	NUMBER_BYTES = 10,
};

struct packing {
	FILE *to;
	z_stream zlib;
	size_t length; /* of @plain */
	unsigned char plain[PLAIN_BYTES + NUMBER_BYTES];
	unsigned char packed[PACKED_BYTES];
};

static void write_base64(const unsigned char *at, size_t left, FILE *to)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; left; at += 3) {
		unsigned int second = left > 1 ? at[1] : 0, third = left > 2 ? at[2] : 0;
		const char group[] = { letters[at[0] >> 2],
				       letters[(at[0] & 3U) << 4 | second >> 4],
				       left > 1 ? letters[(second & 15) << 2 | third >> 6] : '=',
				       left > 2 ? letters[third & 63] : '=' };

		fwrite(group, 1, sizeof(group), to);
		left -= left < 3 ? left : 3;
	}
}

/* Hand what is there to zlib, and what is full of that on; at the end all of it. */
static void squeeze(struct packing *packing, bool end)
{
	z_stream *zlib = &packing->zlib;
	int result;

	zlib->next_in = packing->plain;
	zlib->avail_in = (unsigned int)packing->length;
	packing->length = 0;
	do {
		result = deflate(zlib, end ? Z_FINISH : Z_NO_FLUSH);
		if (zlib->avail_out && result != Z_STREAM_END)
			continue;
		write_base64(packing->packed, PACKED_BYTES - zlib->avail_out, packing->to);
		zlib->next_out = packing->packed;
		zlib->avail_out = PACKED_BYTES;
	} while (result == Z_OK && (end || zlib->avail_in));
}

/* Numbers go to @to, within a JSON string. NULL: there is no memory. */
static struct packing *pack_begin(FILE *to)
{
	struct packing *packing = calloc(1, sizeof(*packing));

	if (!packing || deflateInit(&packing->zlib, Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(packing);
		return NULL;
	}
	packing->to = to;
	packing->zlib.next_out = packing->packed;
	packing->zlib.avail_out = PACKED_BYTES;
	return packing;
}

static void pack(struct packing *packing, uint64_t number)
{
	for (; number > 127; number >>= 7)
		packing->plain[packing->length++] = (unsigned char)(number | 128);
	packing->plain[packing->length++] = (unsigned char)number;
	if (packing->length >= PLAIN_BYTES)
		squeeze(packing, false);
}

/* Write the rest; NULL is fine. */
static void pack_end(struct packing *packing)
{
	if (!packing)
		return;
	squeeze(packing, true);
	deflateEnd(&packing->zlib);
	free(packing);
}

/* Writing ------------------------------------------------------------------------------------- */

enum { COLUMNS = 2 * FLAME_RUNS };

static uint64_t column(const struct flame_node *node, unsigned int which)
{
	return which < FLAME_RUNS ? node->count[which] : node->time_ns[which - FLAME_RUNS];
}

/* The first callee of each node, and the next one of its caller. */
struct order {
	uint32_t first, next;
};

/* Of all nodes, for the caller to free; NULL: no memory. */
static struct order *make_order(const struct flame_tree *tree)
{
	const struct flame_node *nodes = tree->nodes.rows;
	struct order *order = malloc(tree->nodes.count * sizeof(*order));

	if (!order)
		return NULL;
	memset(order, 0xff, tree->nodes.count * sizeof(*order));
	for (size_t i = tree->nodes.count - 1; i > FLAME_ROOT; i--) {
		uint32_t *first = &order[nodes[i].parent].first;

		order[i].next = *first;
		*first = (uint32_t)i;
	}
	return order;
}

/* Callers before callees: of each how many calls end before it, its frame, and @columns of it. */
static void pack_nodes(const struct flame_tree *tree, const struct order *order,
		       const bool columns[COLUMNS], struct packing *packing)
{
	const struct flame_node *nodes = tree->nodes.rows;
	uint32_t at = FLAME_ROOT, ended = 0;

	while (at != INTERNED_NONE) {
		pack(packing, ended);
		pack(packing, nodes[at].frame);
		for (unsigned int i = 0; i < COLUMNS; i++) {
			if (columns[i])
				pack(packing, column(&nodes[at], i));
		}
		ended = 0;
		if (order[at].first != INTERNED_NONE) {
			at = order[at].first;
			continue;
		}
		for (ended = 1; at != FLAME_ROOT && order[at].next == INTERNED_NONE; ended++)
			at = nodes[at].parent;
		at = at == FLAME_ROOT ? INTERNED_NONE : order[at].next;
	}
}

static void write_nodes(const struct flame_tree *tree, struct output *output)
{
	static const char *const names[COLUMNS] = { "count", "base_count", "time", "base_time" };
	const struct flame_node *nodes = tree->nodes.rows;
	struct packing *packing = pack_begin(output->to);
	_cleanup_free_ struct order *order = make_order(tree);
	bool columns[COLUMNS] = { 0 };
	const char *separator = "";

	for (size_t i = 0; i < tree->nodes.count; i++) {
		for (unsigned int j = 0; j < COLUMNS; j++)
			columns[j] |= column(&nodes[i], j) > 0;
	}
	fprintf(output->to, "\"nodes\":{\"count\":%zu,\"columns\":[", tree->nodes.count);
	for (unsigned int i = 0; i < COLUMNS; i++) {
		if (!columns[i])
			continue;
		fprintf(output->to, "%s\"%s\"", separator, names[i]);
		separator = ",";
	}
	fputs("],\n\"packed\":\"", output->to);
	if (packing && order)
		pack_nodes(tree, order, columns, packing);
	else
		output->line.failed = true;
	pack_end(packing);
	fputs("\"}", output->to);
}

void flame_tree_write(const struct flame_tree *tree, struct output *output)
{
	fputs("\"frames\":[", output->to);
	for (size_t i = 0; i < tree->frames.count; i++) {
		fputs(i ? ",\n" : "\n", output->to);
		fwrite(tree->frames.items[i].bytes, 1, tree->frames.items[i].length, output->to);
	}
	fputs("],\n", output->to);
	write_nodes(tree, output);
	output_line(output);
}
