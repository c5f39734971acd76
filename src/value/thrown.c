// SPDX-License-Identifier: GPL-2.0-or-later
/* The exception that has left a call, as bpf/thrown.bpf.h has read it. */
#include <string.h>

#include "bpf/thrown.h"
#include "value/print.h"

enum { BASES_MAX = 64 }; /* of a type, one by the other */

static bool read_thrown(const struct value_items *items, struct thrown *thrown)
{
	const struct watch_item *item = items->bytes;

	if (!item || items->size < sizeof(*item) + sizeof(*thrown) || item->slot != THROWN_SLOT ||
	    item->bytes != sizeof(*thrown))
		return false;
	memcpy(thrown, item + 1, sizeof(*thrown));
	return true;
}

/* Of its message, in UTF-16 code units, so many were read. */
static size_t units_read(const struct thrown_reading *reading)
{
	const size_t most = THROWN_MESSAGE_BYTES / 2;

	return reading->chars < most ? reading->chars : most;
}

/* What is read while the collector moves objects is not the same a second time. */
static bool is_read(const struct thrown *thrown)
{
	const struct thrown_reading *a = &thrown->readings[0], *b = &thrown->readings[1];

	if (a->status == THROWN_NOT_READ || a->status != b->status || a->type != b->type)
		return false;
	return a->status != THROWN_MESSAGE ||
	       (a->chars == b->chars && !memcmp(a->message, b->message, 2 * units_read(a)));
}

/* As a string is shown elsewhere. */
static void add_message(const struct thrown_reading *reading, uint32_t string_bytes, bool json,
			struct text *out)
{
	size_t units = units_read(reading);

	if (units > string_bytes / 2)
		units = string_bytes / 2;
	print_string(out, json, reading->message, units, reading->chars);
}

static void add_text(const struct thrown_reading *reading, uint32_t string_bytes, struct text *out)
{
	if (reading->status == THROWN_FAULT) {
		text_add(out, ": <not in memory>");
	} else if (reading->status == THROWN_MESSAGE && string_bytes) {
		text_add(out, ": ");
		add_message(reading, string_bytes, false, out);
	}
}

static void add_json(const struct thrown_reading *reading, uint32_t string_bytes, struct text *out)
{
	text_add(out, "\",\"message\":");
	if (reading->status == THROWN_MESSAGE && string_bytes)
		add_message(reading, string_bytes, true, out);
	else
		text_add(out, "null");
	if (reading->status == THROWN_FAULT)
		text_add(out, ",\"unavailable\":\"not in memory\"");
	text_add_char(out, '}');
}

const char *value_add_thrown(const struct value_items *items, const struct value_lookup *lookup,
			     uint32_t string_bytes, enum value_format format, struct text *out)
{
	const struct value_type *type;
	struct thrown thrown;

	if (!read_thrown(items, &thrown))
		return "not seen, or it came out of native code or went into it";
	if (!is_read(&thrown))
		return "it was not read twice while no objects were moved";
	type = lookup->object_type(lookup->ctx, thrown.readings[0].type);
	if (!type || !type->name)
		return "its type is not known";
	if (format == VALUE_JSON)
		text_add(out, "{\"type\":\"");
	print_utf8(out, type->name);
	if (format == VALUE_JSON)
		add_json(&thrown.readings[0], string_bytes, out);
	else
		add_text(&thrown.readings[0], string_bytes, out);
	return NULL;
}

/* Is it the type's name, or, without a namespace, the end of it? */
static bool is_called(const struct value_type *type, const char *name)
{
	size_t length = strlen(name), whole = strlen(type->name);

	if (strcmp(type->name, name) == 0)
		return true;
	return !strchr(name, '.') && whole > length &&
	       strcmp(type->name + whole - length, name) == 0 &&
	       type->name[whole - length - 1] == '.';
}

int value_thrown_types(const struct value_items *items, const struct value_lookup *lookup,
		       const char *const *names, size_t count)
{
	struct thrown thrown;
	uint64_t handle;
	int types = 0;

	if (!read_thrown(items, &thrown) || !is_read(&thrown))
		return -1;
	handle = thrown.readings[0].type;
	for (int depth = 0; depth < BASES_MAX && handle; depth++) {
		const struct value_type *type = lookup->object_type(lookup->ctx, handle);

		if (!type || !type->name)
			return -1;
		for (size_t i = 0; i < count; i++)
			types |= is_called(type, names[i]) << i;
		if (!lookup->base_type || !lookup->base_type(lookup->ctx, handle, &handle))
			return -1;
	}
	return handle ? -1 : types;
}
