// SPDX-License-Identifier: GPL-2.0-or-later
/* identity.h, method_id.h: a method of the zoo by value, there and back, in two processes. */
#include "base/cleanup.h"
#include "tests/unit/golden.h"
#include "tests/unit/mapped.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/dotnet/find.h"
#include "runtime/dotnet/identity.h"
#include "runtime/native/find.h"
#include "runtime/native/symbols.h"

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
	dotnet_images_link_from(&images, 0);
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

UNIT_TEST(there_and_back)
{
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = open_zoo(1);
	const struct r2r_method local = find(&images, "Zoo.Bodies::Local");
	const struct method_id id = dotnet_method_id(&local);
	struct r2r_method back;

	assert_int_equal(id.runtime, RUNTIME_DOTNET);
	assert_int_not_equal(id.module, 0);
	assert_int_equal(id.token, 0x06000000 | local.method_rid);
	assert_int_equal(dotnet_method_row(&id), local.method_rid);
	assert_true(dotnet_method_find(&images, &id, &back));
	assert_ptr_equal(back.metadata, local.metadata);
	assert_int_equal(back.method_rid, local.method_rid);
	assert_int_equal(back.member_ref_rid, 0);
}

/* Two looks at one file give one identity; two copies are two modules, as in the runtime. */
UNIT_TEST(of_looks_and_copies)
{
	struct dotnet_images first = open_zoo(1), second = open_zoo(1), copy = open_zoo(2);
	const struct r2r_method in_first = find(&first, "Zoo.Bodies::Local");
	const struct r2r_method in_second = find(&second, "Zoo.Bodies::Local");
	const struct r2r_method in_copy = find(&copy, "Zoo.Bodies::Local");
	const struct method_id a = dotnet_method_id(&in_first), b = dotnet_method_id(&in_second),
			       c = dotnet_method_id(&in_copy);
	struct r2r_method found;

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

UNIT_TEST(of_references)
{
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = open_zoo(1);
	const struct r2r_method reference = {
		.metadata = images.images[0]->metadata,
		.member_ref_rid = 3,
	};
	const struct method_id id = dotnet_method_id(&reference);
	struct r2r_method back;

	assert_int_equal(id.token, 0x0a000003);
	assert_int_equal(dotnet_method_row(&id), 0);
	assert_false(dotnet_method_traits(&reference).defined);
	assert_true(dotnet_method_find(&images, &id, &back));
	assert_int_equal(back.method_rid, 0);
	assert_int_equal(back.member_ref_rid, 3);
}

/* What nobody knows is no method, and is looked for nowhere. */
UNIT_TEST(of_nothing)
{
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = open_zoo(1);
	const struct method_id none = dotnet_method_id(&(struct r2r_method){ 0 });
	const struct method_id native = { .runtime = RUNTIME_NATIVE, .module = 1, .token = 1 };
	const struct method_traits traits = dotnet_method_traits(&(struct r2r_method){ 0 });
	struct r2r_method back;

	assert_int_equal(none.module, 0);
	assert_false(traits.defined || traits.single || traits.call_inlined || traits.may_inline);
	assert_false(dotnet_method_find(&images, &none, &back));
	assert_false(dotnet_method_find(&images, &native, &back));
}

/* Those of one name: it matches all of its instantiations, which have code of their own. */
struct instances {
	struct method_id ids[8];
	size_t count;
	struct method_name name; /* of the one whose arguments are: */
	const char *spelled;
	uint64_t instantiation;
};

static int add_instance(const struct dotnet_match *match, void *ctx)
{
	const struct method_body body = dotnet_matched_body(match);
	struct instances *instances = ctx;

	if (match->kind != MATCH_BODY || !strchr(match->method, '['))
		return 0;
	assert_true(instances->count < 8);
	instances->ids[instances->count++] = body.id;
	if (strstr(match->method, instances->spelled))
		instances->instantiation = body.id.instantiation;
	return 0;
}

static void find_instances(const struct dotnet_images *images, const char *text,
			   struct instances *instances)
{
	struct pattern *pattern;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	assert_int_equal(dotnet_find(images, NULL, pattern, false, add_instance, instances, NULL),
			 0);
	pattern_destroy(pattern);
}

UNIT_TEST(of_instantiations)
{
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = open_zoo(1);
	struct instances found = { .spelled = "Same[System.Int32]" };
	const struct r2r_method definition = find(&images, "Zoo.Generics::Same");
	const struct method_id plain = dotnet_method_id(&definition);

	find_instances(&images, "Zoo.Generics::Same", &found);
	assert_true(found.count >= 2);
	assert_int_equal(plain.instantiation, 0);
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(method_id_definition_order(&found.ids[i], &plain), 0);
		assert_int_not_equal(method_id_order(&found.ids[i], &plain), 0);
		for (size_t j = 0; j < i; j++) {
			assert_int_equal(method_id_definition_order(&found.ids[i], &found.ids[j]),
					 0);
			assert_int_not_equal(method_id_order(&found.ids[i], &found.ids[j]), 0);
			assert_int_equal(method_id_order(&found.ids[i], &found.ids[j]),
					 -method_id_order(&found.ids[j], &found.ids[i]));
		}
	}
	/* What the runtime's memory calls it: see test_clr_names.c. */
	text_add(&found.name.method_args, "System.Int32");
	assert_true(found.instantiation == method_name_instantiation(&found.name));
	method_name_deinit(&found.name);
}

