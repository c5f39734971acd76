// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What addresses lead to, as far as it was captured: strings, arrays, objects by what they are of.
 * For print.c.
 */
#include "value/print.h"

#include <stdio.h>
#include <string.h>

/* The item of @slot, and its bytes in @view; NULL if they are not there, which is printed. */
static const struct watch_item *find_item(struct printer *printer, uint16_t slot, struct view *view)
{
	enum view_problem problem = view_of_item(printer->items, slot, view);

	if (problem)
		print_problem(printer, problem);
	return problem ? NULL : items_get(printer->items, slot);
}

/* @units UTF-16 code units, of @length. */
static void print_chars(struct printer *printer, const uint8_t *bytes, size_t units,
			uint64_t length)
{
	print_value_key(printer);
	print_string(printer->out, printer->json, bytes, units, length);
}

static void print_string_item(struct printer *printer, uint16_t slot)
{
	struct view view;
	const struct watch_item *item = find_item(printer, slot, &view);

	if (item)
		print_chars(printer, view.bytes, view.size / 2, item->whole / 2);
}

/* Whether it ends within them is told by .whole. */
static void print_cstring(struct printer *printer, uint16_t slot)
{
	struct view view;
	const struct watch_item *item = find_item(printer, slot, &view);
	size_t size;

	if (!item)
		return;
	size = strnlen((const char *)view.bytes, view.size);
	print_value_key(printer);
	text_add_char(printer->out, '"');
	print_bytes(printer->out, view.bytes, size);
	text_add_char(printer->out, '"');
	if (item->whole > size && size == view.size)
		text_add(printer->out, printer->json ? ",\"cut\":true" : "…");
}

/* "int[5]", "string[2][]", "System.Span<int>[3]" */
static void add_counted_name(struct printer *printer, const char *name, uint64_t length)
{
	const char *brackets = strchr(name, '<') ? NULL : strstr(name, "[]");
	char head[128];

	if (!brackets) {
		size_t size = strlen(name);

		brackets = size > 2 && strcmp(name + size - 2, "[]") == 0 ? name + size - 2 :
									    name + size;
	}
	snprintf(head, sizeof(head), "%.*s", (int)(brackets - name), name);
	print_utf8(printer->out, head);
	text_printf(printer->out, "[%llu]", (unsigned long long)length);
	print_utf8(printer->out, *brackets ? brackets + 2 : "");
}

static void print_elements(struct printer *printer, const struct value_type *type,
			   const struct view *view, const struct capture *capture, uint64_t length)
{
	uint32_t size = type->element->size;
	uint64_t count = view->size / size;
	bool cut = length > count;

	if (!print_enter(printer))
		return;
	if (count > length)
		count = length;
	if (count > printer->watch->options.elements)
		count = printer->watch->options.elements;
	if (printer->json)
		text_printf(printer->out, "\"length\":%llu,%s\"elements\":[",
			    (unsigned long long)length, cut ? "\"cut\":true," : "");
	else
		add_counted_name(printer, type->name, length);
	text_add(printer->out, printer->json ? "" : "{");
	for (uint32_t i = 0; i < count; i++) {
		struct view element = view_at(view, i * size);

		text_add(printer->out, i == 0 ? "" : printer->json ? "," : ", ");
		text_add(printer->out, printer->json ? "{" : "");
		print_value(printer, type->element, &element, capture_part(capture, i * size));
		text_add(printer->out, printer->json ? "}" : "");
	}
	if (cut && !printer->json)
		text_add(printer->out, count ? ", …" : "…");
	text_add_char(printer->out, printer->json ? ']' : '}');
	printer->nesting--;
}

/* What @slot has of @length elements. */
static void print_sequence(struct printer *printer, const struct value_type *type,
			   const struct view *view, const struct capture *capture, uint64_t length)
{
	if (!type->element || type->element->size == 0)
		print_problem(printer, VIEW_MISSING);
	else if (type->element->kind == VALUE_CHAR && type->element->size == 2)
		print_chars(printer, view->bytes, view->size / 2, length);
	else
		print_elements(printer, type, view, capture, length);
}

static void print_array(struct printer *printer, const struct value_type *type,
			const struct capture *capture)
{
	struct view view;
	const struct watch_item *item = find_item(printer, capture->content, &view);

	if (item)
		print_sequence(printer, type, &view, capture, item->whole >> capture->shift);
}

void print_span(struct printer *printer, const struct value_type *type, const struct view *view,
		const struct capture *capture)
{
	struct view content = { 0 };
	uint32_t length;
	enum view_problem problem =
		view_read(printer->items, view, POINTER_BYTES, &length, sizeof(length));

	if (!problem && length && capture && capture->kind != VALUE_SPAN)
		problem = VIEW_MISSING;
	if (!problem && length)
		problem = view_of_item(printer->items, capture ? capture->content : WATCH_NO_SLOT,
				       &content);
	if (problem)
		print_problem(printer, problem);
	else
		print_sequence(printer, type, &content, capture, length);
}

const struct value_type *print_actual_type(const struct printer *printer,
					   const struct value_type *declared, uint64_t handle)
{
	const struct value_type *actual = NULL;

	if (printer->lookup && printer->lookup->object_type)
		actual = printer->lookup->object_type(printer->lookup->ctx, handle);
	return actual ? actual : declared;
}

