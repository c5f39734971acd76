/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the name of a type to where it is defined, and to the MethodTable that a live runtime has of
 * it. Names are spelled as arguments of canonical names are: "System.Int32",
 * "System.Collections.Generic.List`1[System.Int32]".
 */
#ifndef RUNTIME_DOTNET_TYPE_INDEX_H
#define RUNTIME_DOTNET_TYPE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dotnet_images;
struct jit;
struct metadata;
struct type_index;

struct type_place {
	const struct metadata *metadata;
	uint32_t rid;
	bool ambiguous; /* several that are as likely have that name */
};

/* Borrows both; @jit may be NULL, and may be read anew. NULL if there is no memory. */
struct type_index *type_index_create(const struct dotnet_images *images, struct jit *const *jit);
void type_index_destroy(struct type_index *index);

/* The target's memory may have changed. */
void type_index_refresh(struct type_index *index);

/*
 * Where the type of the open @name, of @length bytes, is defined, as a module with @near means it.
 * False if no image has it.
 */
bool type_index_define(struct type_index *index, const char *name, size_t length,
		       const struct metadata *near, struct type_place *place);

/* The MethodTable of a type that is not generic; 0 if it is not loaded, or that is not known. */
uint64_t type_index_table(struct type_index *index, const struct type_place *place);

/* That of an instantiation, by its whole name. */
uint64_t type_index_instantiation(struct type_index *index, const char *name);

#endif
