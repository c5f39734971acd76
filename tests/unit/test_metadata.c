// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include <errno.h>

#include "runtime/dotnet/metadata.h"
#include "base/error.h"
#include "base/text.h"

enum { OUTER = 2, INNER = 3, DEEP = 4, TYPES = 4, METHODS = 5 };

static struct metadata *create(const struct golden *file)
{
	struct metadata *metadata;
	struct error err = { "" };

	if (metadata_create(&metadata, golden_span(file), &err) < 0)
		fail_msg("%s", err.text);
	return metadata;
}

static void expect_type(const struct metadata *metadata, uint32_t rid, const char *name)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	metadata_type_name(metadata, rid, &text);
	assert_string_equal(text_chars(&text), name);
}

static void expect_type_ref(const struct metadata *metadata, uint32_t rid, const char *name)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	metadata_type_ref_name(metadata, rid, &text);
	assert_string_equal(text_chars(&text), name);
}

static void check_names(const struct metadata *metadata)
{
	static const char *const methods[] = { ".ctor", "Add", "Put", "Map", "Go" };

	assert_string_equal(metadata_assembly_name(metadata), "Tiny");
	assert_string_equal(metadata_assembly_ref_name(metadata, 1), "System.Runtime");
	assert_string_equal(metadata_assembly_ref_name(metadata, 2), "");
	assert_int_equal(metadata_rows(metadata, TABLE_TYPE_DEF), TYPES);
	assert_int_equal(metadata_rows(metadata, TABLE_METHOD_DEF), METHODS);
	assert_string_equal(metadata_type_short_name(metadata, INNER), "Inner`1");

	expect_type(metadata, 1, "<Module>");
	expect_type(metadata, OUTER, "Tiny.Outer");
	expect_type(metadata, INNER, "Tiny.Outer+Inner`1");
	expect_type(metadata, DEEP, "Tiny.Outer+Inner`1+Deep");
	expect_type(metadata, 0, "?");
	expect_type(metadata, TYPES + 1, "?");
	expect_type_ref(metadata, 1, "System.Object");
	expect_type_ref(metadata, 3, "System.Collections.Generic.List`1+Enumerator");
	expect_type_ref(metadata, 4, "?");

	for (uint32_t i = 0; i < METHODS; i++)
		assert_string_equal(metadata_method_name(metadata, i + 1), methods[i]);
	assert_string_equal(metadata_method_name(metadata, 0), "");
	assert_string_equal(metadata_method_name(metadata, METHODS + 1), "");
	assert_string_equal(metadata_method_name(metadata, UINT32_MAX), "");
}

static void check_owners(const struct metadata *metadata)
{
	static const uint32_t owners[] = { OUTER, OUTER, INNER, INNER, DEEP };
	static const uint32_t ranges[TYPES][2] = { { 0, 0 }, { 1, 3 }, { 3, 5 }, { 5, 6 } };

	for (uint32_t i = 0; i < METHODS; i++)
		assert_int_equal(metadata_method_type(metadata, i + 1), owners[i]);
	assert_int_equal(metadata_method_type(metadata, 0), 0);
	assert_int_equal(metadata_method_type(metadata, METHODS + 1), 0);
	for (uint32_t i = 0; i < TYPES; i++) {
		uint32_t first, end;

		metadata_type_methods(metadata, i + 1, &first, &end);
		assert_int_equal(first, ranges[i][0]);
		assert_int_equal(end, ranges[i][1]);
	}
}

UNIT_TEST(test_names_and_owners)
{
	/* The second has wide heaps, the extra data and an uncompressed stream's name. */
	static const char *const files[] = { "tiny-metadata.bin", "tiny-metadata-wide.bin" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct golden file = golden_read(files[i]);
		struct metadata *metadata = create(&file);

		check_names(metadata);
		check_owners(metadata);
		metadata_destroy(metadata);
		golden_free(&file);
	}
}

/* Outer owns methods 5 and 4, Inner`1 1 and 2, Deep 3. */
UNIT_TEST(test_methods_through_pointers)
{
	static const uint32_t owners[] = { INNER, INNER, DEEP, OUTER, OUTER };
	_cleanup_(golden_free) struct golden file = golden_read("tiny-metadata-pointers.bin");
	struct metadata *metadata = create(&file);
	uint32_t first, end;

	check_names(metadata);
	for (uint32_t i = 0; i < METHODS; i++)
		assert_int_equal(metadata_method_type(metadata, i + 1), owners[i]);
	metadata_type_methods(metadata, INNER, &first, &end);
	assert_int_equal(first, 1);
	assert_int_equal(end, 3);
	metadata_type_methods(metadata, DEEP, &first, &end);
	assert_int_equal(first, 3);
	assert_int_equal(end, 4);
	metadata_destroy(metadata);
}

