// SPDX-License-Identifier: GPL-2.0-or-later
#include "method/type_name.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

/* One type of the runtime, in the three languages that people write it in. */
static const struct alias {
	const char *canonical; /* IL, as in method_name.h */
	const char *clr;
	const char *other[3]; /* C#, and what else is seen */
} aliases[] = {
	{ "void", "System.Void", { NULL } },
	{ "bool", "System.Boolean", { NULL } },
	{ "char", "System.Char", { NULL } },
	{ "int8", "System.SByte", { "sbyte" } },
	{ "uint8", "System.Byte", { "byte", "unsigned int8" } },
	{ "int16", "System.Int16", { "short" } },
	{ "uint16", "System.UInt16", { "ushort", "unsigned int16" } },
	{ "int32", "System.Int32", { "int" } },
	{ "uint32", "System.UInt32", { "uint", "unsigned int32" } },
	{ "int64", "System.Int64", { "long" } },
	{ "uint64", "System.UInt64", { "ulong", "unsigned int64" } },
	{ "float32", "System.Single", { "float" } },
	{ "float64", "System.Double", { "double" } },
	{ "string", "System.String", { NULL } },
	{ "object", "System.Object", { NULL } },
	{ "nint", "System.IntPtr", { "native int", "IntPtr" } },
	{ "nuint", "System.UIntPtr", { "native uint", "UIntPtr", "native unsigned int" } },
	{ "typedref", "System.TypedReference", { "refany" } },
	/* C# only; a value type like any other to the runtime. */
	{ "System.Decimal", "System.Decimal", { "decimal" } },
};

struct piece {
	const char *start;
	const char *end;
};

static bool piece_is(struct piece p, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(p.end - p.start) == length && memcmp(p.start, word, length) == 0;
}

static struct piece piece_trim(struct piece p)
{
	while (p.start < p.end && isspace((unsigned char)*p.start))
		p.start++;
	while (p.end > p.start && isspace((unsigned char)p.end[-1]))
		p.end--;
	return p;
}

static bool opens(char c)
{
	return c == '[' || c == '<' || c == '(';
}

static bool closes(char c)
{
	return c == ']' || c == '>' || c == ')';
}

const char *type_list_element_end(const char *start, const char *end)
{
	int depth = 0;

	for (const char *p = start; p < end; p++) {
		if (opens(*p))
			depth++;
		else if (closes(*p))
			depth--;
		else if (*p == ',' && depth == 0)
			return p;
	}
	return end;
}

size_t type_list_count(const char *list, size_t length)
{
	const char *end = list + length;
	size_t count = length ? 1 : 0;

	for (const char *p = list; (p = type_list_element_end(p, end)) < end; p++)
		count++;
	return count;
}

/* Words before a type that say nothing of which type it is. */
static struct piece drop_prefixes(struct piece p, bool *by_reference)
{
	static const struct {
		const char *word;
		bool by_reference;
	} prefixes[] = {
		{ "class ", false },	{ "valuetype ", false }, { "value class ", false },
		{ "params ", false },	{ "this ", false },	 { "scoped ", false },
		{ "ref ", true },	{ "out ", true },	 { "in ", true },
		{ "readonly ", false },
	};
	bool dropped = true;

	while (dropped) {
		dropped = false;
		p = piece_trim(p);
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
			size_t length = strlen(prefixes[i].word);

			if ((size_t)(p.end - p.start) <= length ||
			    memcmp(p.start, prefixes[i].word, length) != 0)
				continue;
			p.start += length;
			*by_reference |= prefixes[i].by_reference;
			dropped = true;
		}
		/* [Assembly] in front, as IL has it. */
		if (p.start < p.end && *p.start == '[') {
			const char *close = memchr(p.start, ']', (size_t)(p.end - p.start));

			if (!close || close + 1 == p.end)
				return p;
			p.start = close + 1;
			dropped = true;
		}
	}
	return p;
}

/* Where the bracket that ends just before @end was opened; NULL if nothing opens it. */
static const char *matching_open(const char *start, const char *end)
{
	int depth = 0;

	for (const char *p = end; p > start; p--) {
		if (closes(p[-1]))
			depth++;
		else if (opens(p[-1]) && --depth == 0)
			return p - 1;
	}
	return NULL;
}

/* [] or [,] or [*] or [0...,0...]: the bounds say nothing, the number of commas does. */
static bool is_array_suffix(struct piece p)
{
	bool digits = false, dots = false;

	for (const char *c = p.start; c < p.end; c++) {
		if (!isdigit((unsigned char)*c) && !strchr(".,* ", *c))
			return false;
		digits |= isdigit((unsigned char)*c) != 0;
		dots |= *c == '.';
	}
	return digits == dots;
}

static void add_array_suffix(struct piece bounds, struct text *out)
{
	text_add_char(out, '[');
	for (const char *c = bounds.start; c < bounds.end; c++) {
		if (*c == ',')
			text_add_char(out, ',');
	}
	text_add_char(out, ']');
}

