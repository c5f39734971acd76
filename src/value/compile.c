// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a signature to the two programs that capture what its calls are given and give back, and to
 * the table by which print.c finds that again. What an address leads to: content.c.
 */
#include "value/capture.h"

#include <stdlib.h>

#include "base/error.h"

enum {
	OUT_ON_STACK_BYTES = 64 * 1024, /* an `out` of a caller's frame is not farther up */
};

static void clear(struct captured *captured, const struct value_slot *slot)
{
	*captured = (struct captured){
		.slot = slot,
		.parts = { WATCH_NO_SLOT, WATCH_NO_SLOT },
		.capture = { .content = WATCH_NO_SLOT, .chars = WATCH_NO_SLOT },
	};
}

/* An integer register's part of a value. */
static void put_part(struct program *program, struct captured *captured, size_t i)
{
	const struct value_slot *slot = captured->slot;
	const struct place place = { .slot = slot, .offset = slot->parts[i].offset };
	struct watch_op *op;

	if (!program_load(program, &place, CELL_SCRATCH, slot->parts[i].size, WATCH_NO_SLOT,
			  WATCH_END))
		return;
	op = program_add(program, WATCH_PUT, .src = CELL_SCRATCH,
			 .size = (uint16_t)slot->parts[i].size);
	if (op)
		op->slot = captured->parts[i] = program_slot(program);
}

static void copy_part(struct program *program, struct captured *captured)
{
	struct place place;
	struct watch_op *op;

	if (!program_take_address(program, captured->slot, CELL_SCRATCH, &place))
		return;
	op = program_copy(program, WATCH_NO_SLOT, place.cell, place.offset,
			  captured->slot->type->size);
	if (op)
		op->slot = captured->parts[0] = program_slot(program);
}

/* The bytes of a value itself. */
static void put_value(struct program *program, struct captured *captured)
{
	const struct value_slot *slot = captured->slot;
	size_t from = program->count;

	captured->redacted = capture_redacts(program->watch, slot->name);
	if (captured->redacted || slot->type->size == 0)
		return;
	for (size_t i = 0; i < slot->part_count && i < VALUE_PARTS; i++) {
		if (slot->parts[i].where == VALUE_IN_REGISTER)
			put_part(program, captured, i);
		else if (slot->parts[i].where != VALUE_IN_FLOAT)
			copy_part(program, captured);
	}
	if (program->full) {
		program->full = false;
		program->count = from;
		captured->dropped = true;
	}
}

static void follow_value(struct program *program, struct captured *captured)
{
	struct place place = { .slot = captured->slot };
	unsigned int level;

	if (captured->redacted || captured->dropped || captured->slot->out ||
	    captured->slot->part_count == 0)
		return;
	level = program_take_address(program, captured->slot, 0, &place);
	capture_content(program, &captured->capture, captured->slot->type, &place, level,
			program->watch->options.depth);
	if (program->full) {
		program->full = false;
		captured->dropped = true;
	}
}

/* What is there in objects that are of more than they are declared as. */
static void follow_seen(struct program *program, struct captured *captured, size_t number)
{
	const struct value_seen *seen = program->watch->signature->seen;
	struct place place = { .slot = captured->slot };
	struct capture *capture = &captured->capture;
	unsigned int level;

	if (!seen || capture->kind != VALUE_OBJECT || !capture->whole ||
	    capture->content == WATCH_NO_SLOT)
		return;
	capture->variants =
		value_types_take(program->watch->memory, VALUE_SEEN_MAX * sizeof(*capture));
	level = capture->variants && program_take_address(program, captured->slot, 0, &place);
	for (size_t i = 0; capture->variants && i < seen->count && i < VALUE_SEEN_MAX; i++) {
		if (seen->list[i].number == number)
			capture_variant(program, capture, seen->list[i].type, seen->list[i].handle,
					&place, level);
	}
	program->full = false;
}

/* What is left of the room goes to objects of interfaces and such. */
static void follow_words(struct program *program, struct captured *captured)
{
	const struct value_type *type = captured->slot->type;
	struct place place = { .slot = captured->slot };
	unsigned int level;

	if (type->kind != VALUE_OBJECT || type->field_count || program->watch->options.depth == 0 ||
	    captured->capture.content == WATCH_NO_SLOT)
		return;
	level = program_take_address(program, captured->slot, 0, &place);
	capture_words(program, &captured->capture, &place, level);
	program->full = false;
}

/* The address of an `out` is kept in a cell, for the program at the exit. */
static bool keep_address(struct program *program, struct captured *captured, uint8_t cell)
{
	struct place place = { .slot = captured->slot };
	size_t from = program->count;

	(void)program_take_address(program, captured->slot, CELL_SCRATCH, &place);
	if (program_load(program, &place, cell, POINTER_BYTES, WATCH_NO_SLOT, WATCH_END)) {
		/* One that cannot be loaded must not end the program. */
		program->ops[program->count - 1].otherwise = (uint16_t)program->count;
		captured->kept = cell;
		return true;
	}
	program->count = from;
	program->full = false;
	captured->dropped = true;
	return false;
}

/*
 * What is at the address of an `out`, if that is on the stack: an object may have been moved since
 * the entry, and then there is something else at the address. @skip is where to go on else.
 */
