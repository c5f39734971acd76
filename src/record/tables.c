// SPDX-License-Identifier: GPL-2.0-or-later
/* What a record knows by numbers: see writer.h. */
#include "record/writer.h"

#include <string.h>

#include "record/numbers.h"

enum {
	ROOM_BYTES = 256 << 20,
	ROOM_LEFT_BYTES = ROOM_BYTES / 2, /* for one record at most */
};

void tables_put(struct text *block, enum record_tag tag, const char *body, size_t length)
{
	text_add_char(block, (char)tag);
	number_add(block, length);
	text_add_bytes(block, body, length);
}

void tables_init(struct tables *tables, struct text *block)
{
	*tables = (struct tables){ .block = block, .room = ROOM_BYTES, .generation = 1 };
}

static void forget(struct tables *tables)
{
	interned_deinit(&tables->strings);
	interned_deinit(&tables->frames);
	interned_deinit(&tables->stacks);
	interned_deinit(&tables->threads);
}

void tables_deinit(struct tables *tables)
{
	forget(tables);
	text_deinit(&tables->frame);
	text_deinit(&tables->stack);
	text_deinit(&tables->thread);
}

bool tables_are_full(const struct tables *tables)
{
	return tables->room < ROOM_LEFT_BYTES || tables->strings.count > RECORD_STRINGS_MAX / 2 ||
	       tables->string_bytes > RECORD_STRINGS_MAX_BYTES / 2 ||
	       tables->frames.count > RECORD_FRAMES_MAX / 2 ||
	       tables->stacks.count > RECORD_STACKS_MAX / 2 ||
	       tables->stack_frames > RECORD_STACK_FRAMES_MAX / 2 ||
	       tables->threads.count > RECORD_THREADS_MAX / 2;
}

void tables_reset(struct tables *tables)
{
	forget(tables);
	tables->string_bytes = tables->stack_frames = 0;
	tables->room = ROOM_BYTES;
	tables->generation++;
	tables_put(tables->block, RECORD_RESET, "", 0);
}

/* The number of @body, from 1; if it had none there is a record of @tag from now on. */
static uint32_t number_of(struct tables *tables, struct interned *table, enum record_tag tag,
			  const char *body, size_t length)
{
	size_t before = table->count;
	uint32_t number = interned_add(table, body, length, &tables->room);

	if (table->count > before)
		tables_put(tables->block, tag, body, length);
	if (number != INTERNED_NONE)
		return number + 1;
	tables->failed = true;
	return 0;
}

static uint32_t number_of_text(struct tables *tables, struct interned *table, enum record_tag tag,
			       const struct text *body)
{
	tables->failed |= !text_ok(body);
	return number_of(tables, table, tag, text_chars(body), body->length);
}

uint32_t tables_string(struct tables *tables, const char *s)
{
	size_t length = s ? strlen(s) : 0, before = tables->strings.count;
	uint32_t number;

	if (!s)
		return 0;
	if (length > RECORD_STRING_MAX_BYTES)
		length = RECORD_STRING_MAX_BYTES;
	number = number_of(tables, &tables->strings, RECORD_STRING, s, length);
	tables->string_bytes += tables->strings.count > before ? length : 0;
	return number;
}

/* What was found out before is noted in @rendering, with the generation that it is of. */
static uint32_t noted(const struct tables *tables, const struct rendering *rendering)
{
	return rendering && rendering->recorded >> 32 == tables->generation ?
		       (uint32_t)rendering->recorded :
		       0;
}

static void note(const struct tables *tables, struct rendering *rendering, uint32_t number)
{
	if (rendering)
		rendering->recorded = (uint64_t)tables->generation << 32 | number;
}

/* All but what says something of its place in a stack. */
static uint32_t frame_number(struct tables *tables, const struct frame *frame)
{
	struct text *body = &tables->frame;

	text_clear(body);
	number_add(body, frame->kind);
	number_add(body, (frame->inlined ? RECORD_FRAME_INLINED : 0U) |
				 (frame->in_file ? RECORD_FRAME_IN_FILE : 0U));
	number_add(body, frame->address.value);
	number_add(body, tables_string(tables, frame->name));
	number_add(body, tables_string(tables, frame->module));
	number_add(body, frame->offset);
	number_add(body, frame->file_offset);
	number_add(body, tables_string(tables, frame->source));
	number_add(body, frame->line);
	number_add(body, frame->column);
	number_add(body, tables_string(tables, frame->made_from));
	number_add(body, tables_string(tables, frame->tier));
	return number_of_text(tables, &tables->frames, RECORD_FRAME, body);
}

/* A frame with what is true of it in this stack. */
static uint64_t frame_in_stack(struct tables *tables, const struct frame *frame)
{
	uint32_t number = noted(tables, frame->rendering);

	if (!number) {
		number = frame_number(tables, frame);
		note(tables, frame->rendering, number);
	}
	return (uint64_t)number << RECORD_IN_STACK_BITS |
	       (frame->guessed ? RECORD_IN_STACK_GUESSED : 0) |
	       (frame->unmanaged ? RECORD_IN_STACK_UNMANAGED : 0);
}

uint32_t tables_stack(struct tables *tables, const struct stack *stack)
{
	struct text *body = &tables->stack;
	uint32_t number = stack ? noted(tables, stack->rendering) : 0;
	size_t before = tables->stacks.count;

	if (!stack || number)
		return number;
	text_clear(body);
	number_add(body, stack->end);
	number_add(body, stack->guessed);
	number_add(body, stack->count);
	for (size_t i = 0; i < stack->count; i++)
		number_add(body, frame_in_stack(tables, &stack->frames[i]));
	number = number_of_text(tables, &tables->stacks, RECORD_STACK, body);
	note(tables, stack->rendering, number);
	tables->stack_frames += tables->stacks.count > before ? stack->count : 0;
	return number;
}

uint32_t tables_thread(struct tables *tables, const struct hit *hit)
{
	struct text *body = &tables->thread;

	text_clear(body);
	number_add(body, (uint32_t)hit->pid);
	number_add(body, (uint32_t)hit->tid);
	number_add(body, tables_string(tables, hit->comm));
	return number_of_text(tables, &tables->threads, RECORD_THREAD, body);
}
