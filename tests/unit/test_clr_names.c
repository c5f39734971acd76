// SPDX-License-Identifier: GPL-2.0-or-later
/* clr_type.h, clr_module.h: names of a live runtime's methods and types. */
#include "base/cleanup.h"
#include "tests/unit/clr_methods.h"
#include "tests/unit/golden.h"

#include "method/method_name.h"

/* Rows of tests/golden/tiny-*: types and methods. */
enum {
	TYPE_OUTER = 2,
	TYPE_INNER = 3,
	TYPE_DEEP = 4,
	METHOD_CTOR = 1,
	METHOD_ADD = 2,
	METHOD_PUT = 3,
	METHOD_MAP = 4,
	METHOD_GO = 5,
};

/* A world with one module, and what it takes to read it. */
struct names {
	struct world world;
	struct clr clr;
	struct clr_modules modules;
	struct clr_types types;
	uint64_t module;
	uint64_t outer;
	uint64_t deep;
};

static void names_init(struct names *n, unsigned int major)
{
	world_init(&n->world, major, WORLD_ROOM);
	n->clr = (struct clr){
		.memory = n->world.memory,
		.layout = n->world.layout,
		.code_range_map = n->world.range_map,
		.dac_table = n->world.dac_table,
	};
	n->module = world_file_module(&n->world, "tiny-il.dll");
	n->outer = world_type(&n->world, n->module, TYPE_OUTER);
	n->deep = world_type(&n->world, n->module, TYPE_DEEP);
	n->modules = (struct clr_modules){ &n->clr, world_image, &n->world, .tree = NULL };
	n->types = (struct clr_types){ .clr = &n->clr, .modules = &n->modules };
}

static void names_deinit(struct names *n)
{
	clr_types_deinit(&n->types);
	clr_modules_deinit(&n->modules);
	world_deinit(&n->world);
}

/* Each test runs on the layouts of all versions. */
static void for_each_version(void (*test)(struct names *n))
{
	for (unsigned int major = 8; major <= 10; major++) {
		struct names n;

		names_init(&n, major);
		test(&n);
		names_deinit(&n);
	}
}

/* Tests build and read in turns, and what was read is kept page by page. */
static void assert_type(struct names *n, uint64_t handle, const char *expected)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	memory_forget(n->world.memory);
	clr_type_add_name(&n->types, handle, &name);
	assert_string_equal(text_chars(&name), expected);
}

static void assert_method(struct names *n, uint64_t desc, const char *expected)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	_cleanup_(text_deinit) struct text spelled = { 0 };
	struct clr_method method;

	memory_forget(n->world.memory);
	assert_true(clr_method_read(&n->clr, &n->types, desc, &method));
	assert_int_equal(clr_method_name(&n->clr, &n->types, &method, &name),
			 strchr(expected, '?') == NULL);
	method_name_spell(&name, &spelled);
	assert_string_equal(text_chars(&spelled), expected);
}

static bool is_method(struct names *n, uint64_t desc)
{
	struct clr_method method;

	memory_forget(n->world.memory);
	return clr_method_read(&n->clr, &n->types, desc, &method);
}

EACH_VERSION(plain_types, struct names *n)
{
	const struct clr_type *type = clr_type_find(&n->types, n->deep);

	assert_type(n, n->outer, "Tiny.Outer");
	assert_type(n, n->deep, "Tiny.Outer+Inner`1+Deep");
	assert_non_null(type);
	assert_int_equal(type->rid, TYPE_DEEP);
	assert_int_equal(type->module->at, n->module);
	assert_true(type->module->optimized);
	assert_int_equal(type->module->loader_allocator, n->world.allocator);
	/* What was named once is not read again. */
	assert_ptr_equal(clr_type_find(&n->types, n->deep), type);
}

