// SPDX-License-Identifier: GPL-2.0-or-later
/* Portable PDBs as tests/golden/images.py writes them: the link of an image, lines, documents. */
#include "base/cleanup.h"
#include "base/text.h"
#include "image/pe.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/pdb.h"
#include "tests/unit/golden.h"

enum { CONSTRUCTOR = 1, ADD, PUT, MAP, GO, NO_METHOD, UNPACKED_MOST = 1 << 16 };

static const uint8_t id[PDB_ID_BYTES] = { 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6,
					  0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad,
					  0xae, 0xaf, 0x78, 0x56, 0x34, 0x12 };

static struct metadata *open_pdb(struct span bytes)
{
	struct metadata *pdb;

	assert_int_equal(metadata_create(&pdb, bytes, NULL), 0);
	return pdb;
}

static void check_point(const struct metadata *pdb, uint32_t method, uint32_t il, uint32_t document,
			uint32_t line, uint32_t column)
{
	struct pdb_point point;

	assert_true(pdb_find_point(pdb, method, il, &point));
	assert_int_equal(point.document, document);
	assert_int_equal(point.line, line);
	assert_int_equal(point.column, column);
}

static void check_pdb(const struct metadata *pdb)
{
	_cleanup_(text_deinit) struct text name = { 0 };
	struct pdb_point point;

	assert_true(pdb_has_id(pdb, id));
	check_point(pdb, CONSTRUCTOR, 0, 1, 10, 9);
	check_point(pdb, CONSTRUCTOR, 6, 1, 10, 9);
	check_point(pdb, CONSTRUCTOR, 11, 1, 10, 9); /* what is hidden is part of what is before */
	check_point(pdb, CONSTRUCTOR, 12, 1, 12, 5);
	check_point(pdb, CONSTRUCTOR, 300, 1, 9, 60000);
	check_point(pdb, CONSTRUCTOR, UINT32_MAX, 1, 5000, 1);
	check_point(pdb, ADD, 0, 2, 1000, 1);
	check_point(pdb, ADD, 8, 1, 3, 70);
	check_point(pdb, ADD, 9, 3, 4, 1);
	assert_false(pdb_find_point(pdb, PUT, 0, &point));
	assert_false(pdb_find_point(pdb, MAP, 9, &point));
	assert_false(pdb_find_point(pdb, GO, 1, &point)); /* before the first */
	check_point(pdb, GO, 2, 1, 77, 3);
	assert_false(pdb_find_point(pdb, NO_METHOD, 0, &point));
	assert_false(pdb_find_point(pdb, 0, 0, &point));

	assert_true(pdb_document_name(pdb, 1, &name));
	assert_string_equal(text_chars(&name), "/src/Tiny/Outer.cs");
	assert_true(pdb_document_name(pdb, 2, &name));
	assert_string_equal(text_chars(&name), "C:\\src\\Page.razor");
	assert_true(pdb_document_name(pdb, 3, &name));
	assert_string_equal(text_chars(&name), "Odd");
	assert_false(pdb_document_name(pdb, 4, &name));
	assert_false(pdb_document_name(pdb, 0, &name));
}

UNIT_TEST(test_lines_and_documents)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-pdb.bin");
	struct metadata *pdb = open_pdb(golden_span(&file));
	uint8_t other[PDB_ID_BYTES];

	check_pdb(pdb);
	memcpy(other, id, sizeof(other));
	other[PDB_ID_BYTES - 1] ^= 1; /* the same GUID, and another stamp */
	assert_false(pdb_has_id(pdb, other));
	metadata_destroy(pdb);
}

UNIT_TEST(test_wide_columns)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-pdb-wide.bin");
	struct metadata *pdb = open_pdb(golden_span(&file));

	check_pdb(pdb);
	metadata_destroy(pdb);
}

