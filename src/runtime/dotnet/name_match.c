// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One method's name against the pattern, for find.c; and the name of the method that the compiler
 * has made it from.
 */
#include "runtime/dotnet/name_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "method/pattern.h"
#include "method/source_name.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/signature.h"

enum {
	ATTRIBUTES_MAX = 64,
	NESTING_MAX = 64,
	ATTRIBUTE_PROLOG = 0x0001,
};

static bool has_suffix(const char *s, const char *suffix)
{
	size_t length = strlen(s), suffix_length = strlen(suffix);

	return length >= suffix_length && strcmp(s + length - suffix_length, suffix) == 0;
}

/* Does the string @name end in the nested type @short_name ("Outer+<Work>d__10")? */
static bool names_type(struct span name, const char *short_name)
{
	size_t length = strlen(short_name);

	return name.size > length && name.start[name.size - length - 1] == '+' &&
	       memcmp(name.start + name.size - length, short_name, length) == 0;
}

/*
 * What a method's [AsyncStateMachine(typeof(X))] and the like say of @made_type:
 * 1 it is this method's, -1 another type is, 0 there is no such attribute.
 */
static int attributed(const struct metadata *metadata, uint32_t method, const char *made_type)
{
	struct metadata_attribute attribute;

	for (uint32_t i = 0;
	     i < ATTRIBUTES_MAX && metadata_method_attribute(metadata, method, i, &attribute);
	     i++) {
		struct cursor c = cursor_over(attribute.value);

		if (!has_suffix(attribute.type, "StateMachineAttribute"))
			continue;
		if (cursor_u16(&c) != ATTRIBUTE_PROLOG)
			return 0;
		return names_type(cursor_take(&c, metadata_compressed(&c)), made_type) ? 1 : -1;
	}
	return 0;
}

/* Up from the compiler's classes to the one that a person wrote. */
static uint32_t author_type(const struct metadata *metadata, uint32_t type)
{
	for (int i = 0; type && i < NESTING_MAX; i++) {
		if (*metadata_type_short_name(metadata, type) != '<')
			return type;
		type = metadata_type_enclosing(metadata, type);
	}
	return 0;
}

/*
 * The next MethodDef behind @last (0: the first) that may be the source of a method of TypeDef
 * @made_rid, for which source_name_parse() gave @source; 0: there is none. It is exactly one where
 * the compiler left an attribute (StateMachineAttribute), else all overloads of the name.
 */
static uint32_t next_source_method(const struct metadata *metadata, uint32_t made_rid,
				   const struct source_name *source, uint32_t last)
{
	const char *made_type = metadata_type_short_name(metadata, made_rid);
	uint32_t type = author_type(metadata, made_rid), first = 0, end = 0;

	if (type)
		metadata_type_methods(metadata, type, &first, &end);
	for (uint32_t method = last ? last + 1 : first; method < end; method++) {
		const char *name = metadata_method_name(metadata, method);

		if (strlen(name) == source->name_length &&
		    memcmp(name, source->name, source->name_length) == 0 &&
		    (source->relation != SOURCE_STATE_MACHINE ||
		     attributed(metadata, method, made_type) >= 0))
			return method;
	}
	return 0;
}

void name_match_deinit(struct name_match *match)
{
	method_name_deinit(&match->name);
	method_name_deinit(&match->source);
	text_deinit(&match->made_from);
}

/* How many arguments an open type takes: the numbers behind the backticks of "A`1+B`2". */
static size_t type_arity(const char *type)
{
	size_t arity = 0;

	while ((type = strchr(type, '`'))) {
		type++;
		arity += strtoul(type, NULL, 10);
	}
	return arity;
}

/* A state machine takes the arguments of the source method's type, then those of the method. */
static void split_arguments(const struct text *args, struct method_name *source)
{
	size_t of_type = type_arity(text_chars(&source->type));
	const char *p = text_chars(args), *end = p + args->length;

	for (size_t i = 0; p < end; i++) {
		const char *element_end = type_list_element_end(p, end);
		struct text *out = i < of_type ? &source->type_args : &source->method_args;

		if (out->length)
			text_add_char(out, ',');
		text_add_bytes(out, p, (size_t)(element_end - p));
		p = element_end < end ? element_end + 1 : end;
	}
}

