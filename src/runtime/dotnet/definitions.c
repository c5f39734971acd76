// SPDX-License-Identifier: GPL-2.0-or-later
/* From a reference to a method to its definition, for inlining.c. */
#include "runtime/dotnet/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sorted.h"
#include "runtime/dotnet/images.h"
#include "method/method_name.h"

enum {
	MAX_TYPES = 1 << 22, /* of all images */

	/* Types and methods looked at in all: many of one name would make it long work. */
	MAX_STEPS = 1 << 22,
};

/* One type of one image, found by the hash of its name. */
struct type_entry {
	uint64_t hash; /* first: base/sorted.h */
	uint32_t type_rid;
	const struct metadata *metadata;
};

struct definitions {
	const struct dotnet_images *images;
	bool listed;
	struct type_entry *types;
	size_t count;
	unsigned int steps;
	struct method_name wanted;
	struct method_name name;
};

struct definitions *definitions_create(const struct dotnet_images *images)
{
	struct definitions *definitions = calloc(1, sizeof(*definitions));

	if (definitions)
		definitions->images = images;
	return definitions;
}

void definitions_destroy(struct definitions *definitions)
{
	if (!definitions)
		return;
	free(definitions->types);
	method_name_deinit(&definitions->wanted);
	method_name_deinit(&definitions->name);
	free(definitions);
}

/* Never 0. */
static uint64_t hash_of(const struct text *name)
{
	return hash_bytes(HASH_START, text_chars(name), name->length) | 1;
}

static void list_types(struct definitions *definitions)
{
	const struct dotnet_images *images = definitions->images;
	struct text *name = &definitions->name.type;
	size_t count = 0;

	definitions->listed = true;
	for (size_t i = 0; i < images->count; i++) {
		if (images->images[i]->metadata)
			count += metadata_rows(images->images[i]->metadata, TABLE_TYPE_DEF);
	}
	if (count > 0 && count <= MAX_TYPES)
		definitions->types = calloc(count, sizeof(*definitions->types));
	if (!definitions->types)
		return;
	for (size_t i = 0; i < images->count; i++) {
		const struct metadata *metadata = images->images[i]->metadata;
		uint32_t rows = metadata ? metadata_rows(metadata, TABLE_TYPE_DEF) : 0;

		for (uint32_t type = 1; type <= rows; type++) {
			text_clear(name);
			metadata_type_name(metadata, type, name);
			definitions->types[definitions->count++] = (struct type_entry){
				.hash = hash_of(name),
				.type_rid = type,
				.metadata = metadata,
			};
		}
	}
	qsort(definitions->types, definitions->count, sizeof(*definitions->types),
	      by_leading_number);
}

/* The first of the types with this hash, or count. */
static size_t first_type(const struct definitions *definitions, uint64_t hash)
{
	return sorted_up_to(definitions->types, definitions->count, sizeof(*definitions->types),
			    hash - 1);
}

static bool same_text(const struct text *a, const struct text *b)
{
	return a->length == b->length && strcmp(text_chars(a), text_chars(b)) == 0;
}

/* The method of the type that is named as wanted, 0 if none is. */
static uint32_t find_method(struct definitions *definitions, const struct type_entry *type)
{
	const char *wanted = text_chars(&definitions->wanted.name);
	uint32_t first, end;

	metadata_type_methods(type->metadata, type->type_rid, &first, &end);
	for (uint32_t rid = first; rid < end; rid++) {
		const struct r2r_method method = { type->metadata, rid, 0 };

		if (++definitions->steps > MAX_STEPS)
			return 0;
		if (strcmp(metadata_method_name(type->metadata, rid), wanted) != 0)
			continue;
		r2r_method_name(&method, &definitions->name);
		if (same_text(&definitions->name.type, &definitions->wanted.type) &&
		    same_text(&definitions->name.params, &definitions->wanted.params))
			return rid;
	}
	return 0;
}

/* The assembly or module that the reference names. */
static const char *module_of(const struct r2r_method *method)
{
	enum metadata_table table = TABLE_MODULE;
	uint32_t parent =
		metadata_member_ref_parent(method->metadata, method->member_ref_rid, &table);

	return table == TABLE_TYPE_REF ? metadata_type_ref_module(method->metadata, parent) : "";
}

bool definitions_find(struct definitions *definitions, struct r2r_method *method)
{
	const char *module = module_of(method);
	bool found = false;
	uint64_t hash;

	if (!definitions->listed)
		list_types(definitions);
	r2r_method_name(method, &definitions->wanted);
	hash = hash_of(&definitions->wanted.type);
	for (size_t i = first_type(definitions, hash);
	     i < definitions->count && definitions->types[i].hash == hash &&
	     ++definitions->steps <= MAX_STEPS;
	     i++) {
		const struct type_entry *type = &definitions->types[i];
		bool named = strcmp(metadata_assembly_name(type->metadata), module) == 0;
		uint32_t rid = found && !named ? 0 : find_method(definitions, type);

		if (rid == 0)
			continue;
		*method = (struct r2r_method){ type->metadata, rid, 0 };
		found = true;
		if (named)
			break;
	}
	return found;
}
