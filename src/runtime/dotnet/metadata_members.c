// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of metadata.h that is about what methods are like, beyond their names, and about the
 * fields of types, which values are shown by.
 */
#include <string.h>

#include "runtime/dotnet/metadata_internal.h"

bool metadata_method_has_il(const struct metadata *metadata, uint32_t method_rid)
{
	return metadata_cell(metadata, TABLE_METHOD_DEF, method_rid, METHOD_DEF_RVA) != 0;
}

uint16_t metadata_method_impl_flags(const struct metadata *metadata, uint32_t method_rid)
{
	return (uint16_t)metadata_cell(metadata, TABLE_METHOD_DEF, method_rid,
				       METHOD_DEF_IMPL_FLAGS);
}

struct rva metadata_method_il(const struct metadata *metadata, uint32_t method_rid)
{
	return (struct rva){ metadata_cell(metadata, TABLE_METHOD_DEF, method_rid,
					   METHOD_DEF_RVA) };
}

/* GenericParam is sorted by its owner. */
static bool has_generic_params(const struct metadata *metadata, uint32_t owner_rid, uint32_t tag)
{
	return metadata_row_of(metadata, TABLE_GENERIC_PARAM, GENERIC_PARAM_OWNER,
			       owner_rid << OWNER_TAG_BITS | tag) != 0;
}

bool metadata_method_is_generic(const struct metadata *metadata, uint32_t method_rid)
{
	uint32_t type_rid = metadata_method_type(metadata, method_rid);

	return has_generic_params(metadata, method_rid, OWNER_METHOD_DEF) ||
	       (type_rid && has_generic_params(metadata, type_rid, OWNER_TYPE_DEF));
}

/* The short name of the type whose constructor an attribute calls. */
static const char *attribute_type(const struct metadata *metadata, uint32_t constructor)
{
	uint32_t rid = constructor >> CONSTRUCTOR_TAG_BITS,
		 tag = constructor & CONSTRUCTOR_TAG_MASK;
	enum metadata_table table = TABLE_TYPE_DEF;

	if (tag == CONSTRUCTOR_METHOD_DEF)
		rid = metadata_method_type(metadata, rid);
	else if (tag == CONSTRUCTOR_MEMBER_REF)
		rid = metadata_member_ref_parent(metadata, rid, &table);
	else
		return "";
	return rid && (table == TABLE_TYPE_DEF || table == TABLE_TYPE_REF) ?
		       metadata_string_cell(metadata, table, rid, TYPE_NAME) :
		       "";
}

bool metadata_method_attribute(const struct metadata *metadata, uint32_t method_rid, uint32_t index,
			       struct metadata_attribute *attribute)
{
	uint32_t parent = method_rid << ATTRIBUTE_PARENT_TAG_BITS;
	/* Sorted by parent: those of the method end where the next parent begins. */
	uint32_t last =
		metadata_last_not_above(metadata, TABLE_CUSTOM_ATTRIBUTE, ATTRIBUTE_PARENT, parent);

	if (index >= last)
		return false;
	last -= index;
	if (metadata_cell(metadata, TABLE_CUSTOM_ATTRIBUTE, last, ATTRIBUTE_PARENT) != parent)
		return false;
	attribute->type = attribute_type(metadata, metadata_cell(metadata, TABLE_CUSTOM_ATTRIBUTE,
								 last, ATTRIBUTE_CONSTRUCTOR));
	attribute->value =
		metadata_blob_cell(metadata, TABLE_CUSTOM_ATTRIBUTE, last, ATTRIBUTE_VALUE);
	return true;
}

struct span metadata_stand_alone_signature(const struct metadata *metadata, uint32_t token)
{
	if (token >> TOKEN_TABLE_SHIFT != TABLE_STAND_ALONE_SIG)
		return (struct span){ 0 };
	return metadata_blob_cell(metadata, TABLE_STAND_ALONE_SIG, token & TOKEN_ROW_MASK,
				  STAND_ALONE_SIGNATURE);
}

/* ImplMap is sorted by what it is about. */
bool metadata_method_import(const struct metadata *metadata, uint32_t method_rid,
			    struct metadata_import *import)
{
	uint32_t forwarded = method_rid << FORWARDED_TAG_BITS | FORWARDED_METHOD_DEF;
	uint32_t row = metadata_row_of(metadata, TABLE_IMPL_MAP, IMPL_MAP_FORWARDED, forwarded);

