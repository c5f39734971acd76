// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of methods: where the parts of a spelling end, and the canonical spelling put
 * together from them. name->chars holds the canonical spelling, then what it lacks.
 */
#include "name.h"

#include <errno.h>
#include <stdlib.h>

#include "type.h"

/* The parts of one spelling, before they are brought into canonical form. */
struct parts {
	struct mapparse_slice result; /* empty: not given */
	struct mapparse_slice assembly;
	struct mapparse_slice type;
	struct mapparse_slice method;
	struct mapparse_slice params;
	bool has_params;
	enum mapparse_instance instance;
};

static struct mapparse_slice slice_trim(struct mapparse_slice s)
{
	while (s.length && s.start[0] == ' ')
		s = slice_of(s.start + 1, slice_end(s));
	while (s.length && s.start[s.length - 1] == ' ')
		s.length--;
	return s;
}

static bool slice_equal(struct mapparse_slice a, struct mapparse_slice b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.start, b.start, a.length) == 0);
}

/* Taking apart ----------------------------------------------------------------------------- */

/* The "(" that the ")" at the very end closes. */
static const char *params_open(struct mapparse_slice text)
{
	const char *end = slice_end(text);
	const char *open = memrchr(text.start, '(', text.length);
	size_t depth = 0;

	/* Nearly always there is only one. */
	if (!open || memchr(open, ')', (size_t)(end - open)) == end - 1)
		return open;
	for (const char *p = end; p > text.start; p--) {
		if (p[-1] == ')')
			depth++;
		else if (p[-1] == '(' && --depth == 0)
			return p - 1;
	}
	return NULL;
}

/* The last "::", outside brackets if there is one there. */
static const char *find_colons(struct mapparse_slice text)
{
	const char *anywhere = NULL;
	int depth = 0;

	for (const char *p = slice_end(text); p - text.start >= 2; p--) {
		char c = p[-1];

		if (c == '>' || c == ']') {
			depth++;
		} else if (c == '<' || c == '[') {
			depth--;
		} else if (c == ':' && p[-2] == ':') {
			if (depth == 0)
				return p - 2;
			if (!anywhere)
				anywhere = p - 2;
		}
	}
	return anywhere;
}

/* Where the last word outside brackets begins, which is what the type's name is. */
static const char *last_word(struct mapparse_slice text)
{
	int depth = 0;

	for (const char *p = slice_end(text); p > text.start; p--) {
		char c = p[-1];

		if (c == '>' || c == ']')
			depth++;
		else if (c == '<' || c == '[')
			depth--;
		else if (c == ' ' && depth <= 0)
			return p;
	}
	return text.start;
}

/* Is @end in arguments, or in a name that a compiler made up? */
static bool in_angles(const char *start, const char *end)
{
	long depth = 0;

	for (const char *p = start; p < end; p++)
		depth += (*p == '<') - (*p == '>');
	return depth > 0;
}

/*
 * The " [Assembly] " of a runtime's spelling. The space after the bracket tells it from the
 * "class [Assembly]Type" and "int32[] " that may stand before it. True if there is one.
 */
static bool split_assembly(struct mapparse_slice text, struct parts *parts,
			   struct mapparse_slice *rest)
{
	const char *end = slice_end(text);

	for (const char *p = text.start; p < end; p++) {
		const char *close;

		p = memchr(p, '[', (size_t)(end - p));
		if (!p)
			return false;
		if (p > text.start && p[-1] != ' ')
			continue;
		close = memchr(p, ']', (size_t)(end - p));
		if (!close)
			return false;
		if (close + 1 < end && close[1] == ' ' && !in_angles(text.start, p)) {
			parts->result = slice_of(text.start, p);
			parts->assembly = slice_of(p + 1, close);
			*rest = slice_of(close + 2, end);
			return true;
		}
	}
	return false;
}

