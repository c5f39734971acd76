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

#include "base/text.h"

struct dotnet_images;
struct jit;
struct metadata;
struct type_index;

/* The types that images define, found by the hash of their names. All 0: none are listed. */
struct type_definitions {
	struct type_definition {
		uint64_t hash; /* first: base/sorted.h */
		const struct metadata *metadata;
		uint32_t rid;
	} * list;
	size_t count;
	size_t capacity;
	size_t images; /* that are listed */
	struct text name;
};

/* Add those of the images that have come. Without memory some may be missing. */
void type_definitions_list(struct type_definitions *types, const struct dotnet_images *images);
void type_definitions_deinit(struct type_definitions *types);

/* The first that may have that name, with its hash; so may all behind it that have the same. */
size_t type_definitions_first(const struct type_definitions *types, const char *name, size_t length,
			      uint64_t *hash);

struct type_place {
	const struct metadata *metadata;
	uint32_t rid;
	bool ambiguous; /* several that are as likely have that name */
};

/* Borrows both; @jit may be NULL, and may be read anew. NULL if there is no memory. */
struct type_index *type_index_create(const struct dotnet_images *images, struct jit *const *jit);
void type_index_destroy(struct type_index *index);

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
