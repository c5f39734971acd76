/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of C and C++ as the DWARF of one unit has them, for signature.c. Only what lies in that
 * unit is looked at, since no other has been checked (lines_check.c), and only so deep.
 *
 * Source: DWARF 5, sections 5.1 to 5.9.
 */
#ifndef RUNTIME_NATIVE_DWARF_TYPES_H
#define RUNTIME_NATIVE_DWARF_TYPES_H

#include "runtime/native/lines_internal.h"
#include "value/value.h"

/* A function of a unit, and the DIEs of that: what is asked of it asks no other. */
struct function_die {
	Dwarf_Die die;
	uint64_t unit_begin;
	uint64_t unit_end;
	struct lines_clock *clock; /* when it is over nothing is found any more */
};

/* That of the function at @address, as linked; false: it is not known. */
bool native_lines_function(struct native_lines *lines, uint64_t address,
			   struct function_die *function);

struct dwarf_types {
	const struct function_die *function;
	struct value_types *types;
};

/* Of what @die says by @attribute, such as DW_AT_type, in the unit; false: nothing. */
bool dwarf_types_follow(const struct dwarf_types *types, Dwarf_Die *die, unsigned int attribute,
			Dwarf_Die *to);

/* The type of @die, as its parameter or its function's result; "void" if there is none. NULL: no
 * memory. */
const struct value_type *dwarf_types_of(const struct dwarf_types *types, Dwarf_Die *die);

/* Is a struct of that type passed by a pointer to a copy, since it has a constructor to be called?
 */
bool dwarf_types_by_pointer(const struct dwarf_types *types, Dwarf_Die *die);

#endif
