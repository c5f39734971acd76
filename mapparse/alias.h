/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types that every language of .NET has its own word for. */
#ifndef MAPPARSE_ALIAS_H
#define MAPPARSE_ALIAS_H

#include <stddef.h>

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

#endif
