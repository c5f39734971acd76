// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types of C and C++ as the DWARF of one unit has them, for signature.c. Only what lies in that
 * unit is looked at, since no other has been checked (lines_check.c), and only so deep.
 *
 * Source: DWARF 5, sections 5.1 to 5.9.
 */
#include <dwarf.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "runtime/native/lines_internal.h"
#include "value/value.h"

enum {
	PEELED_MAX = 16, /* names and qualifiers of one type */
	NESTING = 2,	 /* structs in a struct */
	FIELDS_MAX = 32,
	MEMBERS_MAX = 1024, /* of an enum */
	CHILDREN_MAX = 4096,
	POINTED_BYTES = 512, /* of a struct that is pointed to */
	POINTER_BYTES = 8,
	/* DWARF 5, 3.3.1.1 */
	CALLED_BY_REFERENCE = 4,
};

static const struct value_type *type_at(const struct dwarf_types *types, Dwarf_Die *die,
					unsigned int nesting, bool pointed);

/* Of what @die says by @attribute, such as DW_AT_type, in the unit; false: nothing. */
static bool follow(const struct dwarf_types *types, Dwarf_Die *die, unsigned int attribute,
		   Dwarf_Die *to)
{
	Dwarf_Attribute found;
	uint64_t at;

	if (lines_clock_is_over(types->function->clock) ||
	    !dwarf_attr_integrate(die, attribute, &found) || !dwarf_formref_die(&found, to))
		return false;
	at = dwarf_dieoffset(to);
	return at >= types->function->unit_begin && at < types->function->unit_end;
}

static bool is_qualifier(int tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/*
 * What @die is without qualifiers and other names; the first of its names, if it has one, is in
 * @name. False: it is void, or not in this unit.
 */
static bool peel(const struct dwarf_types *types, Dwarf_Die *die, const char **name)
{
	for (int i = 0; i < PEELED_MAX; i++) {
		int tag = dwarf_tag(die);

		if (tag != DW_TAG_typedef && !is_qualifier(tag))
			return true;
		if (tag == DW_TAG_typedef && !*name)
			*name = lines_text_of(die, DW_AT_name);
		if (!follow(types, die, DW_AT_type, die))
			return false;
	}
	return false;
}

static const struct value_type *unknown(const struct dwarf_types *types, const char *name,
					uint32_t size, const char *why)
{
	return value_types_unknown(types->types, name ? name : "?", size, why);
}

/* Numbers --------------------------------------------------------------------------------- */

static bool is_char(Dwarf_Die *die)
{
	uint64_t encoding = lines_number_of(die, DW_AT_encoding, 0);
	const char *name = lines_text_of(die, DW_AT_name);

	return dwarf_tag(die) == DW_TAG_base_type &&
	       lines_number_of(die, DW_AT_byte_size, 0) == 1 &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char) && name &&
	       strcmp(name, "char") == 0;
}

static enum value_kind kind_of_base(Dwarf_Die *die)
{
	switch (lines_number_of(die, DW_AT_encoding, 0)) {
	case DW_ATE_boolean:
		return VALUE_BOOL;
	case DW_ATE_float:
		return VALUE_FLOAT;
	case DW_ATE_signed:
		return VALUE_SIGNED;
	case DW_ATE_signed_char:
		return is_char(die) ? VALUE_CHAR : VALUE_SIGNED;
	case DW_ATE_unsigned_char:
		return is_char(die) ? VALUE_CHAR : VALUE_UNSIGNED;
	case DW_ATE_unsigned:
		return VALUE_UNSIGNED;
	case DW_ATE_UTF:
		return lines_number_of(die, DW_AT_byte_size, 0) <= 2 ? VALUE_CHAR : VALUE_UNSIGNED;
	default:
		return VALUE_UNKNOWN;
	}
}

static const struct value_type *base_type(const struct dwarf_types *types, Dwarf_Die *die,
					  const char *name)
{
	uint64_t size = lines_number_of(die, DW_AT_byte_size, 0);
	enum value_kind kind = kind_of_base(die);

	if (kind == VALUE_UNKNOWN || size == 0 || size > 8)
		return unknown(types, name, size <= 64 ? (uint32_t)size : 0,
			       "a kind of number that is not shown");
	return value_types_add(types->types, kind, name ? name : "?", (uint32_t)size);
}

