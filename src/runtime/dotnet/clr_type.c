// SPDX-License-Identifier: GPL-2.0-or-later
/* From a type handle in the target's memory to a name: a part of those that methoddesc.c makes. */
#include "runtime/dotnet/clr_type.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/tree.h"

enum {
	HANDLE_IS_DESC = 2, /* bit of a handle: a TypeDesc, not a MethodTable */
	HANDLE_BITS = 3,

	/* MethodTable flags. */
	TABLE_HAS_COMPONENTS = 1u << 31, /* arrays and strings: the low half is a size */
	TABLE_GENERICS = 0x30,
	TABLE_GENERICS_NONE = 0x00,
	TABLE_GENERICS_TYPICAL = 0x30,
	TABLE_CATEGORY = 0xc0000,
	TABLE_CATEGORY_ARRAY = 0x80000,
	TABLE_IF_ARRAY_VECTOR = 0x20000,
	TABLE_IS_CANONICAL_BIT = 1, /* of the class pointer: it leads to the canonical table */

	/* MethodTable flags of .NET 8 only. */
	TABLE8_HAS_OVERRIDE = 0x10, /* of flags 2: the module lies in a slot of its own */
	TABLE8_SLOTS = 0x0f,
	TABLE8_TOKEN_OVERFLOW = 0xffff,

	/* Element types of a TypeDesc. */
	DESC_ELEMENT = 0xff,
	DESC_POINTER = 0x0f,
	DESC_BYREF = 0x10,
	DESC_FUNCTION = 0x1b,

	ARRAY_HEAD_BYTES = 24, /* of an array's objects, see MethodTable::GetRank() */
	ARRAY_DIMENSION_BYTES = 8,

	DEPTH_MAX = 32,
	ARGS_MAX = 128,
	TYPES_MAX = 1 << 20, /* the two bound what hostile memory can make us keep */
	NAMES_MAX_BYTES = 1 << 28,
	RANK_MAX = 32,
	NAME_MAX_BYTES = 1 << 16,
};

static void type_destroy(void *node)
{
	struct clr_type *type = node;

	free(type->open);
	free(type->args);
	free(type);
}

void clr_types_deinit(struct clr_types *types)
{
	tdestroy(types->tree, type_destroy);
	types->tree = NULL;
}

/* The table that those of a generic type's instantiations over references have in common. */
static uint64_t canonical_table(const struct clr *clr, struct look *look, uint64_t table)
{
	uint64_t class_or_table = clr_u64(clr, look, table, TABLE_CLASS);

	return class_or_table & TABLE_IS_CANONICAL_BIT ? class_or_table & ~(uint64_t)HANDLE_BITS :
							 table;
}

/* Memory that is no method table (any more) is not likely to lead back to itself. */
static bool is_table(const struct clr *clr, struct look *look, uint64_t table)
{
	uint64_t canonical = canonical_table(clr, look, table);
	uint64_t class = clr_u64(clr, look, canonical, TABLE_CLASS);

	return !look->bad && !(class & TABLE_IS_CANONICAL_BIT) &&
	       clr_u64(clr, look, class, CLASS_METHOD_TABLE) == canonical && !look->bad;
}

/*
 * .NET 8 keeps the module in one of the optional slots at the table's end; which of them are
 * there is told by the lower flags. methodtable.h of v8.0.31: GetLoaderModule(),
 * GetOffsetOfOptionalMember() and c_DispatchMapSlotOffsets.
 */
