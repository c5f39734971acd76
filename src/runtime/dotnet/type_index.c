// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types by name, for value_types.c: definitions out of all images, loaded instantiations out of the
 * tables that modules have of them. Both are listed when they are first asked for.
 */
#include "runtime/dotnet/type_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "runtime/dotnet/clr_fields.h"
#include "runtime/dotnet/jit.h"

enum {
	DEFINITIONS_MAX = 1 << 22,
	INSTANTIATIONS_MAX = 1 << 18,
	RELIST_MS = 500, /* names that are not there are not looked for more often than this */
};

struct instantiation {
	uint64_t hash; /* first: base/sorted.h */
	uint64_t handle;
};

struct type_index {
	const struct dotnet_images *images;
	struct jit *const *jit;
	struct type_definitions definitions;
	struct instantiation *instantiations;
	size_t instantiation_count;
	size_t instantiation_capacity;
	uint64_t listed_ms; /* instantiations; 0: not yet */
	struct text name;
};

struct type_index *type_index_create(const struct dotnet_images *images, struct jit *const *jit)
{
	struct type_index *index = calloc(1, sizeof(*index));

	if (index)
		*index = (struct type_index){ .images = images, .jit = jit };
	return index;
}

void type_index_destroy(struct type_index *index)
{
	if (!index)
		return;
	type_definitions_deinit(&index->definitions);
	free(index->instantiations);
	text_deinit(&index->name);
	free(index);
}

/* Never 0: see sorted_up_to(). */
static uint64_t hash_of(const char *name, size_t length)
{
	return hash_bytes(HASH_START, name, length) | 1;
}

/* Definitions --------------------------------------------------------------------------------- */

static void list_image(struct type_definitions *types, const struct metadata *metadata)
{
	uint32_t rows = metadata_rows(metadata, TABLE_TYPE_DEF);

	for (uint32_t rid = 1; rid <= rows && types->count < DEFINITIONS_MAX; rid++) {
		struct type_definition type = { .metadata = metadata, .rid = rid };

		text_clear(&types->name);
		metadata_type_name(metadata, rid, &types->name);
		type.hash = hash_of(text_chars(&types->name), types->name.length);
		if (!vector_add(&types->list, &types->count, &types->capacity, type))
			return;
	}
}

void type_definitions_list(struct type_definitions *types, const struct dotnet_images *images)
{
	if (types->images == images->count)
		return;
	for (; types->images < images->count; types->images++) {
		const struct dotnet_image *image = images->images[types->images];

		if (image->metadata)
			list_image(types, image->metadata);
	}
	if (types->count)
		qsort(types->list, types->count, sizeof(*types->list), by_leading_number);
}

void type_definitions_deinit(struct type_definitions *types)
{
	free(types->list);
	text_deinit(&types->name);
}

size_t type_definitions_first(const struct type_definitions *types, const char *name, size_t length,
			      uint64_t *hash)
{
	*hash = hash_of(name, length);
	return sorted_up_to(types->list, types->count, sizeof(*types->list), *hash - 1);
}

static bool is_named(struct type_index *index, const struct type_definition *type, const char *name,
		     size_t length)
{
	text_clear(&index->name);
	metadata_type_name(type->metadata, type->rid, &index->name);
	return index->name.length == length && memcmp(text_chars(&index->name), name, length) == 0;
}

/* Of assemblies with a type of one name each means its own; then the core library's is meant. */
static unsigned int nearness(const struct metadata *metadata, const struct metadata *near)
{
	if (metadata == near)
		return 2;
	return strcmp(metadata_assembly_name(metadata), "System.Private.CoreLib") == 0;
}

bool type_index_define(struct type_index *index, const char *name, size_t length,
		       const struct metadata *near, struct type_place *place)
{
	const struct type_definitions *types = &index->definitions;
	unsigned int best = 0;
	uint64_t hash;

	*place = (struct type_place){ 0 };
	type_definitions_list(&index->definitions, index->images);
	for (size_t i = type_definitions_first(types, name, length, &hash);
	     i < types->count && types->list[i].hash == hash; i++) {
		const struct type_definition *type = &types->list[i];
		unsigned int how_near = nearness(type->metadata, near);

		if ((place->metadata && how_near < best) || !is_named(index, type, name, length))
			continue;
		*place = (struct type_place){
			.metadata = type->metadata,
			.rid = type->rid,
			.ambiguous = place->metadata && how_near == best,
		};
		best = how_near;
	}
	return place->metadata != NULL;
}

/* Tables of a live runtime -------------------------------------------------------------------- */

struct search {
	const struct metadata *metadata;
	uint64_t module;
};

static void find_module(const struct clr_module *module, void *ctx)
{
	struct search *search = ctx;

	if (clr_module_metadata(module) == search->metadata)
		search->module = module->at;
}

uint64_t type_index_table(struct type_index *index, const struct type_place *place)
{
	struct search search = { .metadata = place->metadata };
	struct jit *jit = *index->jit;
	const struct clr_type *type;
	uint64_t table;

	if (!jit)
		return 0;
	clr_modules_each(&jit->modules, find_module, &search);
	table = search.module ? clr_type_of_row(&jit->clr, search.module, place->rid) : 0;
	/* It must say the same of itself. */
	type = table ? clr_type_find(&jit->types, table) : NULL;
	return type && clr_module_metadata(type->module) == place->metadata &&
			       (type->rid == place->rid || type->rid == 0) ?
		       table :
		       0;
}

static void list_one(void *ctx, uint64_t handle)
{
	struct type_index *index = ctx;
	struct clr_types *types = &(*index->jit)->types;
	const struct clr_type *type = clr_type_find(types, handle);

	if (!type || !*type->args || index->instantiation_count == INSTANTIATIONS_MAX)
		return;
	text_clear(&index->name);
	clr_type_add_name(types, handle, &index->name);
	vector_add(&index->instantiations, &index->instantiation_count,
		   &index->instantiation_capacity,
		   ((struct instantiation){
			   .hash = hash_of(text_chars(&index->name), index->name.length),
			   .handle = handle,
		   }));
}

static void list_module(const struct clr_module *module, void *ctx)
{
	struct type_index *index = ctx;

	clr_each_instantiation(&(*index->jit)->clr, module->at, list_one, index);
}

static void list_instantiations(struct type_index *index)
{
	index->listed_ms = clock_now_ms();
	index->instantiation_count = 0;
	clr_types_forget_failures(&(*index->jit)->types);
	clr_modules_each(&(*index->jit)->modules, list_module, index);
	if (index->instantiation_count)
		qsort(index->instantiations, index->instantiation_count,
		      sizeof(*index->instantiations), by_leading_number);
}

static uint64_t find_instantiation(struct type_index *index, const char *name)
{
	uint64_t hash = hash_of(name, strlen(name));

	for (size_t i = sorted_up_to(index->instantiations, index->instantiation_count,
				     sizeof(*index->instantiations), hash - 1);
	     i < index->instantiation_count && index->instantiations[i].hash == hash; i++) {
		text_clear(&index->name);
		clr_type_add_name(&(*index->jit)->types, index->instantiations[i].handle,
				  &index->name);
		if (strcmp(text_chars(&index->name), name) == 0)
			return index->instantiations[i].handle;
	}
	return 0;
}

uint64_t type_index_instantiation(struct type_index *index, const char *name)
{
	uint64_t handle;

	if (!*index->jit)
		return 0;
	handle = find_instantiation(index, name);
	if (!handle && (!index->listed_ms || clock_now_ms() - index->listed_ms > RELIST_MS)) {
		list_instantiations(index);
		handle = find_instantiation(index, name);
	}
	return handle;
}
