// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings, frames, stacks and threads of a record that is read: what has a number in it. */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "record/numbers.h"
#include "record/reading.h"

enum {
	RENDERINGS_BYTES = 256 << 20, /* about, that formats may keep of stacks */
	FRAME_TEXT_BYTES = 64,	      /* about, beside its strings */
};

void read_tables_deinit(struct read_tables *tables)
{
	for (size_t i = 0; i < tables->string_count; i++) {
		free(tables->strings[i].is);
		free(tables->strings[i].printable);
	}
	for (size_t i = 0; i < tables->stack_count; i++) {
		free(tables->stacks[i].is.frames);
		free(tables->stacks[i].rendering.text);
	}
	free(tables->strings);
	free(tables->frames);
	free(tables->stacks);
	free(tables->threads);
	*tables = (struct read_tables){ .no_memory = tables->no_memory };
}

/* The place of the next number in a table of @count; SIZE_MAX and a bad cursor if it is in none. */
static size_t take_place(struct cursor *c, size_t count)
{
	uint64_t number = number_take(c);

	if (number && number <= count)
		return (size_t)number - 1;
	c->bad = true;
	return SIZE_MAX;
}

static const struct read_string *take_string(const struct read_tables *tables, struct cursor *c)
{
	size_t place = take_place(c, tables->string_count);

	return place == SIZE_MAX ? NULL : &tables->strings[place];
}

/* Is the next number 0? Then it is taken. */
static bool take_null(struct cursor *c)
{
	if (!cursor_left(c) || *c->pos)
		return false;
	cursor_skip(c, 1);
	return true;
}

const char *read_string(struct read_tables *tables, struct cursor *c)
{
	const struct read_string *string = take_string(tables, c);

	return string ? string->is : "";
}

const char *read_printable(struct read_tables *tables, struct cursor *c)
{
	const struct read_string *string = take_string(tables, c);

	return !string ? "" : string->printable ? string->printable : string->is;
}

const char *read_string_or_null(struct read_tables *tables, struct cursor *c)
{
	return take_null(c) ? NULL : read_string(tables, c);
}

const char *read_printable_or_null(struct read_tables *tables, struct cursor *c)
{
	return take_null(c) ? NULL : read_printable(tables, c);
}

struct read_stack *read_stack_or_null(struct read_tables *tables, struct cursor *c)
{
	size_t place = take_null(c) ? SIZE_MAX : take_place(c, tables->stack_count);

	return place == SIZE_MAX ? NULL : &tables->stacks[place];
}

const struct read_thread *read_thread(struct read_tables *tables, struct cursor *c)
{
	static const struct read_thread none = { .comm = "" };
	size_t place = take_place(c, tables->thread_count);

	return place == SIZE_MAX ? &none : &tables->threads[place];
}

void *read_list(struct read_tables *tables, struct cursor *c, uint64_t count, size_t size)
{
	void *list = NULL;

	if (count > cursor_left(c))
		c->bad = true;
	else
		list = calloc((size_t)count + 1, size);
	tables->no_memory |= !list && !c->bad;
	return list;
}

const char **read_strings(struct read_tables *tables, struct cursor *c, bool printable)
{
	uint64_t number = number_take(c);
	const char **list = number ? read_list(tables, c, number - 1, sizeof(*list)) : NULL;

	for (size_t i = 0; list && i < number - 1; i++)
		list[i] = printable ? read_printable(tables, c) : read_string(tables, c);
	return list;
}

struct output_unshown *read_unshown(struct read_tables *tables, struct cursor *c)
{
	/* The last list of a summary is not in records of format 1.0. */
	uint64_t count = cursor_left(c) ? number_take(c) : 0;
	struct output_unshown *list = read_list(tables, c, count, sizeof(*list));

	for (uint64_t i = 0; list && i < count; i++) {
		list[i].method = read_printable(tables, c);
		list[i].sampled_out = number_take(c);
		list[i].shed = number_take(c);
	}
	return list;
}

/* New ones ------------------------------------------------------------------------------------ */

static void add_string(struct read_tables *tables, struct cursor *c)
{
	size_t length = cursor_left(c);
	struct read_string string = { 0 };
	struct span bytes = cursor_take(c, length);

	if (length > RECORD_STRING_MAX_BYTES || tables->string_count >= RECORD_STRINGS_MAX ||
	    length > RECORD_STRINGS_MAX_BYTES - tables->string_bytes ||
	    (length && memchr(bytes.start, '\0', length))) {
		c->bad = true;
		return;
	}
	string.is = strndup(length ? (const char *)bytes.start : "", length);
	string.printable = string.is ? strdup(string.is) : NULL;
	if (!string.printable || !vector_add(&tables->strings, &tables->string_count,
					     &tables->string_capacity, string)) {
		free(string.is);
		free(string.printable);
		tables->no_memory = true;
		return;
	}
	tables->string_bytes += length;
	text_make_printable(string.printable, length);
	if (strcmp(string.is, string.printable) == 0) {
		free(string.printable);
		tables->strings[tables->string_count - 1].printable = NULL;
	}
}