static bool split(struct mapparse_slice text, enum mapparse_spelling spelling, struct parts *parts)
{
	const char *open = NULL, *colons, *word;
	bool has_assembly;

	*parts = (struct parts){ .instance = MAPPARSE_INSTANCE_UNKNOWN };
	text = slice_trim(text);
	if (line_skip(&text, "instance "))
		parts->instance = MAPPARSE_INSTANCE;
	has_assembly = spelling != MAPPARSE_SPELLING_CLR && split_assembly(text, parts, &text);
	if (has_assembly && parts->instance == MAPPARSE_INSTANCE_UNKNOWN)
		parts->instance = MAPPARSE_STATIC;
	text = slice_trim(text);
	if (slice_ends(text, ")"))
		open = params_open(text);
	if (open) {
		parts->params = slice_of(open + 1, slice_end(text) - 1);
		parts->has_params = true;
		text = slice_of(text.start, open);
	}
	colons = find_colons(text);
	if (!colons)
		return false;
	parts->method = slice_trim(slice_of(colons + 2, slice_end(text)));
	parts->type = slice_trim(slice_of(text.start, colons));
	if (!has_assembly) {
		word = last_word(parts->type);
		parts->result = slice_of(parts->type.start, word);
		parts->type = slice_of(word, slice_end(parts->type));
		if (slice_begins(parts->type, "[")) { /* ildasm: [app]app.Employee::Work */
			const char *close = memchr(parts->type.start, ']', parts->type.length);

			if (close && close + 1 < slice_end(parts->type)) {
				parts->assembly = slice_of(parts->type.start + 1, close);
				parts->type = slice_of(close + 1, slice_end(parts->type));
			}
		}
	}
	parts->result = slice_trim(parts->result);
	if (!has_assembly && slice_ends(parts->result, " class"))
		parts->result.length -= strlen(" class");
	else if (!has_assembly && slice_ends(parts->result, " valuetype"))
		parts->result.length -= strlen(" valuetype");
	return parts->type.length > 0 && parts->method.length > 0;
}

/* Putting together ------------------------------------------------------------------------- */

void mapparse_builder_begin(struct mapparse_builder *b, struct mapparse_name *name)
{
	*b = (struct mapparse_builder){
		.name = name,
		.out = { name->chars, 0, name->chars_capacity, false },
	};
	/* Not all of it: the slices are set in the end, and clearing them takes 15 ns. */
	name->ambiguous = false;
	name->has_params = false;
	name->has_return = false;
	name->instance = MAPPARSE_INSTANCE_UNKNOWN;
}

void mapparse_builder_end_part(struct mapparse_builder *b, enum mapparse_part part, size_t from)
{
	b->parts[part].from = from;
	b->parts[part].to = b->out.length;
}

void mapparse_builder_end_type(struct mapparse_builder *b, size_t name_end)
{
	b->parts[MAPPARSE_PART_TYPE].to = name_end;
	if (name_end < b->out.length) {
		b->parts[MAPPARSE_PART_TYPE_ARGS].from = name_end + 1;
		b->parts[MAPPARSE_PART_TYPE_ARGS].to = b->out.length - 1;
	}
}

/* The buffer no longer moves: the parts get their addresses. */
int mapparse_builder_finish(struct mapparse_builder *b)
{
	struct mapparse_name *name = b->name;
	struct mapparse_slice *const slices[MAPPARSE_PARTS] = {
		[MAPPARSE_PART_CANONICAL] = &name->canonical,
		[MAPPARSE_PART_TYPE] = &name->type,
		[MAPPARSE_PART_TYPE_ARGS] = &name->type_args,
		[MAPPARSE_PART_METHOD] = &name->method,
		[MAPPARSE_PART_METHOD_ARGS] = &name->method_args,
		[MAPPARSE_PART_PARAMS] = &name->params,
		[MAPPARSE_PART_RETURN] = &name->return_type,
		[MAPPARSE_PART_ASSEMBLY] = &name->assembly,
	};

	name->chars = b->out.chars;
	name->chars_capacity = b->out.capacity;
	for (unsigned int i = 0; i < MAPPARSE_PARTS; i++) {
		slices[i]->start = name->chars ? name->chars + b->parts[i].from : "";
		slices[i]->length = b->out.failed ? 0 : b->parts[i].to - b->parts[i].from;
	}
	return b->out.failed ? -ENOMEM : 0;
}

static void add_type(struct mapparse_builder *b, struct mapparse_slice type)
{
	struct mapparse_scan s = mapparse_scan_of(type, 0);
	size_t name_end;

	if (!mapparse_type_read_name(&s, &b->out, &name_end, &b->name->ambiguous) ||
	    s.pos != s.end) {
		b->out.length = 0;
		buffer_add_bytes(&b->out, type.start, type.length);
		name_end = b->out.length;
		b->name->ambiguous = true;
	}
	mapparse_builder_end_type(b, name_end);
}

/* The types of @list in brackets. */
static void add_list(struct mapparse_builder *b, enum mapparse_part part, bool as_argument,
		     struct mapparse_slice list)
{
	struct mapparse_scan s = mapparse_scan_of(list, 0);
	size_t from;

	buffer_add_char(&b->out, as_argument ? '[' : '(');
	from = b->out.length;
	mapparse_type_read_list(&s, as_argument, &b->out, &b->name->ambiguous);
	mapparse_builder_end_part(b, part, from);
	buffer_add_char(&b->out, as_argument ? ']' : ')');
}

