// SPDX-License-Identifier: GPL-2.0-or-later
/* identity.h, method_id.h: a method of the zoo by value, there and back, in two processes. */
#include "tests/unit/golden.h"
#include "tests/unit/mapped.h"

#include "base/error.h"
#include "method/pattern.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/identity.h"

static struct golden zoo;

/* The zoo, as a file that lies at @place. */
static struct dotnet_images open_zoo(uint64_t place)
{
	struct dotnet_images images = { 0 };
	const struct dotnet_source source = {
		.name = "zoo.dll",
		.bytes = golden_span(&zoo),
		.place = place,
		.is_mapped = mapped_everywhere,
	};

	assert_int_equal(dotnet_images_add(&images, &source, NULL), 0);
	dotnet_images_link(&images);
	return images;
}

static int read_zoo(void **state)
{
	(void)state;
	zoo = golden_read("zoo-r2r.dll");
	return 0;
}

static int free_zoo(void **state)
{
	(void)state;
	golden_free(&zoo);
	return 0;
}

static int keep_first(const struct dotnet_match *match, void *ctx)
{
	*(struct r2r_method *)ctx = match->definition;
	return 1;
}

static struct r2r_method find(const struct dotnet_images *images, const char *text)
{
	struct r2r_method method = { 0 };
	struct pattern *pattern;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	assert_int_equal(dotnet_find(images, NULL, pattern, false, keep_first, &method, NULL), 1);
	pattern_destroy(pattern);
	return method;
}

static void there_and_back(void **state)
{
	struct dotnet_images images = open_zoo(1);
	const struct r2r_method local = find(&images, "Zoo.Bodies::Local");
	const struct method_id id = dotnet_method_id(&local);
	struct r2r_method back;

	(void)state;
	assert_int_equal(id.runtime, RUNTIME_DOTNET);
	assert_int_not_equal(id.module, 0);
	assert_int_equal(id.token, 0x06000000 | local.method_rid);
	assert_int_equal(dotnet_method_row(&id), local.method_rid);
	assert_true(dotnet_method_find(&images, &id, &back));
	assert_ptr_equal(back.metadata, local.metadata);
	assert_int_equal(back.method_rid, local.method_rid);
	assert_int_equal(back.member_ref_rid, 0);
	dotnet_images_deinit(&images);
}

/* Two looks at one file give one identity; two copies are two modules, as in the runtime. */
static void of_looks_and_copies(void **state)
{
	struct dotnet_images first = open_zoo(1), second = open_zoo(1), copy = open_zoo(2);
	const struct r2r_method in_first = find(&first, "Zoo.Bodies::Local");
	const struct r2r_method in_second = find(&second, "Zoo.Bodies::Local");
	const struct r2r_method in_copy = find(&copy, "Zoo.Bodies::Local");
	const struct method_id a = dotnet_method_id(&in_first), b = dotnet_method_id(&in_second),
			       c = dotnet_method_id(&in_copy);
	struct r2r_method found;

	(void)state;
	assert_int_equal(method_id_order(&a, &b), 0);
	assert_int_not_equal(method_id_order(&a, &c), 0);
	assert_int_equal(method_id_order(&a, &c), -method_id_order(&c, &a));
	assert_true(dotnet_method_find(&second, &a, &found));
	assert_ptr_equal(found.metadata, in_second.metadata);
	assert_false(dotnet_method_find(&copy, &a, &found));
	dotnet_images_deinit(&first);
	dotnet_images_deinit(&second);
	dotnet_images_deinit(&copy);
}

static void of_references(void **state)
{
	struct dotnet_images images = open_zoo(1);
	const struct r2r_method reference = {
		.metadata = images.images[0]->metadata,
		.member_ref_rid = 3,
	};
	const struct method_id id = dotnet_method_id(&reference);
	struct r2r_method back;

	(void)state;
	assert_int_equal(id.token, 0x0a000003);
	assert_int_equal(dotnet_method_row(&id), 0);
	assert_false(dotnet_method_traits(&reference).defined);
	assert_true(dotnet_method_find(&images, &id, &back));
	assert_int_equal(back.method_rid, 0);
	assert_int_equal(back.member_ref_rid, 3);
	dotnet_images_deinit(&images);
}

/* What nobody knows is no method, and is looked for nowhere. */
static void of_nothing(void **state)
{
	struct dotnet_images images = open_zoo(1);
	const struct method_id none = dotnet_method_id(&(struct r2r_method){ 0 });
	const struct method_id native = { .runtime = RUNTIME_NATIVE, .module = 1, .token = 1 };
	const struct method_traits traits = dotnet_method_traits(&(struct r2r_method){ 0 });
	struct r2r_method back;

	(void)state;
	assert_int_equal(none.module, 0);
	assert_false(traits.defined || traits.single || traits.call_inlined || traits.may_inline);
	assert_false(dotnet_method_find(&images, &none, &back));
	assert_false(dotnet_method_find(&images, &native, &back));
	dotnet_images_deinit(&images);
}

static void traits_of(void **state)
{
	struct dotnet_images images = open_zoo(1);
	const struct r2r_method plain = find(&images, "Zoo.Bodies::Local");
	const struct r2r_method generic = find(&images, "Zoo.Outer`1*::*");

	(void)state;
	assert_true(dotnet_method_traits(&plain).defined && dotnet_method_traits(&plain).single);
	assert_true(dotnet_method_traits(&generic).defined);
	assert_false(dotnet_method_traits(&generic).single);
	dotnet_images_deinit(&images);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(of_looks_and_copies),
		cmocka_unit_test(of_references),  cmocka_unit_test(of_nothing),
		cmocka_unit_test(traits_of),
	};

	return cmocka_run_group_tests(tests, read_zoo, free_zoo);
}
