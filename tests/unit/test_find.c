// SPDX-License-Identifier: GPL-2.0-or-later
/* images.h and find.h on the zoo, an image with one of every naming case (tests/apps/zoo). */
#include "base/cleanup.h"
#include "tests/unit/golden.h"
#include "tests/unit/mapped.h"

#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/find.h"
#include "base/error.h"
#include "method/method_name.h"
#include "method/pattern.h"

enum { BODIES_MAX = 512 };

struct found {
	size_t count;
	char *names[BODIES_MAX];
	uint32_t rvas[BODIES_MAX]; /* 0: no body */
	char *made_from[BODIES_MAX];
	enum dotnet_match_kind kinds[BODIES_MAX];
};

static struct golden zoo;
static struct dotnet_images images;

static int open_zoo(void **state)
{
	struct dotnet_source source = { .name = "zoo.dll", .is_mapped = mapped_everywhere };

	(void)state;
	zoo = golden_read("zoo-r2r.dll");
	source.bytes = golden_span(&zoo);
	assert_int_equal(dotnet_images_add(&images, &source, NULL), 0);
	dotnet_images_link_from(&images, 0);
	assert_int_equal(images.count, 1);
	assert_int_equal(images.problems, 0);
	return 0;
}

static int close_zoo(void **state)
{
	(void)state;
	dotnet_images_deinit(&images);
	golden_free(&zoo);
	return 0;
}

static int collect(const struct dotnet_match *match, void *ctx)
{
	struct found *found = ctx;

	assert_true(found->count < BODIES_MAX);
	found->names[found->count] = strdup(match->method);
	found->made_from[found->count] = match->made_from ? strdup(match->made_from) : NULL;
	found->rvas[found->count] = match->kind == MATCH_BODY ? match->body.rva.value : 0;
	found->kinds[found->count++] = match->kind;
	return 0;
}

static struct found find_nested(const char *text, bool nested)
{
	struct found found = { 0 };
	struct error err = { .text = "" };
	struct pattern *pattern;

	if (pattern_create(&pattern, text, &err) ||
	    dotnet_find(&images, NULL, pattern, nested, collect, &found, &err))
		fail_msg("%s: %s", text, err.text);
	pattern_destroy(pattern);
	return found;
}

static struct found find(const char *text)
{
	return find_nested(text, false);
}

static void found_free(struct found *found)
{
	for (size_t i = 0; i < found->count; i++) {
		free(found->names[i]);
		free(found->made_from[i]);
	}
}

static int count_body(const struct r2r_body *body, void *ctx)
{
	(void)body;
	++*(size_t *)ctx;
	return 0;
}

UNIT_TEST(everything_is_found_once)
{
	_cleanup_(found_free) struct found all = find("*");
	size_t bodies = 0, found_bodies = 0;

	assert_int_equal(r2r_each_body(images.images[0]->r2r, count_body, &bodies), 0);
	for (size_t i = 0; i < all.count; i++)
		found_bodies += all.kinds[i] == MATCH_BODY;
	assert_true(bodies > 100);
	assert_int_equal(found_bodies, bodies);
}

/* Whatever the image names can be asked for by that name, and is then the only answer. */
UNIT_TEST(every_name_finds_itself)
{
	_cleanup_(found_free) struct found all = find("*");

	for (size_t i = 0; i < all.count; i++) {
		_cleanup_(found_free) struct found one = find(all.names[i]);
		bool same_place = false;

		if (one.count == 0)
			fail_msg("%s finds nothing", all.names[i]);
		for (size_t j = 0; j < one.count; j++) {
			if (strcmp(one.names[j], all.names[i]) != 0 && !one.made_from[j] &&
			    all.kinds[i] != MATCH_NOT_COMPILED)
				fail_msg("%s finds %s", all.names[i], one.names[j]);
			same_place |= one.rvas[j] == all.rvas[i];
		}
		if (!same_place)
			fail_msg("%s is found elsewhere", all.names[i]);
	}
}