UNIT_TEST(test_the_link_of_an_image)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-pdb.dll");
	_cleanup_(golden_free) struct golden plain = golden_read("tiny-r2r.dll");
	struct pdb_link link;
	struct metadata *pdb;
	uint8_t *unpacked;
	size_t size;
	struct pe pe;

	assert_int_equal(pe_init(&pe, golden_span(&file), NULL), 0);
	assert_true(pdb_link_read(&link, &pe));
	assert_memory_equal(link.id, id, PDB_ID_BYTES);
	/* Not the path of where it was made, nor that of another kind of PDB. */
	assert_int_equal(link.name.size, strlen("tiny.pdb"));
	assert_memory_equal(link.name.start, "tiny.pdb", link.name.size);

	unpacked = pdb_unpack(link.embedded, UNPACKED_MOST, &size);
	assert_non_null(unpacked);
	pdb = open_pdb((struct span){ unpacked, size });
	check_pdb(pdb);
	metadata_destroy(pdb);
	free(unpacked);
	assert_null(pdb_unpack(link.embedded, size - 1, &size));

	assert_int_equal(pe_init(&pe, golden_span(&plain), NULL), 0);
	assert_false(pdb_link_read(&link, &pe));
}

/* No name that leads elsewhere than to a file in the directory that it is looked for in. */
UNIT_TEST(test_names_that_lead_elsewhere)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "C:\\made/tiny.pdb", "tiny.pdb" },
		{ "/////////tiny.p", "tiny.p" },
		{ "tiny.pdb", "tiny.pdb" },
		{ "/made/here/..", NULL },
		{ "/made/here/.", NULL },
		{ "/made/here/", NULL },
		{ "\\\\\\\\", NULL },
		{ "", NULL },
	};
	_cleanup_(golden_free) struct golden file = golden_read("tiny-pdb.dll");
	uint8_t *path = memmem(file.bytes, file.size, cases[0].path, strlen(cases[0].path));
	struct pdb_link link;
	struct pe pe;

	assert_non_null(path);
	assert_int_equal(pe_init(&pe, golden_span(&file), NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(path, 0, strlen(cases[0].path));
		memcpy(path, cases[i].path, strlen(cases[i].path));
		assert_true(pdb_link_read(&link, &pe));
		assert_int_equal(link.name.size, cases[i].name ? strlen(cases[i].name) : 0);
		if (cases[i].name)
			assert_memory_equal(link.name.start, cases[i].name, link.name.size);
	}
}

static void look_at_all(struct span bytes)
{
	_cleanup_(text_deinit) struct text name = { 0 };
	struct pdb_point point;
	struct metadata *pdb;

	if (metadata_create(&pdb, bytes, NULL))
		return;
	for (uint32_t row = 0; row <= NO_METHOD; row++) {
		(void)pdb_find_point(pdb, row, UINT32_MAX, &point);
		(void)pdb_document_name(pdb, row, &name);
	}
	(void)pdb_has_id(pdb, id);
	metadata_destroy(pdb);
}

/* Whatever is changed or missing, nothing outside is read; the sanitized program would say so. */
UNIT_TEST(test_damaged)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-pdb.bin");
	_cleanup_(golden_free) struct golden image = golden_read("tiny-pdb.dll");
	size_t size = 0;

	for (size_t i = 0; i < file.size; i++) {
		_cleanup_(golden_free) struct golden cut = golden_copy(file.bytes, i);
		_cleanup_(golden_free) struct golden bent = golden_copy(file.bytes, file.size);

		bent.bytes[i] ^= 0xff;
		look_at_all(golden_span(&cut));
		look_at_all(golden_span(&bent));
	}
	for (size_t i = 0; i < image.size; i++) {
		_cleanup_(golden_free) struct golden bent = golden_copy(image.bytes, image.size);
		struct pdb_link link;
		struct pe pe;

		bent.bytes[i] ^= 0xff;
		if (pe_init(&pe, golden_span(&bent), NULL) == 0 && pdb_link_read(&link, &pe))
			free(pdb_unpack(link.embedded, UNPACKED_MOST, &size));
	}
}

UNIT_MAIN(NULL, NULL)
