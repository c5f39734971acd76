// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of types, and lists of types: what is between brackets of some kind. */
#include "type.h"

enum { LISTS_MAX = 4 };

/* The name of a type on its way: its arguments are read when the name is complete. */
struct type_name {
	struct mapparse_slice lists[LISTS_MAX];
	unsigned int count;
};

const char *mapparse_bracket_end(const char *open, const char *end)
{
	size_t depth = 0;

	for (const char *p = open; p < end; p++) {
		switch (*p) {
		case '<':
		case '[':
		case '(':
			depth++;
			break;
		case '>':
		case ']':
		case ')':
			if (--depth == 0)
				return p;
			break;
		default:
			break;
		}
	}
	return NULL;
}

/* <Name>: part of a name that a compiler made up; it may hold anything, in pairs. */
static const char *made_up_end(const char *open, const char *end)
{
	size_t depth = 0;

	for (const char *p = open; p < end; p++) {
		if (*p == '<')
			depth++;
		else if (*p == '>' && --depth == 0)
			return p;
	}
	return NULL;
}

const char *mapparse_array_end(const char *open, const char *end)
{
	for (const char *p = open + 1; p < end; p++) {
		if (*p == ']')
			return p;
		if (!mapparse_is_digit(*p) && *p != ',' && *p != '.' && *p != '*' && *p != ' ')
			return NULL;
	}
	return NULL;
}

bool mapparse_list_next(struct mapparse_slice *list, struct mapparse_slice *element)
{
	const char *end;
	size_t depth = 0;

	if (list->length == 0)
		return false;
	end = slice_end(*list);
	for (const char *p = list->start; p < end; p++) {
		if (*p == '<' || *p == '[' || *p == '(') {
			depth++;
		} else if ((*p == '>' || *p == ']' || *p == ')') && depth) {
			depth--;
		} else if (*p == ',' && depth == 0) {
			*element = slice_of(list->start, p);
			*list = slice_of(p + 1, end);
			return true;
		}
	}
	*element = *list;
	*list = slice_of(end, end);
	return true;
}

size_t mapparse_list_count(struct mapparse_slice list)
{
	struct mapparse_slice element;
	size_t count = 0;

	while (mapparse_list_next(&list, &element))
		count++;
	return count;
}

/* Lists ------------------------------------------------------------------------------------ */

/*
 * [System.Int32, System.Private.CoreLib, Version=...]: how reflection spells an argument,
 * unlike [System.Private.CoreLib]System.Int32.
 */
static bool is_qualified(const struct mapparse_scan *s)
{
	const char *close;

	if (s->pos == s->end || *s->pos != '[')
		return false;
	close = mapparse_bracket_end(s->pos, s->end);
	return close && (close + 1 == s->end || close[1] == ',');
}

static bool read_qualified(struct mapparse_scan *s, struct mapparse_buffer *out)
{
	const char *close = mapparse_bracket_end(s->pos, s->end);
	struct mapparse_scan inner = { s->pos + 1, close, s->depth };

	s->pos = close + 1;
	return mapparse_type_read(&inner, true, out) && (inner.pos == close || *inner.pos == ',');
}

static void read_element(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out,
			 bool *odd)
{
	struct mapparse_scan attempt = *s;
	struct mapparse_slice rest = slice_of(s->pos, s->end);
	struct mapparse_slice element = { s->pos, 0 };
	size_t begin = out->length;

	mapparse_skip_spaces(&attempt);
	if (as_argument && is_qualified(&attempt) ?
		    read_qualified(&attempt, out) :
		    mapparse_type_read(&attempt, as_argument, out)) {
		mapparse_skip_spaces(&attempt);
		if (attempt.pos == attempt.end || *attempt.pos == ',') {
			*s = attempt;
			return;
		}
	}
	/* No type that we know: let it at least be the same whenever it is seen again. */
	out->length = begin;
	*odd = true;
	mapparse_list_next(&rest, &element);
	for (size_t i = 0; i < element.length; i++) {
		if (element.start[i] != ' ')
			buffer_add_char(out, element.start[i]);
	}
	s->pos = slice_end(element);
}

void mapparse_type_read_list(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out,
			     bool *odd)
{
	mapparse_skip_spaces(s);
	if (s->pos == s->end)
		return;
	for (;;) {
		read_element(s, as_argument, out, odd);
		mapparse_skip_spaces(s);
		if (s->pos >= s->end)
			return;
		s->pos++; /* the comma */
		buffer_add_char(out, ',');
	}
}

/* Names ------------------------------------------------------------------------------------ */

