// SPDX-License-Identifier: GPL-2.0-or-later
/* The arguments and the result of one call, for those who print it; each value: print.c. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "value/print.h"

/* The items of @from, which are aligned to 8 bytes. Without memory there are none. */
static struct items read_items(const struct program *program, const struct value_items *from)
{
	struct items items = {
		.by_slot = calloc((size_t)program->slots + 1, sizeof(struct watch_item *)),
	};
	const uint8_t *at = from->bytes;
	size_t left = from->bytes ? from->size : 0;

	items.count = items.by_slot ? program->slots : 0;
	while (left >= sizeof(struct watch_item)) {
		const struct watch_item *item = (const struct watch_item *)(const void *)at;
		size_t size = sizeof(*item) + (item->bytes + 7U) / 8 * 8;

		/* The last one's padding may not have come. */
		if (sizeof(*item) + item->bytes > left)
			break;
		if (item->slot < items.count && !items.by_slot[item->slot])
			items.by_slot[item->slot] = item;
		if (size > left)
			break;
		at += size;
		left -= size;
	}
	return items;
}

static void free_items(const struct items *items)
{
	free(items->by_slot);
}

static struct printer start(const struct value_watch *watch, const struct value_lookup *lookup,
			    enum value_format format, struct text *out)
{
	return (struct printer){
		.watch = watch,
		.lookup = lookup,
		.out = out,
		.json = format == VALUE_JSON,
	};
}

/* One that is known when the call has returned. */
static void print_out(struct printer *printer, const struct captured *captured,
		      const struct items *exit, bool exited)
{
	const struct value_type *element = captured->slot->type->element;
	const struct capture *capture = &captured->capture;
	const struct watch_item *item = items_get(exit, capture->content);
	struct view view;
	enum view_problem problem = view_of_item(exit, capture->content, &view);
	bool dropped = !element || captured->dropped || (!item && !captured->kept);

	printer->items = exit;
	if (exited && !dropped && !problem) {
		print_value(printer, element, &view, capture->parts);
		return;
	}
	print_type(printer, captured->slot->type->name);
	if (!exited)
		print_unavailable(printer, "set when it returns");
	else if (dropped)
		print_unavailable(printer, "left out");
	else if (!item)
		print_unavailable(printer, "not on the stack, so it may have been moved");
	else
		print_problem(printer, problem);
}

static void print_captured(struct printer *printer, const struct captured *captured)
{
	struct view view = { .in_parts = captured };

	if (captured->redacted || captured->dropped) {
		print_type(printer, captured->slot->type->name);
		print_unavailable(printer, captured->redacted ? "redacted" : "left out");
	} else {
		print_value(printer, captured->slot->type, &view, &captured->capture);
	}
}

static void print_argument(struct printer *printer, const struct captured *captured,
			   const struct items *entry, const struct items *exit, bool exited)
{
	print_name(printer, captured->slot->name ? captured->slot->name : "?");
	printer->items = entry;
	printer->of = captured;
	if (captured->slot->out && !captured->redacted)
		print_out(printer, captured, exit, exited);
	else
		print_captured(printer, captured);
	text_add(printer->out, printer->json ? "}" : "");
}

static uint64_t read_context(const struct value_watch *watch, const struct items *entry)
{
	const struct view view = { .in_parts = &watch->context };
	uint64_t context;

	/* What is not there is 0. */
	(void)view_read(entry, &view, 0, &context, sizeof(context));
	return context;
}

uint64_t value_call_context(const struct value_watch *watch, const struct value_call *call)
{
	_cleanup_(free_items) struct items entry = { 0 };

	if (!watch->signature->context_is)
		return 0;
	entry = read_items(&watch->entry, &call->entry);
	return read_context(watch, &entry);
}

void value_add_arguments(const struct value_watch *watch, const struct value_call *call,
			 const struct value_lookup *lookup, enum value_format format,
			 struct text *out)
{
	_cleanup_(free_items) struct items entry = read_items(&watch->entry, &call->entry);
	_cleanup_(free_items) struct items exit = read_items(&watch->exit, &call->exit);
	struct printer printer = start(watch, lookup, format, out);
	size_t count = watch->signature->why ? 0 : watch->signature->argument_count;

	if (watch->signature->context_is == VALUE_CONTEXT_THIS)
		printer.context = read_context(watch, &entry);
	if (printer.json)
		text_add_char(out, '[');
	else if (watch->signature->why)
		print_unavailable(&printer, watch->signature->why);
	for (size_t i = 0; i < count; i++) {
		if (i)
			text_add(out, printer.json ? "," : ", ");
		printer.number = i;
		print_argument(&printer, &watch->arguments[i], &entry, &exit, call->exited);
		printer.context = 0;
	}
	text_add(out, printer.json ? "]" : "");
}

void value_add_result(const struct value_watch *watch, const struct value_call *call,
		      const struct value_lookup *lookup, enum value_format format, struct text *out)
{
	_cleanup_(free_items) struct items exit = read_items(&watch->exit, &call->exit);
	struct printer printer = start(watch, lookup, format, out);

	printer.items = &exit;
	printer.of = &watch->result;
	printer.number = watch->signature->argument_count;
	text_add(out, printer.json ? "{" : "");
	if (!value_has_result(watch))
		print_unavailable(&printer, "no result");
	else
		print_captured(&printer, &watch->result);
	text_add(out, printer.json ? "}" : "");
}
