// SPDX-License-Identifier: GPL-2.0-or-later
#include "type.h"

#include <errno.h>

static inline __attribute__((always_inline)) bool skip_word(struct mapparse_scan *s,
							    const char *word, size_t length)
{
	if ((size_t)(s->end - s->pos) < length || memcmp(s->pos, word, length) != 0)
		return false;
	s->pos += length;
	return true;
}

#define SKIP_WORD(s, word) skip_word(s, word, sizeof(word) - 1)

/* Words and [Assembly] in front of a type that say nothing of which type it is. */
static bool skip_prefixes(struct mapparse_scan *s)
{
	bool by_reference = false;

	for (;;) {
		const char *before;

		mapparse_skip_spaces(s);
		before = s->pos;
		if (s->pos == s->end)
			return by_reference;
		switch (*s->pos) {
		case 'c':
			SKIP_WORD(s, "class ");
			break;
		case 'v':
			if (!SKIP_WORD(s, "valuetype "))
				SKIP_WORD(s, "value class ");
			break;
		case 'r':
			if (SKIP_WORD(s, "ref "))
				by_reference = true;
			else
				SKIP_WORD(s, "readonly ");
			break;
		case 'o':
			by_reference |= SKIP_WORD(s, "out ");
			break;
		case 'i':
			by_reference |= SKIP_WORD(s, "in ");
			break;
		case 'p':
			SKIP_WORD(s, "params ");
			break;
		case 's':
			SKIP_WORD(s, "scoped ");
			break;
		case 't':
			SKIP_WORD(s, "this ");
			break;
		case '[': {
			const char *close = memchr(s->pos, ']', (size_t)(s->end - s->pos));

			if (close)
				s->pos = close + 1;
			break;
		}
		default:
			break;
		}
		if (s->pos == before)
			return by_reference;
	}
}

/* The number of dimensions is the type, their bounds are not. One with a bound is no vector. */
static void add_array(const char *open, const char *close, struct mapparse_buffer *out)
{
	bool several = memchr(open, ',', (size_t)(close - open)) != NULL;

	buffer_add_char(out, '[');
	if (!several && close - open > 1)
		buffer_add_char(out, '*');
	for (const char *p = open + 1; p < close; p++) {
		if (*p == ',')
			buffer_add_char(out, ',');
	}
	buffer_add_char(out, ']');
}

/* The second word of "native int", "unsigned int8", "native unsigned int". */
static void join_words(struct mapparse_scan *s, size_t begin, struct mapparse_buffer *out)
{
	for (int more = 0; more < 2; more++) {
		size_t length = out->length - begin;
		const char *word = out->chars + begin;
		const char *start;

		if (s->pos == s->end || *s->pos != ' ' ||
		    !((length == 6 && memcmp(word, "native", 6) == 0) ||
		      (length == 8 && memcmp(word, "unsigned", 8) == 0) ||
		      (length == 15 && memcmp(word, "native unsigned", 15) == 0)))
			return;
		for (start = s->pos++; s->pos < s->end && *s->pos >= 'a' && *s->pos <= 'z';)
			s->pos++;
		while (s->pos < s->end && mapparse_is_digit(*s->pos))
			s->pos++;
		buffer_add_bytes(out, start, (size_t)(s->pos - start));
	}
}

/* A "name" that is nothing but numbers would be taken for an array's bounds. */
static bool is_bounds(const char *chars, size_t length)
{
	while (length && (mapparse_is_digit(*chars) || *chars == '.')) {
		chars++;
		length--;
	}
	return length == 0;
}

static bool read_named(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out)
{
	const struct mapparse_alias *alias;
	size_t begin = out->length, name_end;
	bool odd = false;

	if (!mapparse_type_read_name(s, out, &name_end, &odd) || odd || out->failed)
		return false;
	if (name_end < out->length)
		return true;
	if (is_bounds(out->chars + begin, out->length - begin))
		return false;
	join_words(s, begin, out);
	if (out->failed)
		return false;
	alias = mapparse_alias_find(out->chars + begin, out->length - begin);
	if (alias) {
		out->length = begin;
		buffer_add(out, as_argument ? alias->clr : alias->il);
	}
	return true;
}

/* !0, !!1, and !T where a compiler has kept the name. */
static bool read_generic_parameter(struct mapparse_scan *s, struct mapparse_buffer *out)
{
	const char *start = s->pos, *digits;

	while (s->pos < s->end && s->pos - start < 2 && *s->pos == '!')
		s->pos++;
	digits = s->pos;
	while (s->pos < s->end && (mapparse_is_digit(*s->pos) || *s->pos == '_' ||
				   ((*s->pos | 0x20) >= 'a' && (*s->pos | 0x20) <= 'z')))
		s->pos++;
	buffer_add_bytes(out, start, (size_t)(s->pos - start));
	return s->pos > digits;
}

/* Where the list in parentheses ends that @s stands on; NULL if it stands on none. */
static const char *list_end(const struct mapparse_scan *s)
{
	return s->pos < s->end && *s->pos == '(' ? mapparse_bracket_end(s->pos, s->end) : NULL;
}

/* "(*)(" what the function takes ")", behind what it returns. */
static bool add_function_params(struct mapparse_scan params, bool as_argument,
				struct mapparse_buffer *out)
{
	bool odd = false;

	buffer_add(out, "(*)(");
	mapparse_type_read_list(&params, as_argument, out, &odd);
	buffer_add_char(out, ')');
	return !odd;
}

/* False if @s does not stand on the list of what the function takes. */
static bool read_function_params(struct mapparse_scan *s, bool as_argument,
				 struct mapparse_buffer *out)
{
	const char *open = s->pos, *close = list_end(s);

