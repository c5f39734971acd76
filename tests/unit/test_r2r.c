// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include <errno.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"
#include "base/error.h"
#include "image/pe.h"
#include "method/method_name.h"

enum { MAX_ROWS = 256, MAX_PARTS = 16 };

/* An image, its metadata, and what a walk over it found: "RVA NAME" rows, sorted. */
struct image {
	struct golden file;
	struct golden component;
	struct pe pe;
	struct pe component_pe;
	struct metadata *metadata;
	struct r2r *r2r;
	struct text rows[MAX_ROWS];
	struct r2r_body bodies[MAX_ROWS];
	size_t count;
	bool map_style;
};

static int compare_rows(const void *a, const void *b)
{
	return strcmp(text_chars(a), text_chars(b));
}

static int note_body(const struct r2r_body *body, void *ctx)
{
	struct image *image = ctx;
	struct method_name name = { 0 };
	struct text *row = &image->rows[image->count];

	assert_true(image->count < MAX_ROWS);
	image->bodies[image->count++] = *body;
	text_printf(row, "%08X ", body->rva.value);
	if (image->map_style) {
		r2r_body_map_name(body, row);
	} else {
		r2r_body_name(body, &name);
		method_name_spell(&name, row);
		method_name_deinit(&name);
	}
	return 0;
}

/* Open @file; its metadata is its own, or that of @component if it is a composite. */
static struct image *open_image(const char *file, const char *component)
{
	struct image *image = calloc(1, sizeof(*image));
	struct error err = { "" };
	const struct pe *with_metadata;

	assert_non_null(image);
	image->file = golden_read(file);
	assert_int_equal(pe_init(&image->pe, golden_span(&image->file), &err), 0);
	with_metadata = &image->pe;
	if (component) {
		image->component = golden_read(component);
		assert_int_equal(
			pe_init(&image->component_pe, golden_span(&image->component), &err), 0);
		with_metadata = &image->component_pe;
	}
	assert_int_equal(metadata_create(&image->metadata, metadata_of_pe(with_metadata), &err), 0);
	assert_int_equal(r2r_create(&image->r2r, &image->pe, &err), 0);
	assert_int_equal(r2r_component_count(image->r2r), 1);
	r2r_set_metadata(image->r2r, 0, image->metadata);
	return image;
}

static void close_image(struct image *image)
{
	for (size_t i = 0; i < image->count; i++)
		text_deinit(&image->rows[i]);
	r2r_destroy(image->r2r);
	metadata_destroy(image->metadata);
	golden_free(&image->file);
	golden_free(&image->component);
	free(image);
}

static void walk(struct image *image, bool map_style)
{
	image->map_style = map_style;
	assert_int_equal(r2r_each_body(image->r2r, note_body, image), 0);
	assert_int_equal(r2r_damaged(image->r2r), 0);
	assert_int_equal(r2r_unnamed(image->r2r), 0);
	qsort(image->rows, image->count, sizeof(image->rows[0]), compare_rows);
}

UNIT_TEST(test_every_body_of_a_tiny_image)
{
	static const char *const names[] = {
		"00001464 Tiny.Outer::.ctor()",
		"00001474 Tiny.Outer::Add(int32,string)",
		"00001494 Tiny.Outer+Inner`1[System.Int32]::Put(!0,"
		"System.Collections.Generic.List`1[!0][])",
		"000014A4 Tiny.Outer+Inner`1[System.__Canon]::Map[System.String](!!0&)",
		"000014B4 Tiny.Outer+Inner`1+Deep::Go(int32[,]*,"
		"System.Collections.Generic.List`1+Enumerator,int32(*)(string))",
		"000014C4 Other.Far`1[System.String]::Away(!0)",
	};
	struct image *image = open_image("tiny-r2r.dll", NULL);

	assert_int_equal(image->r2r->header.major, 16);
	assert_int_equal(image->r2r->header.minor, 0);
	assert_null(r2r_component_name(image->r2r, 0));
	walk(image, false);
	assert_int_equal(image->count, sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < image->count; i++)
		assert_string_equal(text_chars(&image->rows[i]), names[i]);
	close_image(image);
}

