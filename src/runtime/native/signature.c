// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parameters by DWARF, in the places that the machine's calling convention gives them
 * (value/convention.h). After one whose place cannot be told that of none can.
 */
#include "runtime/native/native.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/native/lines_internal.h"
#include "value/convention.h"
#include "value/value.h"

enum {
	ARGUMENTS_MAX = 64,
	PASS_NONE = 3, /* DW_CC_nocall: the convention of nobody else */
};

/* What has been given out so far. */
struct places {
	struct convention taken;
	bool lost;
};

/* What is at @offset of a value; what is not known may be anything. */
static bool classify(const struct value_type *type, uint32_t offset, struct convention_value *value)
{
	if (type->kind == VALUE_UNKNOWN || convention_is_large(offset + type->size))
		return false;
	if (type->kind != VALUE_STRUCT) {
		convention_add_scalar(value, offset, type->size, type->kind == VALUE_FLOAT);
		return true;
	}
	for (size_t i = 0; i < type->field_count; i++) {
		if (!classify(type->fields[i].type, offset + type->fields[i].offset, value))
			return false;
	}
	return type->field_count > 0;
}

static bool is_large(const struct value_type *type)
{
	return type->kind == VALUE_STRUCT && convention_is_large(type->size);
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
	struct convention_value value = { .in_memory = is_large(slot->type) };

	if (!value.in_memory && !classify(slot->type, 0, &value))
		places->lost = true;
	if (places->lost) {
		slot->type = of_no_place(types, slot->type);
		return slot->type;
	}
	convention_take(&places->taken, &value, slot);
	return true;
}

/* The caller's buffer for the result takes a register, and comes back in that of results. */
static void place_result(struct value_slot *slot, bool by_pointer, struct places *arguments)
{
	const struct value_type *type = slot->type;
	struct convention_value value = {
		.in_memory = is_large(type) || (by_pointer && type->kind == VALUE_STRUCT),
	};

	if (type->kind == VALUE_VOID)
		return;
	if (!value.in_memory && !classify(type, 0, &value)) {
		/* Whether there is a buffer is not known, if it may be large. */
		arguments->lost = type->size == 0 || convention_is_large(type->size);
		return;
	}
	convention_of_result(&value, slot);
	if (convention_in_buffer(&value, type->size))
		convention_skip(&arguments->taken);
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
	bool more = dwarf_child(&function->die, &child) == 0;

	signature->arguments =
		value_types_take(types->types, ARGUMENTS_MAX * sizeof(*signature->arguments));
	if (!signature->arguments)
		return -ENOMEM;
	while (more && signature->argument_count < ARGUMENTS_MAX &&
	       !lines_clock_is_over(function->clock)) {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    !take_argument(types, &child, signature, places))
			return -ENOMEM;
		more = dwarf_siblingof(&child, &child) == 0;
	}
	return 0;
}

/* What compilers call copies of functions whose parameters they have changed. */
static bool is_changed(const char *name)
{
	return name &&
	       (strstr(name, ".isra.") || strstr(name, ".constprop.") || strstr(name, ".part."));
}

int native_signature(struct native_lines *lines, uint64_t address, const char *name,
		     struct value_types *types, struct value_signature *signature)
{
	struct function_die function;
	const struct dwarf_types of = { &function, types };
	struct places places = { .taken = convention_begin() };

	*signature = (struct value_signature){ 0 };
	if (!lines || !native_lines_function(lines, address, &function))
		signature->why = "there is no debug information of it";
	else if (is_changed(name) ||
		 lines_number_of(&function.die, DW_AT_calling_convention, 0) == PASS_NONE)
		signature->why = "the compiler has changed its parameters";
	if (signature->why)
		return 0;
	signature->result.type = dwarf_types_of(&of, &function.die);
	if (!signature->result.type)
		return -ENOMEM;
	place_result(&signature->result, dwarf_types_by_pointer(&of, &function.die), &places);
	return take_arguments(&of, &function, signature, &places);
}
