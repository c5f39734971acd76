// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of metadata.h that is about the fields of types, which values are shown by. */
#include <string.h>

#include "runtime/dotnet/metadata_internal.h"

void metadata_type_fields(const struct metadata *metadata, uint32_t type_rid, uint32_t *first,
			  uint32_t *end)
{
	uint32_t fields = metadata->tables[TABLE_FIELD].count;
	uint32_t types = metadata->tables[TABLE_TYPE_DEF].count;

	*first = metadata_cell(metadata, TABLE_TYPE_DEF, type_rid, TYPE_DEF_FIELDS);
	*end = type_rid < types ?
		       metadata_cell(metadata, TABLE_TYPE_DEF, type_rid + 1, TYPE_DEF_FIELDS) :
		       fields + 1;
	if (*end > fields + 1)
		*end = fields + 1;
	/* Runs of rows go through another table, which compilers do not write. */
	if (metadata->tables[TABLE_FIELD_PTR].count || type_rid > types || *first == 0 ||
	    *first >= *end)
		*first = *end = 0;
}

const char *metadata_field_name(const struct metadata *metadata, uint32_t rid)
{
	return metadata_string_cell(metadata, TABLE_FIELD, rid, FIELD_NAME);
}

uint16_t metadata_field_flags(const struct metadata *metadata, uint32_t rid)
{
	return (uint16_t)metadata_cell(metadata, TABLE_FIELD, rid, FIELD_FLAGS);
}

struct span metadata_field_signature(const struct metadata *metadata, uint32_t rid)
{
	return metadata_blob_cell(metadata, TABLE_FIELD, rid, FIELD_SIGNATURE);
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

		if (strcmp(metadata_attribute_type(metadata, constructor), name) == 0)
			return true;
	}
	return false;
}
