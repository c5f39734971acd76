// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the canonical spelling back to the others: for conversion, and so that parsing can be
 * tested against its own opposite.
 */
#include <stdio.h>

#include "name.h"
#include "type.h"

struct renderer {
	enum mapparse_spelling spelling;
	struct mapparse_buffer out;
};

static void add_slice(struct renderer *r, struct mapparse_slice s)
{
	buffer_add_bytes(&r->out, s.start, s.length);
}

static void render_type(struct renderer *r, struct mapparse_scan s, bool as_argument);

static void render_list(struct renderer *r, struct mapparse_slice list, bool as_argument, int depth)
{
	struct mapparse_slice element;
	bool first = true;

	while (mapparse_list_next(&list, &element)) {
		struct mapparse_scan s = mapparse_scan_of(element, depth);

		if (!first)
			buffer_add(&r->out, r->spelling == MAPPARSE_SPELLING_IL ? "," : ", ");
		first = false;
		if (r->spelling == MAPPARSE_SPELLING_CSHARP && !as_argument && element.length &&
		    s.end[-1] == '&') {
			buffer_add(&r->out, "ref ");
			s.end--;
		}
		render_type(r, s, as_argument);
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
static struct mapparse_slice without_arity(struct mapparse_slice name, struct mapparse_slice list)
{
	char arity[24];
	size_t length = (size_t)snprintf(arity, sizeof(arity), "`%zu", mapparse_list_count(list));

	if (name.length > length && slice_ends(name, arity) &&
	    !memchr(name.start, '`', name.length - length))
		name.length -= length;
	return name;
}

static void render_name(struct renderer *r, struct mapparse_slice name, struct mapparse_slice list)
{
	const struct mapparse_alias *alias =
		list.start ? NULL : mapparse_alias_find(name.start, name.length);

	if (alias) {
		buffer_add(&r->out, r->spelling == MAPPARSE_SPELLING_CLR    ? alias->clr :
				    r->spelling == MAPPARSE_SPELLING_CSHARP ? alias->csharp :
									      alias->il);
		return;
	}
	if (r->spelling == MAPPARSE_SPELLING_IL)
		buffer_add(&r->out, "class ");
	if (r->spelling == MAPPARSE_SPELLING_CSHARP && list.start)
		name = without_arity(name, list);
	for (size_t i = 0; i < name.length; i++) {
		bool slash = r->spelling == MAPPARSE_SPELLING_IL && name.start[i] == '+';

		buffer_add_char(&r->out, slash ? '/' : name.start[i]);
	}
}

static void render_array(struct renderer *r, const char *open, const char *close)
{
	if (r->spelling != MAPPARSE_SPELLING_IL || close == open + 1) {
		add_slice(r, slice_of(open, close + 1));
		return;
	}
	buffer_add(&r->out, "[0...");
	for (const char *p = open + 1; p < close; p++) {
		if (*p == ',')
			buffer_add(&r->out, ",0...");
	}
	buffer_add_char(&r->out, ']');
}

/* What was written from @begin on is returned by a function that takes @params. */
static void render_function(struct renderer *r, size_t begin, struct mapparse_slice params,
			    bool as_argument, int depth)
{
	bool csharp = r->spelling == MAPPARSE_SPELLING_CSHARP;
	bool il = r->spelling == MAPPARSE_SPELLING_IL;
	struct mapparse_buffer result = { 0 };

	if (r->out.failed || r->out.length == begin)
		return;
	buffer_add_bytes(&result, r->out.chars + begin, r->out.length - begin);
	r->out.length = begin;
	if (csharp) {
		buffer_add(&r->out, "delegate*<");
	} else {
		buffer_add(&r->out, il ? "method " : "");
		buffer_add_bytes(&r->out, result.chars, result.length);
		buffer_add(&r->out, il ? " *(" : "(*)(");
	}
	render_list(r, params, as_argument, depth);
	if (csharp) {
		buffer_add(&r->out, params.length ? ", " : "");
		buffer_add_bytes(&r->out, result.chars, result.length);
	}
	buffer_add_char(&r->out, csharp ? '>' : ')');
	r->out.failed |= result.failed;
	mapparse_buffer_free(&result);
}

static void render_args(struct renderer *r, struct mapparse_slice list, int depth)
{
	bool square = r->spelling == MAPPARSE_SPELLING_CLR;

	buffer_add_char(&r->out, square ? '[' : '<');
	render_list(r, list, true, depth);
	buffer_add_char(&r->out, square ? ']' : '>');
}

/* Those of a method's owner, and its own. The runtime, too, has them as [System.Int32]. */
static void render_owner_args(struct renderer *r, struct mapparse_slice list)
{
	if (list.length && r->spelling == MAPPARSE_SPELLING_IL) {
		buffer_add_char(&r->out, '[');
		add_slice(r, list);
		buffer_add_char(&r->out, ']');
	} else if (list.length) {
		render_args(r, list, 0);
	}
}

static void render_suffixes(struct renderer *r, struct mapparse_scan s, size_t begin,
			    bool as_argument)
{
	while (s.pos < s.end) {
		const char *close = mapparse_bracket_end(s.pos, s.end);

		if (*s.pos == '[' && close) {
			render_array(r, s.pos, close);
			s.pos = close + 1;
		} else if (*s.pos == '(' && close && s.end - close > 1 && close[1] == '(') {
			const char *open = close + 1;

			close = mapparse_bracket_end(open, s.end);
			if (!close)
				break;
			render_function(r, begin, slice_of(open + 1, close), as_argument, s.depth);
			s.pos = close + 1;
		} else {
			buffer_add_char(&r->out, *s.pos++);
		}
	}
	add_slice(r, slice_of(s.pos, s.end));
}

static bool is_array(const char *open, const char *end)
{
	return end - open > 1 && strchr("],*", open[1]) && open[1];
}

static void render_type(struct renderer *r, struct mapparse_scan s, bool as_argument)
{
	struct mapparse_slice name, list = { NULL, 0 };
	const char *start = s.pos, *close;
	size_t begin = r->out.length;

	if (++s.depth > MAPPARSE_TYPE_DEPTH_MAX) {
		add_slice(r, slice_of(s.pos, s.end));
		return;
	}
	s.pos = name_end(s.pos, s.end);
	name = slice_of(start, s.pos);
	if (s.pos < s.end && *s.pos == '[' && !is_array(s.pos, s.end)) {
		close = mapparse_bracket_end(s.pos, s.end);
		if (close) {
			list = slice_of(s.pos + 1, close);
			s.pos = close + 1;
		}
	}
	if (name.length && name.start[0] == '!')
		add_slice(r, name);
	else
		render_name(r, name, list);
	if (list.start)
		render_args(r, list, s.depth);
	render_suffixes(r, s, begin, as_argument);
}

static void render_owner(struct renderer *r, const struct mapparse_name *name)
{
	bool csharp = r->spelling == MAPPARSE_SPELLING_CSHARP && name->type_args.length;

	add_slice(r, csharp ? without_arity(name->type, name->type_args) : name->type);
	render_owner_args(r, name->type_args);
	buffer_add(&r->out, "::");
	add_slice(r, name->method);
	render_owner_args(r, name->method_args);
}

static void render_front(struct renderer *r, const struct mapparse_name *name)
{
	bool il = r->spelling == MAPPARSE_SPELLING_IL;

	if (il && name->instance == MAPPARSE_INSTANCE)
		buffer_add(&r->out, "instance ");
	if (name->has_return &&
	    !(r->spelling == MAPPARSE_SPELLING_CLR && slice_is(name->return_type, "void"))) {
		render_type(r, mapparse_scan_of(name->return_type, 0), false);
		buffer_add_char(&r->out, ' ');
	}
	if (il && name->assembly.length) {
		buffer_add_char(&r->out, '[');
		add_slice(r, name->assembly);
		buffer_add(&r->out, "] ");
	}
}

char *mapparse_name_render(const struct mapparse_name *name, enum mapparse_spelling spelling)
{
	struct renderer r = { .spelling = spelling };

	switch (spelling) {
	case MAPPARSE_SPELLING_ANY:
		add_slice(&r, name->canonical);
		break;
	case MAPPARSE_SPELLING_MANGLED:
		return mapparse_name_mangle(name, NULL);
	default:
		render_front(&r, name);
		render_owner(&r, name);
		if (name->has_params) {
			buffer_add_char(&r.out, '(');
			render_list(&r, name->params, false, 0);
			buffer_add_char(&r.out, ')');
		}
	}
	return mapparse_buffer_take(&r.out);
}
