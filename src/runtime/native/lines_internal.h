/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all that read one file's DWARF share: for lines of frames, and for signature.c. */
#ifndef RUNTIME_NATIVE_LINES_INTERNAL_H
#define RUNTIME_NATIVE_LINES_INTERNAL_H

#include <elfutils/libdw.h>

#include "image/libelf.h"
#include "runtime/native/lines.h"

/* How long one question may take; and after how much work the clock is looked at. */
enum { LINES_MAX_MS = 2000, LINES_STEPS = 64 };

struct lines_clock {
	uint64_t end_ms;
	unsigned int steps;
	bool over; /* for good: the file is given up */
};

/* One more step was made. Is the time up? */
bool lines_clock_is_over(struct lines_clock *clock);

/* Of what @die is, or was made from; NULL: it has no such text. */
static inline const char *lines_text_of(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute found;

	return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

/* Likewise its number. */
static inline uint64_t lines_number_of(Dwarf_Die *die, unsigned int attribute, uint64_t otherwise)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	return dwarf_attr_integrate(die, attribute, &found) &&
			       dwarf_formudata(&found, &value) == 0 ?
		       value :
		       otherwise;
}

/* Where code of a unit is, as the file has it. */
struct unit_range {
	uint64_t begin; /* first: base/sorted.h */
	uint64_t end;
	uint64_t die; /* of the unit */
	uint64_t abbreviations;
	uint64_t size; /* of the unit */
};

/* Where code of a function is. */
struct function_range {
	uint64_t begin;
	uint64_t end;
	uint64_t die;
};

struct unit_functions {
	struct function_range *list;
	size_t count;
	size_t capacity;
};

/*
 * lines_check.c: what must hold of a file before libdw is asked of it at all, and of a unit before
 * it is asked for the unit's functions and lines. @packed: sections are compressed.
 */
bool lines_check_file(Elf *elf, bool *packed);
bool lines_check_unit(Elf *elf, const struct unit_range *unit, Dwarf_Die *die,
		      uint64_t *line_bytes);

/*
 * A small ELF file of the sections that lines are read from; to be freed. NULL: there is no room.
 */
uint8_t *lines_image_make(Elf *elf, size_t *size);

/*
 * inlined.c. Calls @fn for each range of @die, until it says that it is enough; false: it has none.
 */
typedef bool (*die_range_fn)(void *ctx, uint64_t begin, uint64_t end);
bool die_each_range(Dwarf_Die *die, struct lines_clock *clock, die_range_fn fn, void *ctx);

/* The functions of @unit that have code. False for want of memory. */
bool unit_functions_read(struct unit_functions *functions, Dwarf_Die *unit,
			 struct lines_clock *clock);

/* The function at @address; NULL: there is none. */
const struct function_range *unit_functions_find(const struct unit_functions *functions,
						 uint64_t address);

/* The outermost call in @die, whichever was inlined there, that @address is in; false: none. */
bool die_find_inlined(Dwarf_Die *die, uint64_t address, struct lines_clock *clock,
		      Dwarf_Die *inlined);

/* lines.c. A function of a unit, and the DIEs of that: what is asked of it asks no other. */
struct function_die {
	Dwarf_Die die;
	uint64_t unit_begin;
	uint64_t unit_end;
	struct lines_clock *clock; /* when it is over nothing is found any more */
};

/* That of the function at @address, as linked; false: it is not known. */
bool native_lines_function(struct native_lines *lines, uint64_t address,
			   struct function_die *function);

/* dwarf_types.c. */
struct dwarf_types {
	const struct function_die *function;
	struct value_types *types;
};

/*
 * The type of @die, as its parameter or its function's result; "void" if there is none. NULL: no
 * memory.
 */
const struct value_type *dwarf_types_of(const struct dwarf_types *types, Dwarf_Die *die);

/* Is a struct of that type passed by a pointer to a copy, for its constructor to be called? */
bool dwarf_types_by_pointer(const struct dwarf_types *types, Dwarf_Die *die);

#endif
