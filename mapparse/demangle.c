// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mangled names read backwards. Much was lost when they were made, so this gives the likeliest
 * reading, by what compilers name things; only mapparse_name_mangle() over the names that
 * metadata has can tell for sure.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "name.h"
#include "type.h"

enum { DEPTH_MAX = 32 };

struct demangler {
	char *prefix; /* "app_": the assembly's name as it stands in names; NULL if not known */
	bool guessed;
	int depth;
};

static struct mapparse_slice part(struct mapparse_slice s, size_t from, size_t to)
{
	return (struct mapparse_slice){ s.start + from, to - from };
}

/* Where @word begins in @s at or after @from; s.length if it is not there. */
static size_t find(struct mapparse_slice s, size_t from, const char *word)
{
	const char *found = from < s.length ?
				    memmem(s.start + from, s.length - from, word, strlen(word)) :
				    NULL;

	return found ? (size_t)(found - s.start) : s.length;
}

static size_t skip_digits(struct mapparse_slice s, size_t from)
{
	while (from < s.length && isdigit((unsigned char)s.start[from]))
		from++;
	return from;
}

static struct mapparse_slice skip_prefix(const struct demangler *d, struct mapparse_slice s)
{
	if (d->prefix && slice_begins(s, d->prefix) && s.length > strlen(d->prefix))
		return part(s, strlen(d->prefix), s.length);
	if (slice_begins(s, "S_P_CoreLib_") && s.length > strlen("S_P_CoreLib_"))
		return part(s, strlen("S_P_CoreLib_"), s.length);
	return s;
}

/* Types ------------------------------------------------------------------------------------ */

/*
 * Letters and single _ between them: namespaces are commoner than names with an _ , and
 * nested types cannot be told from them. @generic: a lone number is that of parameters.
 */
static void add_dotted(struct demangler *d, struct mapparse_slice s, bool generic,
		       struct mapparse_buffer *out)
{
	for (size_t i = 0; i < s.length; i++) {
		size_t after = s.start[i] == '_' ? skip_digits(s, i + 1) : 0;

		if (s.start[i] != '_') {
			d->guessed |= !isalnum((unsigned char)s.start[i]);
			buffer_add_char(out, s.start[i]);
			continue;
		}
		d->guessed = true;
		if (generic && i > 0 && after > i + 1 &&
		    (after == s.length || s.start[after] == '_')) {
			buffer_add_char(out, '`');
			buffer_add_bytes(out, s.start + i + 1, after - i - 1);
			if (after < s.length)
				buffer_add_char(out, '+');
			i = after < s.length ? after : after - 1;
		} else if (i == 0 || s.start[i - 1] == '_' || i + 1 == s.length ||
			   isdigit((unsigned char)s.start[i + 1])) {
			buffer_add_char(out, '_');
		} else {
			buffer_add_char(out, '.');
		}
	}
}

/* _Name_b__1_0 is the lambda <Name>b__1_0, _Name_g__Local_1_0 the local <Name>g__Local|1_0. */
static bool add_nested_method(struct demangler *d, struct mapparse_slice s,
			      struct mapparse_buffer *out)
{
	size_t lambda = find(s, 0, "_b__"), local = find(s, 0, "_g__");
	size_t at = lambda < local ? lambda : local;
	size_t last, number;

	if (!slice_begins(s, "_") || at == s.length || at == 0)
		return false;
	d->guessed = true;
	buffer_add_char(out, '<');
	buffer_add_bytes(out, s.start + 1, at - 1);
	buffer_add_char(out, '>');
	if (at == lambda) {
		buffer_add_bytes(out, s.start + at + 1, s.length - at - 1);
		return true;
	}
	last = mapparse_number_begin(s);
	number = mapparse_number_begin(part(s, 0, last));
	if (number >= last)
		number = last;
	buffer_add_bytes(out, s.start + at + 1, number - at - 1);
	if (number < s.length) {
		buffer_add_char(out, '|');
		buffer_add_bytes(out, s.start + number + 1, s.length - number - 1);
	}
	return true;
}

/* Types that the C# compiler makes: ..._<>c, <>c__DisplayClass1_0, <Name>d__2. */
static bool add_made_up(struct demangler *d, struct mapparse_slice s, bool generic,
			struct mapparse_buffer *out)
{
	size_t closure = find(s, 0, "___c");
	size_t machine = find(s, 0, "_d__");
	size_t open;

	if (closure < s.length && (closure + 4 == s.length || s.start[closure + 4] == '_')) {
		add_dotted(d, part(s, 0, closure), generic, out);
		buffer_add(out, "+<>c");
		buffer_add_bytes(out, s.start + closure + 4, s.length - closure - 4);
		d->guessed = true;
		return true;
	}
	open = find(s, 0, "__");
	/* <<Name>g__Local|1_0>d: the state machine of a local function or lambda. */
	if (machine == s.length && slice_ends(s, "_d") && open + 3 < s.length) {
		size_t begin = out->length;

		add_dotted(d, part(s, 0, open), generic, out);
		buffer_add(out, "+<");
		if (add_nested_method(d, part(s, open + 2, s.length - 2), out)) {
			buffer_add(out, ">d");
			return true;
		}
		out->length = begin;
	}
	if (machine == s.length || open >= machine)
		return false;
	add_dotted(d, part(s, 0, open), generic, out);
	buffer_add(out, "+<");
	buffer_add_bytes(out, s.start + open + 2, machine - open - 2);
	buffer_add_char(out, '>');
	buffer_add_bytes(out, s.start + machine + 1, s.length - machine - 1);
	d->guessed = true;
	return true;
}

