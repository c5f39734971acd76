// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the canonical spelling back to the others: for conversion, and so that parsing can be
 * tested against its own opposite.
 */
#include "name.h"
#include "type.h"

static struct mapparse_scan scan_of(struct mapparse_slice s, int depth)
{
	return (struct mapparse_scan){ s.start, s.start + s.length, depth };
}

static void render_type(struct mapparse_scan *s, bool as_argument, enum mapparse_spelling spelling,
			struct mapparse_buffer *out);

static void render_list(struct mapparse_slice list, bool as_argument, int depth,
			enum mapparse_spelling spelling, struct mapparse_buffer *out)
{
	struct mapparse_slice element;
	bool first = true;

	while (mapparse_list_next(&list, &element)) {
		struct mapparse_scan s = scan_of(element, depth);

		if (!first)
			buffer_add(out, spelling == MAPPARSE_SPELLING_IL ? "," : ", ");
		first = false;
		if (spelling == MAPPARSE_SPELLING_CSHARP && !as_argument && element.length &&
		    s.end[-1] == '&') {
			buffer_add(out, "ref ");
			s.end--;
		}
		render_type(&s, as_argument, spelling, out);
	}
}

/* Where a name ends: at its arguments or suffixes, but not at the brackets in <Made>up. */
static const char *name_end(const char *p, const char *end)
{
	size_t depth = 0;

	for (; p < end; p++) {
		if (*p == '<')
			depth++;
		else if (*p == '>' && depth)
			depth--;
		else if (depth == 0 && strchr("[]*&(),", *p) && *p)
			return p;
	}
	return end;
}

/* List`1 with one argument is List<...> in C#; Box`1+Inner keeps its number. */
static size_t without_arity(struct mapparse_slice name, struct mapparse_slice list)
{
	struct mapparse_buffer arity = { 0 };
	struct mapparse_slice element;
	size_t count = 0, length = name.length;

	while (mapparse_list_next(&list, &element))
		count++;
	buffer_add_char(&arity, '`');
	mapparse_buffer_add_number(&arity, count);
	if (!arity.failed && name.length > arity.length &&
	    memcmp(name.start + name.length - arity.length, arity.chars, arity.length) == 0 &&
	    !memchr(name.start, '`', name.length - arity.length))
		length -= arity.length;
	mapparse_buffer_free(&arity);
	return length;
}

static void render_name(struct mapparse_slice name, struct mapparse_slice list,
			enum mapparse_spelling spelling, struct mapparse_buffer *out)
{
	const struct mapparse_alias *alias =
		list.start ? NULL : mapparse_alias_find(name.start, name.length);
	size_t length = name.length;

	if (alias) {
		bool clr = spelling == MAPPARSE_SPELLING_CLR;

		buffer_add(out, clr				     ? alias->clr :
				spelling == MAPPARSE_SPELLING_CSHARP ? alias->csharp :
								       alias->il);
		return;
	}
	if (spelling == MAPPARSE_SPELLING_IL)
		buffer_add(out, "class ");
	if (spelling == MAPPARSE_SPELLING_CSHARP && list.start)
		length = without_arity(name, list);
	for (size_t i = 0; i < length; i++) {
		bool slash = spelling == MAPPARSE_SPELLING_IL && name.start[i] == '+';

		buffer_add_char(out, slash ? '/' : name.start[i]);
	}
}

static void render_array(const char *open, const char *close, enum mapparse_spelling spelling,
			 struct mapparse_buffer *out)
{
	if (spelling != MAPPARSE_SPELLING_IL || close == open + 1) {
		buffer_add_bytes(out, open, (size_t)(close - open + 1));
		return;
	}
	buffer_add(out, "[0...");
	for (const char *p = open + 1; p < close; p++) {
		if (*p == ',')
			buffer_add(out, ",0...");
	}
	buffer_add_char(out, ']');
}

/* What was written from @begin on is returned by a function that takes @params. */
static void render_function(size_t begin, struct mapparse_slice params, bool as_argument, int depth,
			    enum mapparse_spelling spelling, struct mapparse_buffer *out)
{
	struct mapparse_buffer result = { 0 };

	if (out->failed || out->length == begin)
		return;
	buffer_add_bytes(&result, out->chars + begin, out->length - begin);
	out->length = begin;
	switch (spelling) {
	case MAPPARSE_SPELLING_IL:
		buffer_add(out, "method ");
		buffer_add_bytes(out, result.chars, result.length);
		buffer_add(out, " *(");
		render_list(params, as_argument, depth, spelling, out);
		buffer_add_char(out, ')');
		break;
	case MAPPARSE_SPELLING_CSHARP:
		buffer_add(out, "delegate*<");
		render_list(params, as_argument, depth, spelling, out);
		if (params.length)
			buffer_add(out, ", ");
		buffer_add_bytes(out, result.chars, result.length);
		buffer_add_char(out, '>');
		break;
	default:
		buffer_add_bytes(out, result.chars, result.length);
		buffer_add(out, "(*)(");
		render_list(params, as_argument, depth, spelling, out);
		buffer_add_char(out, ')');
	}
	out->failed |= result.failed;
	mapparse_buffer_free(&result);
}

static void render_args(struct mapparse_slice list, int depth, enum mapparse_spelling spelling,
			struct mapparse_buffer *out)
{
	bool square = spelling == MAPPARSE_SPELLING_CLR;