EACH_VERSION(generic_types, struct names *n)
{
	uint64_t inner = world_type(&n->world, n->module, TYPE_INNER);
	uint64_t nested = world_type(&n->world, n->module, TYPE_INNER);
	uint64_t shared = world_type(&n->world, n->module, TYPE_INNER);
	const uint64_t args[] = { n->outer, inner };

	world_set_args(&n->world, inner, args, 1);
	world_set_args(&n->world, nested, args, 2);
	world_set_args(&n->world, shared, &n->deep, 1);
	world_share(&n->world, shared, inner);
	assert_type(n, inner, "Tiny.Outer+Inner`1[Tiny.Outer]");
	assert_type(n, nested, "Tiny.Outer+Inner`1[Tiny.Outer,Tiny.Outer+Inner`1[Tiny.Outer]]");
	assert_type(n, shared, "Tiny.Outer+Inner`1[Tiny.Outer+Inner`1+Deep]");
}

EACH_VERSION(arrays, struct names *n)
{
	uint64_t vector = world_array(&n->world, n->outer, 0);
	uint64_t plane = world_array(&n->world, n->deep, 2);
	uint64_t shared = world_array(&n->world, n->outer, 3);
	uint64_t canonical = world_array(&n->world, n->deep, 3);

	assert_type(n, vector, "Tiny.Outer[]");
	assert_type(n, world_array(&n->world, vector, 0), "Tiny.Outer[][]");
	assert_type(n, world_array(&n->world, n->outer, 1), "Tiny.Outer[*]");
	assert_type(n, plane, "Tiny.Outer+Inner`1+Deep[,]");
	/* Arrays of classes have the class of object's in common (vm/array.cpp). */
	world_share(&n->world, shared, canonical);
	assert_type(n, shared, "Tiny.Outer[,,]");
	assert_type(n, world_array(&n->world, n->outer, 33), "?");
}

EACH_VERSION(type_descs, struct names *n)
{
	uint64_t pointer = world_param(&n->world, WORLD_POINTER, n->outer);
	const uint64_t types[] = { n->deep, n->outer, pointer };

	assert_type(n, pointer, "Tiny.Outer*");
	assert_type(n, world_param(&n->world, WORLD_POINTER, pointer), "Tiny.Outer**");
	assert_type(n, world_param(&n->world, WORLD_BYREF, n->deep), "Tiny.Outer+Inner`1+Deep&");
	assert_type(n, world_function(&n->world, types, 2),
		    "Tiny.Outer+Inner`1+Deep(*)(Tiny.Outer,Tiny.Outer*)");
	assert_type(n, world_function(&n->world, types, 0), "Tiny.Outer+Inner`1+Deep(*)()");
	assert_type(n, world_param(&n->world, WORLD_TYPE_PARAM, n->deep), "?");
}

EACH_VERSION(handles_that_are_no_types, struct names *n)
{
	uint64_t odd = world_table(&n->world, n->module, 0);

	assert_type(n, 0, "?");
	assert_type(n, 0x1000, "?"); /* not mapped */
	assert_type(n, 0x1002, "?");
	assert_type(n, n->module, "?"); /* mapped, but no table */
	assert_null(clr_type_find(&n->types, n->module));
	/* A table whose class belongs to another one. */
	memory_forget(n->world.memory);
	world_set(&n->world, odd, TABLE_CLASS,
		  world_get(&n->world, world_field(&n->world, n->outer, TABLE_CLASS), 8), 8);
	assert_null(clr_type_find(&n->types, odd));
}

