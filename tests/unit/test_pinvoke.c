// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * metadata_method_import(), pinvoke.h: whose calls may be their callers' own, and
 * which function is called.
 */
#include "tests/unit/golden.h"

#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/pinvoke.h"
#include "base/error.h"
#include "base/text.h"
#include "target/target.h"

/* Methods of tests/golden/tiny-imports.bin by what is special about them. */
enum { PLAIN = 1, KEEPS_ERROR, GIVES_RESULT, TAKES_TEXT, RETURNS_OBJECT, POINTERS, MANAGED };

static struct golden file;
static struct metadata *metadata;

static int open_metadata(void **state)
{
	(void)state;
	file = golden_read("tiny-imports.bin");
	if (metadata_create(&metadata, golden_span(&file), NULL))
		return -1;
	metadata_set_place(metadata, 1);
	return 0;
}

static int close_metadata(void **state)
{
	(void)state;
	metadata_destroy(metadata);
	golden_free(&file);
	return 0;
}

UNIT_TEST(what_is_called)
{
	struct metadata_import import;

	assert_true(metadata_method_import(metadata, KEEPS_ERROR, &import));
	assert_string_equal(import.name, "tiny_error");
	assert_string_equal(import.library, "libtiny");
	assert_int_equal(import.flags, 0x40);
	assert_true(metadata_method_import(metadata, POINTERS, &import));
	assert_string_equal(import.name, "tiny_pointer");
	assert_string_equal(import.library, "QCall");
	assert_int_equal(import.flags, 0);
	assert_false(metadata_method_import(metadata, MANAGED, &import));
	assert_false(metadata_method_import(metadata, 0, &import));
	assert_false(metadata_method_import(metadata, MANAGED + 1, &import));
	assert_false(metadata_method_import(metadata, UINT32_MAX, &import));
}

/* All libraries have all functions, but for those called "none". */
static bool has_function(void *ctx, const struct target_file *library, const char *name)
{
	(void)ctx;
	(void)name;
	return strcmp(library->name, "none") != 0;
}

/* What row @rid calls if @name is the only library, which may be the runtime. */
static const char *called(uint32_t rid, const char *name, bool is_runtime)
{
	static char function[64];
	struct text text = { 0 };
	struct target_file library = {
		.name = name,
		.mapping = { .inode = 1, .executable = true, .path = "/lib/x" },
	};
	const struct target target = { .files = { .files = &library, .count = 1 } };
	struct dotnet_image image = { .metadata = metadata };
	struct dotnet_image *list[] = { &image };
	const struct dotnet_images images = { .images = list, .count = 1 };
	const struct dotnet_import_sources sources = {
		.images = &images,
		.target = &target,
		.runtime = is_runtime ? &library : NULL,
		.has_function = has_function,
	};
	const struct r2r_method method = { metadata, rid, 0 };
	const struct method_id id = dotnet_method_id(&method);
	bool found;

	found = dotnet_method_import(&sources, &id, &text);
	assert_int_equal(found, text.length != 0);
	snprintf(function, sizeof(function), "%s", text_chars(&text));
	text_deinit(&text);
	return found ? function : NULL;
}

UNIT_TEST(which_function_that_is)
{
	assert_string_equal(called(KEEPS_ERROR, "libtiny.so", false), "libtiny.so!tiny_error");
	assert_string_equal(called(KEEPS_ERROR, "libtiny.so.6", false), "libtiny.so.6!tiny_error");
	assert_string_equal(called(KEEPS_ERROR, "liblibtiny.so", false),
			    "liblibtiny.so!tiny_error");
	assert_string_equal(called(KEEPS_ERROR, "libtiny", false), "libtiny!tiny_error");
	assert_null(called(KEEPS_ERROR, "libtinyer.so", false));
	assert_null(called(KEEPS_ERROR, "libtiny.sod", false));
	assert_null(called(KEEPS_ERROR, "tiny.so", false));
	assert_null(called(KEEPS_ERROR, "none", true));
	assert_string_equal(called(POINTERS, "libcoreclr.so", true), "libcoreclr.so!tiny_pointer");
	assert_null(called(POINTERS, "libcoreclr.so", false));
	assert_null(called(MANAGED, "libtiny.so", false));
	assert_null(called(0, "libtiny.so", false));
}

UNIT_TEST(who_may_call_it_himself)
{
	assert_true(pinvoke_may_be_inlined(metadata, PLAIN));
	assert_true(pinvoke_may_be_inlined(metadata, POINTERS));
	assert_false(pinvoke_may_be_inlined(metadata, KEEPS_ERROR));
	assert_false(pinvoke_may_be_inlined(metadata, GIVES_RESULT));
	assert_false(pinvoke_may_be_inlined(metadata, TAKES_TEXT));
	assert_false(pinvoke_may_be_inlined(metadata, RETURNS_OBJECT));
	assert_false(pinvoke_may_be_inlined(metadata, MANAGED));
	assert_false(pinvoke_may_be_inlined(metadata, 0));
	assert_false(pinvoke_may_be_inlined(NULL, PLAIN));
}

static void spell(const char *bytes, size_t size, struct text *params)
{
	pinvoke_spell_params((struct span){ (const uint8_t *)bytes, size }, metadata, params);
}

/* By what they take: whether they return the same, nobody asks. */
UNIT_TEST(who_may_share_a_stub)
{
	struct text params = { 0 };

	spell("\x00\x01\x01\x0a", 4, &params);
	assert_string_equal(text_chars(&params), "int64");
	assert_true(pinvoke_may_share(metadata, KEEPS_ERROR, text_chars(&params)));
	assert_true(pinvoke_may_share(metadata, GIVES_RESULT, text_chars(&params)));
	assert_false(pinvoke_may_share(metadata, PLAIN, text_chars(&params)));
	assert_false(pinvoke_may_share(metadata, RETURNS_OBJECT, text_chars(&params)));
	spell("\x00\x00\x01", 3, &params);
	assert_string_equal(text_chars(&params), "");
	assert_true(pinvoke_may_share(metadata, RETURNS_OBJECT, text_chars(&params)));
	assert_false(pinvoke_may_share(metadata, MANAGED, text_chars(&params)));
	/* What cannot be read may be anything. */
	spell("\x00\x01\x08", 3, &params);
	assert_string_equal(text_chars(&params), "?");
	assert_true(pinvoke_may_share(metadata, PLAIN, text_chars(&params)));
	assert_false(pinvoke_may_share(metadata, MANAGED, text_chars(&params)));
	text_deinit(&params);
}

UNIT_MAIN(open_metadata, close_metadata)
