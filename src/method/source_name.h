/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The method as it is in the source, for one that the C# compiler made of it: the body of
 * an async method or iterator is MoveNext of a nested class, a lambda or local function
 * is a method of its own.
 *
 * The names are Roslyn's, GeneratedNames.cs:
 *   Outer+<Name>d__5::MoveNext                     state machine of Outer::Name
 *   Outer::<Name>b__4_0, Outer+<>c::<Name>b__4_0,
 *   Outer+<>c__DisplayClass4_0::<Name>b__1         lambda in Outer::Name
 *   Outer::<Name>g__Local|4_0                      local function in Outer::Name
 * and these within each other: Outer+<<Name>b__4_0>d::MoveNext is the state machine of a lambda.
 */
#ifndef METHOD_SOURCE_NAME_H
#define METHOD_SOURCE_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum source_relation {
	SOURCE_STATE_MACHINE,
	SOURCE_LAMBDA,
	SOURCE_LOCAL_FUNCTION,
};

struct source_name {
	enum source_relation relation;
	size_t type_length; /* so much of the type's name is that in the source */
	const char *name;   /* in the type's or method's name, not NUL-terminated */
	size_t name_length;
};

/* Did the compiler make @method of the open type @type? @source borrows from both. */
bool source_name_parse(const char *type, const char *method, struct source_name *source);

/* "state machine of", "lambda in", "local function in". */
const char *source_relation_text(enum source_relation relation);

#endif