/* .NET 8 keeps the module of a generic type in a slot whose place depends on other slots. */
UNIT_TEST(modules_of_generic_types_in_8)
{
	/* Which slots before it are there, and where it is with nine virtual methods. */
	static const struct {
		uint8_t slots;
		uint64_t at;
	} cases[] = { { 0, 48 }, { 1, 56 }, { 2, 48 }, { 3, 64 + 16 }, { 7, 72 + 16 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct names n;
		uint64_t inner, other;
		const struct clr_type *type;

		names_init(&n, 8);
		inner = world_type(&n.world, n.module, TYPE_INNER);
		other = world_file_module(&n.world, "tiny-bodies.dll");
		/* Its arguments are left out, since some of the slots would lie over them. */
		world_set(&n.world, inner, TABLE_FLAGS, 0x30, 4);
		world_set(&n.world, inner, TABLE_FLAGS2, 0x10u | cases[i].slots, 2);
		world_set(&n.world, inner, TABLE_VIRTUALS, 9, 2);
		world_put(&n.world, inner + cases[i].at, other, 8);
		type = clr_type_find(&n.types, inner);
		assert_non_null(type);
		assert_int_equal(type->module->at, other);
		assert_string_equal(type->open, "Tiny.Outer+Inner`1");
		names_deinit(&n);
	}
}

/* .NET 8 has 16 bits for a type's row, and all of them set where that is not enough. */
UNIT_TEST(rows_without_room_in_8)
{
	_cleanup_(names_deinit) struct names n;

	names_init(&n, 8);
	world_set(&n.world, n.outer, TABLE_TOKEN16, 0xffff, 2);
	assert_method(&n, world_method(&n.world, n.outer, METHOD_ADD, 0),
		      "Tiny.Outer::Add(int32,string)");
}

EACH_VERSION(plain_methods, struct names *n)
{
	assert_method(n, world_method(&n->world, n->outer, METHOD_CTOR, 0), "Tiny.Outer::.ctor()");
	assert_method(n, world_method(&n->world, n->outer, METHOD_ADD, WORLD_METHOD_TIERED),
		      "Tiny.Outer::Add(int32,string)");
	/* Metadata names List`1.Enumerator by its own row: no assembly is looked up. */
	assert_method(n, world_method(&n->world, n->deep, METHOD_GO, 0),
		      "Tiny.Outer+Inner`1+Deep::Go(int32[,]*,"
		      "System.Collections.Generic.List`1+Enumerator,int32(*)(string))");
}

EACH_VERSION(what_a_method_says_of_itself, struct names *n)
{
	uint64_t desc = world_method(&n->world, n->outer, METHOD_ADD, WORLD_METHOD_TIERED);
	struct clr_method method;

	assert_true(clr_method_read(&n->clr, &n->types, desc, &method));
	assert_int_equal(method.desc, desc);
	assert_int_equal(method.rid, METHOD_ADD);
	assert_int_equal(method.module->at, n->module);
	assert_ptr_equal(method.type, clr_type_find(&n->types, n->outer));
	assert_true(method.tiered);
	assert_false(method.dynamic);
}

EACH_VERSION(generic_methods, struct names *n)
{
	uint64_t inner = world_type(&n->world, n->module, TYPE_INNER);
	uint64_t put, map, open;
	const uint64_t args[] = { n->deep, world_array(&n->world, n->outer, 0) };

	world_set_args(&n->world, inner, &n->outer, 1);
	put = world_method(&n->world, inner, METHOD_PUT, 0);
	map = world_method(&n->world, inner, METHOD_MAP, WORLD_METHOD_INSTANTIATED);
	open = world_method(&n->world, inner, METHOD_MAP, WORLD_METHOD_INSTANTIATED);
	world_set_method_args(&n->world, map, args, 2);
	assert_method(n, put,
		      "Tiny.Outer+Inner`1[Tiny.Outer]::Put(!0,"
		      "System.Collections.Generic.List`1[!0][])");
	assert_method(
		n, map,
		"Tiny.Outer+Inner`1[Tiny.Outer]::Map[Tiny.Outer+Inner`1+Deep,Tiny.Outer[]](!!0&)");
	assert_method(n, open, "Tiny.Outer+Inner`1[Tiny.Outer]::Map(!!0&)");
	world_set(&n->world, map, INSTANTIATED_ARG_COUNT, UINT16_MAX, 2);
	assert_method(n, map, "Tiny.Outer+Inner`1[Tiny.Outer]::Map(?)");
}

static uint64_t instantiation_read(struct names *n, uint64_t desc)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	struct clr_method method;
	uint64_t instantiation;

	memory_forget(n->world.memory);
	assert_true(clr_method_read(&n->clr, &n->types, desc, &method));
	assert_int_equal(clr_method_name(&n->clr, &n->types, &method, &name), true);
	instantiation = method_name_instantiation(&name);
	return instantiation;
}