/* Does @found hold @name, made from @made_from (NULL: it matched by itself)? */
static void assert_found(const struct found *found, const char *name, const char *made_from)
{
	for (size_t i = 0; i < found->count; i++) {
		if (strcmp(found->names[i], name) == 0) {
			assert_int_equal(!made_from, !found->made_from[i]);
			if (made_from)
				assert_string_equal(found->made_from[i], made_from);
			return;
		}
	}
	fail_msg("%s is not found", name);
}

UNIT_TEST(async_and_iterators_are_found_by_their_authors_name)
{
	struct found wait = find("Zoo.Bodies::Wait(int)"), count = find("Zoo.Bodies::Count"),
		     generic = find("Zoo.Bodies::WaitGeneric"),
		     other = find("Zoo.Bodies::Wait(string)");

	assert_int_equal(wait.count, 2);
	assert_found(&wait, "Zoo.Bodies::Wait(int32)", NULL);
	assert_found(&wait, "Zoo.Bodies+<Wait>d__1::MoveNext()",
		     "state machine of Zoo.Bodies::Wait(int32)");
	assert_found(&count, "Zoo.Bodies+<Count>d__5::MoveNext()",
		     "state machine of Zoo.Bodies::Count(int32)");
	assert_found(&generic, "Zoo.Bodies+<WaitGeneric>d__2`1[Zoo.Point]::MoveNext()",
		     "state machine of Zoo.Bodies::WaitGeneric[Zoo.Point](!!0)");
	assert_int_equal(other.count, 0);
	found_free(&wait);
	found_free(&count);
	found_free(&generic);
	found_free(&other);
}

UNIT_TEST(lambdas_and_local_functions_are_found_on_request)
{
	struct found use = find("Zoo.Generics::Use"),
		     nested = find_nested("Zoo.Generics::Use", true),
		     local = find_nested("Zoo.Bodies::Local", true);

	for (size_t i = 0; i < use.count; i++)
		assert_null(use.made_from[i]);
	assert_found(&nested, "Zoo.Generics+<>c__DisplayClass4_0::<Use>b__0(int32)",
		     "lambda in Zoo.Generics::Use()");
	assert_found(&nested, "Zoo.Generics+<>c::<Use>b__4_1(string)",
		     "lambda in Zoo.Generics::Use()");
	assert_found(&local,
		     "Zoo.Bodies::<Local>g__Add|6_0(int32,Zoo.Bodies+<>c__DisplayClass6_0&)",
		     "local function in Zoo.Bodies::Local(int32)");
	assert_found(&local, "Zoo.Bodies::<Local>g__Echo|6_1[System.Int32](!!0)",
		     "local function in Zoo.Bodies::Local(int32)");
	found_free(&use);
	found_free(&nested);
	found_free(&local);
}

UNIT_TEST(limits_to_an_image)
{
	struct found here = find("zoo!*"), elsewhere = find("other!*");

	assert_true(here.count > 100);
	assert_int_equal(elsewhere.count, 0);
	found_free(&here);
	found_free(&elsewhere);
}

UNIT_TEST(regex_sees_the_whole_name)
{
	struct found all = find("*"), regex = find("/^.*\\)$/");

	assert_int_equal(regex.count, all.count);
	found_free(&all);
	found_free(&regex);
}

UNIT_TEST(near_misses_of_a_misspelled_name)
{
	_cleanup_(found_free) struct found all = find("*");
	const struct dotnet dotnet = { .images = images };
	const char *first = all.names[0];
	struct pattern *pattern;
	char *names[3], wrong[512];
	size_t count;

	/* Take the first name that is long enough to lose a letter. */
	assert_non_null(first);
	first = first ? first : "";
	snprintf(wrong, sizeof(wrong), "%.*s", (int)strcspn(first, "[("), first);
	wrong[strlen(wrong) - 1] = '\0';
	assert_int_equal(pattern_create(&pattern, wrong, NULL), 0);
	count = dotnet_ops.near_misses(&dotnet.runtime, pattern, names, 3);
	assert_true(count >= 1);
	assert_memory_equal(names[0], wrong, strlen(wrong));
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	pattern_destroy(pattern);
}

