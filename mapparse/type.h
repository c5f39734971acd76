/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types in signatures: from any spelling to the canonical one, in one pass from left to
 * right. "class [mscorlib]System.Collections.Generic.List`1<int32>&" and "ref List<int>" are
 * both told apart into the same parts and written as "...List`1[System.Int32]&".
 */
#ifndef MAPPARSE_TYPE_H
#define MAPPARSE_TYPE_H

#include "buffer.h"
#include "line.h"

enum { MAPPARSE_TYPE_DEPTH_MAX = 32 };

/* A type that every language of .NET has its own word for. */
struct mapparse_alias {
	const char *il;	     /* the canonical word of a parameter: "int32" */
	const char *clr;     /* of a generic argument: "System.Int32" */
	const char *csharp;  /* "int" */
	const char *mangled; /* "Int32" */
};

/* What the spelling stands for, in any of the languages; NULL if for nothing but itself. */
const struct mapparse_alias *mapparse_alias_find(const char *chars, size_t length);

/* By the mangled word alone. */
const struct mapparse_alias *mapparse_alias_find_mangled(const char *chars, size_t length);

/* What is left to be read; every reader moves @pos on. */
struct mapparse_scan {
	const char *pos;
	const char *end;
	int depth;
};

static inline struct mapparse_scan mapparse_scan_of(struct mapparse_slice s, int depth)
{
	return (struct mapparse_scan){ s.start, slice_end(s), depth };
}

static inline bool mapparse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline void mapparse_skip_spaces(struct mapparse_scan *s)
{
	while (s->pos < s->end && *s->pos == ' ')
		s->pos++;
}

/*
 * Append one type, canonically spelled: as an argument of a generic (System.Int32), or as a
 * parameter (int32). Stops before a comma or closing bracket. False if it is no type, with
 * @out in an undefined state beyond where it began.
 */
bool mapparse_type_read(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out);

/*
 * Append a list of types up to @s->end. An element that is no type is copied as it is, and
 * *@odd set.
 */
void mapparse_type_read_list(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out,
			     bool *odd);

/*
 * Append the name of a type, without words before and suffixes behind it, and its arguments
 * in brackets from *@name_end on: "Box`1/Inner<int32>" and "Box<int>.Inner" both as
 * "Box`1+Inner[System.Int32]". Stops where the name ends.
 */
bool mapparse_type_read_name(struct mapparse_scan *s, struct mapparse_buffer *out, size_t *name_end,
			     bool *odd);

/* How many types are in a list. */
size_t mapparse_list_count(struct mapparse_slice list);

/* The bracket that closes the one @open stands on, counting all kinds; NULL if none does. */
const char *mapparse_bracket_end(const char *open, const char *end);

/* The end of [], [,], [0...,0...], [*]: bounds, at most, between the brackets; else NULL. */
const char *mapparse_array_end(const char *open, const char *end);

#endif
