// SPDX-License-Identifier: GPL-2.0-or-later
/* r2r.h and inlining.h: which methods have inlined which. */
#include "base/cleanup.h"
#include "tests/unit/golden.h"
#include "tests/unit/mapped.h"

#include <errno.h>

#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/inlining.h"
#include "runtime/runtime.h"
#include "base/error.h"
#include "method/method_name.h"

/* Images and the pairs that they list, "INLINEE <- INLINER", a line each. */
struct fixture {
	struct dotnet_images images;
	struct golden files[2];
	struct text inlinee;
	struct text pairs;
	size_t pair_count;
	size_t damaged_lists;
};

static void add_image(struct fixture *fixture, struct golden file, const char *name)
{
	struct dotnet_source source = {
		.name = name,
		.bytes = golden_span(&file),
		.is_mapped = mapped_everywhere,
	};

	fixture->files[fixture->images.count] = file;
	assert_int_equal(dotnet_images_add(&fixture->images, &source, NULL), 0);
}

static struct fixture open_images(const char *first, const char *second)
{
	struct fixture fixture = { 0 };

	add_image(&fixture, golden_read(first), first);
	if (second)
		add_image(&fixture, golden_read(second), second);
	dotnet_images_link_from(&fixture.images, 0);
	assert_int_equal(fixture.images.problems, 0);
	return fixture;
}

static void close_images(struct fixture *fixture)
{
	dotnet_images_deinit(&fixture->images);
	for (size_t i = 0; i < 2; i++)
		golden_free(&fixture->files[i]);
	text_deinit(&fixture->inlinee);
	text_deinit(&fixture->pairs);
}

static void spell(const struct r2r_method *method, struct text *out)
{
	if (method->metadata)
		dotnet_method_spell(method, out);
	else
		text_printf(out, "row %u of ?", method->method_rid);
}

static int note_inliner(const struct r2r_method *inliner, void *ctx)
{
	struct fixture *fixture = ctx;

	text_add(&fixture->pairs, text_chars(&fixture->inlinee));
	text_add(&fixture->pairs, " <- ");
	spell(inliner, &fixture->pairs);
	text_add_char(&fixture->pairs, '\n');
	fixture->pair_count++;
	return 0;
}

static int note_inlinee(const struct r2r_inlinee *inlinee, void *ctx)
{
	struct fixture *fixture = ctx;
	struct r2r_inlinee again;

	text_clear(&fixture->inlinee);
	spell(&inlinee->method, &fixture->inlinee);
	fixture->damaged_lists += r2r_each_inliner(inlinee, note_inliner, fixture) != 0;
	assert_true(r2r_inlinee_read(&again, inlinee->r2r, inlinee->table, inlinee->offset));
	assert_ptr_equal(again.method.metadata, inlinee->method.metadata);
	assert_int_equal(again.method.method_rid, inlinee->method.method_rid);
	assert_int_equal(again.number_count, inlinee->number_count);
	return 0;
}

/* All that the images list; @count pairs. */
static const char *list(struct fixture *fixture, size_t count)
{
	for (size_t i = 0; i < fixture->images.count; i++) {
		const struct r2r *r2r = fixture->images.images[i]->r2r;

		if (!r2r)
			continue;
		assert_true(r2r_has_inlining(r2r));
		assert_int_equal(r2r_each_inlinee(r2r, note_inlinee, fixture, NULL), 0);
	}
	assert_int_equal(fixture->damaged_lists, 0);
	assert_int_equal(fixture->pair_count, count);
	return text_chars(&fixture->pairs);
}

#define ADD  "Tiny.Outer::Add(int32,string)"
#define CTOR "Tiny.Outer::.ctor()"
#define PUT  "Tiny.Outer+Inner`1::Put(!0,System.Collections.Generic.List`1[!0][])"
#define MAP  "Tiny.Outer+Inner`1::Map(!!0&)"
#define GO                                                                                    \
	"Tiny.Outer+Inner`1+Deep::Go(int32[,]*,System.Collections.Generic.List`1+Enumerator," \
	"int32(*)(string))"
