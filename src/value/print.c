// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From what the programs have captured to text or JSON: the end of the way that begins in
 * compile.c. Bytes are hostile, and names are the target's words.
 */
#include "value/print.h"

#include <stdio.h>
#include <string.h>

#include "value/convention.h"

enum { NESTING_MAX = 8 };

void print_type(struct printer *printer, const char *name)
{
	if (!printer->json)
		return;
	text_add(printer->out, "\"type\":\"");
	print_utf8(printer->out, name);
	text_add(printer->out, "\",");
}

void print_name(struct printer *printer, const char *name)
{
	text_add(printer->out, printer->json ? "{\"name\":\"" : "");
	print_utf8(printer->out, name);
	text_add(printer->out, printer->json ? "\"," : ": ");
}

void print_value_key(struct printer *printer)
{
	if (printer->json)
		text_add(printer->out, "\"value\":");
}

void print_unavailable(struct printer *printer, const char *why)
{
	text_add(printer->out, printer->json ? "\"unavailable\":\"" : "<");
	print_utf8(printer->out, why);
	text_add(printer->out, printer->json ? "\"" : ">");
}

void print_problem(struct printer *printer, enum view_problem problem)
{
	char name[24];

	if (problem == VIEW_FAULT) {
		print_unavailable(printer, "not in memory");
	} else if (problem >= VIEW_FLOAT) {
		snprintf(name, sizeof(name), "in %s%u", convention_float_register,
			 (unsigned int)problem - VIEW_FLOAT);
		print_unavailable(printer, name);
	} else if (printer->json) {
		print_unavailable(printer, "left out");
	} else {
		text_add(printer->out, "...");
	}
}

bool print_read(struct printer *printer, const struct view *view, uint32_t offset, void *to,
		size_t size)
{
	enum view_problem problem = view_read(printer->items, view, offset, to, size);

	if (problem)
		print_problem(printer, problem);
	return !problem;
}

bool print_enter(struct printer *printer)
{
	if (printer->nesting == NESTING_MAX) {
		print_problem(printer, VIEW_MISSING);
		return false;
	}
	printer->nesting++;
	return true;
}

static void print_null(struct printer *printer)
{
	print_value_key(printer);
	text_add(printer->out, "null");
}

/* Numbers ------------------------------------------------------------------------------------ */

static void add_signed(struct text *out, int64_t number)
{
	if (number < 0)
		text_add_char(out, '-');
	text_add_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number, 0, '0');
}

static int64_t sign_extended(uint64_t number, size_t size)
{
	unsigned int unused = 64 - 8 * (unsigned int)size;

	return (int64_t)(number << unused) >> unused;
}

static const struct value_member *member_of(const struct value_type *type, uint64_t number)
{
	for (size_t i = 0; i < type->member_count; i++) {
		if (type->members[i].value == number)
			return &type->members[i];
	}
	return NULL;
}

/* "Read, Write", if flags are all that there is in it. */
static bool add_flags(struct text *out, const struct value_type *type, uint64_t number)
{
	size_t from = out->length;

	for (size_t i = 0; i < type->member_count && number; i++) {
		uint64_t bit = type->members[i].value;

		if (!bit || bit & (bit - 1) || !(number & bit))
			continue;
		text_add(out, out->length > from ? ", " : "");
		print_utf8(out, type->members[i].name);
		number &= ~bit;
	}
	if (number)
		text_cut(out, from);
	return number == 0;
}

static void print_enum(struct printer *printer, const struct value_type *type, uint64_t number)
{
	const struct value_member *member = member_of(type, number);
	size_t from = printer->out->length;

	text_add(printer->out, printer->json ? "\"" : "");
	if (member) {
		print_utf8(printer->out, member->name);
	} else if (!type->flags || !number || !add_flags(printer->out, type, number)) {
		text_cut(printer->out, from);
		add_signed(printer->out,
			   type->is_signed || number <= INT64_MAX ?
				   sign_extended(number, type->is_signed ? type->size : 8) :
				   (int64_t)number);
		return;
	}
	text_add(printer->out, printer->json ? "\"" : "");
}

static void print_state(struct printer *printer, const struct value_type *type, uint64_t number)
{
	const struct value_member *state = value_state_of(type, number);

	text_add(printer->out, printer->json ? "\"" : "");
	print_utf8(printer->out, state ? state->name : "?");
	text_add(printer->out, printer->json ? "\"" : "");
}

static void print_char(struct printer *printer, const uint8_t *bytes, size_t size)
{
	const uint8_t units[2] = { bytes[0], size == 2 ? bytes[1] : 0 };

	text_add_char(printer->out, printer->json ? '"' : '\'');
	print_utf16(printer->out, units, 1);
	text_add_char(printer->out, printer->json ? '"' : '\'');
}

static void print_number(struct printer *printer, const struct value_type *type,
			 const uint8_t bytes[8])
{
	struct text *out = printer->out;
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	switch (type->kind) {
	case VALUE_SIGNED:
		add_signed(out, sign_extended(number, type->size));
		break;
	case VALUE_UNSIGNED:
		text_add_number(out, number, 0, '0');
		break;
	case VALUE_BOOL:
		text_add(out, number ? "true" : "false");
		break;
	case VALUE_CHAR:
		print_char(printer, bytes, type->size);
		break;
	case VALUE_FLOAT:
		print_float(printer, bytes, type->size);
		break;
	case VALUE_ENUM:
		print_enum(printer, type, number);
		break;
	case VALUE_STATE:
		print_state(printer, type, number);
		break;
	default:
		text_printf(out, printer->json ? "\"0x%llx\"" : "0x%llx",
			    (unsigned long long)number);
	}
}

