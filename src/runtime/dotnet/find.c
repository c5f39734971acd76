// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/dotnet/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/signature.h"
#include "runtime/dotnet/source_method.h"
#include "runtime/dotnet/stub_list.h"
#include "base/error.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "method/type_name.h"

/* Names of generic methods that matched, to tell those without any instantiation. */
struct name_set {
	struct found_name {
		char *name;
		const struct dotnet_image *image; /* of a definition; NULL for an instantiation */
		uint32_t method_rid;
	} * names;
	size_t count;
	size_t capacity;
};

struct search {
	const struct dotnet_images *images;
	struct jit *jit; /* NULL: unknown */
	struct pattern *pattern;
	int (*fn)(const struct dotnet_match *match, void *ctx);
	void *ctx;
	struct error *err;

	const struct dotnet_image *code; /* whose bodies are being walked */
	struct r2r_method definition;	 /* of @name */
	bool nested;			 /* lambdas and local functions too */
	struct method_name name;
	struct method_name author; /* of what the compiler made @name of */
	struct text made_from;	   /* empty: @name itself matched */
	struct text spelled;
	unsigned int what;	/* of one image, enum dotnet_find_what; 0: all that there is */
	bool instances_wanted;	/* a generic method came up */
	struct stub_list stubs; /* by which P/Invokes go */
	bool stub;		/* one is being told of */
	struct name_set definitions;
	struct name_set instances;
};

static int out_of_memory(const struct search *search)
{
	return error_set(search->err, -ENOMEM, "no memory to look for '%s'",
			 pattern_text(search->pattern));
}

static int name_set_add(struct name_set *set, const char *name, const struct dotnet_image *image,
			uint32_t method_rid)
{
	struct found_name *found;

	if (!vector_reserve(&set->names, &set->capacity, set->count + 1))
		return -ENOMEM;
	found = &set->names[set->count];
	*found = (struct found_name){ strdup(name), image, method_rid };
	return found->name ? (set->count++, 0) : -ENOMEM;
}

static void name_set_deinit(struct name_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->names[i].name);
	free(set->names);
}