static uint64_t table_module_8(const struct clr *clr, struct look *look, uint64_t table,
			       uint32_t flags)
{
	uint64_t at;
	uint16_t flags2;
	unsigned int slots, before;

	if (!(flags & ((uint32_t)TABLE_HAS_COMPONENTS | TABLE_GENERICS)))
		return clr_u64(clr, look, table, TABLE_MODULE_FIELD);
	if ((flags & TABLE_CATEGORY) != TABLE_CATEGORY_ARRAY)
		table = canonical_table(clr, look, table);
	flags2 = clr_u16(clr, look, table, TABLE_FLAGS2);
	if (!(flags2 & TABLE8_HAS_OVERRIDE))
		return clr_u64(clr, look, table, TABLE_MODULE_FIELD);
	slots = flags2 & TABLE8_SLOTS;
	before = (unsigned int)__builtin_popcount(slots);
	if (before == 1 && (slots & 3) == 2)
		before = 0;
	/* The first two take the places of fields, the others follow the virtual slots' chunks. */
	at = table + 48 + 8 * (uint64_t)before;
	if (before >= 2)
		at += 8 * (((uint64_t)clr_u16(clr, look, table, TABLE_VIRTUALS) + 7) / 8);
	return look_u64(look, at);
}

static void read_args(struct clr_types *types, struct look *look, uint64_t table, uint32_t flags,
		      struct text *out)
{
	const struct clr *clr = types->clr;
	uint64_t per_inst, dictionary;
	uint16_t dictionaries, count;

	if (flags & (uint32_t)TABLE_HAS_COMPONENTS ||
	    (flags & TABLE_GENERICS) == TABLE_GENERICS_NONE ||
	    (flags & TABLE_GENERICS) == TABLE_GENERICS_TYPICAL)
		return;
	per_inst = clr_u64(clr, look, table, TABLE_PER_INST);
	dictionaries = clr_u16(clr, look, per_inst - 8, GENERICS_DICTS);
	count = clr_u16(clr, look, per_inst - 8, GENERICS_ARGS);
	if (look->bad || dictionaries == 0 || count > ARGS_MAX) {
		look->bad = true;
		return;
	}
	dictionary = look_u64(look, per_inst + 8 * ((uint64_t)dictionaries - 1));
	clr_type_add_list(types, look, dictionary, count, out);
}

static void read_array(struct clr_types *types, struct look *look, uint64_t table, uint32_t flags,
		       struct text *out)
{
	const struct clr *clr = types->clr;
	uint32_t rank, bytes;

	clr_type_add_name(types, clr_u64(clr, look, table, TABLE_PER_INST), out);
	if (flags & TABLE_IF_ARRAY_VECTOR) {
		text_add(out, "[]");
		return;
	}
	/* Its objects have a length and a lower bound for each dimension. */
	bytes = clr_u32(clr, look, table, TABLE_BASE_SIZE);
	rank = (bytes - ARRAY_HEAD_BYTES) / ARRAY_DIMENSION_BYTES;
	if (bytes <= ARRAY_HEAD_BYTES || rank > RANK_MAX) {
		look->bad = true;
		return;
	}
	text_add(out, rank == 1 ? "[*" : "[");
	for (uint32_t i = 1; i < rank; i++)
		text_add_char(out, ',');
	text_add_char(out, ']');
}

static void read_table(struct clr_types *types, struct look *look, struct clr_type *type,
		       struct text *open, struct text *args)
{
	const struct clr *clr = types->clr;
	uint32_t flags = clr_u32(clr, look, type->handle, TABLE_FLAGS);
	bool of_8 = layout_has(&clr->layout, TABLE_TOKEN16);
	const struct metadata *metadata;
	uint64_t module;

	if (!is_table(clr, look, type->handle)) {
		look->bad = true;
		return;
	}
	if ((flags & TABLE_CATEGORY) == TABLE_CATEGORY_ARRAY) {
		read_array(types, look, type->handle, flags, open);
		return;
	}
	module = of_8 ? table_module_8(clr, look, type->handle, flags) :
			clr_u64(clr, look, type->handle, TABLE_MODULE_FIELD);
	type->rid = of_8 ? clr_u16(clr, look, type->handle, TABLE_TOKEN16) :
			   clr_u32(clr, look, type->handle, TABLE_FLAGS2) >> 8;
	if (of_8 && type->rid == TABLE8_TOKEN_OVERFLOW)
		type->rid = 0;
	type->module = look->bad ? NULL : clr_module_find(types->modules, module);
	metadata = clr_module_metadata(type->module);
	if (metadata && type->rid)
		metadata_type_name(metadata, type->rid, open);
	else
		text_add_char(open, '?');
	read_args(types, look, type->handle, flags, args);
}