	if (!close)
		return false;
	s->pos = close + 1;
	return add_function_params((struct mapparse_scan){ open + 1, close, s->depth }, as_argument,
				   out);
}

/* IL: "method int32 *(int32)". */
static bool read_il_function(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out)
{
	while (SKIP_WORD(s, "instance ") || SKIP_WORD(s, "default ") || SKIP_WORD(s, "vararg ") ||
	       SKIP_WORD(s, "unmanaged ") || SKIP_WORD(s, "cdecl ") || SKIP_WORD(s, "stdcall ") ||
	       SKIP_WORD(s, "thiscall ") || SKIP_WORD(s, "fastcall "))
		;
	if (!mapparse_type_read(s, as_argument, out))
		return false;
	mapparse_skip_spaces(s);
	SKIP_WORD(s, "*");
	return read_function_params(s, as_argument, out);
}

/* C#: "delegate*<int, int>" and "delegate* unmanaged[Cdecl]<int, int>"; the last is returned. */
static bool read_csharp_function(struct mapparse_scan *s, bool as_argument,
				 struct mapparse_buffer *out)
{
	const char *open = memchr(s->pos, '<', (size_t)(s->end - s->pos));
	const char *close = open ? mapparse_bracket_end(open, s->end) : NULL;
	struct mapparse_slice rest, element = { NULL, 0 };
	struct mapparse_scan params, result;

	if (!close)
		return false;
	rest = slice_of(open + 1, close);
	while (mapparse_list_next(&rest, &element))
		;
	if (!element.start)
		return false;
	result = (struct mapparse_scan){ element.start, close, s->depth };
	if (!mapparse_type_read(&result, as_argument, out) || result.pos != close)
		return false;
	params = (struct mapparse_scan){ open + 1, element.start, s->depth };
	if (params.end > params.pos)
		params.end--; /* its comma */
	s->pos = close + 1;
	return add_function_params(params, as_argument, out);
}

/* C#'s int? is System.Nullable`1[System.Int32]: read again what was just written. */
static bool wrap_nullable(size_t begin, int depth, struct mapparse_buffer *out)
{
	struct mapparse_buffer inner = { 0 };
	struct mapparse_scan s;
	bool ok;

	buffer_add_bytes(&inner, out->chars + begin, out->length - begin);
	out->length = begin;
	buffer_add(out, "System.Nullable`1[");
	s = (struct mapparse_scan){ inner.chars, inner.chars + inner.length, depth };
	ok = !inner.failed && inner.length && mapparse_type_read(&s, true, out) && s.pos == s.end;
	buffer_add_char(out, ']');
	mapparse_buffer_free(&inner);
	return ok;
}

/* " modreq(X)" and the like. False if the space begins something else. */
static bool skip_modifier(struct mapparse_scan *s)
{
	const char *close;

	if (SKIP_WORD(s, " pinned"))
		return true;
	if (!SKIP_WORD(s, " modreq") && !SKIP_WORD(s, " modopt"))
		return false;
	close = list_end(s);
	if (close)
		s->pos = close + 1;
	return close != NULL;
}

static bool read_suffixes(struct mapparse_scan *s, size_t begin, bool as_argument,
			  struct mapparse_buffer *out)
{
	while (s->pos < s->end) {
		const char *close;

		switch (*s->pos) {
		case '*':
		case '&':
			buffer_add_char(out, *s->pos++);
			break;
		case '[':
			close = mapparse_array_end(s->pos, s->end);
			if (!close)
				return false;
			add_array(s->pos, close, out);
			s->pos = close + 1;
			break;
		case '?':
			s->pos++;
			if (!wrap_nullable(begin, s->depth, out))
				return false;
			break;
		case '(':
			if (!SKIP_WORD(s, "(*)"))
				return true;
			if (!read_function_params(s, as_argument, out))
				return false;
			break;
		case ' ':
			if (SKIP_WORD(s, " ByRef")) {
				buffer_add_char(out, '&');
				break;
			}
			if (s->end - s->pos > 1 &&
			    s->pos[1] == '(') { /* crossgen2's function pointer */
				s->pos++;
				if (!read_function_params(s, as_argument, out))
					return false;
				break;
			}
			if (!skip_modifier(s))
				return true;
			break;
		default:
			return true;
		}
	}
	return true;
}

bool mapparse_type_read(struct mapparse_scan *s, bool as_argument, struct mapparse_buffer *out)
{
	size_t begin = out->length;
	bool by_reference, ok;

	if (++s->depth > MAPPARSE_TYPE_DEPTH_MAX)
		return false;
	by_reference = skip_prefixes(s);
	if (s->pos < s->end && *s->pos == '!')
		ok = read_generic_parameter(s, out);
	else if (SKIP_WORD(s, "method ") || SKIP_WORD(s, "fnptr "))
		ok = read_il_function(s, as_argument, out);
	else if (SKIP_WORD(s, "delegate*"))
		ok = read_csharp_function(s, as_argument, out);
	else
		ok = read_named(s, as_argument, out);
	ok = ok && read_suffixes(s, begin, as_argument, out) && !out->failed;
	if (ok && by_reference)
		buffer_add_char(out, '&');
	s->depth--;
	return ok;
}

char *mapparse_type_render(const char *chars, size_t length, bool as_argument)
{
	struct mapparse_scan s = { .pos = chars, .end = chars + length };
	struct mapparse_buffer out = { 0 };

	if (mapparse_type_read(&s, as_argument, &out)) {
		mapparse_skip_spaces(&s);
		if (s.pos == s.end)
			return mapparse_buffer_take(&out);
	}
	errno = out.failed ? ENOMEM : EINVAL;
	mapparse_buffer_free(&out);
	return NULL;
}
