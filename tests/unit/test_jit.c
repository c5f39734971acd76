// SPDX-License-Identifier: GPL-2.0-or-later
/* jit.h: which bodies there are, whose, and what becomes of them meanwhile. */
#include "base/cleanup.h"
#include "tests/unit/jit_fixture.h"

#include <errno.h>

/* What is found --------------------------------------------------------------------------- */

EACH_VERSION(finds_bodies, struct fixture *f)
{
	uint64_t ctor = world_method(&f->world, f->outer, METHOD_CTOR, 0);
	/* Small ones side by side, one over many units of the map, and another right behind it. */
	uint64_t a = world_body(&f->world, &f->heap, 4, f->add);
	uint64_t b = world_body_of(&f->world, &f->heap, 90, f->add, 2);
	uint64_t c = world_body(&f->world, &f->heap, 3000, ctor);
	uint64_t d = world_body(&f->world, &f->heap, 20, f->add);
	const uint64_t starts[] = { a, b, c, d };
	const uint32_t sizes[] = { 4, 90, 3000, 20 };

	(void)world_stub(&f->world, &f->heap, 1);
	(void)world_stub(&f->world, &f->heap, f->world.layout.last_stub_kind);
	look(f);
	assert_int_equal(f->jit->unreadable, 0);
	assert_int_equal(f->jit->body_count, 4);
	assert_int_equal(f->jit->method_count, 2);
	for (size_t i = 0; i < 4; i++) {
		const struct jit_body *body = &f->jit->bodies[i];

		assert_int_equal(body->start.value, starts[i]);
		assert_int_equal(body->size, sizes[i]);
		assert_int_equal(body->method->is.desc, i == 2 ? ctor : f->add);
		assert_ptr_equal(body_at(f, starts[i]), body);
		assert_ptr_equal(body_at(f, starts[i] + sizes[i] - 1), body);
		assert_null(body_at(f, starts[i] + sizes[i]));
	}
	assert_null(body_at(f, a - 1));
}

EACH_VERSION(finds_methods, struct fixture *f)
{
	uint64_t a = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t b = world_body(&f->world, &f->heap, 32, f->add);
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	const struct jit_method *method;
	const struct dotnet_image *image;

	look(f);
	assert_int_equal(f->jit->method_count, 1);
	method = &f->jit->methods[0];
	assert_int_equal(method->body_count, 2);
	assert_int_equal(jit_method_body(f->jit, method, 0)->start.value, a);
	assert_int_equal(jit_method_body(f->jit, method, 1)->start.value, b);
	image = method->is.module->image;
	assert_true(jit_has_method(f->jit, image, METHOD_ADD));
	assert_false(jit_has_method(f->jit, image, METHOD_CTOR));
	assert_false(jit_has_method(f->jit, NULL, METHOD_ADD));
	clr_method_short_name(&f->jit->clr, &method->is, &name);
	assert_string_equal(text_chars(&name.name), "Add");
	assert_string_equal(text_chars(&name.params), "");
	assert_true(jit_method_name(f->jit, method, &name));
	assert_string_equal(text_chars(&name.params), "int32,string");
}

/* The unwind information of a heap for dynamic methods counts from elsewhere than its map. */
EACH_VERSION(finds_dynamic_methods, struct fixture *f)
{
	static const uint8_t signature[] = { 0x00, 0x01, 0x01, 0x08 };
	struct world_heap heap = world_heap(&f->world, 4096, true);
	uint64_t desc = world_dynamic(&f->world, f->outer, "Made", signature, sizeof(signature));
	uint64_t start = world_body(&f->world, &heap, 40, desc);

	look(f);
	assert_int_equal(f->jit->unreadable, 0);
	assert_non_null(body_at(f, start));
	assert_int_equal(body_at(f, start)->tier, TIER_OPTIMIZED);
	assert_int_equal(body_at(f, start)->state, STATE_CURRENT);
	assert_true(body_at(f, start)->final);
	assert_rechecked(f, body_at(f, start), "dynamicClass::Made(int32)");
}

/* Heaps of several ranges, one of which spans several entries of the map; stubs have no bodies. */
EACH_VERSION(walks_the_whole_map, struct fixture *f)
{
	struct world_heap other = world_heap(&f->world, 4096, false);
	uint64_t far = WORLD_BASE + (3ull << 49) + (5ull << 33);
	uint64_t module = world_file_module(&f->world, "tiny-r2r.dll");
	uint64_t stubs = world_section(&f->world, far, far + 4096, WORLD_SECTION_STUBS);
	uint64_t image = world_section(&f->world, far, far + (3ull << 17), 0);
	uint64_t a = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t b = world_body(&f->world, &other, 32, f->add);
	size_t before;

	world_set(&f->world, stubs, SECTION_HEAP_LIST, f->heap.at, 8);
	world_set(&f->world, image, SECTION_R2R_MODULE, module, 8);
	/* A heap that two sections lead to has its bodies once. */
	world_set(&f->world, world_section(&f->world, far, far + 4096, WORLD_SECTION_HEAP),
		  SECTION_HEAP_LIST, other.at, 8);
	before = f->world.images.count;
	look(f);
	assert_int_equal(f->jit->unreadable, 0);
	assert_int_equal(f->jit->body_count, 2);
	assert_non_null(body_at(f, a));
	assert_non_null(body_at(f, b));
	/* The image with code is looked at though no body leads to it; f->module's is, by both. */
	assert_int_equal(f->world.images.count, before + 2);
	assert_string_equal(f->world.images.images[before]->name, "Tiny.dll");
}

