// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names of crossgen2 --map and --mapcsv: assembly_Namespace_Type_1<Arg>__Method<Arg>, in
 * which everything but letters, digits and _ has become an _ .
 */
#include "name.h"
#include "type.h"

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* One _ for each UTF-16 unit that is no letter: the compiler sees those, not bytes. */
static void sanitize(struct mapparse_slice s, struct mapparse_buffer *out)
{
	if (s.length && mapparse_is_digit(s.start[0]))
		buffer_add_char(out, '_');
	for (size_t i = 0; i < s.length; i++) {
		unsigned char c = (unsigned char)s.start[i];

		if ((c & 0xc0) == 0x80)
			continue;
		if (c >= 0xf0)
			buffer_add_char(out, '_');
		buffer_add_char(out,
				is_letter((char)c) || mapparse_is_digit((char)c) ? (char)c : '_');
	}
}

void mapparse_mangle_assembly(const char *assembly, struct mapparse_buffer *out)
{
	static const char system_private[] = "System.Private.";
	size_t length = sizeof(system_private) - 1;

	if (strncmp(assembly, system_private, length) == 0) {
		buffer_add(out, "S_P_");
		assembly += length;
	}
	sanitize((struct mapparse_slice){ assembly, strlen(assembly) }, out);
	buffer_add_char(out, '_');
}

static void mangle_type(struct mapparse_slice type, const char *assembly, int depth,
			struct mapparse_buffer *out);

static void mangle_args(struct mapparse_slice list, const char *assembly, int depth,
			struct mapparse_buffer *out)
{
	struct mapparse_slice element;
	bool first = true;

	if (!list.length)
		return;
	buffer_add_char(out, '<');
	while (mapparse_list_next(&list, &element)) {
		if (!first)
			buffer_add(out, "__");
		first = false;
		mangle_type(element, assembly, depth, out);
	}
	buffer_add_char(out, '>');
}

/* An array's element, in front of its last [...]. */
static size_t array_begin(struct mapparse_slice type)
{
	for (size_t i = type.length - 1; i > 0 && type.length > 1; i--) {
		if (type.start[i - 1] == '[')
			return i - 1;
		if (type.start[i - 1] != ',' && type.start[i - 1] != '*')
			break;
	}
	return type.length;
}

static void mangle_array(struct mapparse_slice type, size_t begin, const char *assembly, int depth,
			 struct mapparse_buffer *out)
{
	struct mapparse_slice element = { type.start, begin };
	size_t inside = type.length - begin - 2;

	buffer_add(out, inside ? "__MDArray<" : "__Array<");
	mangle_type(element, assembly, depth, out);
	if (inside) {
		buffer_add(out, "__");
		mapparse_buffer_add_number(out, type.start[begin + 1] == '*' ? 1 : inside + 1);
	}
	buffer_add_char(out, '>');
}

/*
 * An argument. Its name does not say which assembly it is from: what begins with System. is
 * taken for the runtime's own, all else for @assembly's.
 */
static void mangle_type(struct mapparse_slice type, const char *assembly, int depth,
			struct mapparse_buffer *out)
{
	const struct mapparse_alias *alias = mapparse_alias_find(type.start, type.length);
	const char *open = memchr(type.start, '[', type.length);
	char last = type.length ? type.start[type.length - 1] : '\0';

	if (depth > 32)
		return;
	if (alias && strcmp(alias->il, alias->clr) != 0 && strchr(alias->mangled, '_') == NULL) {
		buffer_add(out, alias->mangled);
	} else if (slice_is(type, "System.__Canon")) {
		buffer_add(out, "System___Canon");
	} else if (last == ']' && array_begin(type) < type.length) {
		mangle_array(type, array_begin(type), assembly, depth + 1, out);
	} else if (last == '*' || last == '&') {
		type.length--;
		mangle_type(type, assembly, depth + 1, out);
		buffer_add(out, last == '*' ? "<Pointer>" : "<ByRef>");
	} else {
		struct mapparse_slice name = type, list = { NULL, 0 };

		if (open && last == ']') {
			name.length = (size_t)(open - type.start);
			list = (struct mapparse_slice){ open + 1, type.length - name.length - 2 };
		}
		if (name.length > 7 && memcmp(name.start, "System.", 7) == 0)
			buffer_add(out, "S_P_CoreLib_");
		else if (assembly)
			mapparse_mangle_assembly(assembly, out);
		sanitize(name, out);
		mangle_args(list, assembly, depth + 1, out);
	}
}

char *mapparse_name_mangle(const struct mapparse_name *name, const char *assembly)
{
	struct mapparse_buffer out = { 0 }, own = { 0 };

	if (!assembly && name->assembly.length) {
		buffer_add_bytes(&own, name->assembly.start, name->assembly.length);
		buffer_add_char(&own, '\0');
		assembly = own.failed ? NULL : own.chars;
	}
	if (assembly)
		mapparse_mangle_assembly(assembly, &out);
	sanitize(name->type, &out);
	mangle_args(name->type_args, assembly, 0, &out);
	buffer_add(&out, "__");
	sanitize(name->method, &out);
	mangle_args(name->method_args, assembly, 0, &out);
	mapparse_buffer_free(&own);
	return mapparse_buffer_take(&out);
}

size_t mapparse_number_begin(struct mapparse_slice s)
{
	size_t i = s.length;

	while (i > 0 && mapparse_is_digit(s.start[i - 1]))
		i--;
	return i > 1 && i < s.length && s.start[i - 1] == '_' ? i - 1 : s.length;
}

size_t mapparse_mangled_key(const char *chars, size_t length, char *key)
{
	size_t depth = 0, kept = 0;

	for (size_t i = 0; i < length; i++) {
		if (chars[i] == '<')
			depth++;
		else if (chars[i] == '>' && depth)
			depth--;
		else if (depth == 0)
			key[kept++] = chars[i];
	}
	return mapparse_number_begin((struct mapparse_slice){ key, kept });
}
