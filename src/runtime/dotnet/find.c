// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a pattern to matches, in metadata, in precompiled code and in what is compiled. bodies.c
 * makes bodies of them for the plan, follow.c rows to watch for; both by what is said of them here.
 */
#include "runtime/dotnet/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/name_match.h"
#include "runtime/dotnet/pinvoke.h"
#include "runtime/dotnet/signature.h"
#include "base/error.h"
#include "method/pattern.h"

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

/* A stub in IL by which P/Invokes go. */
struct stub {
	const struct jit_method *method;
	const struct dotnet_image *image;
	char *params; /* as pinvoke_may_share() takes them */
};

struct search {
	const struct dotnet_images *images;
	struct jit *jit; /* NULL: unknown */
	dotnet_match_fn fn;
	void *ctx;

	const struct dotnet_image *code; /* whose bodies are being walked */
	struct name_match match;	 /* its name is that of the method that is looked at */
	struct r2r_method definition;	 /* of that method */
	struct text spelled;
	unsigned int what;     /* of one image, enum dotnet_find_what; 0: all that there is */
	bool instances_wanted; /* a generic method came up */
	struct stub *stubs;    /* of all that is compiled; NULL: not listed yet */
	size_t stub_count;
	struct name_set definitions;
	struct name_set instances;
};