static uint64_t instantiation_of(const char *type_args, const char *method_args)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	uint64_t instantiation;

	text_add(&name.type_args, type_args);
	text_add(&name.method_args, method_args);
	instantiation = method_name_instantiation(&name);
	return instantiation;
}

/* As images have the arguments, too: see test_method_id.c. */
EACH_VERSION(identities_of_instantiations, struct names *n)
{
	uint64_t inner = world_type(&n->world, n->module, TYPE_INNER);
	uint64_t put, map, other, plain;

	world_set_args(&n->world, inner, &n->outer, 1);
	put = world_method(&n->world, inner, METHOD_PUT, 0);
	map = world_method(&n->world, inner, METHOD_MAP, WORLD_METHOD_INSTANTIATED);
	other = world_method(&n->world, inner, METHOD_MAP, WORLD_METHOD_INSTANTIATED);
	plain = world_method(&n->world, n->outer, METHOD_ADD, 0);
	world_set_method_args(&n->world, map, &n->deep, 1);
	world_set_method_args(&n->world, other, &n->outer, 1);
	assert_true(instantiation_read(n, put) == instantiation_of("Tiny.Outer", ""));
	assert_true(instantiation_read(n, map) ==
		    instantiation_of("Tiny.Outer", "Tiny.Outer+Inner`1+Deep"));
	assert_true(instantiation_read(n, other) == instantiation_of("Tiny.Outer", "Tiny.Outer"));
	assert_true(instantiation_read(n, map) != instantiation_read(n, other));
	assert_true(instantiation_read(n, plain) == 0);
}

/* static int32 (INTERNAL List`1[Outer], ref string): how a DynamicMethod keeps its signature. */
EACH_VERSION(dynamic_methods, struct names *n)
{
	uint8_t signature[] = { 0x00, 0x02, 0x08, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x0e };
	uint64_t inner = world_type(&n->world, n->module, TYPE_INNER);
	uint64_t desc;

	world_set_args(&n->world, inner, &n->outer, 1);
	memcpy(signature + 4, &inner, 8);
	desc = world_dynamic(&n->world, n->outer, "Made", signature, sizeof(signature));
	assert_method(n, desc, "dynamicClass::Made(Tiny.Outer+Inner`1[Tiny.Outer],string&)");
	world_set(&n->world, desc, STORED_SIG_SIZE, sizeof(signature) - 1, 4);
	assert_method(n, desc, "dynamicClass::Made(?)");
	world_set(&n->world, desc, STORED_SIG_SIZE, 1 << 20, 4);
	world_set(&n->world, desc, DYNAMIC_NAME, 0x1000, 8);
	assert_method(n, desc, "dynamicClass::?(?)");
}

EACH_VERSION(descs_that_are_no_methods, struct names *n)
{
	uint64_t add = world_method(&n->world, n->outer, METHOD_ADD, 0);
	uint64_t go = world_method(&n->world, n->outer, METHOD_GO, 0);

	assert_true(is_method(n, add));
	assert_false(is_method(n, add + 4)); /* not aligned */
	assert_false(is_method(n, 0));
	assert_false(is_method(n, 0x1000));
	/* Metadata says that row 5 belongs to another type. */
	assert_false(is_method(n, go));
	assert_false(is_method(n, world_method(&n->world, n->outer, 0, 0)));
	assert_false(is_method(n, world_method(&n->world, n->outer, 600, 0)));
	assert_false(is_method(n, world_method(&n->world, n->outer, 1 << 20, 0)));
	assert_false(is_method(n, world_method(&n->world, n->module, METHOD_ADD, 0)));
}