#define AWAY "Other.Far`1::Away(!0)"

/* One module's differences of rows, and imports on both sides. */
UNIT_TEST(a_table_of_one_module)
{
	_cleanup_(close_images) struct fixture tiny = open_images("tiny-r2r.dll", NULL);

	assert_string_equal(list(&tiny, 5), ADD " <- " CTOR "\n" ADD " <- " GO "\n" PUT " <- " AWAY
						"\n" PUT " <- " MAP "\n" AWAY " <- " ADD "\n");
}

/* A composite's table for all modules, and that of a component. */
UNIT_TEST(tables_of_a_composite)
{
	_cleanup_(close_images) struct fixture tiny =
		open_images("tiny-composite.dll", "tiny-component.dll");

	assert_string_equal(list(&tiny, 5),
			    MAP " <- " CTOR "\n" MAP " <- row 2 of ?\n" ADD " <- " CTOR "\n" ADD
				" <- " GO "\n" PUT " <- " GO "\n");
}

/* Whatever is in @a is in @b, each pair once. */
static void assert_pairs_within(const char *a, const char *b)
{
	_cleanup_(text_deinit) struct text line = { 0 };

	while (*a) {
		size_t length = strcspn(a, "\n") + 1;
		const char *found;

		text_clear(&line);
		text_add_bytes(&line, a, length);
		found = strstr(b, text_chars(&line));
		if (!found)
			fail_msg("missing: %s", text_chars(&line));
		else
			assert_null(strstr(found + 1, text_chars(&line)));
		a += length;
	}
}

/* The same methods in one image and in a composite, which have tables of different formats. */
UNIT_TEST(the_zoo_both_ways)
{
	_cleanup_(close_images) struct fixture alone = open_images("zoo-r2r.dll", NULL);
	_cleanup_(close_images) struct fixture composite =
		open_images("zoo-composite.r2r.dll", "zoo-component.dll");
	const char *pairs = list(&alone, 11);

	assert_pairs_within(pairs, list(&composite, 11));
	assert_pairs_within(list(&composite, 22), pairs);
	assert_non_null(strstr(pairs, "Zoo.Point::op_Equality(Zoo.Point,Zoo.Point) <- "
				      "Zoo.Point::op_Inequality(Zoo.Point,Zoo.Point)\n"));
}

/* The names of what has inlined row @rid of the last image that has metadata; "?" if not known. */
static void assert_inliners(struct dotnet_inlining *inlining, const struct metadata *metadata,
			    uint32_t rid, int known, const char *expected)
{
	const struct r2r_method method = { metadata, rid, 0 };
	_cleanup_(dotnet_inliners_deinit) struct dotnet_inliners inliners;
	_cleanup_(text_deinit) struct text names = { 0 };

	assert_int_equal(dotnet_inliners_find(&inliners, inlining, &method), known);
	for (size_t i = 0; i < inliners.count; i++) {
		text_add(&names, i ? "; " : "");
		dotnet_method_spell(&inliners.methods[i], &names);
	}
	assert_string_equal(text_chars(&names), expected);
}

static struct dotnet_inlining *create_inlining(const struct fixture *fixture, size_t problems)
{
	struct dotnet_inlining *inlining;
	const struct error *first;

	assert_int_equal(dotnet_inlining_create(&inlining, &fixture->images, NULL), 0);
	assert_int_equal(dotnet_inlining_problems(inlining, &first), problems);
	return inlining;
}

