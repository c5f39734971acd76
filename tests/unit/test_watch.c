// SPDX-License-Identifier: GPL-2.0-or-later
/* watch.h: which methods are watched for, which go first, and whether they match for sure. */
#include "base/cleanup.h"
#include "tests/unit/watch_fixture.h"

#include "runtime/dotnet/identity.h"
#include "target/files.h"

enum { TINY_CTOR = 1 };

/* Rows --------------------------------------------------------------------------------------- */

UNIT_TEST(a_method)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *row;

	open_zoo(&w, "Zoo.Shapes::Nothing", NULL, NULL);
	assert_int_equal(watch_row_count(w.watch), 1);
	assert_int_equal(maps.updates, 0);
	assert_null(find_in_zoo(&w, "Zoo.Shapes", "Nothing"));
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(module_state(MODULE), MODULE_KNOWN);
	assert_int_equal(maps.watched_count, 1);
	row = find_in_zoo(&w, "Zoo.Shapes", "Nothing");
	assert_row(row, "Zoo.Shapes::Nothing()", false, true);
	assert_ptr_equal(row->is.image, image_at(&w, 0).name);
	assert_int_equal(row->is.row, rid_of(zoo_of(&w), "Zoo.Shapes", "Nothing", 0));
	assert_int_equal(row->pattern, 0);
	assert_null(row->is.made_from);
	/* Others are not, nor are those of other modules. */
	assert_null(find_in_zoo(&w, "Zoo.Shapes", "Over"));
	assert_null(find(&w, OTHER_MODULE, row->is.row));
	assert_null(find(&w, MODULE, 0));
}

/* The programs found the row; they may be of another mind than we. */
UNIT_TEST(a_row_that_there_is_not)
{
	struct compile_event event = { .module = MODULE, .rid = 1, .watch = 1 };
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::Nothing", NULL, NULL);
	assert_non_null(watch_find(w.watch, &event));
	event.watch = 2;
	assert_null(watch_find(w.watch, &event));
	event.watch = UINT32_MAX;
	assert_null(watch_find(w.watch, &event));
}

UNIT_TEST(overloads)
{
	_cleanup_(end) struct watching w;
	const struct dotnet_image *zoo;

	open_zoo(&w, "Zoo.Shapes::Over(int,long)", NULL, NULL);
	zoo = zoo_of(&w);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(watch_row_count(w.watch), 1);
	assert_null(find(&w, MODULE, rid_of(zoo, "Zoo.Shapes", "Over", 0)));
	assert_null(find(&w, MODULE, rid_of(zoo, "Zoo.Shapes", "Over", 1)));
	assert_row(find(&w, MODULE, rid_of(zoo, "Zoo.Shapes", "Over", 2)),
		   "Zoo.Shapes::Over(int32,int64)", false, true);
	end(&w);
	open_zoo(&w, "Zoo.Shapes::Over", NULL, NULL);
	assert_int_equal(watch_row_count(w.watch), 4);
}

/* What has no IL is never compiled. */
UNIT_TEST(methods_without_il)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.IKeeper`1::*", NULL, NULL);
	assert_int_equal(watch_row_count(w.watch), 1); /* Default(), the only one with a body */
}

UNIT_TEST(generic_methods)
{
	static const struct {
		const char *pattern;
		const char *type;
		const char *method;
		const char *name;
		bool sure;
	} cases[] = {
		{ "Zoo.Generics::Same", "Zoo.Generics", "Same", "Zoo.Generics::Same(!!0)", true },
		{ "Zoo.Generics::Same[System.Int32]", "Zoo.Generics", "Same",
		  "Zoo.Generics::Same(!!0)", false },
		{ "Zoo.Generics::Sa*", "Zoo.Generics", "Same", "Zoo.Generics::Same(!!0)", false },
		{ "/Same\\[System.Int32\\]/", "Zoo.Generics", "Same", "Zoo.Generics::Same(!!0)",
		  false },
		{ "Zoo.Outer`1::get_Item", "Zoo.Outer`1", "get_Item",
		  "Zoo.Outer`1::get_Item(int32,string)", true },
		{ "Zoo.Outer`1[System.Int32]::get_Item", "Zoo.Outer`1", "get_Item",
		  "Zoo.Outer`1::get_Item(int32,string)", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(end) struct watching w;

		open_zoo(&w, cases[i].pattern, NULL, NULL);
		must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
		assert_row(find_in_zoo(&w, cases[i].type, cases[i].method), cases[i].name, true,
			   cases[i].sure);
		assert_true(watch_is_open_ended(w.watch));
	}
}