/* A name without arguments: an alias, or a type's name with + for nesting. */
static bool add_plain(struct piece p, bool as_argument, struct text *out)
{
	int angles = 0;

	if (p.start == p.end)
		return false;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		const struct alias *a = &aliases[i];
		bool same = piece_is(p, a->canonical) || piece_is(p, a->clr);

		for (size_t j = 0; !same && j < 3 && a->other[j]; j++)
			same = piece_is(p, a->other[j]);
		if (same) {
			text_add(out, as_argument ? a->clr : a->canonical);
			return true;
		}
	}
	for (const char *c = p.start; c < p.end; c++) {
		/* Compilers put < and > into names: <>c__DisplayClass12_0. */
		angles += (*c == '<') - (*c == '>');
		if (angles < 0 || strchr("[](),", *c))
			return false;
		text_add_char(out, *c == '/' ? '+' : *c);
	}
	return angles == 0;
}

static bool add_type(struct piece p, bool as_argument, int depth, struct text *out);

static bool add_list(struct piece list, bool as_arguments, int depth, struct text *out)
{
	for (const char *p = list.start;; p++) {
		struct piece element = { p, type_list_element_end(p, list.end) };

		if (p != list.start)
			text_add_char(out, ',');
		if (!add_type(element, as_arguments, depth + 1, out))
			return false;
		p = element.end;
		if (p == list.end)
			return true;
	}
}

/* Name[args], Name`1<args> or C#'s Name<args>, whose name lacks the number of arguments. */
static bool add_generic(struct piece p, const char *open, int depth, struct text *out)
{
	struct piece name = piece_trim((struct piece){ p.start, open });
	struct piece list = { open + 1, p.end - 1 };
	bool has_arity = memchr(name.start, '`', (size_t)(name.end - name.start)) != NULL;

	if (name.start == name.end)
		return false;
	for (const char *c = name.start; c < name.end; c++)
		text_add_char(out, *c == '/' ? '+' : *c);
	if (!has_arity)
		text_printf(out, "`%zu",
			    type_list_count(list.start, (size_t)(list.end - list.start)));
	text_add_char(out, '[');
	if (!add_list(list, true, depth, out))
		return false;
	text_add_char(out, ']');
	return true;
}

/* A pointer to a function, whose list of parameters begins at @open: ret(*)(int32), ret (int32). */
static bool add_function(struct piece p, const char *open, int depth, struct text *out)
{
	struct piece result = piece_trim((struct piece){ p.start, open });

	if (result.end - result.start > 3 && memcmp(result.end - 3, "(*)", 3) == 0)
		result.end -= 3;
	if (!add_type(result, false, depth + 1, out))
		return false;
	text_add(out, "(*)(");
	if (open + 1 < p.end - 1 &&
	    !add_list((struct piece){ open + 1, p.end - 1 }, false, depth, out))
		return false;
	text_add_char(out, ')');
	return true;
}

/* @p has no prefixes and no &. */
static bool add_suffixed(struct piece p, bool as_argument, int depth, struct text *out)
{
	const char *open;

	p = piece_trim(p);
	if (p.start == p.end || depth > MAX_DEPTH)
		return false;
	if (p.end[-1] == '*' || p.end[-1] == '&') {
		char suffix = p.end[-1];

		p.end--;
		if (!add_suffixed(p, as_argument, depth + 1, out))
			return false;
		text_add_char(out, suffix);
		return true;
	}
	if (p.end[-1] == '?') { /* C#'s int? */
		p.end--;
		text_add(out, "System.Nullable`1[");
		if (!add_suffixed(p, true, depth + 1, out))
			return false;
		text_add_char(out, ']');
		return true;
	}
	if (!closes(p.end[-1]))
		return add_plain(p, as_argument, out);

	open = matching_open(p.start, p.end);
	if (!open)
		return false;
	if (*open == '(')
		return add_function(p, open, depth, out);
	if (*open == '[' && is_array_suffix((struct piece){ open + 1, p.end - 1 })) {
		if (!add_suffixed((struct piece){ p.start, open }, as_argument, depth + 1, out))
			return false;
		add_array_suffix((struct piece){ open + 1, p.end - 1 }, out);
		return true;
	}
	return add_generic(p, open, depth, out);
}

static bool add_type(struct piece p, bool as_argument, int depth, struct text *out)
{
	bool by_reference = false;

	if (depth > MAX_DEPTH)
		return false;
	p = drop_prefixes(p, &by_reference);
	if (!add_suffixed(p, as_argument, depth, out))
		return false;
	if (by_reference)
		text_add_char(out, '&');
	return true;
}

bool type_name_normalise(const char *chars, size_t length, bool as_argument, struct text *out)
{
	return add_type((struct piece){ chars, chars + length }, as_argument, 0, out);
}
