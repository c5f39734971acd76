// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of types and fields on their way to what a programmer would write, for value_types.c. */
#include "runtime/dotnet/type_spelling.h"

#include <string.h>

#include "method/method_name.h"

enum { DEPTH_MAX = 16 };

static const struct {
	const char *name;
	const char *keyword;
} keywords[] = {
	{ "System.Void", "void" },	{ "System.Boolean", "bool" },
	{ "System.Char", "char" },	{ "System.SByte", "sbyte" },
	{ "System.Byte", "byte" },	{ "System.Int16", "short" },
	{ "System.UInt16", "ushort" },	{ "System.Int32", "int" },
	{ "System.UInt32", "uint" },	{ "System.Int64", "long" },
	{ "System.UInt64", "ulong" },	{ "System.Single", "float" },
	{ "System.Double", "double" },	{ "System.IntPtr", "nint" },
	{ "System.UIntPtr", "nuint" },	{ "System.Decimal", "decimal" },
	{ "System.String", "string" },	{ "System.Object", "object" },
	{ "System.__Canon", "object" },
};

const char *spelled_keyword(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strlen(keywords[i].name) == length &&
		    memcmp(keywords[i].name, name, length) == 0)
			return keywords[i].keyword;
	}
	return NULL;
}

const char *spelled_in_brackets(const char *name, size_t length, size_t *inside)
{
	unsigned int depth = 0;

	if (length == 0 || name[length - 1] != ']')
		return NULL;
	for (size_t i = length; i-- > 0;) {
		if (name[i] == ']') {
			depth++;
		} else if (name[i] == '[' && --depth == 0) {
			*inside = length - i - 2;
			return name + i + 1;
		}
	}
	return NULL;
}

static void read_brackets(struct spelled_type *type, const char *name, size_t length)
{
	size_t inside;
	const char *args = spelled_in_brackets(name, length, &inside);

	type->kind = SPELLED_NAMED;
	type->length = length;
	if (!args || args == name + 1)
		return;
	type->length = (size_t)(args - name) - 1;
	if (inside == 0) {
		type->kind = SPELLED_VECTOR;
	} else if (strspn(args, ",*") >= inside) {
		type->kind = SPELLED_ARRAY;
	} else {
		type->args = args;
		type->args_length = inside;
	}
}

void spelled_type_read(struct spelled_type *type, const char *name, size_t length)
{
	char last = length ? name[length - 1] : '\0';

	*type = (struct spelled_type){ .length = length ? length - 1 : 0 };
	if (last == ']')
		read_brackets(type, name, length);
	else if (last == '*')
		type->kind = SPELLED_POINTER;
	else if (last == '&')
		type->kind = SPELLED_REFERENCE;
	else if (last == ')')
		type->kind = SPELLED_FUNCTION;
	else
		type->length = length;
}

static void add_csharp(struct text *out, const char *name, size_t length, unsigned int depth);

static void add_args(struct text *out, const char *list, size_t length, unsigned int depth)
{
	const char *end = list + length;

	for (const char *at = list; at < end;) {
		const char *stop = type_list_element_end(at, end);

		if (at > list)
			text_add(out, ", ");
		add_csharp(out, at, (size_t)(stop - at), depth);
		at = stop < end ? stop + 1 : end;
	}
}

/* Without the numbers of type parameters: "Outer`1+Inner" is "Outer+Inner". */
static void add_open(struct text *out, const char *name, size_t length)
{
	const char *keyword = spelled_keyword(name, length);

	if (keyword) {
		text_add(out, keyword);
		return;
	}
	for (size_t i = 0; i < length; i++) {
		if (name[i] != '`') {
			text_add_char(out, name[i]);
			continue;
		}
		while (i + 1 < length && name[i + 1] >= '0' && name[i + 1] <= '9')
			i++;
	}
}

static void add_named(struct text *out, const char *name, const struct spelled_type *type,
		      unsigned int depth)
{
	static const char nullable[] = "System.Nullable`1";

	if (type->args && type->length == sizeof(nullable) - 1 &&
	    memcmp(name, nullable, type->length) == 0) {
		add_csharp(out, type->args, type->args_length, depth);
		text_add_char(out, '?');
		return;
	}
	add_open(out, name, type->length);
	if (type->args) {
		text_add_char(out, '<');
		add_args(out, type->args, type->args_length, depth);
		text_add_char(out, '>');
	}
}

static void add_csharp(struct text *out, const char *name, size_t length, unsigned int depth)
{
	struct spelled_type type;

	if (depth == DEPTH_MAX) {
		text_add_char(out, '?');
		return;
	}
	spelled_type_read(&type, name, length);
	if (type.kind == SPELLED_NAMED) {
		add_named(out, name, &type, depth + 1);
	} else if (type.kind == SPELLED_FUNCTION) {
		text_add_bytes(out, name, length);
	} else {
		add_csharp(out, name, type.length, depth + 1);
		text_add_bytes(out, name + type.length, length - type.length);
	}
}

void spelled_type_add_csharp(struct text *out, const char *name, size_t length)
{
	add_csharp(out, name, length, 0);
}

void spelled_args_read(struct signature_args *args, const char *list, size_t length)
{
	const char *end = list + length;

	for (const char *at = list; at < end && args->count < SIGNATURE_MAX_ARGS;) {
		const char *stop = type_list_element_end(at, end);

		text_add_bytes(&args->chars, at, (size_t)(stop - at));
		args->ends[args->count++] = args->chars.length;
		at = stop < end ? stop + 1 : end;
	}
}

void spelled_field_add(struct text *out, const char *name)
{
	const char *end = *name == '<' ? strchr(name, '>') : NULL;

	if (end && end > name + 1)
		text_add_bytes(out, name + 1, (size_t)(end - name - 1));
	else if (end && strcmp(end, ">4__this") == 0)
		text_add(out, "this");
	else
		text_add(out, name);
}