/* Of `this`, which comes first, in code that several instantiations share. */
static const struct value_type *referenced_type(struct printer *printer,
						const struct value_type *declared)
{
	const struct value_type *actual = declared;

	if (printer->context)
		actual = print_actual_type(printer, declared, printer->context);
	printer->context = 0;
	return actual->kind == VALUE_STRUCT ? actual : declared;
}

static void print_reference(struct printer *printer, const struct value_type *type,
			    const struct capture *capture)
{
	struct view view;

	if (!find_item(printer, capture->content, &view))
		return;
	if (!type->element)
		print_problem(printer, VIEW_MISSING);
	else
		print_value(printer, referenced_type(printer, type->element), &view,
			    capture->part_count ? capture->parts : NULL);
}

/* An array whose elements were not asked for, as those of an object are not. */
static void print_array_object(struct printer *printer, const struct value_type *type,
			       const struct view *view)
{
	uint32_t length;

	print_type(printer, type->name);
	if (!print_read(printer, view, OBJECT_LENGTH, &length, sizeof(length)))
		return;
	if (printer->json) {
		text_printf(printer->out, "\"length\":%u,\"cut\":true", length);
		return;
	}
	add_counted_name(printer, type->name, length);
	text_add(printer->out, "{...}");
}

static void print_object_fields(struct printer *printer, const struct value_type *type,
				const struct view *view, const struct capture *capture)
{
	print_type(printer, type->name);
	if (!print_enter(printer))
		return;
	if (capture->whole && type->well_known == VALUE_TASK) {
		print_task(printer, type, view, capture);
	} else if (capture->whole) {
		print_fields(printer, type, view, capture, OBJECT_HEADER);
	} else {
		print_utf8(printer->out, printer->json ? "" : type->name);
		text_add(printer->out, printer->json ? "\"cut\":true" : "{...}");
	}
	printer->nesting--;
}

static const struct capture *find_variant(const struct capture *capture, uint64_t handle)
{
	for (size_t i = 0; i < capture->variant_count; i++) {
		if (capture->variants[i].handle == handle)
			return &capture->variants[i];
	}
	return NULL;
}

/* The next program is to look into objects of @type too, if the one that there is does not. */
static void note_seen(const struct printer *printer, const struct value_type *type, uint64_t handle,
		      const struct capture *capture)
{
	struct value_seen *seen = printer->watch->signature->seen;

	if (!seen || seen->count == VALUE_SEEN_MAX || capture != &printer->of->capture ||
	    !capture->whole || !capture_lacks(printer->watch, capture, type))
		return;
	for (size_t i = 0; i < seen->count; i++) {
		if (seen->list[i].number == printer->number && seen->list[i].handle == handle)
			return;
	}
	seen->list[seen->count].number = printer->number;
	seen->list[seen->count].handle = handle;
	seen->list[seen->count++].type = type;
}

static void print_object(struct printer *printer, const struct value_type *declared,
			 const struct capture *capture)
{
	const struct capture *variant;
	struct view view, boxed;
	uint64_t handle;
	enum view_problem problem = view_of_object(printer->items, capture, &view, &handle);
	const struct value_type *type;

	if (problem) {
		print_type(printer, declared->name);
		print_problem(printer, problem);
		return;
	}
	type = print_actual_type(printer, declared, handle);
	variant = find_variant(capture, handle);
	if (!variant && type != declared)
		note_seen(printer, type, handle, capture);
	if (variant && type->kind == variant->kind)
		capture = variant;
	else
		variant = NULL;
	boxed = view_at(&view, OBJECT_HEADER);
	if (type->kind == VALUE_OBJECT && type->well_known == VALUE_DELEGATE) {
		print_delegate(printer, type, &view, capture);
	} else if (type->kind == VALUE_OBJECT) {
		print_object_fields(printer, type, &view, capture);
	} else if (type->kind == VALUE_STRING) {
		print_type(printer, type->name);
		print_string_item(printer, capture->chars);
	} else if (type->kind == VALUE_ARRAY && variant) {
		print_type(printer, type->name);
		print_array(printer, type, variant);
	} else if (type->kind == VALUE_ARRAY) {
		print_array_object(printer, type, &view);
	} else {
		print_value(printer, type, &boxed, variant);
	}
}

void print_pointed(struct printer *printer, const struct value_type *type,
		   const struct capture *capture)
{
	/* As an object was captured what has turned out to be a string. */
	if (capture && type->kind == VALUE_STRING && capture->kind == VALUE_OBJECT) {
		print_string_item(printer, capture->chars);
		return;
	}
	if (!capture || capture->kind != type->kind || capture->content == WATCH_NO_SLOT) {
		if (type->kind == VALUE_OBJECT || type->kind == VALUE_REFERENCE)
			print_type(printer, type->name);
		print_problem(printer, VIEW_MISSING);
		return;
	}
	switch (type->kind) {
	case VALUE_STRING:
		print_string_item(printer, capture->content);
		break;
	case VALUE_CSTRING:
		print_cstring(printer, capture->content);
		break;
	case VALUE_ARRAY:
		print_array(printer, type, capture);
		break;
	case VALUE_REFERENCE:
		print_reference(printer, type, capture);
		break;
	default:
		print_object(printer, type, capture);
	}
}