static size_t count_children(Dwarf_Die *die, int tag, size_t max)
{
	Dwarf_Die child;
	size_t count = 0;

	bool more = dwarf_child(die, &child) == 0;

	for (int i = 0; more && i < CHILDREN_MAX && count < max; i++) {
		count += dwarf_tag(&child) == tag;
		more = dwarf_siblingof(&child, &child) == 0;
	}
	return count;
}

/* As wide as the enum is: compilers may have made a negative number of it. */
static bool take_member(const struct dwarf_types *types, Dwarf_Die *die, uint64_t size,
			struct value_member *member)
{
	Dwarf_Attribute found;
	const char *name = lines_text_of(die, DW_AT_name);
	Dwarf_Sword value;

	member->name = name ? value_types_name(types->types, name) : NULL;
	if (!member->name || !dwarf_attr(die, DW_AT_const_value, &found) ||
	    dwarf_formsdata(&found, &value) != 0)
		return false;
	member->value = (uint64_t)value & (size < 8 ? (1ULL << 8 * size) - 1 : UINT64_MAX);
	return true;
}

static const struct value_type *enum_type(const struct dwarf_types *types, Dwarf_Die *die,
					  const char *name)
{
	size_t count = count_children(die, DW_TAG_enumerator, MEMBERS_MAX);
	uint64_t size = lines_number_of(die, DW_AT_byte_size, 4);
	struct value_member *members = value_types_take(types->types, count * sizeof(*members) + 1);
	struct value_type *type =
		value_types_add(types->types, VALUE_ENUM, name ? name : "enum", (uint32_t)size);
	Dwarf_Die child, underlying;
	bool more;

	if (!members || !type)
		return NULL;
	if (size == 0 || size > 8)
		return unknown(types, name, 0, "an enum of no known size");
	type->members = members;
	more = dwarf_child(die, &child) == 0;
	for (size_t i = 0; more && i < CHILDREN_MAX && type->member_count < count; i++) {
		if (dwarf_tag(&child) == DW_TAG_enumerator &&
		    take_member(types, &child, size, &members[type->member_count]))
			type->member_count++;
		more = dwarf_siblingof(&child, &child) == 0;
	}
	if (follow(types, die, DW_AT_type, &underlying))
		type->element = type_at(types, &underlying, 0, false);
	return type;
}

/* Pointers -------------------------------------------------------------------------------- */

static const struct value_type *plain_pointer(const struct dwarf_types *types, const char *to)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	text_printf(&name, "%s *", to ? to : "void");
	return value_types_add(types->types, VALUE_POINTER, text_chars(&name), POINTER_BYTES);
}