static bool wants(const struct pattern *pattern, const struct method_name *name)
{
	return pattern_wants_type(pattern, text_chars(&name->type)) &&
	       pattern_wants_method(pattern, text_chars(&name->name));
}

/* The method that @name was made from, but for its parameters. */
static void take_source(const struct method_name *name, const struct source_name *made,
			struct method_name *source)
{
	method_name_clear(source);
	text_add_bytes(&source->type, text_chars(&name->type), made->type_length);
	text_add_bytes(&source->name, made->name, made->name_length);
	split_arguments(&name->type_args, source);
}

/* "state machine of App.Orders::Load()" */
static void spell_source(const struct source_name *made, const struct method_name *source,
			 struct text *out)
{
	text_add(out, source_relation_text(made->relation));
	text_add_char(out, ' ');
	method_name_spell(source, out);
}

/* Was match->name made from a method that may match? Then its name is put into match->source. */
static bool source_possible(struct name_match *match, struct source_name *made)
{
	const struct method_name *name = &match->name;
	struct method_name *source = &match->source;

	if (!source_name_parse(text_chars(&name->type), text_chars(&name->name), made) ||
	    (made->relation != SOURCE_STATE_MACHINE && !match->nested))
		return false;
	take_source(name, made, source);
	return !method_name_ok(source) || wants(match->pattern, source);
}

bool name_match_possible(struct name_match *match)
{
	struct source_name made;

	/* Without memory it is told by the test. */
	return !method_name_ok(&match->name) || wants(match->pattern, &match->name) ||
	       source_possible(match, &made);
}

/* Does the pattern match a method that match->name was made from? */
static int test_source(struct name_match *match, const struct metadata *metadata, uint32_t type_rid)
{
	struct method_name *source = &match->source;
	struct source_name made;
	uint32_t method = 0;
	int matches = 0;

	if (!type_rid || !source_possible(match, &made))
		return 0;
	while (matches == 0 && (method = next_source_method(metadata, type_rid, &made, method))) {
		signature_spell_params(metadata, method, &source->params);
		matches = pattern_matches(match->pattern, source, match->err);
	}
	if (matches == 1)
		spell_source(&made, source, &match->made_from);
	return matches;
}

int name_match_test(struct name_match *match, const struct metadata *metadata, uint32_t type_rid)
{
	int matches = pattern_matches(match->pattern, &match->name, match->err);

	text_clear(&match->made_from);
	return matches ? matches : test_source(match, metadata, type_rid);
}

int dotnet_name_matches(const struct method_name *name, const struct metadata *metadata,
			uint32_t rid, struct pattern *pattern, bool nested, struct text *made_from,
			struct error *err)
{
	struct name_match match = {
		.pattern = pattern, .nested = nested, .err = err, .name = *name
	};
	int result = name_match_test(&match, metadata,
				     metadata ? metadata_method_type(metadata, rid) : 0);

	text_clear(made_from);
	text_add(made_from, text_chars(&match.made_from));
	match.name = (struct method_name){ 0 };
	name_match_deinit(&match);
	return result;
}

void dotnet_state_machine_of(const struct method_name *name, const struct metadata *metadata,
			     uint32_t rid, struct text *made_from)
{
	_cleanup_(method_name_deinit) struct method_name source = { 0 };
	struct source_name made;
	uint32_t method;

	text_clear(made_from);
	if (!source_name_parse(text_chars(&name->type), text_chars(&name->name), &made) ||
	    made.relation != SOURCE_STATE_MACHINE)
		return;
	take_source(name, &made, &source);
	method = next_source_method(metadata, metadata_method_type(metadata, rid), &made, 0);
	if (!method)
		return;
	signature_spell_params(metadata, method, &source.params);
	spell_source(&made, &source, made_from);
}
