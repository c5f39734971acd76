/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tests of src/value/ share: a target of a few pieces of memory, an interpreter of struct
 * watch_op that follows bpf/watch.h to the letter, and signatures that are put together by hand.
 */
#ifndef VALUE_FIXTURE_H
#define VALUE_FIXTURE_H

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "tests/unit/unit.h"
#include "value/value.h"

enum {
	PIECES = 16,
	ARGUMENTS = 48,
	ITEM_BYTES = 16384, /* more than the programs have, so that tests see what they ask for */
};

struct machine {
	struct piece {
		uint64_t at;
		const void *bytes;
		size_t size;
	} pieces[PIECES];
	size_t piece_count;
	uint64_t arguments[6];
	uint64_t results[2];
	uint64_t sp;
	uint64_t kept[WATCH_CELLS];
	size_t room; /* for items; 0: ITEM_BYTES */
	_Alignas(8) uint8_t items[2][ITEM_BYTES];
	size_t used[2];
	size_t reads;
};

struct scene {
	struct value_types *types;
	struct value_slot slots[ARGUMENTS];
	struct value_signature signature;
	struct value_options options;
	struct value_watch *watch;
	struct value_lookup lookup;
	struct text out;
	struct machine machine;
};

static inline void add_memory(struct scene *scene, uint64_t at, const void *bytes, size_t size)
{
	struct machine *machine = &scene->machine;

	assert_true(machine->piece_count < PIECES);
	machine->pieces[machine->piece_count++] = (struct piece){ at, bytes, size };
}

static inline bool read_memory(struct machine *machine, uint64_t at, void *to, size_t size)
{
	machine->reads++;
	for (size_t i = 0; i < machine->piece_count; i++) {
		const struct piece *piece = &machine->pieces[i];

		if (at >= piece->at && at - piece->at <= piece->size &&
		    size <= piece->size - (at - piece->at)) {
			memcpy(to, (const uint8_t *)piece->bytes + (at - piece->at), size);
			return true;
		}
	}
	return false;
}

static inline void add_item(struct machine *machine, unsigned int which, uint16_t slot,
			    enum watch_status status, const void *bytes, size_t size,
			    uint64_t whole)
{
	struct watch_item item = { .slot = slot, .status = (uint8_t)status, .whole = whole };
	size_t room = machine->room ? machine->room : ITEM_BYTES;
	size_t padded = (size + 7) / 8 * 8;

	if (slot == WATCH_NO_SLOT || machine->used[which] + sizeof(item) + padded > room)
		return;
	item.bytes = (uint16_t)size;
	memcpy(machine->items[which] + machine->used[which], &item, sizeof(item));
	machine->used[which] += sizeof(item);
	if (size)
		memcpy(machine->items[which] + machine->used[which], bytes, size);
	machine->used[which] += padded;
}

static inline uint64_t take(const struct machine *machine, unsigned int source)
{
	if (source < 6)
		return machine->arguments[source];
	if (source == WATCH_STACK)
		return machine->sp;
	if (source == WATCH_RESULT_0 || source == WATCH_RESULT_1)
		return machine->results[source - WATCH_RESULT_0];
	assert_in_range(source, WATCH_ENTRY_CELL, WATCH_ENTRY_CELL + WATCH_CELLS - 1);
	return machine->kept[source - WATCH_ENTRY_CELL];
}

/* A copy of @size bytes, of @whole. */
static inline bool copy(struct machine *machine, unsigned int which, const struct watch_op *op,
			uint64_t at, size_t size, uint64_t whole)
{
	uint8_t bytes[WATCH_COPY];

	assert_true(size <= sizeof(bytes));
	if (read_memory(machine, at + (uint64_t)(int64_t)op->offset, bytes, size)) {
		add_item(machine, which, op->slot, WATCH_OK, bytes, size, whole);
		return true;
	}
	add_item(machine, which, op->slot, WATCH_FAULT, NULL, 0, 0);
	return false;
}

static inline bool step(struct machine *machine, unsigned int which, const struct watch_op *op,
			uint64_t *cells)
{
	uint64_t value = 0, whole;

	switch (op->code) {
	case WATCH_TAKE:
		cells[op->dst] = take(machine, op->source);
		return true;
	case WATCH_LOAD:
		if (!read_memory(machine, cells[op->src] + (uint64_t)(int64_t)op->offset, &value,
				 op->size)) {
			add_item(machine, which, op->slot, WATCH_FAULT, NULL, 0, 0);
			return false;
		}
		cells[op->dst] = value;
		return true;
	case WATCH_MASK:
		cells[op->dst] = cells[op->src] & op->immediate;
		return true;
	case WATCH_ADD:
		cells[op->dst] = cells[op->src] + op->immediate;
		return true;
	case WATCH_SHIFT:
		cells[op->dst] = cells[op->src] >> op->immediate;
		return true;
	case WATCH_SUBTRACT:
		cells[op->dst] -= cells[op->src];
		return true;
	case WATCH_PUT:
		assert_in_range(op->size, 1, 8);
		add_item(machine, which, op->slot, WATCH_OK, &cells[op->src], op->size, op->size);
		return true;
	case WATCH_COPY_FIXED:
		return copy(machine, which, op, cells[op->src], op->size, op->size);
	case WATCH_COPY_TIMES:
		whole = (uint64_t)(uint32_t)cells[op->dst] << op->immediate;
		return copy(machine, which, op, cells[op->src],
			    whole < op->size ? (size_t)whole : op->size, whole);
	case WATCH_IF_ZERO:
		return cells[op->src] != 0;
	case WATCH_IF_EQUAL:
		return cells[op->src] == op->immediate;
	case WATCH_IF_BELOW:
		return cells[op->src] < op->immediate;
	default:
		fail_msg("op %u", op->code);
		return false;
	}
}