static bool is_struct(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

/* To a struct it is shown with what is there, at first; further in as an address. */
static const struct value_type *pointer_type(const struct dwarf_types *types, Dwarf_Die *die,
					     bool reference, unsigned int nesting, bool pointed)
{
	const struct value_type *element;
	struct value_type *type;
	const char *name = NULL;
	Dwarf_Die to;

	if (!follow(types, die, DW_AT_type, &to) || !peel(types, &to, &name))
		return plain_pointer(types, name);
	if (!name)
		name = lines_text_of(&to, DW_AT_name);
	if (!reference && is_char(&to))
		return value_types_add(types->types, VALUE_CSTRING, "char *", POINTER_BYTES);
	if (pointed || (!reference && !is_struct(&to)))
		return plain_pointer(types, name);
	element = type_at(types, &to, nesting, true);
	if (!element || element->kind == VALUE_UNKNOWN || !element->size)
		return plain_pointer(types, name);
	type = value_types_add(types->types, VALUE_REFERENCE, name ? name : "?", POINTER_BYTES);
	if (type)
		type->element = element;
	return type;
}

/* Structs --------------------------------------------------------------------------------- */

/* Where the member is, or -1: it is of no fixed place, or is none of each object. */
static int64_t offset_of(Dwarf_Die *member)
{
	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return -1;
	if (!dwarf_hasattr(member, DW_AT_data_member_location))
		return dwarf_hasattr(member, DW_AT_data_bit_offset) ? -1 : 0;
	return (int64_t)lines_number_of(member, DW_AT_data_member_location, UINT32_MAX);
}

static bool take_field(const struct dwarf_types *types, Dwarf_Die *die, unsigned int nesting,
		       struct value_field *field)
{
	int64_t offset = offset_of(die);
	const char *name = lines_text_of(die, DW_AT_name);
	Dwarf_Die of;

	if (offset < 0 || offset >= UINT32_MAX || !follow(types, die, DW_AT_type, &of))
		return false;
	field->offset = (uint32_t)offset;
	field->name = value_types_name(types->types, name ? name : "base");
	field->type = dwarf_hasattr(die, DW_AT_bit_size) ? unknown(types, name, 0, "a bit field") :
							   type_at(types, &of, nesting + 1, true);
	return field->name && field->type;
}

static bool is_field(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_member || dwarf_tag(die) == DW_TAG_inheritance;
}

/* Those that begin before @size. */
static void take_fields(const struct dwarf_types *types, Dwarf_Die *die, unsigned int nesting,
			struct value_type *type)
{
	struct value_field *fields = value_types_take(types->types, FIELDS_MAX * sizeof(*fields));
	Dwarf_Die child;

	if (!fields || dwarf_child(die, &child) != 0)
		return;
	type->fields = fields;
	for (size_t i = 0; i < CHILDREN_MAX && type->field_count < FIELDS_MAX; i++) {
		struct value_field *field = &fields[type->field_count];

		if (is_field(&child) && take_field(types, &child, nesting, field) &&
		    field->offset < type->size && field->type->size <= type->size - field->offset)
			type->field_count++;
		if (lines_clock_is_over(types->function->clock) ||
		    dwarf_siblingof(&child, &child) != 0)
			break;
	}
}

static const struct value_type *struct_type(const struct dwarf_types *types, Dwarf_Die *die,
					    const char *name, unsigned int nesting, bool pointed)
{
	uint64_t size = lines_number_of(die, DW_AT_byte_size, 0);
	struct value_type *type;

	if (dwarf_hasattr(die, DW_AT_declaration) || size == 0 || size > UINT32_MAX)
		return unknown(types, name, 0, "a struct that is only declared here");
	if (pointed && nesting == 0 && size > POINTED_BYTES)
		size = POINTED_BYTES;
	if (nesting > NESTING)
		return unknown(types, name, (uint32_t)size, "a struct in structs");
	type = value_types_add(types->types, VALUE_STRUCT, name ? name : "struct", (uint32_t)size);
	if (type)
		take_fields(types, die, nesting, type);
	return type;
}

bool dwarf_types_by_pointer(const struct dwarf_types *types, Dwarf_Die *die)
{
	const char *name = NULL;
	Dwarf_Die of;

	return follow(types, die, DW_AT_type, &of) && peel(types, &of, &name) && is_struct(&of) &&
	       lines_number_of(&of, DW_AT_calling_convention, 0) == CALLED_BY_REFERENCE;
}

/* All ------------------------------------------------------------------------------------- */

static uint32_t size_of(Dwarf_Die *die)
{
	uint64_t size = lines_number_of(die, DW_AT_byte_size, 0);

	return size < UINT32_MAX ? (uint32_t)size : 0;
}

static const struct value_type *type_at(const struct dwarf_types *types, Dwarf_Die *die,
					unsigned int nesting, bool pointed)
{
	const char *name = NULL;
	Dwarf_Die of = *die;

	if (!peel(types, &of, &name))
		return unknown(types, name, 0, "a type in other debug information");
	if (!name)
		name = lines_text_of(&of, DW_AT_name);
	switch (dwarf_tag(&of)) {
	case DW_TAG_base_type:
		return base_type(types, &of, name);
	case DW_TAG_enumeration_type:
		return enum_type(types, &of, name);
	case DW_TAG_pointer_type:
		return pointer_type(types, &of, false, nesting, pointed);
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return pointer_type(types, &of, true, nesting, pointed);
	case DW_TAG_unspecified_type: /* nullptr_t */
		return plain_pointer(types, NULL);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return struct_type(types, &of, name, nesting, pointed);
	case DW_TAG_union_type:
		return unknown(types, name, size_of(&of), "a union");
	case DW_TAG_array_type:
		return unknown(types, name, size_of(&of), "an array");
	default:
		return unknown(types, name, size_of(&of), "a kind of type that is not shown");
	}
}

const struct value_type *dwarf_types_of(const struct dwarf_types *types, Dwarf_Die *die)
{
	Dwarf_Attribute found;
	Dwarf_Die of;

	if (!dwarf_attr_integrate(die, DW_AT_type, &found))
		return value_types_add(types->types, VALUE_VOID, "void", 0);
	if (!follow(types, die, DW_AT_type, &of))
		return unknown(types, NULL, 0, "a type in other debug information");
	return type_at(types, &of, 0, false);
}