/* Where "[System.Int32]" or, in C#, "<int>" at the end of a method's name begins. */
static size_t method_args_begin(struct mapparse_slice method, enum mapparse_spelling spelling)
{
	bool csharp = spelling == MAPPARSE_SPELLING_ANY || spelling == MAPPARSE_SPELLING_CSHARP;
	char last = method.start[method.length - 1];
	size_t depth = 0;

	if (last != ']' && !(last == '>' && csharp))
		return method.length;
	for (size_t i = method.length; i > 0; i--) {
		char c = method.start[i - 1];

		if (c == ']' || c == '>' || c == ')')
			depth++;
		else if ((c == '[' || c == '<' || c == '(') && --depth == 0)
			return i > 1 ? i - 1 : method.length;
	}
	return method.length;
}

static void add_method(struct mapparse_builder *b, struct mapparse_slice method,
		       enum mapparse_spelling spelling)
{
	size_t begin = method_args_begin(method, spelling), from = b->out.length;

	buffer_add_bytes(&b->out, method.start, begin);
	mapparse_builder_end_part(b, MAPPARSE_PART_METHOD, from);
	if (begin < method.length)
		add_list(b, MAPPARSE_PART_METHOD_ARGS, true,
			 slice_of(method.start + begin + 1, slice_end(method) - 1));
}

static void add_return(struct mapparse_builder *b, struct mapparse_slice result)
{
	struct mapparse_scan s = mapparse_scan_of(result, 0);
	size_t from = b->out.length;

	if (!mapparse_type_read(&s, false, &b->out) || s.pos != s.end) {
		b->out.length = from;
		buffer_add_bytes(&b->out, result.start, result.length);
	}
	mapparse_builder_end_part(b, MAPPARSE_PART_RETURN, from);
	b->name->has_return = true;
}

/* F# lets names have these; a damaged row has them, too. Interfaces' are <T[]>. */
static bool is_odd(struct mapparse_slice s)
{
	static const bool odd[256] = {
		[' '] = true, ['('] = true, [')'] = true, [':'] = true,
		['['] = true, [']'] = true, ['<'] = true, ['>'] = true,
	};
	size_t depth = 0;

	for (size_t i = 0; i < s.length; i++) {
		char c = s.start[i];

		if (!odd[(unsigned char)c])
			continue;
		if (c == '<')
			depth++;
		else if (c == '>' && depth)
			depth--;
		else if (c == '>' || depth == 0 || (c != '[' && c != ']'))
			return true;
	}
	return depth > 0;
}

int mapparse_name_parse(struct mapparse_name *name, enum mapparse_spelling spelling,
			const char *chars, size_t length)
{
	struct mapparse_slice text = { chars, length };
	struct mapparse_builder b;
	struct parts parts;
	size_t from;

	if (spelling == MAPPARSE_SPELLING_MANGLED)
		return mapparse_name_demangle(name, NULL, chars, length);
	if (!split(text, spelling, &parts))
		return -EINVAL;

	mapparse_builder_begin(&b, name);
	add_type(&b, parts.type);
	buffer_add(&b.out, "::");
	add_method(&b, parts.method, spelling);
	name->has_params = parts.has_params;
	if (name->has_params)
		add_list(&b, MAPPARSE_PART_PARAMS, false, parts.params);
	mapparse_builder_end_part(&b, MAPPARSE_PART_CANONICAL, 0);

	name->instance = parts.instance;
	/* crossgen2 leaves void out. */
	if (!parts.result.length && spelling == MAPPARSE_SPELLING_CLR)
		parts.result = (struct mapparse_slice){ "void", strlen("void") };
	if (parts.result.length)
		add_return(&b, parts.result);
	from = b.out.length;
	buffer_add_bytes(&b.out, parts.assembly.start, parts.assembly.length);
	mapparse_builder_end_part(&b, MAPPARSE_PART_ASSEMBLY, from);
	if (mapparse_builder_finish(&b) != 0)
		return -ENOMEM;
	/* In a type's name it can only be between the <> of what a compiler made up. */
	if (memchr(name->type.start, '<', name->type.length))
		name->ambiguous |= is_odd(name->type);
	/* ...and IL's I<A> at the end is no list of arguments, but C#'s is. */
	name->ambiguous |= is_odd(name->method) || slice_ends(name->method, ">");
	return 0;
}

void mapparse_name_deinit(struct mapparse_name *name)
{
	free(name->chars);
	*name = (struct mapparse_name){ .chars = NULL };
}

bool mapparse_name_equal(const struct mapparse_name *a, const struct mapparse_name *b)
{
	return slice_equal(a->type, b->type) && slice_equal(a->type_args, b->type_args) &&
	       slice_equal(a->method, b->method) && slice_equal(a->method_args, b->method_args) &&
	       (!a->has_params || !b->has_params || slice_equal(a->params, b->params));
}