static void print_scalar(struct printer *printer, const struct value_type *type,
			 const struct view *view)
{
	uint8_t bytes[8] = { 0 };

	if (type->size == 0 || type->size > sizeof(bytes)) {
		print_problem(printer, VIEW_MISSING);
	} else if (print_read(printer, view, 0, bytes, type->size)) {
		print_value_key(printer);
		print_number(printer, type, bytes);
	}
}

/* Structs ------------------------------------------------------------------------------------ */

static void print_field(struct printer *printer, const struct value_field *field, bool named,
			const struct view *view, const struct capture *capture)
{
	if (printer->json || named)
		print_name(printer, field->name);
	if (capture_redacts(printer->watch, field->name))
		print_unavailable(printer, "redacted");
	else
		print_value(printer, field->type, view, capture);
	text_add(printer->out, printer->json ? "}" : "");
}

void print_begin_fields(struct printer *printer, const struct value_type *type)
{
	bool tuple = type->well_known == VALUE_TUPLE;

	if (!printer->json && !tuple)
		print_utf8(printer->out, type->name);
	text_add(printer->out, printer->json ? "\"fields\":[" : tuple ? "(" : "{");
}

void print_end_fields(struct printer *printer, const struct value_type *type)
{
	char end = type->well_known == VALUE_TUPLE ? ')' : '}';

	text_add_char(printer->out, printer->json ? ']' : end);
}

void print_fields(struct printer *printer, const struct value_type *type, const struct view *view,
		  const struct capture *capture, uint32_t header)
{
	print_begin_fields(printer, type);
	for (size_t i = 0; i < type->field_count; i++) {
		const struct value_field *field = &type->fields[i];
		struct view of_field = view_at(view, header + field->offset);
		bool named = type->well_known != VALUE_TUPLE && field->type->kind != VALUE_STATE;

		if (i)
			text_add(printer->out, printer->json ? "," : ", ");
		if (i == CAPTURE_FIELDS_MAX) {
			text_add(printer->out,
				 printer->json ? "{\"unavailable\":\"left out\"}" : "...");
			break;
		}
		print_field(printer, field, named, &of_field,
			    capture_part(capture, header + field->offset));
	}
	print_end_fields(printer, type);
}

static void print_nullable(struct printer *printer, const struct value_type *type,
			   const struct view *view, const struct capture *capture)
{
	const struct value_field *value = &type->fields[1];
	struct view of_value = view_at(view, value->offset);
	uint8_t has_value;

	if (!print_read(printer, view, 0, &has_value, 1))
		return;
	if (has_value)
		print_value(printer, value->type, &of_value, capture_part(capture, value->offset));
	else
		print_null(printer);
}

static bool print_spelled(struct printer *printer, const struct value_type *type,
			  const struct view *view)
{
	uint8_t bytes[16];
	size_t from = printer->out->length;
	bool quoted = printer->json && type->well_known != VALUE_INT128 &&
		      type->well_known != VALUE_UINT128;

	if (type->well_known == VALUE_PLAIN || type->well_known == VALUE_TUPLE ||
	    type->well_known > VALUE_UINT128 || type->size > sizeof(bytes))
		return false;
	if (!print_read(printer, view, 0, bytes, type->size))
		return true;
	print_value_key(printer);
	text_add(printer->out, quoted ? "\"" : "");
	if (!print_well_known(printer->out, type->well_known, bytes, type->size)) {
		text_cut(printer->out, from);
		return false;
	}
	text_add(printer->out, quoted ? "\"" : "");
	return true;
}

static void print_struct(struct printer *printer, const struct value_type *type,
			 const struct view *view, const struct capture *capture)
{
	if (type->well_known == VALUE_NULLABLE && type->field_count == 2) {
		print_nullable(printer, type, view, capture);
		return;
	}
	if (type->well_known == VALUE_VALUE_TASK) {
		print_value_task(printer, type, view, capture);
		return;
	}
	if (print_spelled(printer, type, view) || !print_enter(printer))
		return;
	print_fields(printer, type, view, capture, 0);
	printer->nesting--;
}

/* What an object is of, and what is at a reference, is told with it. */
static bool told_later(const struct value_type *type)
{
	return type->kind == VALUE_OBJECT || type->kind == VALUE_REFERENCE;
}

static void print_address(struct printer *printer, const struct value_type *type,
			  const struct view *view, const struct capture *capture)
{
	uint64_t address;
	enum view_problem problem = view_read(printer->items, view, 0, &address, sizeof(address));
	struct view unused;

	if ((!problem && address != 0) ||
	    (problem && capture && !view_of_item(printer->items, capture->content, &unused))) {
		print_pointed(printer, type, capture);
		return;
	}
	if (told_later(type))
		print_type(printer, type->name);
	if (problem)
		print_problem(printer, problem);
	else
		print_null(printer);
}

void print_value(struct printer *printer, const struct value_type *type, const struct view *view,
		 const struct capture *capture)
{
	char why[128];

	if (!told_later(type))
		print_type(printer, type->name);
	switch (type->kind) {
	case VALUE_UNKNOWN:
		snprintf(why, sizeof(why), "unsupported: %s", type->why ? type->why : "?");
		print_unavailable(printer, why);
		break;
	case VALUE_VOID:
		print_null(printer);
		break;
	case VALUE_STRUCT:
		print_struct(printer, type, view, capture);
		break;
	case VALUE_STRING:
	case VALUE_CSTRING:
	case VALUE_OBJECT:
	case VALUE_ARRAY:
	case VALUE_REFERENCE:
		print_address(printer, type, view, capture);
		break;
	case VALUE_SPAN:
		print_span(printer, type, view, capture);
		break;
	default:
		print_scalar(printer, type, view);
	}
}
