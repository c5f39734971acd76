/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of types as the runtime spells them, taken apart and turned into C#'s, for values. */
#ifndef RUNTIME_DOTNET_TYPE_SPELLING_H
#define RUNTIME_DOTNET_TYPE_SPELLING_H

#include <stddef.h>

#include "runtime/dotnet/signature.h"

/* What a name is, by its last part. */
enum spelled_kind {
	SPELLED_NAMED, /* "System.Int32", "List`1[System.Int32]" */
	SPELLED_POINTER,
	SPELLED_REFERENCE,
	SPELLED_VECTOR, /* "System.Int32[]" */
	SPELLED_ARRAY,	/* of more dimensions */
	SPELLED_FUNCTION,
};

struct spelled_type {
	enum spelled_kind kind;
	size_t length;	  /* of what it is a pointer to, or an array of; of the open name */
	const char *args; /* of a generic one: "System.Int32,System.String"; or NULL */
	size_t args_length;
};

void spelled_type_read(struct spelled_type *type, const char *name, size_t length);

/* What is in the brackets that @name, of @length bytes, ends with; NULL: it ends with none. */
const char *spelled_in_brackets(const char *name, size_t length, size_t *inside);

/* Append "System.Collections.Generic.List<int>" for that with `1[System.Int32]. */
void spelled_type_add_csharp(struct text *out, const char *name, size_t length);

/* The elements of a list of arguments; to be deinitialised with signature_args_deinit(). */
void spelled_args_read(struct signature_args *args, const char *list, size_t length);

/* Append the name that the source has of a field: "Id" for "<Id>k__BackingField". */
void spelled_field_add(struct text *out, const char *name);

/* C#'s word for a type of the runtime's: "int" for "System.Int32"; or NULL. */
const char *spelled_keyword(const char *name, size_t length);

#endif