static void add_frame(struct read_tables *tables, struct cursor *c)
{
	struct frame frame = { .kind = FRAME_UNKNOWN };
	uint64_t kind = number_take(c), flags = number_take(c);
	struct cursor name;

	c->bad |= kind > FRAME_V8 || tables->frame_count >= RECORD_FRAMES_MAX;
	frame.kind = (enum frame_kind)kind;
	frame.inlined = flags & RECORD_FRAME_INLINED;
	frame.in_file = flags & RECORD_FRAME_IN_FILE;
	frame.address.value = number_take(c);
	name = *c;
	frame.name = read_string_or_null(tables, c);
	frame.module = read_string_or_null(tables, c);
	frame.offset = number_take(c);
	frame.file_offset = number_take(c);
	frame.source = read_string_or_null(tables, c);
	frame.line = (uint32_t)number_take(c);
	frame.column = (uint32_t)number_take(c);
	frame.made_from = read_printable_or_null(tables, c);
	frame.tier = read_printable_or_null(tables, c);
	/* Names of others are printable where they come from, and are written as they are. */
	if (!frame_is_script(&frame))
		frame.name = read_printable_or_null(tables, &name);
	tables->no_memory |= cursor_ok(c) && !vector_add(&tables->frames, &tables->frame_count,
							 &tables->frame_capacity, frame);
}

static size_t bytes_of(const char *s)
{
	return s ? strlen(s) : 0;
}

static size_t frame_bytes(const struct frame *frame)
{
	return FRAME_TEXT_BYTES + bytes_of(frame->name) + bytes_of(frame->module) +
	       bytes_of(frame->source) + bytes_of(frame->made_from);
}

/* @count frames, without those that are not managed. */
static bool add_frames(const struct read_tables *tables, struct cursor *c, size_t count,
		       bool managed, struct stack *stack)
{
	size_t bytes = 0;

	stack->frames = calloc(count + 1, sizeof(*stack->frames));
	for (size_t i = 0; stack->frames && i < count && cursor_ok(c); i++) {
		uint64_t number = number_take(c), place = (number >> RECORD_IN_STACK_BITS) - 1;
		struct frame *frame = &stack->frames[stack->count];

		if (place >= tables->frame_count || bytes > RECORD_STACK_MAX_BYTES) {
			c->bad = true;
			break;
		}
		*frame = tables->frames[place];
		frame->guessed = number & RECORD_IN_STACK_GUESSED;
		frame->unmanaged = number & RECORD_IN_STACK_UNMANAGED;
		bytes += frame_bytes(frame);
		if (!managed || !frame->unmanaged)
			stack->count++;
	}
	return stack->frames;
}

static void add_stack(struct read_tables *tables, struct cursor *c, bool managed)
{
	uint64_t end = number_take(c), guessed = number_take(c), count = number_take(c);
	struct read_stack stack = { .is = { .end = (enum stack_end)end, .guessed = guessed } };
	size_t bytes = 0;

	if (end >= STACK_ENDS || count > RECORD_STACK_MAX_FRAMES || count > cursor_left(c) ||
	    tables->stack_count >= RECORD_STACKS_MAX ||
	    count > RECORD_STACK_FRAMES_MAX - tables->stack_frames)
		c->bad = true;
	if (!cursor_ok(c))
		return;
	tables->no_memory |= !add_frames(tables, c, (size_t)count, managed, &stack.is);
	for (size_t i = 0; i < stack.is.count; i++)
		bytes += frame_bytes(&stack.is.frames[i]);
	stack.renders = tables->rendering_bytes + bytes < RENDERINGS_BYTES;
	tables->rendering_bytes += stack.renders ? bytes : 0;
	tables->stack_frames += count;
	if (!cursor_ok(c) || tables->no_memory ||
	    !vector_add(&tables->stacks, &tables->stack_count, &tables->stack_capacity, stack)) {
		tables->no_memory |= cursor_ok(c);
		free(stack.is.frames);
	}
}

static void add_thread(struct read_tables *tables, struct cursor *c)
{
	struct read_thread thread = { .pid = (pid_t)number_take(c) };

	thread.tid = (pid_t)number_take(c);
	thread.comm = read_string(tables, c);
	c->bad |= tables->thread_count >= RECORD_THREADS_MAX;
	tables->no_memory |= cursor_ok(c) && !vector_add(&tables->threads, &tables->thread_count,
							 &tables->thread_capacity, thread);
}

void read_table_record(struct read_tables *tables, enum record_tag tag, struct cursor *c,
		       bool managed)
{
	static void (*const adders[])(struct read_tables * tables, struct cursor * c) = {
		[RECORD_STRING] = add_string,
		[RECORD_FRAME] = add_frame,
		[RECORD_THREAD] = add_thread,
	};

	if (tag == RECORD_STACK)
		add_stack(tables, c, managed);
	else
		adders[tag](tables, c);
}