/* Note where the arguments are that @s stands on, and go to their end. */
static bool take_list(struct mapparse_scan *s, struct type_name *name, bool has_arity,
		      struct mapparse_buffer *out)
{
	const char *close = mapparse_bracket_end(s->pos, s->end);
	struct mapparse_slice *list;

	if (!close || name->count == LISTS_MAX)
		return false;
	list = &name->lists[name->count];
	*list = slice_of(s->pos + 1, close);
	if (!has_arity) { /* C# has List<int> for List`1 */
		buffer_add_char(out, '`');
		mapparse_buffer_add_number(out, mapparse_list_count(*list));
	}
	name->count++;
	s->pos = close;
	return true;
}

/* Characters that mean something in a name; the others are passed over in one go. */
static const bool stops[256] = {
	['.'] = true, ['+'] = true, ['/'] = true, ['`'] = true, ['['] = true,
	['<'] = true, [','] = true, ['>'] = true, [']'] = true, ['('] = true,
	[')'] = true, ['*'] = true, ['&'] = true, ['?'] = true, [' '] = true,
};

/* Where a comment that begins at @p (a blank, then as in C) ends; NULL if none does. */
static const char *comment_end(const char *p, const char *end)
{
	const char mark[] = " /*";

	if ((size_t)(end - p) < sizeof(mark) - 1 || memcmp(p, mark, sizeof(mark) - 1) != 0)
		return NULL;
	for (p += sizeof(mark) - 1; p + 1 < end; p++) {
		if (p[0] == '*' && p[1] == '/')
			return p + 1;
	}
	return NULL;
}

/* What is left of a name that ends at @s->pos; false if it ends where a part was to begin. */
static bool end_name(const struct mapparse_scan *s, const char *run, bool at_start,
		     struct mapparse_buffer *out)
{
	buffer_add_bytes(out, run, (size_t)(s->pos - run));
	return !at_start;
}

/* Copy a name, "/" as "+", and note where its lists of arguments are. */
static bool copy_name(struct mapparse_scan *s, struct type_name *name, struct mapparse_buffer *out)
{
	bool at_start = true, has_arity = false, closed = false;
	const char *run = s->pos;

	for (; s->pos < s->end; s->pos++) {
		const char *p = s->pos;

		while (p < s->end && !stops[(unsigned char)*p])
			p++;
		if (p > s->pos) {
			if (closed)
				return false;
			at_start = false;
			s->pos = p;
			if (p == s->end)
				break;
		}
		switch (*s->pos) {
		case '.':
		case '+':
		case '/':
			buffer_add_bytes(out, run, (size_t)(s->pos - run));
			/* C# has a dot before a nested type as well. */
			buffer_add_char(out, *s->pos == '.' && !closed ? '.' : '+');
			run = s->pos + 1;
			at_start = true;
			closed = false;
			continue;
		case '`':
			has_arity = true;
			break;
		case '[':
		case '<':
			if (at_start && *s->pos == '<') {
				const char *close = made_up_end(s->pos, s->end);

				if (!close)
					return false;
				s->pos = close;
				break;
			}
			if (*s->pos == '[' && (at_start || mapparse_array_end(s->pos, s->end)))
				return end_name(s, run, at_start, out);
			buffer_add_bytes(out, run, (size_t)(s->pos - run));
			if (closed || !take_list(s, name, has_arity, out))
				return false;
			run = s->pos + 1;
			closed = true;
			has_arity = false;
			continue;
		case ' ': {
			/* The runtime adds the address of a type that a dynamic method names. */
			const char *close = comment_end(s->pos, s->end);

			if (!close)
				return end_name(s, run, at_start, out);
			buffer_add_bytes(out, run, (size_t)(s->pos - run));
			s->pos = close;
			run = close + 1;
			continue;
		}
		default:
			return end_name(s, run, at_start, out);
		}
		if (closed)
			return false;
		at_start = false;
	}
	return end_name(s, run, at_start, out);
}

static void add_lists(const struct type_name *name, int depth, struct mapparse_buffer *out,
		      bool *odd)
{
	for (unsigned int i = 0; i < name->count; i++) {
		struct mapparse_scan list = mapparse_scan_of(name->lists[i], depth);

		if (i > 0)
			buffer_add_char(out, ',');
		mapparse_type_read_list(&list, true, out, odd);
	}
}

bool mapparse_type_read_name(struct mapparse_scan *s, struct mapparse_buffer *out, size_t *name_end,
			     bool *odd)
{
	struct type_name name;

	name.count = 0; /* the lists, most names need not */
	if (!copy_name(s, &name, out))
		return false;
	*name_end = out->length;
	if (name.count) {
		buffer_add_char(out, '[');
		add_lists(&name, s->depth, out, odd);
		buffer_add_char(out, ']');
	}
	return true;
}