UNIT_TEST(files_that_are_no_images)
{
	static const uint8_t text[] = "MZ but not a PE file at all";
	struct dotnet_source source = { .name = "x.dll", .is_mapped = mapped_everywhere };
	_cleanup_(dotnet_images_deinit) struct dotnet_images none = { 0 };

	source.bytes = (struct span){ text, sizeof(text) };
	assert_int_equal(dotnet_images_add(&none, &source, NULL), 0);
	assert_int_equal(none.count, 0);
	assert_int_equal(none.problems, 1);
	assert_non_null(strstr(none.first_problem->text, "x.dll"));
	source.bytes = (struct span){ (const uint8_t *)"hello", 5 };
	assert_int_equal(dotnet_images_add(&none, &source, NULL), 0);
	assert_int_equal(none.problems, 1);
}

/* Images that come one by one ---------------------------------------------------------------- */

static void add_image(struct dotnet_images *to, const char *name, const struct golden *file)
{
	const struct dotnet_source source = {
		.file = to->count,
		.name = name,
		.bytes = golden_span(file),
		.is_mapped = mapped_everywhere,
	};

	assert_int_equal(dotnet_images_add(to, &source, NULL), 0);
	assert_int_equal(to->problems, 0);
}

static const struct metadata *first_component(const struct dotnet_images *of, size_t composite)
{
	return r2r_metadata(of->images[composite]->r2r, 0);
}

/* A composite gets the metadata of its component, whichever comes later. */
UNIT_TEST(composites_whose_components_come_later)
{
	_cleanup_(golden_free) struct golden composite = golden_read("zoo-composite.r2r.dll");
	_cleanup_(golden_free) struct golden component = golden_read("zoo-component.dll");
	struct dotnet_images some = { 0 };
	_cleanup_(dotnet_images_deinit) struct dotnet_images reverse = { 0 };
	uint32_t number;

	add_image(&some, "zoo.r2r.dll", &composite);
	dotnet_images_link_from(&some, 0);
	assert_null(first_component(&some, 0));
	add_image(&some, "zoo.dll", &component);
	assert_null(first_component(&some, 0));
	dotnet_images_link_from(&some, 1);
	assert_non_null(some.images[1]->metadata);
	assert_ptr_equal(first_component(&some, 0), some.images[1]->metadata);
	assert_ptr_equal(dotnet_images_code_of(&some, some.images[1], &number), some.images[0]);
	dotnet_images_deinit(&some);

	add_image(&reverse, "zoo.dll", &component);
	dotnet_images_link_from(&reverse, 0);
	add_image(&reverse, "zoo.r2r.dll", &composite);
	dotnet_images_link_from(&reverse, 1);
	assert_ptr_equal(first_component(&reverse, 1), reverse.images[0]->metadata);
	/* Again, with nothing new. */
	dotnet_images_link_from(&reverse, 2);
	assert_ptr_equal(first_component(&reverse, 1), reverse.images[0]->metadata);
}

/* Another assembly of that name is none of the composite's, which has its component already. */
UNIT_TEST(components_stay_who_they_are)
{
	_cleanup_(golden_free) struct golden composite = golden_read("zoo-composite.r2r.dll");
	_cleanup_(golden_free) struct golden component = golden_read("zoo-component.dll");
	_cleanup_(dotnet_images_deinit) struct dotnet_images some = { 0 };

	add_image(&some, "zoo.r2r.dll", &composite);
	add_image(&some, "zoo.dll", &component);
	dotnet_images_link_from(&some, 0);
	assert_ptr_equal(first_component(&some, 0), some.images[1]->metadata);
	add_image(&some, "zoo.dll", &zoo);
	assert_string_equal(metadata_assembly_name(some.images[2]->metadata),
			    metadata_assembly_name(some.images[1]->metadata));
	dotnet_images_link_from(&some, 2);
	assert_ptr_equal(first_component(&some, 0), some.images[1]->metadata);
}

