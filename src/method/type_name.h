/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The many spellings of a type in a signature - C# (int, List<string>, ref int), IL (int32,
 * class [mscorlib]System.Foo, int32[0...,0...]) and CLR (System.Int32&) - brought to the
 * canonical one of method_name.h.
 */
#ifndef METHOD_TYPE_NAME_H
#define METHOD_TYPE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/*
 * Append the canonical spelling of the type spelled by @chars. @as_argument: as an argument
 * of a generic type or method (full CLR name), else as a parameter (IL name). False if it
 * is no type (unbalanced brackets, empty), or without memory, which @out tells.
 */
bool type_name_normalise(const char *chars, size_t length, bool as_argument, struct text *out);

/*
 * The end of the list element that begins at @start: a comma or the end of the text, but
 * not a comma within brackets of any kind.
 */
const char *type_list_element_end(const char *start, const char *end);

#endif
