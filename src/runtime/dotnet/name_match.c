// SPDX-License-Identifier: GPL-2.0-or-later
/* One method's name against the pattern, for find.c. */
#include "runtime/dotnet/name_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "method/pattern.h"
#include "method/type_name.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/signature.h"
#include "runtime/dotnet/source_method.h"

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
	struct source_methods methods;
	struct source_name made;
	int matches = 0;
	uint32_t method;

	if (!type_rid || !source_possible(match, &made))
		return 0;
	source_methods_begin(&methods, metadata, type_rid, &made);
	while (matches == 0 && (method = source_methods_next(&methods))) {
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
	struct source_methods methods;
	struct source_name made;
	uint32_t method;

	text_clear(made_from);
	if (!source_name_parse(text_chars(&name->type), text_chars(&name->name), &made) ||
	    made.relation != SOURCE_STATE_MACHINE)
		return;
	take_source(name, &made, &source);
	source_methods_begin(&methods, metadata, metadata_method_type(metadata, rid), &made);
	method = source_methods_next(&methods);
	if (!method)
		return;
	signature_spell_params(metadata, method, &source.params);
	spell_source(&made, &source, made_from);
}
