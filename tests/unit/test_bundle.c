// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/golden.h"

#include <errno.h>

#include "base/error.h"
#include "image/bundle.h"

/* As tests/golden/images.py writes them. */
enum { HEADER_OFFSET_AT = 0x40 + 56 + 16 };

static void check_entries(const struct bundle *bundle, const struct golden *file, bool compressed)
{
	assert_int_equal(bundle->count, 2);
	assert_string_equal(bundle->entries[0].path, "app.dll");
	assert_string_equal(bundle->entries[1].path, "lib/System.Linq.dll");
	for (size_t i = 0; i < bundle->count; i++) {
		assert_int_equal(bundle->entries[i].offset % 64, 0);
		assert_memory_equal(file->bytes + bundle->entries[i].offset, "MZ of", 5);
		assert_int_equal(bundle->entries[i].type, 1);
	}
	if (compressed) {
		assert_int_equal(bundle->entries[0].compressed_size, 65);
		assert_int_equal(bundle->entries[0].size, 195);
	} else {
		assert_int_equal(bundle->entries[0].compressed_size, 0);
		assert_int_equal(bundle->entries[0].size, 65);
	}
}

UNIT_TEST(test_versions)
{
	static const struct {
		const char *file;
		uint32_t major;
		bool compressed;
	} cases[] = {
		{ "bundle-1", 1, false },
		{ "bundle-2", 2, false },
		{ "bundle-6", 6, false },
		{ "bundle-6-compressed", 6, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(golden_free) struct golden file = golden_read(cases[i].file);
		struct error err = { "" };
		_cleanup_(bundle_deinit) struct bundle bundle;

		assert_int_equal(bundle_read(&bundle, golden_span(&file), &err), 1);
		assert_int_equal(bundle.major, cases[i].major);
		check_entries(&bundle, &file, cases[i].compressed);
	}
}

UNIT_TEST(test_what_is_no_bundle)
{
	_cleanup_(golden_free) struct golden host = golden_read("bundle-none");
	_cleanup_(golden_free) struct golden library = golden_read("tiny-r2r.dll");
	struct bundle bundle;

	assert_int_equal(bundle_read(&bundle, golden_span(&host), NULL), 0);
	assert_int_equal(bundle_read(&bundle, golden_span(&library), NULL), 0);
	assert_int_equal(bundle_read(&bundle, (struct span){ 0 }, NULL), 0);
}

/* The signature counts in writable data only: elsewhere it is someone's search pattern. */
UNIT_TEST(test_a_segment_that_is_read_only)
{
	_cleanup_(golden_free) struct golden file = golden_read("bundle-6");
	struct bundle bundle;

	file.bytes[0x40 + 4] = 4; /* p_flags: readable */
	assert_int_equal(bundle_read(&bundle, golden_span(&file), NULL), 0);
}

static void expect_damage(struct golden *file, const char *message)
{
	struct error err = { "" };
	struct bundle bundle;

	assert_int_equal(bundle_read(&bundle, golden_span(file), &err), -EBADMSG);
	assert_non_null(strstr(err.text, message));
	assert_null(bundle.entries);
	golden_free(file);
}

UNIT_TEST(test_damaged_manifests)
{
	struct golden file = golden_read("bundle-6");
	size_t manifest = (size_t)file.bytes[HEADER_OFFSET_AT] |
			  (size_t)file.bytes[HEADER_OFFSET_AT + 1] << 8;
	size_t entry = manifest + 12 + 13 + 40;

	file.bytes[manifest] = 7;
	expect_damage(&file, "version 7.0 is not known");

	file = golden_read("bundle-6");
	file.bytes[manifest + 8] = 200;
	expect_damage(&file, "entry 2 of the bundle is damaged");

	file = golden_read("bundle-6");
	file.bytes[entry + 7] = 0x80; /* offset of the first file */
	expect_damage(&file, "app.dll lies outside the file");

	file = golden_read("bundle-6");
	file.bytes[HEADER_OFFSET_AT + 6] = 1;
	expect_damage(&file, "manifest is damaged");
}

static void look(struct span bytes)
{
	struct bundle bundle;
	struct error err;

	if (bundle_read(&bundle, bytes, &err) == 1)
		bundle_deinit(&bundle);
}

UNIT_TEST(test_damage)
{
	golden_torture("bundle-6", 5000, look);
	golden_torture("bundle-1", 2000, look);
}

UNIT_MAIN(NULL, NULL)
