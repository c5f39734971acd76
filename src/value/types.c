// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arena that types of values, their fields and their names lie in: runtimes make them, and they
 * go all at once.
 */
#include "value/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/tree.h"

enum {
	BLOCK_BYTES = 16 * 1024,
	TYPES_MAX_BYTES = 64 << 20, /* what hostile memory can make us keep */
	ALIGNMENT = 16,
	KEPT_MAX = 1 << 18,
};

struct block {
	struct block *next;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) uint8_t bytes[];
};

struct kept {
	uint64_t key; /* first: base/tree.h */
	const struct value_type *type;
};

struct value_types {
	struct block *blocks;
	size_t total;
	void *kept; /* struct kept */
	size_t kept_count;
};

struct value_types *value_types_create(void)
{
	return calloc(1, sizeof(struct value_types));
}

void value_types_destroy(struct value_types *types)
{
	if (!types)
		return;
	while (types->blocks) {
		struct block *next = types->blocks->next;

		free(types->blocks);
		types->blocks = next;
	}
	tdestroy(types->kept, free);
	free(types);
}

const struct value_type *value_types_find(const struct value_types *types, uint64_t key)
{
	const struct kept *kept = tree_find(&types->kept, key);

	return kept ? kept->type : NULL;
}

void value_types_keep(struct value_types *types, uint64_t key, const struct value_type *type)
{
	bool is_new;
	struct kept *kept = types->kept_count < KEPT_MAX ?
				    tree_take(&types->kept, key, sizeof(*kept), &is_new) :
				    NULL;

	if (kept) {
		kept->type = type;
		types->kept_count += is_new;
	}
}

static struct block *add_block(struct value_types *types, size_t size)
{
	size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	struct block *block;

	if (types->total + bytes > TYPES_MAX_BYTES)
		return NULL;
	block = calloc(1, sizeof(*block) + bytes);
	if (!block)
		return NULL;
	types->total += bytes;
	*block = (struct block){ .next = types->blocks, .size = bytes };
	types->blocks = block;
	return block;
}

void *value_types_take(struct value_types *types, size_t size)
{
	struct block *block = types->blocks;
	void *taken;

	if (size > TYPES_MAX_BYTES)
		return NULL;
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!block || block->size - block->used < size)
		block = add_block(types, size);
	if (!block)
		return NULL;
	taken = block->bytes + block->used;
	block->used += size;
	return taken;
}

const char *value_types_name(struct value_types *types, const char *name)
{
	size_t size = strlen(name) + 1;
	char *copy = value_types_take(types, size);

	return copy ? memcpy(copy, name, size) : NULL;
}

struct value_type *value_types_add(struct value_types *types, enum value_kind kind,
				   const char *name, uint32_t size)
{
	struct value_type *type = value_types_take(types, sizeof(*type));

	if (!type)
		return NULL;
	type->kind = kind;
	type->size = size;
	type->name = value_types_name(types, name);
	return type->name ? type : NULL;
}

const struct value_type *value_types_unknown(struct value_types *types, const char *name,
					     uint32_t size, const char *why)
{
	struct value_type *type = value_types_add(types, VALUE_UNKNOWN, name, size);

	if (type)
		type->why = value_types_name(types, why);
	return type && type->why ? type : NULL;
}

const struct value_field *value_type_field(const struct value_type *type, const char *name)
{
	for (size_t i = 0; type && i < type->field_count; i++) {
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	}
	return NULL;
}