EACH_VERSION(emitted_modules, struct names *n)
{
	_cleanup_(golden_free) struct golden metadata = golden_read("tiny-metadata.bin");
	uint64_t module = world_emitted_module(&n->world, metadata.bytes, metadata.size);
	uint64_t outer = world_type(&n->world, module, TYPE_OUTER);
	const struct clr_module *read = clr_module_find(&n->modules, module);

	assert_non_null(read->image);
	assert_string_equal(read->image->name, "Tiny.dll");
	assert_method(n, world_method(&n->world, outer, METHOD_ADD, 0),
		      "Tiny.Outer::Add(int32,string)");
}

/* An image that the loader laid out by sections, which leaves holes between them. */
EACH_VERSION(loaded_modules, struct names *n)
{
	uint64_t outer = world_type(&n->world, world_loaded_module(&n->world, 0), TYPE_OUTER);

	assert_method(n, world_method(&n->world, outer, METHOD_ADD, 0),
		      "Tiny.Outer::Add(int32,string)");
}

/* What is there of it is read, page by page; the others are zeros. */
EACH_VERSION(modules_without_some_pages, struct names *n)
{
	enum { MISSING = 3 * WORLD_PAGE };
	uint64_t module = world_loaded_module(&n->world, MISSING);
	uint64_t outer = world_type(&n->world, module, TYPE_OUTER);
	const struct dotnet_image *image = clr_module_find(&n->modules, module)->image;

	assert_non_null(image);
	assert_method(n, world_method(&n->world, outer, METHOD_ADD, 0),
		      "Tiny.Outer::Add(int32,string)");
	assert_true(image->base.value + image->copy_size == WORLD_BASE + n->world.room + MISSING);
	for (size_t i = 1; i <= MISSING; i++)
		assert_int_equal(image->copy[image->copy_size - i], 0);
}

/* Methods are known to be there where what they are called cannot be read. */
EACH_VERSION(modules_without_images, struct names *n)
{
	size_t size;
	uint64_t file = world_file(&n->world, "tiny-il.dll", &size);
	uint64_t none = world_module(&n->world, 0x1000, 4096, false);
	uint64_t cut = world_module(&n->world, file, 64, false);
	uint64_t huge = world_module(&n->world, file, UINT32_MAX, false);
	uint64_t empty = world_module(&n->world, file, 0, true);
	const uint64_t modules[] = { none, cut, huge, empty, world_alloc(&n->world, 8), 0x1000 };

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		uint64_t type = world_type(&n->world, modules[i], TYPE_OUTER);

		assert_null(clr_module_find(&n->modules, modules[i])->image);
		assert_method(n, world_method(&n->world, type, METHOD_ADD, 0), "?::?(?)");
	}
	assert_null(clr_module_find(&n->modules, 0));
}

/* Its code can be used, but there is nothing to name types by. */
EACH_VERSION(modules_with_damaged_metadata, struct names *n)
{
	static const uint8_t mark[] = "BSJB";
	size_t size, at = 0;
	uint64_t file = world_file(&n->world, "tiny-r2r.dll", &size);
	uint64_t module = world_module(&n->world, file, size, false);
	uint64_t type = world_type(&n->world, module, TYPE_OUTER);

	while (memcmp(world_at(&n->world, file + at, 4), mark, 4) != 0)
		at++;
	world_put(&n->world, file + at, 0, 4);
	assert_non_null(clr_module_find(&n->modules, module)->image);
	assert_null(clr_module_find(&n->modules, module)->image->metadata);
	assert_type(n, type, "?");
	assert_false(is_method(n, world_method(&n->world, type, METHOD_ADD, 0)));
}

/* What is no image takes nothing of what may be copied of others. */
EACH_VERSION(many_modules_without_images, struct names *n)
{
	enum { MANY = 8, HUGE = 1 << 29 };
	uint64_t zeros = world_alloc_at(&n->world, WORLD_PAGE, WORLD_PAGE);

	for (int i = 0; i < MANY; i++) {
		uint64_t module = world_module(&n->world, i % 2 ? zeros : 0x1000, HUGE, i % 3 == 0);

		assert_null(clr_module_find(&n->modules, module)->image);
	}
	memory_forget(n->world.memory);
	assert_non_null(clr_module_find(&n->modules, n->module)->image);
}