/* With parameters that no instantiation can have, none is watched for. */
UNIT_TEST(generic_methods_that_cannot_match)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Generics::Nobody[System.Int32]", "Zoo.Shapes::Same", NULL);
	assert_int_equal(watch_row_count(w.watch), 0);
	assert_true(watch_is_open_ended(w.watch));
}

/* Of a glob what is not generic is sure. */
UNIT_TEST(a_glob)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Generics::*", NULL, NULL);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_row(find_in_zoo(&w, "Zoo.Generics", "Use"), "Zoo.Generics::Use()", false, true);
	assert_row(find_in_zoo(&w, "Zoo.Generics", "Same"), "Zoo.Generics::Same(!!0)", true, false);
}

UNIT_TEST(state_machines)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *row;

	open_zoo(&w, "Zoo.Bodies::Wait(int)", "Zoo.Bodies::WaitGeneric", NULL);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_row(find_in_zoo(&w, "Zoo.Bodies", "Wait"), "Zoo.Bodies::Wait(int32)", false, true);
	row = find_in_zoo(&w, "Zoo.Bodies+<Wait>d__1", "MoveNext");
	assert_row(row, "Zoo.Bodies+<Wait>d__1::MoveNext()", false, true);
	assert_string_equal(row->is.made_from, "state machine of Zoo.Bodies::Wait(int32)");
	row = find_in_zoo(&w, "Zoo.Bodies+<WaitGeneric>d__2`1", "MoveNext");
	assert_row(row, "Zoo.Bodies+<WaitGeneric>d__2`1::MoveNext()", true, true);
	assert_int_equal(row->pattern, 1);
	assert_null(find_in_zoo(&w, "Zoo.Bodies+<Count>d__5", "MoveNext"));
}

UNIT_TEST(lambdas_on_request)
{
	_cleanup_(end) struct watching w = { .request = { .nested = true } };
	size_t plain;

	add_pattern(&w, "Zoo.Generics::Use");
	add_image(&w.dotnet.images, "zoo.dll", golden_span(&files.zoo));
	dotnet_images_link_from(&w.dotnet.images, 0);
	start(&w, true);
	plain = watch_row_count(w.watch);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_string_equal(find_in_zoo(&w, "Zoo.Generics+<>c", "<Use>b__4_1")->is.made_from,
			    "lambda in Zoo.Generics::Use()");
	end(&w);
	open_zoo(&w, "Zoo.Generics::Use", NULL, NULL);
	assert_true(watch_row_count(w.watch) < plain);
}

/* Ranks -------------------------------------------------------------------------------------- */

static uint32_t rank_of(struct watching *w, const char *type, const char *method, unsigned int nth)
{
	const struct dotnet_image *zoo = zoo_of(w);
	const struct r2r_method definition = {
		.metadata = zoo->metadata,
		.method_rid = rid_of(zoo, type, method, nth),
	};
	const struct method_id id = dotnet_method_id(&definition);

	const struct watch_row *row = watch_row_of(w->watch, &id);

	return row ? row->rank : UINT32_MAX;
}

/* What was asked for first goes first, wherever it is in the image. */
UNIT_TEST(ranks_in_the_patterns_order)
{
	_cleanup_(end) struct watching w;
	struct method_id none = { 0 };

	open_zoo(&w, "Zoo.Bodies::Local", "Zoo.Shapes::Over", "Zoo.Shapes::Nothing");
	assert_int_equal(watch_row_count(w.watch), 6);
	assert_int_equal(rank_of(&w, "Zoo.Bodies", "Local", 0), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(rank_of(&w, "Zoo.Shapes", "Over", i), 1 + i);
	assert_int_equal(rank_of(&w, "Zoo.Shapes", "Nothing", 0), 5);
	assert_int_equal(rank_of(&w, "Zoo.Shapes", "Maybe", 0), UINT32_MAX);
	assert_int_equal(watch_named_count(w.watch), 6);
	assert_string_equal(watch_name_of(w.watch, 0), "Zoo.Bodies::Local(int32)");
	assert_string_equal(watch_name_of(w.watch, 5), "Zoo.Shapes::Nothing()");
	assert_string_equal(watch_name_of(w.watch, 6), "?");
	assert_null(watch_row_of(w.watch, &none));
	/* Of no image that is known. */
	none = (struct method_id){ .runtime = RUNTIME_DOTNET, .module = 1, .token = 0x06000001 };
	assert_null(watch_row_of(w.watch, &none));
}

/* A method that two patterns match is the first one's, and sure if one of them is. */
UNIT_TEST(a_method_of_two_patterns)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *row;

	open_zoo(&w, "Zoo.Generics::S*", "Zoo.Generics::Same", "Zoo.Generics::Use");
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	row = find_in_zoo(&w, "Zoo.Generics", "Same");
	assert_row(row, "Zoo.Generics::Same(!!0)", true, true);
	assert_int_equal(row->pattern, 0);
	assert_row(find_in_zoo(&w, "Zoo.Generics", "Size"), "Zoo.Generics::Size(!!0*,!!0[,])", true,
		   false);
	/* Ranks are still those of 0 to the last. */
	assert_int_equal(rank_of(&w, "Zoo.Generics", "Same", 0), 0);
	assert_int_equal(rank_of(&w, "Zoo.Generics", "Size", 0), 1);
	assert_int_equal(rank_of(&w, "Zoo.Generics", "Use", 0), 2);
	assert_int_equal(maps.watched_count, 3);
}