UNIT_TEST(test_a_composite)
{
	struct image *image = open_image("tiny-composite.dll", "tiny-component.dll");

	assert_string_equal(r2r_component_name(image->r2r, 0), "Tiny");
	assert_null(r2r_component_name(image->r2r, 1));
	walk(image, false);
	assert_int_equal(image->count, 5);
	assert_string_equal(text_chars(&image->rows[3]),
			    "00001288 Tiny.Outer+Inner`1[System.__Canon]::"
			    "Map[System.String](!!0&)");
	close_image(image);
}

UNIT_TEST(test_bodies_without_metadata_are_counted)
{
	struct image *image = open_image("tiny-composite.dll", "tiny-component.dll");

	r2r_set_metadata(image->r2r, 0, NULL);
	assert_int_equal(r2r_each_body(image->r2r, note_body, image), 0);
	assert_int_equal(image->count, 0);
	assert_int_equal(r2r_unnamed(image->r2r), 5);
	close_image(image);
}

/* Two methods with the same debug info, by which the cold part of one follows its hot parts. */
UNIT_TEST(test_lines)
{
	static const struct {
		uint32_t rva;
		uint32_t il;
	} expected[] = {
		{ 0x1474, 0 }, { 0x1478, 0 }, { 0x147c, 0 }, { 0x148f, 0 },
		{ 0x14d4, 7 }, { 0x14d7, 7 }, { 0x14d8, 7 }, { 0x14df, 7 },
	};
	static const char *const files[] = {
		"tiny-lines-nibbles.dll",
		"tiny-lines-packed.dll",
		"tiny-lines-sized.dll",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct image *image = open_image(files[i], NULL);
		struct r2r_body body;
		uint32_t il;

		assert_int_equal(r2r_find_method(image->r2r, 0, 2, &body), 1);
		for (size_t j = 0; j < sizeof(expected) / sizeof(expected[0]); j++) {
			assert_true(r2r_find_il(&body, (struct rva){ expected[j].rva }, &il));
			assert_int_equal(il, expected[j].il);
		}
		assert_int_equal(r2r_find_method(image->r2r, 0, 1, &body), 1);
		assert_true(r2r_find_il(&body, (struct rva){ body.rva.value + 4 }, &il));
		assert_int_equal(il, 0);
		assert_int_equal(r2r_find_method(image->r2r, 0, 5, &body), 1);
		assert_false(r2r_find_il(&body, body.rva, &il));
		close_image(image);
	}
}

UNIT_TEST(test_parts_and_addresses)
{
	struct image *image = open_image("tiny-r2r.dll", NULL);
	struct r2r_part parts[MAX_PARTS];
	struct r2r_body add, found;

	assert_int_equal(r2r_find_method(image->r2r, 0, 2, &add), 1);
	assert_int_equal(add.rva.value, 0x1474);
	assert_int_equal(add.type_rid, 2);
	assert_int_equal(r2r_body_parts(&add, parts, MAX_PARTS), 3);
	assert_int_equal(parts[0].rva.value, 0x1474);
	assert_int_equal(parts[0].size, 0xc);
	assert_false(parts[0].funclet || parts[0].cold);
	assert_int_equal(parts[1].rva.value, 0x1484);
	assert_true(parts[1].funclet && !parts[1].cold);
	assert_int_equal(parts[2].rva.value, 0x14d4);
	assert_true(parts[2].cold && !parts[2].funclet);
	assert_int_equal(r2r_body_parts(&add, parts, 1), 3);

	for (size_t i = 0; i < 3; i++) {
		uint32_t last = parts[i].rva.value + parts[i].size - 1;

		assert_int_equal(r2r_find_rva(image->r2r, (struct rva){ last }, &found), 1);
		assert_int_equal(found.method_rid, 2);
		assert_int_equal(found.rva.value, 0x1474);
		assert_int_equal(r2r_find_rva(image->r2r, (struct rva){ last + 1 }, &found), 0);
	}
	assert_int_equal(r2r_find_rva(image->r2r, (struct rva){ 0x14a4 }, &found), 1);
	assert_int_equal(found.method_rid, 4);
	assert_int_equal(found.type_rid, 3);
	assert_true(found.instance != 0);
	assert_int_equal(r2r_find_rva(image->r2r, (struct rva){ 0 }, &found), 0);
	assert_int_equal(r2r_find_rva(image->r2r, (struct rva){ UINT32_MAX }, &found), 0);

	assert_int_equal(r2r_find_method(image->r2r, 0, 3, &found), 0);
	assert_int_equal(r2r_find_method(image->r2r, 0, 99, &found), 0);
	assert_int_equal(r2r_find_method(image->r2r, 7, 1, &found), 0);
	close_image(image);
}