UNIT_TEST(test_blobs_and_member_refs)
{
	static const uint8_t add[] = { 0x00, 0x02, 0x08, 0x08, 0x0e };
	_cleanup_(golden_free) struct golden file = golden_read("tiny-metadata.bin");
	struct metadata *metadata = create(&file);
	struct span blob = metadata_method_signature(metadata, 2);
	enum metadata_table table = TABLE_MODULE;

	assert_int_equal(blob.size, sizeof(add));
	assert_memory_equal(blob.start, add, sizeof(add));
	assert_null(metadata_method_signature(metadata, METHODS + 1).start);

	assert_string_equal(metadata_member_ref_name(metadata, 1), "Count");
	assert_int_equal(metadata_member_ref_parent(metadata, 1, &table), 2);
	assert_int_equal(table, TABLE_TYPE_REF);
	assert_string_equal(metadata_member_ref_name(metadata, 2), "Clear");
	assert_int_equal(metadata_member_ref_parent(metadata, 2, &table), 1);
	assert_int_equal(table, TABLE_TYPE_SPEC);
	assert_int_equal(metadata_type_spec_signature(metadata, 1).size, 5);
	metadata_destroy(metadata);
}

UNIT_TEST(test_compressed_numbers)
{
	static const uint8_t bytes[] = { 0x03, 0x7f, 0x80, 0x80, 0xae, 0x57, 0xbf, 0xff, 0xc0,
					 0x00, 0x40, 0x00, 0xdf, 0xff, 0xff, 0xff, 0x80 };
	static const uint32_t numbers[] = { 0x03, 0x7f, 0x80, 0x2e57, 0x3fff, 0x4000, 0x1fffffff };
	struct cursor c = cursor_over((struct span){ bytes, sizeof(bytes) });

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(metadata_compressed(&c), numbers[i]);
	assert_true(cursor_ok(&c));
	(void)metadata_compressed(&c);
	assert_false(cursor_ok(&c));
}

/* The two NestedClass rows are the last of the tables stream, which the strings follow. */
static size_t nested_class_at(const struct golden *file)
{
	const uint8_t rows[] = { 3, 0, 2, 0, 4, 0, 3, 0 };
	const uint8_t *found = memmem(file->bytes, file->size, rows, sizeof(rows));

	assert_non_null(found);
	return (size_t)(found - file->bytes);
}

UNIT_TEST(test_types_nested_in_a_circle)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-metadata.bin");
	size_t rows = nested_class_at(&file);
	struct metadata *metadata;

	file.bytes[rows + 2] = DEEP; /* Inner lies in Deep, Deep in Inner */
	metadata = create(&file);
	expect_type(metadata, INNER, "?");
	expect_type(metadata, DEEP, "?");
	expect_type(metadata, OUTER, "Tiny.Outer");
	metadata_destroy(metadata);

	file.bytes[rows + 2] = INNER; /* Inner lies in itself */
	metadata = create(&file);
	expect_type(metadata, INNER, "?");
	metadata_destroy(metadata);

	file.bytes[rows + 2] = 77; /* in a row that is not there */
	metadata = create(&file);
	expect_type(metadata, INNER, "+Inner`1");
	metadata_destroy(metadata);
}

UNIT_TEST(test_a_name_without_an_end)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-metadata.bin");
	const uint8_t *name = memmem(file.bytes, file.size, "System.Runtime", 15);
	struct metadata *metadata;

	assert_non_null(name);
	/* The last string of the heap: without its NUL and padding it has no end in the heap. */
	memset(file.bytes + (name - file.bytes), 'x', 16);
	metadata = create(&file);
	assert_string_equal(metadata_assembly_ref_name(metadata, 1), "");
	assert_string_equal(metadata_assembly_name(metadata), "Tiny");
	metadata_destroy(metadata);
}

UNIT_TEST(test_what_is_no_metadata)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-metadata.bin");
	struct error err = { "" };
	struct metadata *metadata;

	file.bytes[0] = 'X';
	assert_int_equal(metadata_create(&metadata, golden_span(&file), &err), -EBADMSG);
	assert_null(metadata);
	assert_string_equal(err.text, "the metadata does not begin with BSJB");
	assert_int_equal(metadata_create(&metadata, (struct span){ 0 }, &err), -EBADMSG);
}

static void look(struct span bytes)
{
	struct metadata *metadata;
	struct text text = { 0 };
	struct error err;

	if (metadata_create(&metadata, bytes, &err) < 0)
		return;
	for (uint32_t rid = 0; rid < 8; rid++) {
		uint32_t first, end;

		metadata_type_name(metadata, rid, &text);
		metadata_type_ref_name(metadata, rid, &text);
		metadata_type_methods(metadata, rid, &first, &end);
		assert_true(first <= end);
		assert_true(end <= metadata_rows(metadata, TABLE_METHOD_DEF) + 1);
		text_add(&text, metadata_method_name(metadata, rid));
		(void)metadata_method_type(metadata, rid);
		(void)metadata_method_signature(metadata, rid);
	}
	text_deinit(&text);
	metadata_destroy(metadata);
}

UNIT_TEST(test_damage)
{
	golden_torture("tiny-metadata.bin", 5000, look);
	golden_torture("tiny-metadata-wide.bin", 5000, look);
	golden_torture("tiny-metadata-pointers.bin", 5000, look);
}

UNIT_MAIN(NULL, NULL)
