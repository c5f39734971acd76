// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks by their states, delegates by what they call. For print.c and print_pointed.c. */
#include "value/print.h"

#include <string.h>

#include "base/cleanup.h"

const struct value_member *value_state_of(const struct value_type *type, uint64_t number)
{
	for (size_t i = 0; i < type->member_count; i++) {
		if (number & type->members[i].value || !type->members[i].value)
			return &type->members[i];
	}
	return NULL;
}

/* Which state the task is in whose bytes those of @view are; NULL: they are not there. */
static const struct value_member *task_state(const struct printer *printer,
					     const struct value_type *type, const struct view *view)
{
	uint32_t number;

	if (view_read(printer->items, view, OBJECT_HEADER + type->fields[0].offset, &number,
		      sizeof(number)))
		return NULL;
	return value_state_of(type->fields[0].type, number);
}

/* Until it is done, what is in the place of the result is none. */
void print_task(struct printer *printer, const struct value_type *type, const struct view *view,
		const struct capture *capture)
{
	const struct value_member *state = task_state(printer, type, view);
	struct value_type shown = *type;

	if (!state || strcmp(state->name, VALUE_TASK_DONE) != 0)
		shown.field_count = 1;
	print_fields(printer, &shown, view, capture, OBJECT_HEADER);
}

/* @name of what is there in a word or two, which is no field of the type. */
static void print_word(struct printer *printer, const char *name, const char *type,
		       const char *word)
{
	if (printer->json || type)
		print_name(printer, name);
	print_type(printer, type ? type : "System.Threading.Tasks.TaskStatus");
	if (printer->json)
		text_add(printer->out, type ? "\"cut\":true" : "\"value\":\"");
	if (!printer->json || !type)
		print_utf8(printer->out, word);
	if (printer->json)
		text_add(printer->out, type ? "}" : "\"}");
}

static void print_done(struct printer *printer, const struct value_type *type,
		       const struct view *view, const struct capture *capture)
{
	const struct value_field *result = value_type_field(type, "_result");
	struct view of_result;

	print_begin_fields(printer, type);
	print_word(printer, "state", NULL, VALUE_TASK_DONE);
	if (result) {
		of_result = view_at(view, result->offset);
		text_add(printer->out, printer->json ? "," : ", ");
		print_name(printer, "result");
		print_value(printer, result->type, &of_result,
			    capture_part(capture, result->offset));
		text_add(printer->out, printer->json ? "}" : "");
	}
	print_end_fields(printer, type);
}

/* What is behind it: a task, or what only its own methods tell of. */
static void print_source(struct printer *printer, const struct value_type *type,
			 const struct value_field *object, const struct capture *capture)
{
	const struct capture *part = capture_part(capture, object->offset);
	const struct value_type *actual;
	struct value_type shown;
	struct view view;
	uint64_t handle;
	enum view_problem problem = view_of_object(printer->items, part, &view, &handle);

	if (problem) {
		print_problem(printer, problem);
		return;
	}
	actual = print_actual_type(printer, object->type, handle);
	if (actual->kind == VALUE_OBJECT && actual->well_known == VALUE_TASK) {
		shown = *actual;
		shown.name = type->name;
		print_task(printer, &shown, &view, part);
		return;
	}
	print_begin_fields(printer, type);
	print_word(printer, "source", actual->name, actual->name);
	print_end_fields(printer, type);
}

void print_value_task(struct printer *printer, const struct value_type *type,
		      const struct view *view, const struct capture *capture)
{
	const struct value_field *object = value_type_field(type, "_obj");
	enum view_problem problem = VIEW_MISSING;
	uint64_t address = 0;

	if (!print_enter(printer))
		return;
	if (object)
		problem =
			view_read(printer->items, view, object->offset, &address, sizeof(address));
	if (problem)
		print_problem(printer, problem);
	else if (address)
		print_source(printer, type, object, capture);
	else
		print_done(printer, type, view, capture);
	printer->nesting--;
}

/* Delegates ---------------------------------------------------------------------------------- */

static uint64_t delegate_word(const struct printer *printer, const struct value_type *type,
			      const struct view *view, enum value_delegate_field which)
{
	uint64_t word;

	/* What is not there is 0. */
	(void)view_read(printer->items, view, OBJECT_HEADER + type->fields[which].offset, &word,
			sizeof(word));
	return word;
}

/* The type of the object; NULL: that is not known. */
static const struct value_type *target_type(const struct printer *printer,
					    const struct value_type *type,
					    const struct capture *capture)
{
	const struct value_field *target = &type->fields[VALUE_DELEGATE_TARGET];
	const struct capture *part = capture_part(capture, OBJECT_HEADER + target->offset);
	const struct value_type *actual;
	struct view view;
	uint64_t handle;

	if (view_of_object(printer->items, part, &view, &handle))
		return NULL;
	actual = print_actual_type(printer, target->type, handle);
	return actual == target->type ? NULL : actual;
}

static bool print_method(struct printer *printer, uint64_t code, bool behind)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	if (!code || !printer->lookup || !printer->lookup->add_method ||
	    !printer->lookup->add_method(printer->lookup->ctx, code, &name))
		return false;
	text_add(printer->out, !behind ? "" : printer->json ? "," : ", ");
	text_add(printer->out, printer->json ?
				       "{\"name\":\"method\",\"type\":\"method\",\"value\":\"" :
				       "method: ");
	print_utf8(printer->out, text_chars(&name));
	text_add(printer->out, printer->json ? "\"}" : "");
	return true;
}

static bool calls_several(struct printer *printer, const struct value_type *type,
			  const struct view *view)
{
	uint64_t word = delegate_word(printer, type, view, VALUE_DELEGATE_OTHERS);
	const char *name = type->fields[VALUE_DELEGATE_OTHERS].name;

	/* How many, or its method, once somebody has asked for that. */
	return word && (word <= INT32_MAX || strcmp(name, VALUE_DELEGATE_EXTRA) != 0);
}

/* Of one that calls several methods, or by way of another one, there is more than can be told. */
static void print_what_is_called(struct printer *printer, const struct value_type *type,
				 const struct view *view, const struct capture *capture)
{
	uint64_t code = delegate_word(printer, type, view, VALUE_DELEGATE_CODE);
	uint64_t other_code = delegate_word(printer, type, view, VALUE_DELEGATE_OTHER_CODE);
	bool several = !code || calls_several(printer, type, view);
	const struct value_type *target =
		several || other_code ? NULL : target_type(printer, type, capture);

	if (target)
		print_word(printer, "target", target->name, target->name);
	if ((several || !print_method(printer, other_code ? other_code : code, target)) &&
	    !target && !printer->json)
		text_add(printer->out, "...");
}

void print_delegate(struct printer *printer, const struct value_type *type, const struct view *view,
		    const struct capture *capture)
{
	print_type(printer, type->name);
	print_begin_fields(printer, type);
	print_what_is_called(printer, type, view, capture);
	print_end_fields(printer, type);
}
