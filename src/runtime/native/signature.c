// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parameters by DWARF, in the places that the System V ABI's AMD64 supplement gives them (3.2.3):
 * integers and pointers in registers that are numbered apart from those of floats; what fits in
 * neither, and what is larger than 16 bytes, on the stack. After one whose place cannot be told
 * that of none can.
 */
#include "runtime/native/signature.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/native/dwarf_types.h"
#include "value/value.h"

enum {
	ARGUMENTS_MAX = 64,
	INTEGERS = 6, /* registers */
	FLOATS = 8,
	RESULTS = 2,
	WORD = 8,
	CLASSES = 2,   /* eightbytes of what may be in registers */
	PASS_NONE = 3, /* DW_CC_nocall: the convention of nobody else */
};

enum word_class { CLASS_NONE, CLASS_INTEGER, CLASS_FLOAT, CLASS_MEMORY };

/* What has been given out so far. */
struct places {
	uint32_t integers;
	uint32_t floats;
	uint32_t stack; /* at the stack pointer + this, the return address being first */
	bool lost;
};

static void merge_class(enum word_class *word, enum word_class with)
{
	if (*word == CLASS_MEMORY || with == CLASS_MEMORY)
		*word = CLASS_MEMORY;
	else if (*word == CLASS_NONE || with == CLASS_INTEGER)
		*word = with;
}

/* Of each eightbyte of what is at @offset; what is not known may be anything. */
static bool classify(const struct value_type *type, uint32_t offset, enum word_class *words)
{
	if (type->kind == VALUE_UNKNOWN || offset + type->size > CLASSES * WORD)
		return false;
	if (type->kind != VALUE_STRUCT) {
		merge_class(&words[offset / WORD], offset % type->size	     ? CLASS_MEMORY :
						   type->kind == VALUE_FLOAT ? CLASS_FLOAT :
									       CLASS_INTEGER);
		return true;
	}
	for (size_t i = 0; i < type->field_count; i++) {
		if (!classify(type->fields[i].type, offset + type->fields[i].offset, words))
			return false;
	}
	return type->field_count > 0;
}

static void put_part(struct value_slot *slot, enum value_where where, uint32_t number,
		     uint32_t offset, uint32_t size)
{
	slot->parts[slot->part_count].where = where;
	slot->parts[slot->part_count].number = number;
	slot->parts[slot->part_count].offset = offset;
	slot->parts[slot->part_count].size = size;
	slot->part_count++;
}

static uint32_t rest_of(uint32_t size, uint32_t offset)
{
	return size - offset < WORD ? size - offset : WORD;
}

/* In registers, if there are enough of both for all of it. */
static bool place_in_registers(struct value_slot *slot, const enum word_class *words,
			       struct places *places, uint32_t integers_max, uint32_t floats_max)
{
	uint32_t size = slot->type->size, integers = places->integers, floats = places->floats;

	for (uint32_t i = 0; i * WORD < size; i++) {
		integers += words[i] == CLASS_INTEGER;
		floats += words[i] == CLASS_FLOAT;
		if (words[i] == CLASS_MEMORY || words[i] == CLASS_NONE)
			return false;
	}
	if (integers > integers_max || floats > floats_max)
		return false;
	for (uint32_t i = 0; i * WORD < size; i++) {
		bool integer = words[i] == CLASS_INTEGER;

		put_part(slot, integer ? VALUE_IN_REGISTER : VALUE_IN_FLOAT,
			 integer ? places->integers++ : places->floats++, i * WORD,
			 rest_of(size, i * WORD));
	}
	return true;
}

static void place_on_stack(struct value_slot *slot, struct places *places)
{
	put_part(slot, VALUE_ON_STACK, places->stack, 0, slot->type->size);
	places->stack += (slot->type->size + WORD - 1) / WORD * WORD;
}

static const struct value_type *of_no_place(struct value_types *types,
					    const struct value_type *type)
{
	return value_types_unknown(types, type->name, type->size,
				   type->kind == VALUE_UNKNOWN ?
					   type->why :
					   "behind a parameter whose place is not known");
}

/* False for want of memory. */
static bool place_argument(struct value_types *types, struct value_slot *slot,
			   struct places *places)
{
	enum word_class words[CLASSES] = { CLASS_NONE };
	bool large = slot->type->kind == VALUE_STRUCT && slot->type->size > CLASSES * WORD;