UNIT_TEST(inliners_of_a_method)
{
	_cleanup_(close_images) struct fixture tiny = open_images("tiny-r2r.dll", NULL);
	const struct metadata *metadata = tiny.images.images[0]->metadata;
	struct dotnet_inlining *inlining = create_inlining(&tiny, 0);

	assert_inliners(inlining, metadata, 1, 1, "");
	assert_inliners(inlining, metadata, 2, 1, CTOR "; " GO);
	assert_inliners(inlining, metadata, 3, 1, MAP); /* no image defines Other.Far`1::Away */
	assert_inliners(inlining, metadata, 0, 0, "");
	assert_inliners(inlining, metadata, 6, 0, "");
	assert_inliners(inlining, NULL, 1, 0, "");
	dotnet_inlining_destroy(inlining);
}

/* The same as text, of a method by its identity. */
UNIT_TEST(names_of_inliners)
{
	struct fixture tiny = open_images("tiny-r2r.dll", NULL);
	const struct r2r_method method = { tiny.images.images[0]->metadata, 2, 0 };
	struct method_id id = dotnet_method_id(&method);
	struct dotnet_inlining *inlining = create_inlining(&tiny, 0);
	struct method_inliners inliners;
	_cleanup_(text_deinit) struct text name = { 0 };

	dotnet_method_spell(&method, &name);
	assert_int_equal(dotnet_method_inliners(&inliners, inlining, &tiny.images, &id, SIZE_MAX),
			 0);
	assert_string_equal(inliners.method, text_chars(&name));
	assert_int_equal(inliners.count, 2);
	assert_string_equal(inliners.names[0], CTOR);
	assert_string_equal(inliners.names[1], GO);
	assert_null(inliners.names[2]);
	assert_true(inliners.whole);
	method_inliners_deinit(&inliners);
	assert_int_equal(dotnet_method_inliners(&inliners, inlining, &tiny.images, &id, 1), 0);
	assert_int_equal(inliners.count, 2);
	assert_string_equal(inliners.names[0], CTOR);
	assert_null(inliners.names[1]);
	method_inliners_deinit(&inliners);
	assert_int_equal(dotnet_method_inliners(&inliners, NULL, &tiny.images, &id, SIZE_MAX), 0);
	assert_null(inliners.names);
	id.module++;
	assert_int_equal(dotnet_method_inliners(&inliners, inlining, &tiny.images, &id, SIZE_MAX),
			 0);
	assert_null(inliners.names);
	assert_null(inliners.method);
	dotnet_inlining_destroy(inlining);
	close_images(&tiny);
}

/* By a reference to it: MemberRef 1 of the tiny metadata is Inner`1::Count, which none defines. */
UNIT_TEST(inliners_of_a_reference)
{
	_cleanup_(close_images) struct fixture tiny =
		open_images("tiny-composite.dll", "tiny-component.dll");
	const struct metadata *metadata = tiny.images.images[1]->metadata;
	struct dotnet_inlining *inlining = create_inlining(&tiny, 0);
	const struct r2r_method reference = { metadata, 0, 1 };
	struct dotnet_inliners inliners;

	assert_inliners(inlining, metadata, 3, 1, GO);
	assert_inliners(inlining, metadata, 4, 1, CTOR);
	assert_int_equal(dotnet_inliners_find(&inliners, inlining, &reference), 0);
	assert_int_equal(inliners.count, 0);
	dotnet_inlining_destroy(inlining);
}

/* Where the entries of tiny-r2r.dll's table stand: "count, Add << 2". */
static uint8_t *find_entry(struct golden *file, uint8_t count, uint8_t inlinee)
{
	const uint8_t entry[] = { (uint8_t)(count << 1), (uint8_t)(inlinee << 1) };
	uint8_t *found = memmem(file->bytes, file->size, entry, sizeof(entry));

	assert_non_null(found);
	return found;
}