static int by_name(const void *left, const void *right)
{
	const struct found_name *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int emit(struct search *search, enum dotnet_match_kind kind,
		const struct dotnet_image *image, const struct r2r_body *body,
		const struct jit_body *jit)
{
	struct dotnet_match match = {
		.kind = kind,
		.image = image,
		.definition = search->definition,
		.jit = jit,
		.stub = search->stub,
	};

	text_clear(&search->spelled);
	method_name_spell(&search->name, &search->spelled);
	if (!text_ok(&search->spelled) || !method_name_ok(&search->name))
		return out_of_memory(search);
	match.method = text_chars(&search->spelled);
	match.made_from = search->made_from.length ? text_chars(&search->made_from) : NULL;
	if (body)
		match.body = *body;
	return search->fn(&match, search->ctx);
}

/* The open name, without arguments: what a definition and its instantiations have in common. */
static const char *spell_open(struct search *search)
{
	text_clear(&search->spelled);
	text_add_printable(&search->spelled, text_chars(&search->name.type));
	text_add(&search->spelled, "::");
	text_add_printable(&search->spelled, text_chars(&search->name.name));
	text_add_char(&search->spelled, '(');
	text_add_printable(&search->spelled, text_chars(&search->name.params));
	text_add_char(&search->spelled, ')');
	return text_chars(&search->spelled);
}

/* Spell the parameters of a MethodDef into @params. */
static void spell_params(const struct metadata *metadata, uint32_t method, struct text *params)
{
	struct span blob = metadata_method_signature(metadata, method);
	struct signature signature;

	text_clear(params);
	signature_init(&signature, cursor_over(blob), metadata);
	if (!signature_add_method_params(&signature, params))
		text_add_char(params, '?');
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

/* A state machine takes the arguments of the author's type, then those of his method. */
static void split_arguments(const struct text *args, struct method_name *author)
{
	size_t of_type = type_arity(text_chars(&author->type));
	const char *p = text_chars(args), *end = p + args->length;

	for (size_t i = 0; p < end; i++) {
		const char *element_end = type_list_element_end(p, end);
		struct text *out = i < of_type ? &author->type_args : &author->method_args;

		if (out->length)
			text_add_char(out, ',');
		text_add_bytes(out, p, (size_t)(element_end - p));
		p = element_end < end ? element_end + 1 : end;
	}
}

/*
 * Was @search->name made from a method that may match? Then its type and name are put into
 * @search->author.
 */
static bool author_may_match(struct search *search, struct source_name *source)
{
	struct method_name *author = &search->author;

	if (!source_name_parse(text_chars(&search->name.type), text_chars(&search->name.name),
			       source) ||
	    (source->relation != SOURCE_STATE_MACHINE && !search->nested))
		return false;
	method_name_clear(author);
	text_add_bytes(&author->type, text_chars(&search->name.type), source->type_length);
	text_add_bytes(&author->name, source->name, source->name_length);
	split_arguments(&search->name.type_args, author);
	return pattern_wants_type(search->pattern, text_chars(&author->type)) &&
	       pattern_wants_method(search->pattern, text_chars(&author->name));
}

/*
 * Does the pattern match the method that @search->name was made from? 1, 0 or an error. Then
 * @search->made_from says so. @made_rid is the TypeDef of @search->name.
 */
static int match_author(struct search *search, const struct metadata *metadata, uint32_t made_rid)
{
	struct method_name *author = &search->author;
	struct source_methods methods;
	struct source_name source;
	uint32_t method;

	if (!made_rid || !author_may_match(search, &source))
		return 0;
	source_methods_begin(&methods, metadata, made_rid, &source);
	while ((method = source_methods_next(&methods))) {
		int matches;

		spell_params(metadata, method, &author->params);
		matches = pattern_matches(search->pattern, author, search->err);
		if (matches < 0)
			return matches;
		if (matches == 0)
			continue;
		text_add(&search->made_from, source_relation_text(source.relation));
		text_add_char(&search->made_from, ' ');
		method_name_spell(author, &search->made_from);
		return 1;
	}
	return 0;
}

/* Does @search->name match, by itself or by its author's name? */
static int match_name(struct search *search, const struct metadata *metadata, uint32_t type_rid)
{
	int matches = pattern_matches(search->pattern, &search->name, search->err);

	text_clear(&search->made_from);
	return matches ? matches : match_author(search, metadata, type_rid);
}

/* Of a generic method some instantiations may match, and not others. */
static int emit_definition(struct search *search, const struct dotnet_image *image, bool generic,
			   bool matches)
{
	struct dotnet_match match = {
		.kind = MATCH_DEFINITION,
		.image = image,
		.definition = search->definition,
		.generic = generic,
		.sure = matches && (!generic || pattern_is_exact(search->pattern)),
	};

	text_clear(&search->spelled);
	method_name_spell(&search->name, &search->spelled);
	if (!text_ok(&search->spelled) || !method_name_ok(&search->name))
		return out_of_memory(search);
	match.method = text_chars(&search->spelled);
	match.made_from = search->made_from.length ? text_chars(&search->made_from) : NULL;
	return search->fn(&match, search->ctx);
}

/* A P/Invoke goes by a stub, if it has no code of its own. */
static int match_import(struct search *search, const struct dotnet_image *image, uint32_t method)
{
	const struct jit_method *stub;
	bool found = false;
	size_t at = 0;
	int result = 0;

	if (search->jit && !search->stubs.stubs && stub_list_fill(&search->stubs, search->jit))
		return out_of_memory(search);
	while (result == 0 && (stub = stub_list_next(&search->stubs, image, method, &at))) {
		found = true;
		search->stub = true;
		for (uint32_t b = 0; b < stub->body_count && result == 0; b++)
			result = emit(search, MATCH_JIT_BODY, image, NULL,
				      jit_method_body(search->jit, stub, b));
		search->stub = false;
	}
	return result || found ? result : emit(search, MATCH_NOT_COMPILED, image, NULL, NULL);
}

static int match_definition(struct search *search, const struct dotnet_image *image, uint32_t type,
			    uint32_t method)
{
	bool generic = metadata_method_is_generic(image->metadata, method);
	const struct dotnet_image *code;
	struct metadata_import import;
	struct r2r_body body;
	uint32_t component;
	int matches, result = 0;

	search->instances_wanted |= generic;
	spell_params(image->metadata, method, &search->name.params);
	matches = match_name(search, image->metadata, type);
	if (matches < 0 || (matches == 0 && !(search->what & FIND_DEFINITIONS && generic)))
		return matches;
	search->definition = (struct r2r_method){ image->metadata, method, 0 };
	if (search->what & FIND_DEFINITIONS &&
	    (metadata_method_has_il(image->metadata, method) ||
	     metadata_method_import(image->metadata, method, &import)))
		result = emit_definition(search, image, generic, matches);
	if (result || matches == 0 || (search->what && !(search->what & FIND_BODIES)))
		return result;
	code = generic ? NULL : dotnet_images_code_of(search->images, image, &component);
	/* Also one without IL, if it calls a native function and its arguments need no conversion. */
	if (code && r2r_find_method(code->r2r, component, method, &body) == 1)
		return emit(search, MATCH_BODY, code, &body, NULL);
	if (!metadata_method_has_il(image->metadata, method) &&
	    metadata_method_import(image->metadata, method, &import))
		return match_import(search, image, method);
	if (!metadata_method_has_il(image->metadata, method))
		return emit(search, MATCH_NO_IL, image, NULL, NULL);
	if (generic)
		return name_set_add(&search->definitions, spell_open(search), image, method) ?
			       out_of_memory(search) :
			       0;
	if (search->jit && jit_has_method(search->jit, image, method))
		return 0;
	return emit(search, MATCH_NOT_COMPILED, image, NULL, NULL);
}

/* A first look at @search->name: may it match, or the method it was made from? */
static bool may_match(struct search *search)
{
	const char *type = text_chars(&search->name.type), *name = text_chars(&search->name.name);
	struct source_name source;

	return (pattern_wants_type(search->pattern, type) &&
		pattern_wants_method(search->pattern, name)) ||
	       author_may_match(search, &source);
}

static int search_type(struct search *search, const struct dotnet_image *image, uint32_t type)
{
	uint32_t first, end;

	metadata_type_methods(image->metadata, type, &first, &end);
	for (uint32_t method = first; method < end; method++) {
		int result;

		text_clear(&search->name.name);
		text_add(&search->name.name, metadata_method_name(image->metadata, method));
		if (!may_match(search))
			continue;
		result = match_definition(search, image, type, method);
		if (result)
			return result;
	}
	return 0;
}

static int search_definitions(struct search *search, const struct dotnet_image *image)
{
	uint32_t types = metadata_rows(image->metadata, TABLE_TYPE_DEF);
	int result = 0;

	method_name_clear(&search->name);
	for (uint32_t type = 1; type <= types && result == 0; type++) {
		text_clear(&search->name.type);
		metadata_type_name(image->metadata, type, &search->name.type);
		/* What the compiler made of a method may lie in a class of its own. */
		if (pattern_wants_type(search->pattern, text_chars(&search->name.type)) ||
		    *metadata_type_short_name(image->metadata, type) == '<')
			result = search_type(search, image, type);
	}
	return result;
}

static int match_instance(const struct r2r_body *body, void *ctx)
{
	struct search *search = ctx;
	int matches;

	if (!body->instance)
		return 0;
	r2r_body_short_name(body, &search->name);
	if (!may_match(search))
		return 0;
	r2r_body_name(body, &search->name);
	matches = match_name(search, r2r_metadata(body->r2r, body->component), body->type_rid);
	if (matches <= 0)
		return matches;
	if (name_set_add(&search->instances, spell_open(search), NULL, 0))
		return out_of_memory(search);
	search->definition = (struct r2r_method){ r2r_body_metadata(body), body->method_rid,
						  body->member_ref_rid };
	return emit(search, MATCH_BODY, search->code, body, NULL);
}

/* All bodies of one method that was compiled at run time, if it matches. */
static int match_jit_method(struct search *search, const struct jit_method *method)
{
	const struct dotnet_image *image = method->is.module ? method->is.module->image : NULL;
	const struct metadata *metadata = clr_module_metadata(method->is.module);
	int result;

	if (!pattern_wants_image(search->pattern, image ? image->name : "run-time code"))
		return 0;
	jit_method_short_name(search->jit, method, &search->name);
	if (!may_match(search))
		return 0;
	jit_method_name(search->jit, method, &search->name);
	search->definition = (struct r2r_method){ metadata, method->is.rid, 0 };
	if (metadata)
		result = match_name(search, metadata,
				    metadata_method_type(metadata, method->is.rid));
	else
		result = pattern_matches(search->pattern, &search->name, search->err);
	if (result <= 0)
		return result;
	if (name_set_add(&search->instances, spell_open(search), NULL, 0))
		return out_of_memory(search);
	result = 0;
	for (uint32_t i = 0; i < method->body_count && result == 0; i++)
		result = emit(search, MATCH_JIT_BODY, image, NULL,
			      jit_method_body(search->jit, method, i));
	return result;
}

static int search_jit(struct search *search)
{
	int result = 0;

	for (size_t i = 0; i < jit_method_count(search->jit) && result == 0; i++)
		result = match_jit_method(search, jit_method(search->jit, i));
	text_clear(&search->made_from);
	return result;
}

/* Generic methods that matched by their definition, and no instantiation of them has code. */
static int emit_uninstantiated(struct search *search)
{
	struct name_set *found = &search->instances;
	struct dotnet_match match = { .kind = MATCH_NOT_COMPILED };
	int result = 0;

	if (found->count)
		qsort(found->names, found->count, sizeof(*found->names), by_name);
	for (size_t i = 0; i < search->definitions.count && result == 0; i++) {
		const struct found_name *name = &search->definitions.names[i];

		if (found->count &&
		    bsearch(name, found->names, found->count, sizeof(*name), by_name))
			continue;
		match.method = name->name;
		match.image = name->image;
		match.definition =
			(struct r2r_method){ name->image->metadata, name->method_rid, 0 };
		result = search->fn(&match, search->ctx);
	}
	return result;
}

static void search_deinit(struct search *search)
{
	stub_list_deinit(&search->stubs);
	name_set_deinit(&search->definitions);
	name_set_deinit(&search->instances);
	method_name_deinit(&search->name);
	method_name_deinit(&search->author);
	text_deinit(&search->made_from);
	text_deinit(&search->spelled);
}

int dotnet_find(const struct dotnet_images *images, struct jit *jit, struct pattern *pattern,
		bool nested, int (*fn)(const struct dotnet_match *match, void *ctx), void *ctx,
		struct error *err)
{
	struct search search = {
		.images = images,
		.jit = jit,
		.pattern = pattern,
		.nested = nested,
		.fn = fn,
		.ctx = ctx,
		.err = err,
	};
	int result = jit ? search_jit(&search) : 0;

	for (size_t i = 0; i < images->count && result == 0; i++) {
		const struct dotnet_image *image = images->images[i];

		if (image->metadata && pattern_wants_image(pattern, image->name))
			result = search_definitions(&search, image);
	}
	/* Any image may hold instantiations of another one's generic methods. */
	for (size_t i = 0; search.instances_wanted && i < images->count && result == 0; i++) {
		search.code = images->images[i];
		if (search.code->r2r && pattern_wants_image(pattern, search.code->name))
			result = r2r_each_body(search.code->r2r, match_instance, &search);
	}
	if (result == 0)
		result = emit_uninstantiated(&search);
	search_deinit(&search);
	return result;
}

int dotnet_find_in_image(const struct dotnet_images *images, const struct dotnet_image *image,
			 unsigned int what, struct pattern *pattern, bool nested,
			 int (*fn)(const struct dotnet_match *match, void *ctx), void *ctx,
			 struct error *err)
{
	struct search search = {
		.images = images,
		.pattern = pattern,
		.nested = nested,
		.what = what,
		.fn = fn,
		.ctx = ctx,
		.err = err,
	};
	int result = 0;

	if (!pattern_wants_image(pattern, image->name))
		return 0;
	if (image->metadata && what & (FIND_DEFINITIONS | FIND_BODIES))
		result = search_definitions(&search, image);
	search.code = image;
	if (result == 0 && what & FIND_INSTANCES && image->r2r)
		result = r2r_each_body(image->r2r, match_instance, &search);
	search_deinit(&search);
	return result;
}

int dotnet_name_matches(const struct method_name *name, const struct metadata *metadata,
			uint32_t rid, struct pattern *pattern, bool nested, struct text *made_from,
			struct error *err)
{
	struct search search = {
		.pattern = pattern,
		.nested = nested,
		.err = err,
		.name = *name,
	};
	int result;

	if (metadata)
		result = match_name(&search, metadata, metadata_method_type(metadata, rid));
	else
		result = pattern_matches(pattern, name, err);
	text_clear(made_from);
	text_add(made_from, text_chars(&search.made_from));
	search.name = (struct method_name){ 0 };
	search_deinit(&search);
	return result;
}

/* Near misses -------------------------------------------------------------------------- */

enum {
	NEAR_LIMIT = 8, /* of a type's distance, and of a method's */
	NEAR_MAX = 8,
};

struct near {
	unsigned int distance;
	char *name;
};

/* Insert into the sorted list of the best; an overload of a name that is there adds nothing. */
static void near_add(struct near *best, size_t max, unsigned int distance, const char *type,
		     const char *method)
{
	size_t at = 0;
	char *name;

	if (asprintf(&name, "%s::%s", type, method) < 0)
		return;
	while (at < max && best[at].name && best[at].distance <= distance &&
	       strcmp(best[at].name, name) != 0)
		at++;
	if (at == max || (best[at].name && strcmp(best[at].name, name) == 0)) {
		free(name);
		return;
	}
	free(best[max - 1].name);
	memmove(&best[at + 1], &best[at], (max - at - 1) * sizeof(*best));
	best[at] = (struct near){ distance, name };
}

static unsigned int worst_of(const struct near *best, size_t max)
{
	return best[max - 1].name ? best[max - 1].distance : 2 * NEAR_LIMIT;
}

static void near_in_image(const struct dotnet_image *image, const struct pattern *pattern,
			  struct near *best, size_t max)
{
	uint32_t types = metadata_rows(image->metadata, TABLE_TYPE_DEF);
	struct text type_name = { 0 };

	for (uint32_t type = 1; type <= types; type++) {
		unsigned int worst = worst_of(best, max);
		unsigned int limit = worst < NEAR_LIMIT ? worst : NEAR_LIMIT;
		unsigned int type_distance;
		uint32_t first, end;

		text_clear(&type_name);
		metadata_type_name(image->metadata, type, &type_name);
		type_distance = pattern_type_distance(pattern, text_chars(&type_name), limit);
		if (type_distance > limit)
			continue;
		metadata_type_methods(image->metadata, type, &first, &end);
		for (uint32_t method = first; method < end; method++) {
			const char *name = metadata_method_name(image->metadata, method);
			unsigned int distance = pattern_method_distance(pattern, name, NEAR_LIMIT);

			if (distance <= NEAR_LIMIT)
				near_add(best, max, type_distance + distance,
					 text_chars(&type_name), name);
		}
	}
	text_deinit(&type_name);
}

size_t dotnet_near_misses(const struct dotnet_images *images, const struct pattern *pattern,
			  char **names, size_t max)
{
	struct near best[NEAR_MAX] = { 0 };
	size_t count = 0;

	if (!pattern_is_exact(pattern))
		return 0;
	max = max < NEAR_MAX ? max : NEAR_MAX;
	for (size_t i = 0; i < images->count; i++) {
		if (images->images[i]->metadata)
			near_in_image(images->images[i], pattern, best, max);
	}
	while (count < max && best[count].name) {
		names[count] = best[count].name;
		count++;
	}
	return count;
}