static void add_type(struct demangler *d, struct mapparse_slice s, struct mapparse_buffer *out);

/* "A__B": the __ is a comma, but not the one of System___Canon. */
static void add_args(struct demangler *d, struct mapparse_slice s, struct mapparse_buffer *out)
{
	size_t from = 0;
	int depth = 0;

	for (size_t i = 0; i <= s.length; i++) {
		bool at_end = i == s.length;
		bool comma = !at_end && depth == 0 && i > from && i + 2 < s.length &&
			     s.start[i] == '_' && s.start[i + 1] == '_' &&
			     !(s.start[i + 2] == '_' &&
			       slice_begins(part(s, from, s.length), "System___")) &&
			     !(slice_begins(part(s, from, i), "System_") && i - from == 7);

		if (!at_end && s.start[i] == '<')
			depth++;
		else if (!at_end && s.start[i] == '>')
			depth--;
		if (!at_end && !comma)
			continue;
		add_type(d, part(s, from, i), out);
		if (comma) {
			buffer_add_char(out, ',');
			d->guessed = true;
			from = i + 2;
			i++;
		}
	}
}

static void add_suffixed(struct demangler *d, struct mapparse_slice s, struct mapparse_buffer *out)
{
	size_t open = find(s, 0, "<");
	struct mapparse_slice inner, name;
	size_t before;
	const struct mapparse_alias *alias = mapparse_alias_find_mangled(s.start, s.length);

	if (alias) {
		buffer_add(out, alias->clr);
		return;
	}
	if (slice_is(s, "System___Canon")) {
		buffer_add(out, "System.__Canon");
		return;
	}
	if (open == s.length || !slice_ends(s, ">")) {
		s = skip_prefix(d, s);
		/* A word of a language for another type: no name that a compiler gave. */
		d->guessed |= mapparse_alias_find(s.start, s.length) != NULL;
		if (!add_made_up(d, s, false, out))
			add_dotted(d, s, false, out);
		return;
	}
	inner = part(s, open + 1, s.length - 1);
	if (slice_begins(s, "__Array<")) {
		add_type(d, inner, out);
		buffer_add(out, "[]");
		return;
	}
	if (slice_ends(s, "<Pointer>") || slice_ends(s, "<ByRef>")) {
		bool pointer = slice_ends(s, "<Pointer>");

		s.length -= strlen(pointer ? "<Pointer>" : "<ByRef>");
		add_type(d, s, out);
		buffer_add_char(out, pointer ? '*' : '&');
		return;
	}
	name = skip_prefix(d, part(s, 0, open));
	before = out->length;
	if (!add_made_up(d, name, true, out))
		add_dotted(d, name, true, out);
	/* Arguments, but not how many: no name that a compiler gave. */
	d->guessed |= out->failed || out->length == before ||
		      !memchr(out->chars + before, '`', out->length - before);
	buffer_add_char(out, '[');
	add_args(d, inner, out);
	buffer_add_char(out, ']');
}

static void add_type(struct demangler *d, struct mapparse_slice s, struct mapparse_buffer *out)
{
	if (++d->depth > DEPTH_MAX)
		buffer_add_bytes(out, s.start, s.length);
	else
		add_suffixed(d, s, out);
	d->depth--;
}

/* Methods ---------------------------------------------------------------------------------- */

/* System_Collections_Generic_IEnumerator_System_Int32__get_Current: an interface's method. */
static size_t interface_begin(struct mapparse_slice s)
{
	for (size_t i = 1; i + 2 < s.length; i++) {
		if (s.start[i - 1] == '_' && s.start[i] == 'I' &&
		    isupper((unsigned char)s.start[i + 1]) &&
		    islower((unsigned char)s.start[i + 2]))
			return i;
	}
	return s.length;
}

static void add_interface_method(struct demangler *d, struct mapparse_slice s, size_t interface,
				 struct mapparse_buffer *out)
{
	size_t args = find(s, interface, "_"), close = find(s, interface, "__");

	if (close < s.length && args < close) {
		add_dotted(d, part(s, 0, args), false, out);
		buffer_add_char(out, '<');
		add_dotted(d, part(s, args + 1, close), false, out);
		buffer_add(out, ">.");
		buffer_add_bytes(out, s.start + close + 2, s.length - close - 2);
		return;
	}
	/* What follows the interface is one name: get_Current keeps its _. */
	add_dotted(d, part(s, 0, args), false, out);
	if (args < s.length) {
		buffer_add_char(out, '.');
		buffer_add_bytes(out, s.start + args + 1, s.length - args - 1);
	}
}