/* --trace: what the first patterns match, whatever others do. */
UNIT_TEST(methods_of_roots)
{
	const struct watch_maps fds = { .watched_fd = WATCHED_FD, .modules_fd = MODULES_FD };
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Generics::Same", "Zoo.Generics::S*", "Zoo.Generics::Use");
	watch_destroy(w.watch);
	w.request.roots = 1;
	assert_int_equal(watch_create(&w.watch, &w.request, &w.runtime, &fds, NULL), 0);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_true(find_in_zoo(&w, "Zoo.Generics", "Same")->root);
	assert_false(find_in_zoo(&w, "Zoo.Generics", "Size")->root);
	assert_false(find_in_zoo(&w, "Zoo.Generics", "Use")->root);
}

/* So many registers are taken for them. */
UNIT_TEST(a_method_of_two_patterns_counts_once)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::Nothing", "Zoo.Shapes::Noth*", NULL);
	assert_int_equal(watch_row_count(w.watch), 1);
}

/* The names of the first ones are told: nobody else has their ranks. */
UNIT_TEST(ranks_are_unique)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::Nothing", "Zoo.Shapes::N*", NULL);
	assert_int_equal(rank_of(&w, "Zoo.Shapes", "Nothing", 0), 0);
	assert_int_equal(rank_of(&w, "Zoo.Shapes", "Numbers", 0), 1);
	assert_int_equal(watch_named_count(w.watch), 1);
	assert_string_equal(watch_name_of(w.watch, 0), "Zoo.Shapes::Nothing()");
	assert_string_equal(watch_name_of(w.watch, 1), "?");
}

/* Named are those that a pattern without wildcards matches, whatever else does, and before it. */
UNIT_TEST(who_is_named)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::N*", "Zoo.Generics::Same", "Zoo.Shapes::Numbers");
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(watch_named_count(w.watch), 2);
	assert_int_equal(find_in_zoo(&w, "Zoo.Shapes", "Nothing")->named, UINT32_MAX);
	/* Its first pattern is the first one. */
	assert_int_equal(find_in_zoo(&w, "Zoo.Shapes", "Numbers")->named, 0);
	assert_int_equal(find_in_zoo(&w, "Zoo.Generics", "Same")->named, 1);
}

/* What comes up later comes after what was there, and has a rank of its own. */
UNIT_TEST(ranks_of_later_images)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *row;

	open_zoo(&w, "*::.c*tor", NULL, NULL);
	assert_int_equal(watch_add_file(w.watch, 5, 5, "tiny.dll", golden_span(&files.tiny)), 1);
	assert_int_equal(image_count(&w), 2);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	must_learn(&w, OTHER_MODULE, ALLOCATOR, golden_span(&files.tiny));
	row = find(&w, OTHER_MODULE, TINY_CTOR);
	assert_non_null(row);
	assert_string_equal(row->is.image, "tiny.dll");
	for (size_t i = 0; i < maps.watched_count; i++) {
		const struct watched_method *key = &maps.watched[i].key;

		if (key->module == MODULE)
			assert_true(find(&w, MODULE, key->rid)->rank < row->rank);
	}
}

UNIT_TEST(open_ended)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::Nothing", "Zoo.Shapes::Over", NULL);
	assert_false(watch_is_open_ended(w.watch));
	end(&w);
	/* One that waits. */
	open_zoo(&w, "Zoo.Shapes::Nothing", "Later.Type::Method", NULL);
	assert_true(watch_is_open_ended(w.watch));
	end(&w);
	open_zoo(&w, "Zoo.Shapes::Nothing", "Zoo.Generics::Same", NULL);
	assert_true(watch_is_open_ended(w.watch));
	end(&w);
	open_empty(&w, "Zoo.Shapes::Nothing", NULL);
	assert_true(watch_is_open_ended(w.watch));
}

/* Dynamic methods ---------------------------------------------------------------------------- */