/* What came before it and other images' is used; of this image nothing is known in full. */
UNIT_TEST(damaged_tables)
{
	_cleanup_(close_images) struct fixture tiny = { 0 };
	struct golden file = golden_read("tiny-r2r.dll");
	struct dotnet_inlining *inlining;
	const struct error *first;
	struct error err = { "" };

	find_entry(&file, 2, 0 << 2 | 1)[0] = 0xfe; /* 127 numbers: more than there are bytes */
	add_image(&tiny, file, "tiny-r2r.dll");
	dotnet_images_link_from(&tiny.images, 0);
	assert_int_equal(r2r_each_inlinee(tiny.images.images[0]->r2r, note_inlinee, &tiny, &err),
			 -EBADMSG);
	assert_string_equal(err.text, "its inlining info is damaged");
	inlining = create_inlining(&tiny, 1);
	(void)dotnet_inlining_problems(inlining, &first);
	assert_string_equal(first->text, "the inlining info of tiny-r2r.dll cannot be read: "
					 "probe callers of a method of it whose count is low");
	assert_inliners(inlining, tiny.images.images[0]->metadata, 2, 0, CTOR "; " GO);
	dotnet_inlining_destroy(inlining);
}

/* A list is only read when it is asked for. */
UNIT_TEST(a_damaged_list)
{
	_cleanup_(close_images) struct fixture tiny = { 0 };
	struct golden file = golden_read("tiny-r2r.dll");
	struct dotnet_inlining *inlining;
	const struct error *first;

	find_entry(&file, 3, 2 << 2)[3] = 9 << 1; /* the second inliner: row 10 of 5 */
	add_image(&tiny, file, "tiny-r2r.dll");
	dotnet_images_link_from(&tiny.images, 0);
	inlining = create_inlining(&tiny, 0);
	assert_inliners(inlining, tiny.images.images[0]->metadata, 3, 1, MAP);
	assert_inliners(inlining, tiny.images.images[0]->metadata, 2, 0, CTOR);
	assert_int_equal(dotnet_inlining_problems(inlining, &first), 1);
	assert_inliners(inlining, tiny.images.images[0]->metadata, 3, 0, MAP);
	dotnet_inlining_destroy(inlining);
}

/* An image without tables, and one without code. */
UNIT_TEST(images_that_do_not_say)
{
	struct fixture tiny = { 0 };
	struct golden file = golden_read("tiny-r2r.dll");
	static const uint8_t section[] = { 119, 0, 0, 0 };
	uint8_t *found = memmem(file.bytes, file.size, section, sizeof(section));
	struct dotnet_inlining *inlining;

	assert_non_null(found);
	*found = 99;
	add_image(&tiny, file, "tiny-r2r.dll");
	dotnet_images_link_from(&tiny.images, 0);
	assert_false(r2r_has_inlining(tiny.images.images[0]->r2r));
	inlining = create_inlining(&tiny, 0);
	assert_inliners(inlining, tiny.images.images[0]->metadata, 2, 0, "");
	dotnet_inlining_destroy(inlining);
	close_images(&tiny);

	tiny = open_images("tiny-il.dll", NULL);
	inlining = create_inlining(&tiny, 0);
	assert_inliners(inlining, tiny.images.images[0]->metadata, 2, 1, "");
	dotnet_inlining_destroy(inlining);
	close_images(&tiny);
}

static void look(struct span bytes)
{
	struct dotnet_source source = {
		.name = "any.dll",
		.bytes = bytes,
		.is_mapped = mapped_everywhere,
	};
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = { 0 };
	struct dotnet_inlining *inlining;

	assert_int_equal(dotnet_images_add(&images, &source, NULL), 0);
	dotnet_images_link_from(&images, 0);
	assert_int_equal(dotnet_inlining_create(&inlining, &images, NULL), 0);
	for (uint32_t rid = 0; images.count > 0 && rid < 8; rid++) {
		const struct r2r_method method = { images.images[0]->metadata, rid, 0 };
		_cleanup_(dotnet_inliners_deinit) struct dotnet_inliners inliners;

		(void)dotnet_inliners_find(&inliners, inlining, &method);
	}
	dotnet_inlining_destroy(inlining);
}

UNIT_TEST(test_damage)
{
	golden_torture("tiny-r2r.dll", 5000, look);
	golden_torture("tiny-composite.dll", 2000, look);
}

UNIT_MAIN(NULL, NULL)