static void check_on_stack(struct program *program, uint8_t kept, size_t *skip)
{
	const uint8_t source = (uint8_t)(WATCH_ENTRY_CELL + kept);

	program_add(program, WATCH_TAKE, .dst = 0, .source = source);
	program_add(program, WATCH_TAKE, .dst = CELL_SCRATCH, .source = source);
	program_add(program, WATCH_TAKE, .dst = 1, .source = WATCH_STACK);
	program_add(program, WATCH_SUBTRACT, .dst = CELL_SCRATCH, .src = 1);
	program_add(program, WATCH_IF_BELOW, .src = CELL_SCRATCH, .immediate = OUT_ON_STACK_BYTES);
	*skip = program->count - 1;
}

static void read_out(struct program *program, struct captured *captured)
{
	const struct value_type *element = captured->slot->type->element;
	const struct place place = { .cell = 0 };
	struct capture *inner = value_types_take(program->watch->memory, sizeof(*inner));
	size_t from = program->count, skip;
	struct watch_op *op;

	if (!captured->kept || !element || !inner || element->size == 0)
		return;
	check_on_stack(program, captured->kept, &skip);
	op = program_copy(program, WATCH_NO_SLOT, place.cell, 0, element->size);
	if (op)
		op->slot = captured->capture.content = program_slot(program);
	if (program->full) {
		program->count = from;
		program->full = false;
		captured->dropped = true;
		captured->capture.content = WATCH_NO_SLOT;
		return;
	}
	captured->capture.parts = inner;
	captured->capture.part_count = 1;
	capture_content(program, inner, element, &place, 1, program->watch->options.depth);
	program->ops[skip].otherwise = (uint16_t)program->count;
}

static void compile_entry(struct value_watch *watch)
{
	size_t count = watch->signature->argument_count;
	uint8_t kept = 0;

	for (size_t i = 0; i < count; i++)
		put_value(&watch->entry, &watch->arguments[i]);
	if (watch->context.slot->part_count)
		put_value(&watch->entry, &watch->context);
	for (size_t i = 0; i < count; i++) {
		struct captured *captured = &watch->arguments[i];

		if (captured->slot->out && !captured->redacted && kept < CELLS_KEPT &&
		    keep_address(&watch->entry, captured, (uint8_t)(CELL_KEPT + kept)))
			kept++;
	}
	for (size_t i = 0; i < count; i++)
		follow_value(&watch->entry, &watch->arguments[i]);
	for (size_t i = 0; i < count; i++)
		follow_seen(&watch->entry, &watch->arguments[i], i);
	for (size_t i = 0; i < count; i++)
		follow_words(&watch->entry, &watch->arguments[i]);
}

static void compile_exit(struct value_watch *watch)
{
	watch->exit.at_exit = true;
	if (value_has_result(watch)) {
		put_value(&watch->exit, &watch->result);
		follow_value(&watch->exit, &watch->result);
		follow_seen(&watch->exit, &watch->result, watch->signature->argument_count);
		follow_words(&watch->exit, &watch->result);
	}
	for (size_t i = 0; i < watch->signature->argument_count; i++)
		read_out(&watch->exit, &watch->arguments[i]);
}

int value_watch_create(struct value_watch **out, const struct value_signature *signature,
		       const struct value_options *options, struct error *err)
{
	struct value_watch *watch = calloc(1, sizeof(*watch));
	size_t count = signature->why ? 0 : signature->argument_count;

	*out = watch;
	if (!watch || !(watch->memory = value_types_create()) ||
	    !(watch->arguments = calloc(count + 1, sizeof(*watch->arguments)))) {
		value_watch_destroy(watch);
		*out = NULL;
		return error_set(err, -ENOMEM, "no memory for the programs of a watched method");
	}
	watch->entry.watch = watch->exit.watch = watch;
	watch->signature = signature;
	watch->options = *options;
	if (watch->options.depth > CAPTURE_DEPTH_MAX)
		watch->options.depth = CAPTURE_DEPTH_MAX;
	if (watch->options.elements > CAPTURE_ELEMENTS_MAX)
		watch->options.elements = CAPTURE_ELEMENTS_MAX;
	for (size_t i = 0; i < count; i++)
		clear(&watch->arguments[i], &signature->arguments[i]);
	clear(&watch->result, &signature->result);
	clear(&watch->context, &signature->context);
	if (signature->why)
		return 0;
	compile_entry(watch);
	compile_exit(watch);
	return 0;
}

void value_watch_destroy(struct value_watch *watch)
{
	if (!watch)
		return;
	free(watch->arguments);
	value_types_destroy(watch->memory);
	free(watch);
}

const struct watch_op *value_watch_entry(const struct value_watch *watch, size_t *count)
{
	*count = watch->entry.count;
	return watch->entry.ops;
}

const struct watch_op *value_watch_exit(const struct value_watch *watch, size_t *count)
{
	*count = watch->exit.count;
	return watch->exit.ops;
}

bool value_has_result(const struct value_watch *watch)
{
	return !watch->signature->why && watch->signature->result.type &&
	       watch->signature->result.type->kind != VALUE_VOID;
}