EACH_VERSION(looks_again, struct fixture *f)
{
	uint64_t a = world_body(&f->world, &f->heap, 32, f->add), b;

	look(f);
	assert_int_equal(f->jit->body_count, 1);
	world_mark(&f->world, &f->heap, a, false);
	b = world_body(&f->world, &f->heap, 32, f->add);
	look(f);
	assert_int_equal(f->jit->body_count, 1);
	assert_null(body_at(f, a));
	assert_non_null(body_at(f, b));
}

EACH_VERSION(an_empty_runtime, struct fixture *f)
{
	look(f);
	assert_int_equal(f->jit->body_count, 0);
	assert_int_equal(f->jit->method_count, 0);
	assert_int_equal(f->jit->unreadable, 0);
	assert_null(body_at(f, f->heap.base));
	assert_false(jit_has_method(f->jit, NULL, 0));
}

/* The roots ------------------------------------------------------------------------------- */

static int create(struct world *world, struct error *err)
{
	struct jit *jit = NULL;
	int result = world_create_jit(world, &jit, err);

	jit_destroy(jit);
	return result;
}

UNIT_TEST(a_runtime_without_roots)
{
	struct error err = { .text = "" };
	_cleanup_(world_deinit) struct world world;

	world_init(&world, 8, WORLD_ROOM);
	assert_int_equal(create(&world, &err), 0);
	world_put(&world, world.dac_table, 0, 8);
	memory_forget(world.memory);
	assert_int_equal(create(&world, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no way to its map"));
	world.dac_table = WORLD_BIAS; /* 0 as linked: it is not exported */
	assert_int_equal(create(&world, &err), -EBADMSG);
	world.major = 7;
	assert_int_equal(create(&world, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, ".NET 7"));
}

UNIT_TEST(a_map_that_is_not_there)
{
	struct error err = { .text = "" };
	_cleanup_(world_deinit) struct world world;
	struct jit *jit;

	world_init(&world, 9, WORLD_ROOM);
	world_put(&world, world.dac_table, 0x1000, 8);
	assert_int_equal(world_create_jit(&world, &jit, NULL), 0);
	assert_int_equal(jit_read(jit, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "map of code ranges"));
	/* What failed can be asked all the same, and tried again. */
	assert_int_equal(jit->body_count, 0);
	assert_null(jit_find_body(jit, (struct address){ 0x1000 }));
	assert_int_equal(jit_read(jit, &err), -EBADMSG);
	jit_destroy(jit);
}

/* The descriptor's word is taken before the table for debuggers. */
UNIT_TEST(the_root_of_a_descriptor)
{
	static const char json[] =
		"{\"types\":{},\"globals\":{\"ExecutionManagerCodeRangeMapAddress\":"
		"[[0],\"pointer\"]},\"contracts\":{\"ExecutionManager\":2}}";
	_cleanup_(fixture_deinit) struct fixture f;
	struct jit *jit;

	fixture_init(&f, 10);
	(void)world_body(&f.world, &f.heap, 32, f.add);
	f.world.contract_at = world_contract(&f.world, json, &f.world.range_map, 1);
	world_put(&f.world, f.world.dac_table, 0x1000, 8);
	assert_int_equal(world_create_jit(&f.world, &jit, NULL), 0);
	assert_int_equal(jit_read(jit, NULL), 0);
	assert_int_equal(jit->body_count, 1);
	jit_destroy(jit);
}

/* The target is gone: what was seen last is still there to be asked, and named. */
EACH_VERSION(a_look_that_fails, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	size_t used = f->world.used;

	look(f);
	f->world.used = 0;
	assert_int_equal(jit_read(f->jit, NULL), -EBADMSG);
	f->world.used = used;
	assert_int_equal(f->jit->body_count, 1);
	assert_true(jit_method_name(f->jit, body_at(f, start)->method, &name));
	assert_string_equal(text_chars(&name.name), "Add");
	assert_rechecked(f, body_at(f, start), "Tiny.Outer::Add(int32,string)");
	look(f);
	assert_int_equal(f->jit->body_count, 1);
}

/* What changes meanwhile ------------------------------------------------------------------ */

EACH_VERSION(unmarked_bodies_are_gone, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);
	const struct jit_body *body;

	look(f);
	body = body_at(f, start);
	assert_rechecked(f, body, "Tiny.Outer::Add(int32,string)");
	/* All else may stay for long where a body was. */
	world_mark(&f->world, &f->heap, start, false);
	assert_gone(f, body);
}

EACH_VERSION(replaced_bodies_are_gone, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);
	uint64_t other = world_method(&f->world, f->outer, METHOD_CTOR, 0);
	uint64_t header = world_get(&f->world, start - 8, 8);
	uint64_t unwinds = world_field(&f->world, header, CODE_UNWINDS);
	const struct jit_body *body;

	look(f);
	body = body_at(f, start);
	world_set(&f->world, header, CODE_METHOD_DESC, other, 8);
	assert_gone(f, body);
	world_set(&f->world, header, CODE_METHOD_DESC, f->add, 8);
	assert_rechecked(f, body, "Tiny.Outer::Add(int32,string)");
	world_put(&f->world, unwinds + 4, world_get(&f->world, unwinds + 4, 4) + 4, 4);
	assert_gone(f, body);
	world_put(&f->world, start - 8, 0x1000, 8);
	assert_gone(f, body);
	world_put(&f->world, start - 8, 1, 8); /* a stub */
	assert_gone(f, body);
}