	buffer_add_char(out, square ? '[' : '<');
	render_list(list, true, depth, spelling, out);
	buffer_add_char(out, square ? ']' : '>');
}

/* Those of a method's owner, and its own. The runtime, too, has them as [System.Int32]. */
static void render_owner_args(struct mapparse_slice list, enum mapparse_spelling spelling,
			      struct mapparse_buffer *out)
{
	if (list.length && spelling == MAPPARSE_SPELLING_IL) {
		buffer_add_char(out, '[');
		buffer_add_bytes(out, list.start, list.length);
		buffer_add_char(out, ']');
	} else if (list.length) {
		render_args(list, 0, spelling, out);
	}
}

static void render_suffixes(struct mapparse_scan *s, size_t begin, bool as_argument,
			    enum mapparse_spelling spelling, struct mapparse_buffer *out)
{
	while (s->pos < s->end) {
		const char *close = mapparse_bracket_end(s->pos, s->end);

		if (*s->pos == '[' && close) {
			render_array(s->pos, close, spelling, out);
			s->pos = close + 1;
		} else if (*s->pos == '(' && close && s->end - close > 1 && close[1] == '(') {
			const char *open = close + 1;

			close = mapparse_bracket_end(open, s->end);
			if (!close)
				break;
			render_function(
				begin,
				(struct mapparse_slice){ open + 1, (size_t)(close - open - 1) },
				as_argument, s->depth, spelling, out);
			s->pos = close + 1;
		} else {
			buffer_add_char(out, *s->pos++);
		}
	}
	buffer_add_bytes(out, s->pos, (size_t)(s->end - s->pos));
	s->pos = s->end;
}

static bool is_array(const char *open, const char *end)
{
	return end - open > 1 && strchr("],*", open[1]) && open[1];
}

static void render_type(struct mapparse_scan *s, bool as_argument, enum mapparse_spelling spelling,
			struct mapparse_buffer *out)
{
	struct mapparse_slice name = { s->pos, 0 }, list = { NULL, 0 };
	size_t begin = out->length;
	const char *close;

	if (++s->depth > MAPPARSE_TYPE_DEPTH_MAX) {
		buffer_add_bytes(out, s->pos, (size_t)(s->end - s->pos));
		return;
	}
	s->pos = name_end(s->pos, s->end);
	name.length = (size_t)(s->pos - name.start);
	if (s->pos < s->end && *s->pos == '[' && !is_array(s->pos, s->end)) {
		close = mapparse_bracket_end(s->pos, s->end);
		if (close) {
			list = (struct mapparse_slice){ s->pos + 1, (size_t)(close - s->pos - 1) };
			s->pos = close + 1;
		}
	}
	if (name.length && name.start[0] == '!')
		buffer_add_bytes(out, name.start, name.length);
	else
		render_name(name, list, spelling, out);
	if (list.start)
		render_args(list, s->depth, spelling, out);
	render_suffixes(s, begin, as_argument, spelling, out);
	s->depth--;
}

static void render_slice(struct mapparse_slice type, enum mapparse_spelling spelling,
			 struct mapparse_buffer *out)
{
	struct mapparse_scan s = scan_of(type, 0);

	render_type(&s, false, spelling, out);
}

static void add_slice(struct mapparse_buffer *out, struct mapparse_slice s)
{
	buffer_add_bytes(out, s.start, s.length);
}

static void render_owner(const struct mapparse_name *name, enum mapparse_spelling spelling,
			 struct mapparse_buffer *out)
{
	bool csharp = spelling == MAPPARSE_SPELLING_CSHARP;
	struct mapparse_slice type = name->type;

	if (csharp && name->type_args.length)
		type.length = without_arity(type, name->type_args);
	add_slice(out, type);
	render_owner_args(name->type_args, spelling, out);
	buffer_add(out, "::");
	add_slice(out, name->method);
	render_owner_args(name->method_args, spelling, out);
}

static void render_front(const struct mapparse_name *name, enum mapparse_spelling spelling,
			 struct mapparse_buffer *out)
{
	bool is_void =
		name->return_type.length == 4 && memcmp(name->return_type.start, "void", 4) == 0;

	if (spelling == MAPPARSE_SPELLING_IL && name->instance == MAPPARSE_INSTANCE)
		buffer_add(out, "instance ");
	if (name->has_return && !(spelling == MAPPARSE_SPELLING_CLR && is_void)) {
		render_slice(name->return_type, spelling, out);
		buffer_add_char(out, ' ');
	}
	if (spelling == MAPPARSE_SPELLING_IL && name->assembly.length) {
		buffer_add_char(out, '[');
		add_slice(out, name->assembly);
		buffer_add(out, "] ");
	}
}

char *mapparse_name_render(const struct mapparse_name *name, enum mapparse_spelling spelling)
{
	struct mapparse_buffer out = { 0 };

	switch (spelling) {
	case MAPPARSE_SPELLING_ANY:
		add_slice(&out, name->canonical);
		break;
	case MAPPARSE_SPELLING_MANGLED:
		return mapparse_name_mangle(name, NULL);
	default:
		render_front(name, spelling, &out);
		render_owner(name, spelling, &out);
		if (name->has_params) {
			buffer_add_char(&out, '(');
			render_list(name->params, false, 0, spelling, &out);
			buffer_add_char(&out, ')');
		}
	}
	return mapparse_buffer_take(&out);
}