/* Where exceptions are known, handlers and filters are parts of whose clauses they are. */
UNIT_TEST(test_parts_by_clauses)
{
	struct image *image = open_image("tiny-clauses.dll", NULL);
	struct r2r_part parts[MAX_PARTS];
	struct r2r_body add, away;

	assert_int_equal(r2r_find_method(image->r2r, 0, 2, &add), 1);
	assert_int_equal(r2r_body_parts(&add, parts, MAX_PARTS), 2);
	assert_int_equal(parts[1].rva.value, add.rva.value + 0x10);
	assert_true(parts[1].funclet && !parts[1].cold);
	assert_false(r2r_in_filter(&add, parts[1].rva));

	/* By its address, as it is an instantiation. */
	assert_int_equal(r2r_find_rva(image->r2r, (struct rva){ add.rva.value + 0x50 }, &away), 1);
	assert_int_equal(r2r_body_parts(&away, parts, MAX_PARTS), 2);
	assert_int_equal(parts[1].rva.value, away.rva.value + 0x10);
	assert_true(r2r_in_filter(&away, parts[1].rva));
	assert_false(r2r_in_filter(&away, away.rva));
	assert_false(r2r_in_filter(&away, (struct rva){ away.rva.value + 0x20 }));
	close_image(image);
}

/* The next line of @text, cut off at its end; NULL after the last. */
static char *next_line(char **text)
{
	char *line = *text;
	char *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line;
}

/* "RVA SIZE NAME" rows of a golden file against what was found. */
static void compare_with_rows(struct image *image, const char *golden)
{
	_cleanup_(golden_free) struct golden file = golden_read(golden);
	_cleanup_free_ char *text = strndup((const char *)file.bytes, file.size);
	_cleanup_(text_deinit) struct text row = { 0 };
	char *rest = text;
	char *line;
	size_t count = 0;

	assert_non_null(text);
	while ((line = next_line(&rest))) {
		const struct text *found;
		char *size = strchr(line, ' ');
		char *name = size ? strchr(size + 1, ' ') : NULL;

		if (!size || !name)
			fail_msg("%s: not a row: %s", golden, line);
		if (!size || strncmp(line, "FFFFFF", 6) == 0)
			continue; /* what the map says of itself */
		*size = '\0';
		text_clear(&row);
		text_printf(&row, "%s%s", line, name);
		found = bsearch(&row, image->rows, image->count, sizeof(row), compare_rows);
		if (!found)
			fail_msg("%s: not found: %s", golden, text_chars(&row));
		count++;
	}
	assert_int_equal(count, image->count);
}

