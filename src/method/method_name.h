/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of one method in its parts, so that a pattern can look at the part it
 * speaks of, and the one canonical spelling that is printed:
 *
 *   Namespace.Type+Nested`1[System.Int32]::Method[System.String](int32,!0)
 *   \________ type _______/ \ type args /  \name/ \ method args / \ params /
 *
 * Parameter types are spelled as in IL (int32, string, object, native int as
 * "nint"), without class/valuetype and assembly; arguments of generic types are
 * spelled by their full CLR name, also inside parameters; arrays as int32[] and
 * int32[,], byrefs int32&, pointers int32*, generic parameters !0 and !!0 as the
 * definition has them. No spaces.
 */
#ifndef METHOD_METHOD_NAME_H
#define METHOD_METHOD_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct method_name {
	struct text type;	 /* open: "System.Collections.Generic.List`1" */
	struct text type_args;	 /* "System.Int32,System.String"; "" if none */
	struct text name;	 /* ".ctor", "Add", "System.IDisposable.Dispose" */
	struct text method_args; /* as type_args */
	struct text params;	 /* "int32,!0"; "" for none */
};

void method_name_deinit(struct method_name *name);
void method_name_clear(struct method_name *name);

/* Append the canonical spelling; control characters in a name become '?'. */
void method_name_spell(const struct method_name *name, struct text *out);

/*
 * Which instantiation it is, by value: a hash of the arguments of type and method as spelled. It is
 * the same whoever reads the name: from an image or from the runtime's memory. 0: it has none.
 */
uint64_t method_name_instantiation(const struct method_name *name);

/* False if memory ran out while a part was put together. */
bool method_name_ok(const struct method_name *name);

/*
 * Append the canonical spelling of the type spelled by @chars, in any of the many spellings of a
 * type in a signature: C# (int, List<string>, ref int), IL (int32, class [mscorlib]System.Foo,
 * int32[0...,0...]) or CLR (System.Int32&). @as_argument: as an argument of a generic type or
 * method (full CLR name), else as a parameter (IL name). False if it is no type (unbalanced
 * brackets, empty), or without memory, which @out tells.
 */
bool type_name_normalise(const char *chars, size_t length, bool as_argument, struct text *out);

/*
 * The end of the list element that begins at @start: a comma or the end of the text, but
 * not a comma within brackets of any kind.
 */
const char *type_list_element_end(const char *start, const char *end);

#endif