static int out_of_memory(const struct search *search)
{
	return error_set(search->match.err, -ENOMEM, "no memory to look for '%s'",
			 pattern_text(search->match.pattern));
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

/* Hand out @match, which has all but its name and definition. */
static int emit(struct search *search, struct dotnet_match *match)
{
	const struct text *made_from = &search->match.made_from;

	text_clear(&search->spelled);
	method_name_spell(&search->match.name, &search->spelled);
	if (!text_ok(&search->spelled) || !method_name_ok(&search->match.name))
		return out_of_memory(search);
	match->definition = search->definition;
	match->instantiation = method_name_instantiation(&search->match.name);
	match->method = text_chars(&search->spelled);
	match->made_from = made_from->length ? text_chars(made_from) : NULL;
	return search->fn(match, search->ctx);
}

/* All bodies of one method that was compiled at run time. */
static int emit_compiled(struct search *search, const struct dotnet_image *image,
			 const struct jit_method *method, bool stub)
{
	struct dotnet_match match = { .kind = MATCH_JIT_BODY, .image = image, .stub = stub };
	int result = 0;

	for (uint32_t i = 0; i < method->body_count && result == 0; i++) {
		match.jit = jit_method_body(search->jit, method, i);
		result = emit(search, &match);
	}
	return result;
}

/*
 * Note the open name, without arguments: what a definition, row @method_rid of @image, and its
 * instantiations (NULL) have in common.
 */
static int name_set_add(struct search *search, struct name_set *set,
			const struct dotnet_image *image, uint32_t method_rid)
{
	const struct method_name *name = &search->match.name;
	struct found_name *found;

	text_clear(&search->spelled);
	text_add_printable(&search->spelled, text_chars(&name->type));
	text_add(&search->spelled, "::");
	text_add_printable(&search->spelled, text_chars(&name->name));
	text_add_char(&search->spelled, '(');
	text_add_printable(&search->spelled, text_chars(&name->params));
	text_add_char(&search->spelled, ')');
	if (!vector_reserve(&set->names, &set->capacity, set->count + 1))
		return out_of_memory(search);
	found = &set->names[set->count];
	*found = (struct found_name){ strdup(text_chars(&search->spelled)), image, method_rid };
	return found->name ? (set->count++, 0) : out_of_memory(search);
}

/* Of a generic method some instantiations may match, and not others. */
static int emit_definition(struct search *search, const struct dotnet_image *image, bool generic,
			   bool matches)
{
	struct dotnet_match match = {
		.kind = MATCH_DEFINITION,
		.image = image,
		.generic = generic,
		.sure = matches && (!generic || pattern_is_exact(search->match.pattern)),
	};

	return emit(search, &match);
}

/* -ENOMEM. */
static int list_stubs(struct search *search)
{
	struct method_name name = { 0 };
	int result = 0;
	size_t count = search->jit->method_count;

	search->stubs = calloc(count + 1, sizeof(*search->stubs));
	if (!search->stubs)
		return -ENOMEM;
	for (size_t i = 0; i < count && result == 0; i++) {
		const struct jit_method *method = &search->jit->methods[i];
		const struct clr_module *module = jit_stub_module(search->jit, method);
		struct stub *stub = &search->stubs[search->stub_count];

		if (!module || !module->image)
			continue;
		(void)jit_method_name(search->jit, method, &name);
		*stub = (struct stub){ method, module->image, strdup(text_chars(&name.params)) };
		if (stub->params)
			search->stub_count++;
		else
			result = -ENOMEM;
	}
	method_name_deinit(&name);
	return result;
}

/* A P/Invoke goes by a stub, if it has no code of its own. */
static int match_import(struct search *search, const struct dotnet_image *image, uint32_t method)
{
	struct dotnet_match none = { .kind = MATCH_NOT_COMPILED, .image = image };
	bool found = false;
	int result = 0;

	if (search->jit && !search->stubs && list_stubs(search))
		return out_of_memory(search);
	for (size_t i = 0; i < search->stub_count && result == 0; i++) {
		const struct stub *stub = &search->stubs[i];

		if (stub->image != image ||
		    !pinvoke_may_share(image->metadata, method, stub->params))
			continue;
		found = true;
		result = emit_compiled(search, image, stub->method, true);
	}
	return result || found ? result : emit(search, &none);
}

static int match_definition(struct search *search, const struct dotnet_image *image, uint32_t type,
			    uint32_t method)
{
	bool generic = metadata_method_is_generic(image->metadata, method);
	const struct dotnet_image *code;
	struct metadata_import import;
	struct dotnet_match match = { .kind = MATCH_NOT_COMPILED, .image = image };
	uint32_t component;
	int matches, result = 0;

	search->instances_wanted |= generic;
	signature_spell_params(image->metadata, method, &search->match.name.params);
	matches = name_match_test(&search->match, image->metadata, type);
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
	/* Also without IL: a P/Invoke whose arguments need no conversion. */
	if (code && r2r_find_method(code->r2r, component, method, &match.body) == 1) {
		match.kind = MATCH_BODY;
		match.image = code;
		return emit(search, &match);
	}
	if (!metadata_method_has_il(image->metadata, method)) {
		if (metadata_method_import(image->metadata, method, &import))
			return match_import(search, image, method);
		match.kind = MATCH_NO_IL;
		return emit(search, &match);
	}
	if (generic)
		return name_set_add(search, &search->definitions, image, method);
	if (search->jit && jit_has_method(search->jit, image, method))
		return 0;
	return emit(search, &match);
}

static int search_type(struct search *search, const struct dotnet_image *image, uint32_t type)
{
	uint32_t first, end;

	metadata_type_methods(image->metadata, type, &first, &end);
	for (uint32_t method = first; method < end; method++) {
		int result;

		text_clear(&search->match.name.name);
		text_add(&search->match.name.name, metadata_method_name(image->metadata, method));
		if (!name_match_possible(&search->match))
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

	method_name_clear(&search->match.name);
	for (uint32_t type = 1; type <= types && result == 0; type++) {
		text_clear(&search->match.name.type);
		metadata_type_name(image->metadata, type, &search->match.name.type);
		/* What the compiler made of a method may lie in a class of its own. */
		if (pattern_wants_type(search->match.pattern,
				       text_chars(&search->match.name.type)) ||
		    *metadata_type_short_name(image->metadata, type) == '<')
			result = search_type(search, image, type);
	}
	return result;
}

static int match_instance(const struct r2r_body *body, void *ctx)
{
	struct search *search = ctx;
	struct dotnet_match match = { .kind = MATCH_BODY, .image = search->code, .body = *body };
	int result;

	if (!body->instance)
		return 0;
	r2r_body_short_name(body, &search->match.name);
	if (!name_match_possible(&search->match))
		return 0;
	r2r_body_name(body, &search->match.name);
	result = name_match_test(&search->match, r2r_metadata(body->r2r, body->component),
				 body->type_rid);
	if (result <= 0)
		return result;
	search->definition = (struct r2r_method){ r2r_body_metadata(body), body->method_rid,
						  body->member_ref_rid };
	result = name_set_add(search, &search->instances, NULL, 0);
	return result ? result : emit(search, &match);
}

/* All bodies of one method that was compiled at run time, if it matches. */
static int match_jit_method(struct search *search, const struct jit_method *method)
{
	const struct dotnet_image *image = method->is.module ? method->is.module->image : NULL;
	const struct metadata *metadata = clr_module_metadata(method->is.module);
	int result;

	if (!pattern_wants_image(search->match.pattern, image ? image->name : "run-time code"))
		return 0;
	clr_method_short_name(&search->jit->clr, &method->is, &search->match.name);
	if (!name_match_possible(&search->match))
		return 0;
	jit_method_name(search->jit, method, &search->match.name);
	search->definition = (struct r2r_method){ metadata, method->is.rid, 0 };
	result = name_match_test(&search->match, metadata,
				 metadata ? metadata_method_type(metadata, method->is.rid) : 0);
	if (result <= 0)
		return result;
	result = name_set_add(search, &search->instances, NULL, 0);
	return result ? result : emit_compiled(search, image, method, false);
}

static int search_jit(struct search *search)
{
	int result = 0;

	for (size_t i = 0; i < search->jit->method_count && result == 0; i++)
		result = match_jit_method(search, &search->jit->methods[i]);
	text_clear(&search->match.made_from);
	return result;
}

/* Generic methods that matched by their definition, and no instantiation of them has code. */
static int emit_uninstantiated(struct search *search)
{
	struct name_set *found = &search->instances;
	int result = 0;

	if (found->count)
		qsort(found->names, found->count, sizeof(*found->names), by_name);
	for (size_t i = 0; i < search->definitions.count && result == 0; i++) {
		const struct found_name *name = &search->definitions.names[i];
		const struct dotnet_match match = {
			.kind = MATCH_NOT_COMPILED,
			.method = name->name,
			.image = name->image,
			.definition = { name->image->metadata, name->method_rid, 0 },
		};

		if (found->count &&
		    bsearch(name, found->names, found->count, sizeof(*name), by_name))
			continue;
		result = search->fn(&match, search->ctx);
	}
	return result;
}

static void search_deinit(struct search *search)
{
	for (size_t i = 0; i < search->stub_count; i++)
		free(search->stubs[i].params);
	free(search->stubs);
	name_set_deinit(&search->definitions);
	name_set_deinit(&search->instances);
	name_match_deinit(&search->match);
	text_deinit(&search->spelled);
}

int dotnet_find(const struct dotnet_images *images, struct jit *jit, struct pattern *pattern,
		bool nested, dotnet_match_fn fn, void *ctx, struct error *err)
{
	struct search search = {
		.images = images,
		.jit = jit,
		.fn = fn,
		.ctx = ctx,
		.match = { .pattern = pattern, .nested = nested, .err = err },
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
			 dotnet_match_fn fn, void *ctx, struct error *err)
{
	struct search search = {
		.images = images,
		.what = what,
		.fn = fn,
		.ctx = ctx,
		.match = { .pattern = pattern, .nested = nested, .err = err },
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

struct method_body dotnet_matched_body(const struct dotnet_match *match)
{
	struct method_id id = dotnet_method_id(&match->definition);

	id.instantiation = match->instantiation;
	return (struct method_body){
		.method = match->method,
		.made_from = match->made_from,
		.image = match->image ? match->image->name : "run-time code",
		.id = id,
		.traits = dotnet_method_traits(&match->definition),
		.tier = TIER_UNKNOWN,
		.state = STATE_NO_BODY,
		.stub = match->stub,
		.sources = 1u << NAME_SOURCE_METADATA,
		.file = match->image ? match->image->file : BODY_NO_FILE,
	};
}

bool precompiled_describe(const struct dotnet_image *image, const struct r2r_body *r2r_body,
			  struct method_body *body, struct body_code codes[BODY_PARTS_MAX])
{
	struct r2r_part parts[BODY_PARTS_MAX];
	size_t count = r2r_body_parts(r2r_body, parts, BODY_PARTS_MAX);
	struct file_offset in_image;

	count = count < BODY_PARTS_MAX ? count : BODY_PARTS_MAX;
	if (count == 0 || !pe_rva_to_offset(&image->pe, r2r_body->rva, &in_image))
		return false;
	body->tier = TIER_R2R;
	if (image->file != DOTNET_NO_FILE)
		body->offset.value = image->slice.value + in_image.value;
	body->size = parts[0].size;
	body->function_start = parts[0].rva.value == r2r_body->rva.value && !parts[0].funclet &&
			       !parts[0].cold && pe_is_code(&image->pe, r2r_body->rva);
	for (size_t i = 0; i < count; i++) {
		codes[i].bytes = pe_bytes(&image->pe, parts[i].rva, parts[i].size);
		codes[i].from_entry = (int64_t)parts[i].rva.value - (int64_t)r2r_body->rva.value;
	}
	body->code = codes;
	body->code_count = count;
	return true;
}