static void add_method(struct demangler *d, struct mapparse_slice s, struct mapparse_buffer *out)
{
	size_t interface;

	if (add_nested_method(d, s, out))
		return;
	/* _0, _1: which of the overloads cannot be told, so it is none of the name. */
	if (mapparse_number_begin(s) < s.length) {
		d->guessed = true;
		s.length = mapparse_number_begin(s);
	}
	if (slice_is(s, "_ctor") || slice_is(s, "_cctor")) {
		buffer_add_char(out, '.');
		buffer_add_bytes(out, s.start + 1, s.length - 1);
		return;
	}
	interface = interface_begin(s);
	if (memchr(s.start, '_', s.length))
		d->guessed = true;
	if (interface < s.length)
		add_interface_method(d, s, interface, out);
	else
		buffer_add_bytes(out, s.start, s.length);
}

/*
 * The __ between type and method: behind the type's arguments, if it has some; else the one
 * before the constructor; else the first that is none of a type made by the compiler.
 */
static size_t split(struct mapparse_slice s)
{
	size_t args = find(s, 0, "<");
	size_t behind = find(s, 0, ">__");
	struct mapparse_slice head = part(s, 0, args), rest;
	size_t number = mapparse_number_begin(head), at, machine, closure;

	if (behind < s.length)
		return behind + 1;
	rest = part(head, 0, number);
	if (slice_ends(rest, "___cctor"))
		return rest.length - strlen("___cctor");
	if (slice_ends(rest, "___ctor"))
		return rest.length - strlen("___ctor");
	closure = find(head, 0, "___c__");
	machine = find(head, 0, "_d__");
	at = find(head, 1, "__");
	if (closure < head.length && closure <= at) {
		at = closure + 4;
		if (slice_begins(part(head, at, head.length), "__DisplayClass")) {
			at = skip_digits(head, at + strlen("__DisplayClass"));
			if (at < head.length && head.start[at] == '_')
				at = skip_digits(head, at + 1);
		}
		return find(head, at, "__");
	}
	if (machine < head.length && at < machine) {
		size_t number_end = skip_digits(head, machine + 4);

		/* Without a number it is a local function's, and the __ is the one we look for. */
		return number_end > machine + 4 ? find(head, number_end, "__") : machine + 2;
	}
	return at;
}

/* "Box`1[" of what was written; its end if there are no arguments. */
static size_t type_args_begin(const struct mapparse_buffer *out)
{
	const char *open;

	if (out->failed || out->length < 2 || out->chars[out->length - 1] != ']')
		return out->length;
	open = memchr(out->chars, '[', out->length - 1);
	return open ? (size_t)(open - out->chars) : out->length;
}

int mapparse_name_demangle(struct mapparse_name *name, const char *assembly, const char *chars,
			   size_t length)
{
	struct mapparse_slice s = { chars, length }, method, type;
	struct demangler d = { .guessed = false };
	struct mapparse_builder b;
	size_t at, open, from;

	at = split(s);
	if (at == 0 || at + 2 >= s.length || s.start[at] != '_' || s.start[at + 1] != '_')
		return -EINVAL;
	if (assembly) {
		struct mapparse_buffer prefix = { 0 };

		mapparse_mangle_assembly(assembly, &prefix);
		d.prefix = mapparse_buffer_take(&prefix);
		if (!d.prefix)
			return -ENOMEM;
	}
	for (size_t i = 0; i < s.length; i++) /* nothing that the mangler lets pass */
		d.guessed |= !isalnum((unsigned char)s.start[i]) && !strchr("_<>", s.start[i]);
	type = part(s, 0, at);
	method = part(s, at + 2, s.length);

	mapparse_builder_begin(&b, name);
	add_type(&d, type, &b.out);
	mapparse_builder_end_type(&b, type_args_begin(&b.out));
	buffer_add(&b.out, "::");
	from = b.out.length;
	open = slice_ends(method, ">") ? find(method, 0, "<") : method.length;
	add_method(&d, part(method, 0, open), &b.out);
	mapparse_builder_end_part(&b, MAPPARSE_PART_METHOD, from);
	if (open < method.length) {
		buffer_add_char(&b.out, '[');
		from = b.out.length;
		add_args(&d, part(method, open + 1, method.length - 1), &b.out);
		mapparse_builder_end_part(&b, MAPPARSE_PART_METHOD_ARGS, from);
		buffer_add_char(&b.out, ']');
	}
	mapparse_builder_end_part(&b, MAPPARSE_PART_CANONICAL, 0);
	from = b.out.length;
	if (d.prefix && slice_begins(type, d.prefix))
		buffer_add(&b.out, assembly);
	mapparse_builder_end_part(&b, MAPPARSE_PART_ASSEMBLY, from);
	name->ambiguous = d.guessed;
	free(d.prefix);
	return mapparse_builder_finish(&b);
}