/* What is damaged has no name of its own, and is told all the same. */
UNIT_TEST(damaged_copies_are_told)
{
	_cleanup_(golden_free) struct golden whole = golden_read("tiny-r2r.dll");
	const uint8_t *header = memmem(whole.bytes, whole.size, "RTR", 4);
	size_t told = 0;

	assert_non_null(header);
	assert_true(whole.size > 0);
	for (size_t at = header - whole.bytes; at + 4 <= whole.size; at += 4) {
		_cleanup_(dotnet_images_deinit) struct dotnet_images some = { 0 };
		struct dotnet_image *image = NULL;
		uint8_t *bytes = malloc(whole.size + 1);

		assert_non_null(bytes);
		memcpy(bytes, whole.bytes, whole.size);
		memset(bytes + at, 0xee, 4);
		assert_in_range(dotnet_images_add_copy(&some, bytes, whole.size,
						       (struct address){ 0x1000 }, DOTNET_COPY_FILE,
						       &image, NULL),
				0, 1);
		if (some.problems) {
			assert_non_null(some.first_problem);
			assert_ptr_equal(strstr(some.first_problem->text, "an image in memory: "),
					 some.first_problem->text);
			told++;
		}
	}
	assert_true(told >= 3);
}

/* Another thread's copy is linked within itself, and goes on when the first is gone. */
UNIT_TEST(copies_share_bytes_alone)
{
	_cleanup_(golden_free) struct golden composite = golden_read("zoo-composite.r2r.dll");
	_cleanup_(golden_free) struct golden component = golden_read("zoo-component.dll");
	_cleanup_(golden_free) struct golden rows = golden_read("tiny-metadata.bin");
	_cleanup_free_ uint8_t *in_memory = malloc(rows.size + 1);
	struct dotnet_images some = { .compressed = 3 }, copy;
	struct dotnet_image *image;
	uint64_t modules[3];
	uint32_t number;

	assert_non_null(in_memory);
	memcpy(in_memory, rows.bytes, rows.size);
	add_image(&some, "zoo.r2r.dll", &composite);
	add_image(&some, "zoo.dll", &component);
	/* What has no file is not copied: its bytes must stay. */
	assert_int_equal(dotnet_images_add_copy(&some, in_memory, rows.size,
						(struct address){ 0x1000 }, DOTNET_COPY_METADATA,
						&image, NULL),
			 1);
	dotnet_images_link_from(&some, 0);
	assert_int_equal(dotnet_images_copy(&copy, &some), 0);
	assert_int_equal(copy.count, 3);
	assert_int_equal(copy.compressed, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_ptr_not_equal(copy.images[i], some.images[i]);
		assert_string_equal(copy.images[i]->name, some.images[i]->name);
		assert_int_equal(copy.images[i]->file, some.images[i]->file);
		assert_int_equal(copy.images[i]->kind, some.images[i]->kind);
		modules[i] = metadata_module(some.images[i]->metadata);
	}
	image->copy = NULL;
	dotnet_images_deinit(&some);
	for (size_t i = 0; i < 3; i++) {
		assert_non_null(copy.images[i]->metadata);
		assert_int_equal(metadata_module(copy.images[i]->metadata), modules[i]);
	}
	assert_ptr_equal(first_component(&copy, 0), copy.images[1]->metadata);
	assert_ptr_equal(dotnet_images_code_of(&copy, copy.images[1], &number), copy.images[0]);
	assert_true(r2r_prepare(copy.images[0]->r2r));
	dotnet_images_deinit(&copy);
}

/* In the tiny image no method has IL, and yet some have code, as P/Invokes do. */
UNIT_TEST(code_without_il)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-r2r.dll");
	struct found found = { 0 };
	_cleanup_(dotnet_images_deinit) struct dotnet_images tiny = { 0 };
	size_t of_their_own = 0, others = 0;
	struct pattern *pattern;

	add_image(&tiny, "tiny-r2r.dll", &file);
	dotnet_images_link_from(&tiny, 0);
	assert_int_equal(pattern_create(&pattern, "Tiny.Outer*::*", NULL), 0);
	assert_int_equal(dotnet_find(&tiny, NULL, pattern, false, collect, &found, NULL), 0);
	for (size_t i = 0; i < found.count; i++) {
		of_their_own += strcmp(found.names[i], "Tiny.Outer::.ctor()") == 0 ||
				strcmp(found.names[i], "Tiny.Outer::Add(int32,string)") == 0;
		assert_int_equal(found.kinds[i], found.rvas[i] ? MATCH_BODY : MATCH_NO_IL);
		others += !found.rvas[i];
	}
	assert_int_equal(of_their_own, 2);
	assert_int_equal(found.count, 3 + others);
	found_free(&found);
	pattern_destroy(pattern);
}