/* Where the one list of arguments ends and the other begins makes a difference. */
UNIT_TEST(of_arguments)
{
	struct method_name of_type = { 0 }, of_method = { 0 }, none = { 0 };

	text_add(&of_type.type_args, "A");
	text_add(&of_method.method_args, "A");
	assert_true(method_name_instantiation(&of_type) != method_name_instantiation(&of_method));
	assert_true(method_name_instantiation(&of_type) != 0);
	assert_true(method_name_instantiation(&none) == 0);
	method_name_deinit(&of_type);
	method_name_deinit(&of_method);
}

/* Functions of this program, which is linked with a build ID or without one. */
static int keep_native(const struct method_body *body, void *ctx)
{
	*(struct method_id *)ctx = body->id;
	return 1;
}

static struct golden own_program(void)
{
	FILE *file = fopen("/proc/self/exe", "rb");
	struct golden program;
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	program = (struct golden){ malloc((size_t)st.st_size), (size_t)st.st_size };
	assert_non_null(program.bytes);
	assert_int_equal(fread(program.bytes, 1, program.size, file), program.size);
	fclose(file);
	return program;
}

static struct method_id find_native(const struct elf *elf, struct native_symbols *symbols,
				    uint64_t place, const char *text)
{
	struct method_id id = { 0 };
	_cleanup_(native_search_deinit) struct native_search search = {
		.elf = *elf,
		.symbols = symbols,
		.image = "program",
		.place = place,
		.fn = keep_native,
		.ctx = &id,
	};

	assert_int_equal(pattern_create(&search.pattern, text, NULL), 0);
	assert_int_equal(native_search_run(&search, NULL), 1);
	pattern_destroy(search.pattern);
	return id;
}

UNIT_TEST(of_native_functions)
{
	struct golden program = own_program(), stripped;
	struct native_symbols *symbols;
	struct method_id a, b, c, d;
	struct elf elf, bare;

	assert_true(elf_init(&elf, golden_span(&program)));
	assert_int_equal(native_symbols_create(&symbols, golden_span(&program), 0, NULL), 0);
	a = find_native(&elf, symbols, 1, "program!keep_native");
	b = find_native(&elf, symbols, 1, "program!add_instance");
	assert_int_equal(a.runtime, RUNTIME_NATIVE);
	assert_int_not_equal(a.module, 0);
	assert_true(a.module == b.module && a.instantiation == 0);
	assert_int_not_equal(method_id_order(&a, &b), 0);
	assert_string_equal(native_symbols_find(symbols, a.token)->name, "keep_native");
	assert_int_equal(native_symbols_find(symbols, a.token)->begin, a.token);

	/* Without sections there is no build ID: then the place counts, if it is known. */
	stripped = own_program();
	memset(stripped.bytes + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
	memset(stripped.bytes + offsetof(Elf64_Ehdr, e_shnum), 0, sizeof(Elf64_Half));
	assert_true(elf_init(&bare, golden_span(&stripped)));
	b = find_native(&bare, symbols, 1, "program!keep_native");
	c = find_native(&bare, symbols, 2, "program!keep_native");
	d = find_native(&bare, symbols, 0, "program!keep_native");
	assert_true(b.module && c.module && b.module != c.module);
	assert_true(b.token == a.token && c.token == a.token);
	assert_true(d.module == 0);
	native_symbols_destroy(symbols);
	golden_free(&program);
	golden_free(&stripped);
}

UNIT_TEST(traits_of)
{
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = open_zoo(1);
	const struct r2r_method plain = find(&images, "Zoo.Bodies::Local");
	const struct r2r_method generic = find(&images, "Zoo.Outer`1*::*");

	assert_true(dotnet_method_traits(&plain).defined && dotnet_method_traits(&plain).single);
	assert_true(dotnet_method_traits(&generic).defined);
	assert_false(dotnet_method_traits(&generic).single);
}

UNIT_MAIN(read_zoo, free_zoo)