	if (!large && !classify(slot->type, 0, words))
		places->lost = true;
	if (places->lost) {
		slot->type = of_no_place(types, slot->type);
		return slot->type;
	}
	if (large || !place_in_registers(slot, words, places, INTEGERS, FLOATS))
		place_on_stack(slot, places);
	return true;
}

/* The caller's buffer for the result takes the first register, and comes back in that of results.
 */
static void place_result(struct value_slot *slot, bool by_pointer, struct places *arguments)
{
	enum word_class words[CLASSES] = { CLASS_NONE };
	struct places places = { 0 };
	bool large = slot->type->kind == VALUE_STRUCT &&
		     (by_pointer || slot->type->size > CLASSES * WORD);

	if (slot->type->kind == VALUE_VOID)
		return;
	if (!large && !classify(slot->type, 0, words)) {
		/* Whether there is a buffer is not known, if it may be large. */
		arguments->lost = slot->type->size == 0 || slot->type->size > CLASSES * WORD;
		return;
	}
	if (!large && place_in_registers(slot, words, &places, RESULTS, RESULTS))
		return;
	arguments->integers++;
	put_part(slot, VALUE_IN_BUFFER, 0, 0, slot->type->size);
}

/* Parameters ------------------------------------------------------------------------------ */

static const char *name_of(struct value_types *types, Dwarf_Die *die, size_t number)
{
	const char *name = lines_text_of(die, DW_AT_name);
	char numbered[16];

	snprintf(numbered, sizeof(numbered), "arg%zu", number);
	return value_types_name(types, name ? name : numbered);
}

/* Of a class with a constructor to be called: what is passed is where it lies. */
static const struct value_type *pointer_to(struct value_types *types, const struct value_type *type)
{
	struct value_type *pointer =
		value_types_add(types, VALUE_REFERENCE, type->name, (uint32_t)sizeof(void *));

	if (pointer)
		pointer->element = type;
	return pointer;
}

static bool take_argument(const struct dwarf_types *types, Dwarf_Die *die,
			  struct value_signature *signature, struct places *places)
{
	struct value_slot *slot = &signature->arguments[signature->argument_count];

	slot->name = name_of(types->types, die, signature->argument_count);
	slot->type = dwarf_types_of(types, die);
	if (slot->type && dwarf_types_by_pointer(types, die))
		slot->type = pointer_to(types->types, slot->type);
	if (!slot->name || !slot->type || !place_argument(types->types, slot, places))
		return false;
	signature->argument_count++;
	return true;
}

static int take_arguments(const struct dwarf_types *types, struct function_die *function,
			  struct value_signature *signature, struct places *places)
{
	Dwarf_Die child;

	signature->arguments =
		value_types_take(types->types, ARGUMENTS_MAX * sizeof(*signature->arguments));
	if (!signature->arguments)
		return -ENOMEM;
	if (dwarf_child(&function->die, &child) != 0)
		return 0;
	while (signature->argument_count < ARGUMENTS_MAX && !lines_clock_is_over(function->clock)) {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    !take_argument(types, &child, signature, places))
			return -ENOMEM;
		if (dwarf_siblingof(&child, &child) != 0)
			break;
	}
	return 0;
}

/* What compilers call copies of functions whose parameters they have changed. */
static bool is_changed(const char *name)
{
	return name &&
	       (strstr(name, ".isra.") || strstr(name, ".constprop.") || strstr(name, ".part."));
}

static bool has_own_convention(struct function_die *function)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	return dwarf_attr_integrate(&function->die, DW_AT_calling_convention, &found) &&
	       dwarf_formudata(&found, &value) == 0 && value == PASS_NONE;
}

int native_signature(struct native_lines *lines, uint64_t address, const char *name,
		     struct value_types *types, struct value_signature *signature)
{
	struct function_die function;
	const struct dwarf_types of = { &function, types };
	struct places places = { .stack = WORD };

	*signature = (struct value_signature){ 0 };
	if (!lines || !native_lines_function(lines, address, &function))
		signature->why = "there is no debug information of it";
	else if (is_changed(name) || has_own_convention(&function))
		signature->why = "the compiler has changed its parameters";
	if (signature->why)
		return 0;
	signature->result.type = dwarf_types_of(&of, &function.die);
	if (!signature->result.type)
		return -ENOMEM;
	place_result(&signature->result, dwarf_types_by_pointer(&of, &function.die), &places);
	return take_arguments(&of, &function, signature, &places);
}