/* A MethodDesc of another method in the place of one that was unloaded. */
EACH_VERSION(names_are_read_anew, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);
	const struct jit_body *body;

	look(f);
	body = body_at(f, start);
	world_set(&f->world, f->add, METHOD_TOKEN, METHOD_CTOR, 2);
	assert_rechecked(f, body, "Tiny.Outer::.ctor()");
	world_set(&f->world, f->add, METHOD_TOKEN, 600, 2);
	assert_gone(f, body);
}

/* Pulls the mark of a body as soon as the name of its method is read. */
struct pull {
	const struct world_heap *heap;
	uint64_t start;
	uint64_t name;
};

static void pull_mark(struct world *world, uint64_t at)
{
	const struct pull *pull = world->ctx;

	if (at >> 12 == pull->name >> 12)
		world_mark(world, pull->heap, pull->start, false);
}

/* A DynamicMethod's name is freed after its mark: one that is gone by then may be another's. */
EACH_VERSION(dynamic_methods_that_go_while_named, struct fixture *f)
{
	static const uint8_t signature[] = { 0x00, 0x00, 0x01 };
	uint64_t desc = world_dynamic(&f->world, f->outer, "Made", signature, sizeof(signature));
	uint64_t start = world_body(&f->world, &f->heap, 40, desc);
	struct pull pull = { &f->heap, start, 0 };
	const struct jit_body *body;

	/* On a page of its own, so that it is known when it is read. */
	pull.name = world_copy(&f->world, "Made", 5, WORLD_PAGE);
	world_set(&f->world, desc, DYNAMIC_NAME, pull.name, 8);
	look(f);
	body = body_at(f, start);
	assert_rechecked(f, body, "dynamicClass::Made()");
	f->world.ctx = &pull;
	f->world.on_read = pull_mark;
	assert_gone(f, body);
}

/* Puts a number in its place when the page with it is read for the second time. */
struct later {
	uint64_t at;
	uint64_t value;
	unsigned int reads;
};

static void put_later(struct world *world, uint64_t at)
{
	struct later *later = world->ctx;

	if (at >> 12 == later->at >> 12 && ++later->reads == 2)
		world_put(world, later->at, later->value, 8);
}

/* Let the eight bytes at @at be 0x1000 until then. */
static void delay(struct fixture *f, struct later *later, uint64_t at)
{
	*later = (struct later){ .at = at, .value = world_get(&f->world, at, 8) };
	world_put(&f->world, at, 0x1000, 8);
	f->world.ctx = later;
	f->world.on_read = put_later;
}

EACH_VERSION(bodies_in_the_making, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->add);
	struct later later;

	delay(f, &later, start - 8);
	f->world.on_read = NULL;
	look(f);
	assert_null(body_at(f, start));
	f->world.on_read = put_later;
	look(f);
	assert_non_null(body_at(f, start));
}

/* The body was there before the method's own word of it. */
EACH_VERSION(books_in_the_making, struct fixture *f)
{
	uint64_t desc = world_method(&f->world, f->outer, METHOD_ADD,
				     WORLD_METHOD_TIERED | WORLD_METHOD_SLOT);
	uint64_t start = world_body(&f->world, &f->heap, 32, desc);
	struct later later;

	world_set_own(&f->world, desc, start);
	delay(f, &later, world_slot(&f->world, desc));
	look(f);
	assert_int_equal(body_at(f, start)->state, STATE_CURRENT);
	assert_int_equal(body_at(f, start)->tier, TIER_TIER0);
	/* What the slot held at first was no code of the JIT's, and is forgotten. */
	assert_int_equal(body_at(f, start)->method->precompiled.value, 0);
	assert_true(body_at(f, start)->method->precompiled_rejected);
}