static void read_function(struct clr_types *types, struct look *look, uint64_t desc,
			  struct text *out)
{
	const struct clr *clr = types->clr;
	uint32_t count = clr_u32(clr, look, desc, FUNCTION_ARG_COUNT);
	uint64_t at = clr_field(clr, look, desc, FUNCTION_TYPES);

	if (count > ARGS_MAX)
		look->bad = true;
	clr_type_add_list(types, look, at, 1, out);
	text_add(out, "(*)(");
	clr_type_add_list(types, look, at + 8, look->bad ? 0 : count, out);
	text_add_char(out, ')');
}

static void read_desc(struct clr_types *types, struct look *look, struct clr_type *type,
		      struct text *open)
{
	const struct clr *clr = types->clr;
	uint64_t desc = type->handle & ~(uint64_t)HANDLE_BITS;
	uint32_t element = clr_u32(clr, look, desc, TYPE_DESC_FLAGS) & DESC_ELEMENT;

	switch (element) {
	case DESC_POINTER:
	case DESC_BYREF:
		clr_type_add_name(types, clr_u64(clr, look, desc, PARAM_TYPE_ARG), open);
		text_add_char(open, element == DESC_POINTER ? '*' : '&');
		break;
	case DESC_FUNCTION:
		read_function(types, look, desc, open);
		break;
	default:
		/* A generic parameter by itself: of an open type, which has no code. */
		text_add_char(open, '?');
		break;
	}
}

/* Leaves @type without a name if it cannot be read. */
static void read_type(struct clr_types *types, struct clr_type *type)
{
	struct look look = look_into(types->clr->memory);
	_cleanup_(text_deinit) struct text open = { 0 }, args = { 0 };

	if (type->handle & HANDLE_IS_DESC)
		read_desc(types, &look, type, &open);
	else
		read_table(types, &look, type, &open, &args);
	if (!look.bad && open.length < NAME_MAX_BYTES && args.length < NAME_MAX_BYTES) {
		types->name_bytes += open.length + args.length;
		free(type->args);
		type->args = strdup(text_chars(&args));
		type->open = type->args ? strdup(text_chars(&open)) : NULL;
	}
}

void clr_types_forget_failures(struct clr_types *types)
{
	types->attempt++;
}

/* The entry of @handle, made if there was none; NULL without memory, or room in the limits. */
static struct clr_type *enter(struct clr_types *types, uint64_t handle)
{
	struct clr_type *type;
	bool is_new;

	if (types->count == TYPES_MAX || types->name_bytes > NAMES_MAX_BYTES)
		return tree_find(&types->tree, handle);
	type = tree_take(&types->tree, handle, sizeof(*type), &is_new);
	if (type && is_new) {
		types->count++;
		type->attempt = types->attempt - 1;
	}
	return type;
}

const struct clr_type *clr_type_find(struct clr_types *types, uint64_t handle)
{
	struct clr_type *type = handle ? enter(types, handle) : NULL;

	if (!type)
		return NULL;
	/* Marked before it is read, so that a type that contains itself ends there. */
	if (!type->open && type->attempt != types->attempt && types->depth < DEPTH_MAX) {
		type->attempt = types->attempt;
		types->depth++;
		read_type(types, type);
		types->depth--;
	}
	return type->open ? type : NULL;
}

void clr_type_add_name(struct clr_types *types, uint64_t handle, struct text *out)
{
	const struct clr_type *type = clr_type_find(types, handle);

	text_add(out, type ? type->open : "?");
	if (type && *type->args) {
		text_add_char(out, '[');
		text_add(out, type->args);
		text_add_char(out, ']');
	}
}

void clr_type_add_list(struct clr_types *types, struct look *look, uint64_t at, uint32_t count,
		       struct text *out)
{
	for (uint32_t i = 0; i < count && !look->bad; i++) {
		if (i > 0)
			text_add_char(out, ',');
		look->bad |= out->length > NAME_MAX_BYTES;
		clr_type_add_name(types, look_u64(look, at + 8 * (uint64_t)i), out);
	}
}