/* The zoo as crossgen2 compiled and named it; tests/golden/README says how. */
UNIT_TEST(test_the_zoo)
{
	static const struct {
		const char *image;
		const char *component;
		const char *rows;
		bool map_style;
	} cases[] = {
		{ "zoo-r2r.dll", NULL, "zoo-r2r.map", true },
		{ "zoo-r2r.dll", NULL, "zoo-r2r.names", false },
		{ "zoo-composite.r2r.dll", "zoo-component.dll", "zoo-composite.map", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct image *image = open_image(cases[i].image, cases[i].component);

		walk(image, cases[i].map_style);
		compare_with_rows(image, cases[i].rows);
		close_image(image);
	}
}

/* Every byte of every part leads back to its body. */
UNIT_TEST(test_every_address_of_the_zoo)
{
	struct image *image = open_image("zoo-r2r.dll", NULL);
	size_t cold = 0, funclets = 0;

	walk(image, true);
	for (size_t i = 0; i < image->count; i++) {
		struct r2r_part parts[MAX_PARTS];
		size_t count = r2r_body_parts(&image->bodies[i], parts, MAX_PARTS);

		assert_in_range(count, 1, MAX_PARTS);
		assert_int_equal(parts[0].rva.value, image->bodies[i].rva.value);
		for (size_t p = 0; p < count; p++) {
			cold += parts[p].cold;
			funclets += parts[p].funclet;
			for (uint32_t byte = 0; byte < parts[p].size; byte++) {
				struct rva rva = { parts[p].rva.value + byte };
				struct r2r_body found;

				assert_int_equal(r2r_find_rva(image->r2r, rva, &found), 1);
				assert_int_equal(found.function, image->bodies[i].function);
				assert_int_equal(found.type_rid, image->bodies[i].type_rid);
			}
		}
	}
	assert_true(cold > 0);
	assert_true(funclets > 0);
	close_image(image);
}

UNIT_TEST(test_short_names)
{
	struct image *image = open_image("zoo-r2r.dll", NULL);
	struct method_name brief = { 0 }, full = { 0 };

	walk(image, true);
	for (size_t i = 0; i < image->count; i++) {
		r2r_body_name(&image->bodies[i], &full);
		r2r_body_short_name(&image->bodies[i], &brief);
		assert_string_equal(text_chars(&brief.type), text_chars(&full.type));
		assert_string_equal(text_chars(&brief.name), text_chars(&full.name));
		assert_string_equal(text_chars(&brief.params), "");
	}
	method_name_deinit(&brief);
	method_name_deinit(&full);
	close_image(image);
}

static void expect_refusal(struct golden *file, int status, const char *message)
{
	struct error err = { "" };
	struct r2r *r2r;
	struct pe pe;

	assert_int_equal(pe_init(&pe, golden_span(file), NULL), 0);
	assert_int_equal(r2r_create(&r2r, &pe, &err), status);
	assert_null(r2r);
	assert_non_null(strstr(err.text, message));
	golden_free(file);
}

UNIT_TEST(test_images_that_are_not_for_us)
{
	struct golden file = golden_read("tiny-il.dll");
	uint8_t *header;

	expect_refusal(&file, -EBADMSG, "no ReadyToRun header");

	file = golden_read("tiny-r2r.dll");
	file.bytes[0x44] = 0x1d; /* the machine: arm64, marked as Linux */
	file.bytes[0x45] = 0xd1;
	expect_refusal(&file, -ENOTSUP, "not for Linux on x86-64");

	file = golden_read("tiny-r2r.dll");
	file.bytes[0x44] = 0x64; /* x86-64, not marked: Windows */
	file.bytes[0x45] = 0x86;
	expect_refusal(&file, -ENOTSUP, "not for Linux on x86-64");

	file = golden_read("tiny-r2r.dll");
	header = memmem(file.bytes, file.size, "RTR", 4);
	assert_non_null(header);
	header[4] = 99;
	expect_refusal(&file, -ENOTSUP, "version 99.0 is not known");
}

static int ignore_body(const struct r2r_body *body, void *ctx)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	struct r2r_part parts[MAX_PARTS];
	_cleanup_(text_deinit) struct text text = { 0 };

	(void)ctx;
	r2r_body_name(body, &name);
	r2r_body_map_name(body, &text);
	assert_true(r2r_body_parts(body, parts, MAX_PARTS) > 0);
	return 0;
}

static void look(struct span bytes)
{
	struct metadata *metadata = NULL;
	struct r2r_body body;
	struct r2r *r2r;
	struct pe pe;

	if (pe_init(&pe, bytes, NULL) < 0 || r2r_create(&r2r, &pe, NULL) < 0)
		return;
	(void)metadata_create(&metadata, metadata_of_pe(&pe), NULL);
	r2r_set_metadata(r2r, 0, metadata);
	assert_int_equal(r2r_each_body(r2r, ignore_body, NULL), 0);
	for (uint32_t rva = 0x1400; rva < 0x1500; rva += 8)
		(void)r2r_find_rva(r2r, (struct rva){ rva }, &body);
	r2r_destroy(r2r);
	metadata_destroy(metadata);
}

UNIT_TEST(test_damage)
{
	golden_torture("tiny-r2r.dll", 5000, look);
	golden_torture("tiny-composite.dll", 2000, look);
}

UNIT_MAIN(NULL, NULL)