static inline void run(struct machine *machine, unsigned int which, const struct watch_op *ops,
		       size_t count)
{
	uint64_t cells[WATCH_CELLS] = { 0 };
	size_t pc = 0;

	assert_in_range(count, 0, WATCH_OPS);
	while (pc < count) {
		const struct watch_op *op = &ops[pc];
		size_t other = op->otherwise == WATCH_END ? count : op->otherwise;

		assert_true(op->dst < WATCH_CELLS && op->src < WATCH_CELLS);
		assert_true(op->otherwise == 0 || (other > pc && other <= count));
		pc = step(machine, which, op, cells) || op->otherwise == 0 ? pc + 1 : other;
	}
	if (which == 0)
		memcpy(machine->kept, cells, sizeof(cells));
}

static inline struct scene *scene_new(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->types = value_types_create();
	assert_non_null(scene->types);
	scene->options = (struct value_options){ VALUE_STRING_BYTES, VALUE_ELEMENTS, VALUE_DEPTH,
						 NULL, NULL };
	scene->signature.arguments = scene->slots;
	scene->signature.result.type = value_types_add(scene->types, VALUE_VOID, "void", 0);
	scene->machine.sp = 0x7ffe00001000;
	return scene;
}

static inline void scene_free(struct scene *scene)
{
	value_watch_destroy(scene->watch);
	value_types_destroy(scene->types);
	text_deinit(&scene->out);
	free(scene);
}

CLEANUP_POINTER(scene_free, struct scene)

static inline struct value_type *type_of(struct scene *scene, enum value_kind kind,
					 const char *name, uint32_t size)
{
	struct value_type *type = value_types_add(scene->types, kind, name, size);

	assert_non_null(type);
	return type;
}

static inline struct value_type *type_over(struct scene *scene, enum value_kind kind,
					   const char *name, const struct value_type *element)
{
	struct value_type *type = type_of(scene, kind, name, kind == VALUE_SPAN ? 16 : 8);

	type->element = element;
	return type;
}

static inline void add_field(struct scene *scene, struct value_type *type, const char *name,
			     const struct value_type *of, uint32_t offset)
{
	struct value_field *fields =
		value_types_take(scene->types, (type->field_count + 1) * sizeof(*fields));

	if (type->field_count)
		memcpy(fields, type->fields, type->field_count * sizeof(*fields));
	fields[type->field_count++] = (struct value_field){ name, of, offset };
	type->fields = fields;
}

static inline struct value_slot *add_slot(struct scene *scene, const char *name,
					  const struct value_type *type, enum value_where where,
					  uint32_t number)
{
	struct value_slot *slot = &scene->slots[scene->signature.argument_count++];

	*slot = (struct value_slot){ .name = name, .type = type, .part_count = 1 };
	slot->parts[0].where = where;
	slot->parts[0].number = number;
	slot->parts[0].size = type->size < 8 || where == VALUE_ON_STACK ? type->size : 8;
	return slot;
}

static inline void add_part(struct value_slot *slot, enum value_where where, uint32_t number)
{
	size_t i = slot->part_count++;

	slot->parts[i].where = where;
	slot->parts[i].number = number;
	slot->parts[i].offset = 8;
	slot->parts[i].size = slot->type->size - 8;
}

/* Compile, run both programs and print. */
static inline const char *scene_show(struct scene *scene, enum value_format format, bool exited)
{
	struct machine *machine = &scene->machine;
	struct value_call call = { .exited = exited };
	const struct watch_op *ops;
	size_t count;

	text_clear(&scene->out);
	value_watch_destroy(scene->watch);
	assert_int_equal(
		value_watch_create(&scene->watch, &scene->signature, &scene->options, NULL), 0);
	memset(machine->used, 0, sizeof(machine->used));
	ops = value_watch_entry(scene->watch, &count);
	run(machine, 0, ops, count);
	call.entry = (struct value_items){ machine->items[0], machine->used[0] };
	if (exited) {
		ops = value_watch_exit(scene->watch, &count);
		run(machine, 1, ops, count);
		call.exit = (struct value_items){ machine->items[1], machine->used[1] };
	}
	value_add_arguments(scene->watch, &call, &scene->lookup, format, &scene->out);
	if (exited && value_has_result(scene->watch)) {
		text_add(&scene->out, " = ");
		value_add_result(scene->watch, &call, &scene->lookup, format, &scene->out);
	}
	assert_int_equal(text_utf8_prefix(text_chars(&scene->out)), scene->out.length);
	return text_chars(&scene->out);
}

#endif