/* One copy is made of an image, until what is there is another. */
EACH_VERSION(copies_an_image_once, struct names *n)
{
	const struct clr_module *module = clr_module_find(&n->modules, n->module);
	struct clr_modules later = { &n->clr, world_image, &n->world, .tree = NULL };
	uint64_t file = module->image->base.value;

	assert_int_equal(n->world.images.count, 1);
	assert_ptr_equal(clr_module_find(&later, n->module)->image, module->image);
	assert_int_equal(n->world.images.count, 1);
	clr_modules_deinit(&later);

	world_put(&n->world, file + 0x80, 0x77, 1);
	(void)clr_module_find(&later, n->module);
	assert_int_equal(n->world.images.count, 2);
	clr_modules_deinit(&later);
}

/* Hostile memory: types in each other and wide trees of types, each of which must end soon. */

EACH_VERSION(types_within_themselves, struct names *n)
{
	uint64_t inner = world_type(&n->world, n->module, TYPE_INNER);
	uint64_t pointer = world_param(&n->world, WORLD_POINTER, 0);
	uint64_t array = world_array(&n->world, 0, 0);

	world_set_args(&n->world, inner, &inner, 1);
	world_set(&n->world, pointer & ~3ull, PARAM_TYPE_ARG, pointer, 8);
	world_set(&n->world, array, TABLE_PER_INST, array, 8);
	assert_type(n, inner, "Tiny.Outer+Inner`1[?]");
	assert_type(n, pointer, "?*");
	assert_type(n, array, "?[]");
}

EACH_VERSION(deep_types, struct names *n)
{
	_cleanup_(text_deinit) struct text name = { 0 };
	uint64_t type = n->outer;

	for (int i = 0; i < 100; i++)
		type = world_param(&n->world, WORLD_POINTER, type);
	clr_type_add_name(&n->types, type, &name);
	assert_true(name.length > 10 && name.length < 100);
	assert_int_equal(text_chars(&name)[0], '?');
}

/* Each type has the one before it twice: the name of the last would have 2^30 parts. */
EACH_VERSION(types_that_double, struct names *n)
{
	_cleanup_(text_deinit) struct text name = { 0 };
	uint64_t type = n->outer;

	for (int i = 0; i < 30; i++) {
		const uint64_t args[] = { type, type };

		type = world_type(&n->world, n->module, TYPE_INNER);
		world_set_args(&n->world, type, args, 2);
	}
	clr_type_add_name(&n->types, type, &name);
	assert_true(name.length < 1 << 18);
}

EACH_VERSION(huge_counts, struct names *n)
{
	uint64_t inner = world_type(&n->world, n->module, TYPE_INNER), info;
	uint64_t function = world_function(&n->world, &n->outer, 0);

	world_set_args(&n->world, inner, &n->outer, 1);
	info = world_get(&n->world, world_field(&n->world, inner, TABLE_PER_INST), 8) - 8;
	world_put(&n->world, world_field(&n->world, info, GENERICS_ARGS), UINT16_MAX, 2);
	world_set(&n->world, function & ~3ull, FUNCTION_ARG_COUNT, UINT32_MAX, 4);
	assert_type(n, inner, "?");
	assert_type(n, function, "?");
	inner = world_type(&n->world, n->module, TYPE_INNER);
	world_set_args(&n->world, inner, &n->outer, 1);
	info = world_get(&n->world, world_field(&n->world, inner, TABLE_PER_INST), 8) - 8;
	world_put(&n->world, world_field(&n->world, info, GENERICS_DICTS), 0, 2);
	assert_type(n, inner, "?");
}

UNIT_MAIN(NULL, NULL)