/* A type that could not be read at first is tried again, for all methods that it owns. */
EACH_VERSION(types_in_the_making, struct fixture *f)
{
	uint64_t type = world_type(&f->world, f->module, TYPE_OUTER);
	uint64_t add = world_method(&f->world, type, METHOD_ADD, 0);
	uint64_t ctor = world_method(&f->world, type, METHOD_CTOR, 0);
	uint64_t other = world_method(&f->world, f->outer, METHOD_CTOR, 0);
	uint64_t starts[3];
	struct later later;

	starts[0] = world_body(&f->world, &f->heap, 32, add);
	starts[1] = world_body(&f->world, &f->heap, 32, ctor);
	starts[2] = world_body(&f->world, &f->heap, 32, other);
	delay(f, &later, world_field(&f->world, type, TABLE_CLASS));
	look(f);
	assert_int_equal(f->jit->unreadable, 0);
	assert_int_equal(f->jit->method_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_non_null(body_at(f, starts[i])->method);
		assert_int_equal(body_at(f, starts[i])->state, STATE_CURRENT);
	}
}

/* Methods that cannot be read are counted, and keep their bodies without a name. */
EACH_VERSION(unreadable_methods, struct fixture *f)
{
	uint64_t start = world_body(&f->world, &f->heap, 32, f->outer);
	uint64_t other = world_body(&f->world, &f->heap, 32, 0x1000);

	look(f);
	assert_int_equal(f->jit->body_count, 2);
	assert_int_equal(f->jit->method_count, 0);
	assert_null(body_at(f, start)->method);
	assert_null(body_at(f, other)->method);
	assert_int_equal(body_at(f, other)->state, STATE_UNKNOWN);
	assert_int_equal(f->jit->unreadable, 2);
	assert_gone(f, body_at(f, other));
}

/* Filters ------------------------------------------------------------------------------------ */

/* They run while what has thrown is still there; what they are of a body, its clauses say. */
EACH_VERSION(filters, struct fixture *f)
{
	static const struct world_clause clauses[] = {
		{ 2, 0, 4, 8, 0x10, 0, 0 },
		{ 0, 0, 4, 0x10, 0x18, 0, 0x18 },
		{ 1, 0, 4, 0x28, 0x30, 0, 0x20 },
	};
	uint64_t start = world_body(&f->world, &f->heap, 0x30, f->add);
	const struct address code = { start };

	look(f);
	for (uint32_t offset = 0; offset < 0x30; offset++)
		assert_false(jit_in_filter(f->jit, code, offset));
	world_set_clauses(&f->world, start, clauses, 3);
	memory_forget(f->world.memory);
	for (uint32_t offset = 0; offset < 0x30; offset++)
		assert_int_equal(jit_in_filter(f->jit, code, offset),
				 offset >= 0x20 && offset < 0x28);
	assert_false(jit_in_filter(f->jit, (struct address){ 0x1000 }, 0x20));
}

/* Precompiled code ------------------------------------------------------------------------- */

/* How the method of the only body began. */
static const struct jit_method *only_method(struct fixture *f)
{
	look(f);
	assert_int_equal(f->jit->method_count, 1);
	return &f->jit->methods[0];
}

EACH_VERSION(precompiled_code, struct fixture *f)
{
	uint64_t desc = world_method(&f->world, f->outer, METHOD_ADD,
				     WORLD_METHOD_TIERED | WORLD_METHOD_SLOT);
	uint64_t start = world_body(&f->world, &f->heap, 32, desc);
	uint64_t state;

	/* Its own version is the body. */
	world_set_own(&f->world, desc, start);
	assert_int_equal(only_method(f)->precompiled.value, 0);
	assert_true(only_method(f)->precompiled_rejected);
	/* It is in no code heap, and the body is a version after it. */
	world_set_own(&f->world, desc, 0x7000000);
	state = world_state(&f->world, desc, false);
	(void)world_version(&f->world, state, start, 1, 1, true);
	assert_int_equal(only_method(f)->precompiled.value, 0x7000000);
	assert_false(only_method(f)->precompiled_rejected);
	/* Not to be read: then it is not known either. */
	world_set(&f->world, state, VERSIONING_FIRST, 0x1000, 8);
	world_set_own(&f->world, desc, 0);
	assert_int_equal(only_method(f)->precompiled.value, 0);
	assert_false(only_method(f)->precompiled_rejected);
}

UNIT_MAIN(NULL, NULL)