/* Definitions of one image -------------------------------------------------------------------- */

struct definitions {
	size_t count;
	bool generic;
	bool sure;
};

static int note_definition(const struct dotnet_match *match, void *ctx)
{
	struct definitions *found = ctx;

	assert_int_equal(match->kind, MATCH_DEFINITION);
	assert_ptr_equal(match->image, images.images[0]);
	found->count++;
	found->generic = match->generic;
	found->sure = match->sure;
	return 0;
}

static struct definitions define(const char *text)
{
	struct definitions found = { 0 };
	struct pattern *pattern;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	assert_int_equal(dotnet_find_in_image(&images, images.images[0], FIND_DEFINITIONS, pattern,
					      false, note_definition, &found, NULL),
			 0);
	pattern_destroy(pattern);
	return found;
}

/* Each once, whatever code it has; of a generic method the definition, which may match. */
UNIT_TEST(definitions_of_an_image)
{
	struct definitions found = define("Zoo.Shapes::Over");

	assert_int_equal(found.count, 4);
	assert_true(found.sure);
	assert_false(found.generic);
	found = define("Zoo.Generics::Same");
	assert_int_equal(found.count, 1);
	assert_true(found.generic && found.sure);
	found = define("Zoo.Generics::Same[System.Int32]");
	assert_int_equal(found.count, 1);
	assert_true(found.generic);
	assert_false(found.sure);
	found = define("other!Zoo.Generics::Same");
	assert_int_equal(found.count, 0);
	found = define("Zoo.Generics::Nobody");
	assert_int_equal(found.count, 0);
}

/* Names that were read elsewhere. */
static int name_matches(const char *type, const char *method, const char *text,
			struct text *made_from)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	struct pattern *pattern;
	uint32_t rid = 0;
	int matches;

	text_add(&name.type, type);
	text_add(&name.name, method);
	for (uint32_t i = 1; i <= metadata_rows(images.images[0]->metadata, TABLE_METHOD_DEF);
	     i++) {
		_cleanup_(text_deinit) struct text owner = { 0 };

		metadata_type_name(images.images[0]->metadata,
				   metadata_method_type(images.images[0]->metadata, i), &owner);
		if (strcmp(text_chars(&owner), type) == 0 &&
		    strcmp(metadata_method_name(images.images[0]->metadata, i), method) == 0)
			rid = i;
	}
	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	matches = dotnet_name_matches(&name, rid ? images.images[0]->metadata : NULL, rid, pattern,
				      false, made_from, NULL);
	pattern_destroy(pattern);
	return matches;
}

UNIT_TEST(names_from_elsewhere)
{
	_cleanup_(text_deinit) struct text made_from = { 0 };

	assert_int_equal(
		name_matches("Zoo.Bodies+<Wait>d__1", "MoveNext", "Zoo.Bodies::Wait", &made_from),
		1);
	assert_string_equal(text_chars(&made_from), "state machine of Zoo.Bodies::Wait(int32)");
	assert_int_equal(
		name_matches("Zoo.Bodies+<Wait>d__1", "MoveNext", "Zoo.Bodies::Count", &made_from),
		0);
	assert_int_equal(name_matches("Zoo.Shapes", "Nothing", "Zoo.Shapes::N*", &made_from), 1);
	assert_string_equal(text_chars(&made_from), "");
	/* A dynamic method has no row. */
	assert_int_equal(name_matches("dynamicClass", "Made", "dynamicClass::Made", &made_from), 1);
	assert_int_equal(name_matches("dynamicClass", "Made", "dynamicClass::Other", &made_from),
			 0);
}

UNIT_MAIN(open_zoo, close_zoo)