	if (!row)
		return false;
	import->flags = (uint16_t)metadata_cell(metadata, TABLE_IMPL_MAP, row, IMPL_MAP_FLAGS);
	import->name = metadata_string_cell(metadata, TABLE_IMPL_MAP, row, IMPL_MAP_NAME);
	import->library = metadata_string_cell(
		metadata, TABLE_MODULE_REF,
		metadata_cell(metadata, TABLE_IMPL_MAP, row, IMPL_MAP_SCOPE), MODULE_REF_NAME);
	return true;
}

const char *metadata_param_name(const struct metadata *metadata, uint32_t method_rid,
				uint32_t sequence, uint16_t *flags)
{
	uint32_t first = metadata_cell(metadata, TABLE_METHOD_DEF, method_rid, METHOD_DEF_PARAMS);
	uint32_t end = metadata_cell(metadata, TABLE_METHOD_DEF, method_rid + 1, METHOD_DEF_PARAMS);

	*flags = 0;
	/* Runs of rows go through another table, which compilers do not write. */
	if (!first || metadata->tables[TABLE_PARAM_PTR].count)
		return "";
	if (method_rid == metadata->tables[TABLE_METHOD_DEF].count)
		end = metadata->tables[TABLE_PARAM].count + 1;
	for (uint32_t rid = first; rid < end && rid - first <= sequence; rid++) {
		if (metadata_cell(metadata, TABLE_PARAM, rid, PARAM_SEQUENCE) != sequence)
			continue;
		*flags = (uint16_t)metadata_cell(metadata, TABLE_PARAM, rid, PARAM_FLAGS);
		return metadata_string_cell(metadata, TABLE_PARAM, rid, PARAM_NAME);
	}
	return "";
}

/* Fields ------------------------------------------------------------------------------------- */

void metadata_type_fields(const struct metadata *metadata, uint32_t type_rid, uint32_t *first,
			  uint32_t *end)
{
	uint32_t fields = metadata->tables[TABLE_FIELD].count;
	uint32_t types = metadata->tables[TABLE_TYPE_DEF].count;

	metadata_type_run(metadata, type_rid, TYPE_DEF_FIELDS, TABLE_FIELD, first, end);
	if (*end > fields + 1)
		*end = fields + 1;
	/* Runs of rows go through another table, which compilers do not write. */
	if (metadata->tables[TABLE_FIELD_PTR].count || type_rid > types || *first == 0 ||
	    *first >= *end)
		*first = *end = 0;
}

uint16_t metadata_field_flags(const struct metadata *metadata, uint32_t rid)
{
	return (uint16_t)metadata_cell(metadata, TABLE_FIELD, rid, FIELD_FLAGS);
}

bool metadata_field_constant(const struct metadata *metadata, uint32_t rid, uint64_t *value)
{
	uint32_t row = metadata_row_of(metadata, TABLE_CONSTANT, CONSTANT_PARENT,
				       rid << CONSTANT_TAG_BITS);
	struct span bytes = metadata_blob_cell(metadata, TABLE_CONSTANT, row, CONSTANT_VALUE);

	*value = 0;
	if (!row || bytes.size == 0 || bytes.size > sizeof(*value))
		return false;
	for (size_t i = bytes.size; i-- > 0;)
		*value = *value << 8 | bytes.start[i];
	return true;
}

void metadata_type_base(const struct metadata *metadata, uint32_t type_rid, struct text *out)
{
	uint32_t base = metadata_cell(metadata, TABLE_TYPE_DEF, type_rid, TYPE_DEF_EXTENDS);
	uint32_t rid = base >> EXTENDS_TAG_BITS;

	if (!rid)
		return;
	if ((base & EXTENDS_TAG_MASK) == EXTENDS_TYPE_DEF)
		metadata_type_name(metadata, rid, out);
	else if ((base & EXTENDS_TAG_MASK) == EXTENDS_TYPE_REF)
		metadata_type_ref_name(metadata, rid, out);
}

bool metadata_type_has_attribute(const struct metadata *metadata, uint32_t type_rid,
				 const char *name)
{
	uint32_t parent = type_rid << ATTRIBUTE_PARENT_TAG_BITS | ATTRIBUTE_PARENT_TYPE_DEF;
	/* Sorted by parent: those of the type end where the next parent begins. */
	uint32_t row =
		metadata_last_not_above(metadata, TABLE_CUSTOM_ATTRIBUTE, ATTRIBUTE_PARENT, parent);

	for (; metadata_cell(metadata, TABLE_CUSTOM_ATTRIBUTE, row, ATTRIBUTE_PARENT) == parent;
	     row--) {
		uint32_t constructor =
			metadata_cell(metadata, TABLE_CUSTOM_ATTRIBUTE, row, ATTRIBUTE_CONSTRUCTOR);

		if (strcmp(attribute_type(metadata, constructor), name) == 0)
			return true;
	}
	return false;
}