UNIT_TEST(dynamic_methods)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *made, *other;

	open_zoo(&w, "dynamicClass::Made", "dynamicClass::Glob*", NULL);
	assert_true(watch_wants_dynamic(w.watch));
	made = watch_find_dynamic(w.watch, "Made");
	assert_row(made, "dynamicClass::Made(?)", true, true);
	assert_null(made->is.image);
	assert_ptr_equal(watch_find_dynamic(w.watch, "Made"), made);
	assert_int_equal(watch_row_count(w.watch), 1);
	assert_null(watch_find_dynamic(w.watch, "Made2"));
	assert_null(watch_find_dynamic(w.watch, ""));
	other = watch_find_dynamic(w.watch, "Globbed");
	assert_row(other, "dynamicClass::Globbed(?)", true, false);
	assert_int_not_equal(other->rank, made->rank);
	assert_int_equal(watch_row_count(w.watch), 2);
	assert_ptr_equal(watch_find_dynamic(w.watch, "Made"), made);
}

/* "The first of several" that it matches. */
UNIT_TEST(the_pattern_of_a_dynamic_method)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *made;

	open_zoo(&w, "Zoo.Shapes::Nothing", "dynamicClass::Made", NULL);
	made = watch_find_dynamic(w.watch, "Made");
	assert_non_null(made);
	assert_int_equal(made->pattern, 1);
}

/* Its parameters are in memory only. */
UNIT_TEST(dynamic_methods_with_parameters)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "dynamicClass::Made(int)", "/Regex.*/", "dynamicClass::Bare()");
	assert_row(watch_find_dynamic(w.watch, "Bare"), "dynamicClass::Bare(?)", true, false);
	assert_row(watch_find_dynamic(w.watch, "Made"), "dynamicClass::Made(?)", true, false);
	assert_row(watch_find_dynamic(w.watch, "Regexed"), "dynamicClass::Regexed(?)", true, false);
}

UNIT_TEST(who_wants_dynamic_methods)
{
	static const struct {
		const char *pattern;
		bool wants;
	} cases[] = {
		{ "Zoo.Shapes::Nothing", false },    { "dynamicClass::Made", true },
		{ "dynamic*::Made", true },	     { "/Made/", true },
		{ "zoo!dynamicClass::Made", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(end) struct watching w;

		open_zoo(&w, cases[i].pattern, NULL, NULL);
		assert_int_equal(watch_wants_dynamic(w.watch), cases[i].wants);
		assert_int_equal(watch_find_dynamic(w.watch, "Made") != NULL, cases[i].wants);
	}
}

/* A name may have any characters. */
UNIT_TEST(odd_names_of_dynamic_methods)
{
	_cleanup_(end) struct watching w;
	const struct watch_row *row;

	open_zoo(&w, "dynamicClass::*", NULL, NULL);
	row = watch_find_dynamic(w.watch, "a\nb\x1b[31m");
	assert_non_null(row);
	assert_null(strpbrk(row->is.method, "\n\x1b"));
	assert_ptr_equal(watch_find_dynamic(w.watch, "a\nb\x1b[31m"), row);
}

/* The bits of the JIT's flags, as dotnet/runtime's corjitflags.h has them. */
UNIT_TEST(tiers_of_compilations)
{
	enum {
		OSR = 1 << 7,
		INSTRUMENTED = 1 << 18,
		OPT = 1 << 20,
		TIER0 = 1 << 26,
		TIER1 = 1 << 27
	};
	static const struct {
		uint64_t flags;
		enum tier tier;
		bool final;
	} cases[] = {
		{ 0, TIER_MINOPT, true },
		{ OPT, TIER_OPTIMIZED, true },
		{ TIER0, TIER_TIER0, false },
		{ OPT | TIER1, TIER_TIER1, true },
		{ TIER0 | INSTRUMENTED, TIER_INSTRUMENTED, false },
		{ TIER1 | INSTRUMENTED, TIER_INSTRUMENTED, false },
		{ OPT | TIER1 | OSR, TIER_OSR, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool final;

		assert_int_equal(dotnet_ops.follow->tier_of(cases[i].flags, &final), cases[i].tier);
		assert_int_equal(final, cases[i].final);
	}
}

UNIT_TEST(no_runtime_yet)
{
	const struct target_files none = { 0 };
	struct follow_shared shared = { 0 };
	struct runtime_code code = { 0 };

	assert_int_equal(dotnet_ops.follow->find_code(&code, &none, NULL, &shared, NULL), -ENOENT);
	assert_null(code.runtime);
	assert_int_equal(shared.has_layout, 0);
}

UNIT_MAIN(read_files, free_files)
