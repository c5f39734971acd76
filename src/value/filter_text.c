// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of filter.c: strings as the target has them, and sentences about names. */
#include "value/filter_text.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "filter/filter.h"
#include "value/value.h"

static bool add_unit(struct watch_constant *constant, size_t *size, uint32_t unit)
{
	if (*size + 2 > WATCH_CONSTANT)
		return false;
	constant->bytes[(*size)++] = (uint8_t)unit;
	constant->bytes[(*size)++] = (uint8_t)(unit >> 8);
	return true;
}

/* One character of UTF-8, which the command line may not be; then its bytes are characters. */
static uint32_t take_character(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	uint32_t more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
	uint32_t c = more ? s[0] & (0x3fU >> more) : s[0];

	for (uint32_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			*text += 1;
			return s[0];
		}
		c = c << 6 | (s[i] & 0x3f);
	}
	*text += more + 1;
	return c;
}

bool filter_as_utf16(const char *text, struct watch_constant *constant, size_t *size)
{
	bool room = true;

	while (*text && room) {
		uint32_t c = take_character(&text);

		if (c >= 0x10000) {
			room = add_unit(constant, size, 0xd800 + ((c - 0x10000) >> 10 & 0x3ff));
			c = 0xdc00 + ((c - 0x10000) & 0x3ff);
		}
		room = room && add_unit(constant, size, c);
	}
	return room;
}

bool filter_as_bytes(const char *text, struct watch_constant *constant, size_t *size)
{
	*size = strlen(text) + 1;
	if (*size > WATCH_CONSTANT)
		return false;
	memcpy(constant->bytes, text, *size);
	return true;
}

int filter_refuse_parameter(const struct filter *filter, const struct filter_node *node,
			    const char *method, const struct value_signature *signature,
			    struct error *err)
{
	_cleanup_(text_deinit) struct text what = { 0 };

	text_printf(&what, "'%s' is no parameter of %s, which has ", node->path[0], method);
	for (size_t i = 0; i < signature->argument_count; i++)
		text_printf(&what, "%s%s", i ? ", " : "", signature->arguments[i].name);
	text_add(&what, signature->argument_count ? "" : "none");
	return filter_refuse(filter, node->at, text_chars(&what), err);
}

int filter_refuse_field(const struct filter *filter, const struct filter_node *node,
			const struct value_type *type, const char *name, struct error *err)
{
	_cleanup_(text_deinit) struct text what = { 0 };

	text_printf(&what, "'%s' is no field of '%s', of which are known: ", name, type->name);
	for (size_t i = 0; i < type->field_count; i++)
		text_printf(&what, "%s%s", i ? ", " : "", type->fields[i].name);
	text_add(&what, type->field_count ? "" : "none");
	return filter_refuse(filter, node->at, text_chars(&what), err);
}

bool filter_find_member(const struct value_type *type, const char *name, uint64_t *value)
{
	for (size_t i = 0; i < type->member_count; i++) {
		if (strcmp(type->members[i].name, name) == 0) {
			*value = type->members[i].value;
			return true;
		}
	}
	return false;
}

const struct value_field *filter_find_field(const struct value_type *type, const char *name)
{
	for (size_t i = 0; i < type->field_count; i++) {
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	}
	return NULL;
}
