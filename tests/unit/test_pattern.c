// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/native/symbols.h"

/* Fill @name from its parts; "" for what it does not have. */
static void set_name(struct method_name *name, const char *type, const char *type_args,
		     const char *method, const char *method_args, const char *params)
{
	method_name_clear(name);
	text_add(&name->type, type);
	text_add(&name->type_args, type_args);
	text_add(&name->name, method);
	text_add(&name->method_args, method_args);
	text_add(&name->params, params);
}

static int matches(const char *text, const struct method_name *name)
{
	struct error err = { .text = "" };
	struct pattern *pattern;
	int result;

	if (pattern_create(&pattern, text, &err)) {
		print_error("%s\n", err.text);
		fail();
	}
	result = pattern_matches(pattern, name, &err);
	/* The quick looks must never say no to what matches. */
	if (result == 1) {
		assert_true(pattern_wants_type(pattern, text_chars(&name->type)));
		assert_true(pattern_wants_method(pattern, text_chars(&name->name)));
	}
	pattern_destroy(pattern);
	return result;
}

UNIT_TEST(exact_names)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "System.Threading.Thread", "", "Sleep", "", "int32");
	assert_int_equal(matches("System.Threading.Thread::Sleep", &name), 1);
	assert_int_equal(matches("System.Threading.Thread::Sleep(int)", &name), 1);
	assert_int_equal(matches("System.Threading.Thread::Sleep(int32)", &name), 1);
	assert_int_equal(matches("System.Threading.Thread::Sleep(System.Int32)", &name), 1);
	assert_int_equal(matches("System.Threading.Thread::Sleep( int )", &name), 1);
	assert_int_equal(matches("System.Threading.Thread::Sleep(*)", &name), 1);
	assert_int_equal(matches("System.Threading.Thread::Sleep()", &name), 0);
	assert_int_equal(matches("System.Threading.Thread::Sleep(long)", &name), 0);
	assert_int_equal(matches("System.Threading.Thread::Sleep(int,int)", &name), 0);
	assert_int_equal(matches("System.Threading.Thread::sleep", &name), 0);
	assert_int_equal(matches("Threading.Thread::Sleep", &name), 0);
}

UNIT_TEST(nested_types_and_odd_methods)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "App.Program+Nested+Deep", "", ".ctor", "", "");
	assert_int_equal(matches("App.Program+Nested+Deep::.ctor", &name), 1);
	assert_int_equal(matches("App.Program/Nested/Deep::.ctor()", &name), 1);
	assert_int_equal(matches("App.Program.Nested.Deep::.ctor", &name), 0);

	set_name(&name, "App.Thing", "", "System.Collections.Generic.IEnumerable<System.Int32>.Get",
		 "", "");
	assert_int_equal(
		matches("App.Thing::System.Collections.Generic.IEnumerable<System.Int32>.Get",
			&name),
		1);

	set_name(&name, "App.Program", "", "<LocalFn>g__Loc|12_0", "",
		 "int32,App.Program+<>c__DisplayClass12_0&");
	assert_int_equal(matches("App.Program::<LocalFn>g__Loc|12_0", &name), 1);
	assert_int_equal(matches("App.Program::<LocalFn>g__Loc|12_0(int32, valuetype "
				 "App.Program/<>c__DisplayClass12_0&)",
				 &name),
			 1);
	assert_int_equal(matches("App.Program::<LocalFn>*", &name), 1);
}

/* Each row spells the same list of parameters in one of the three languages. */
UNIT_TEST(three_spellings_of_parameters)
{
	static const char *const same[] = {
		"T::M(int32&,string&,int32[],int32[,],System.Collections.Generic.List`1[System.String],uint8*,nint)",
		"T::M(ref int, out string, int[], int[,], List<string>, byte*, nint)",
		"T::M(int32&,string&,int32[],int32[0...,0...],class "
		"[System.Collections]System.Collections.Generic.List`1<string>,unsigned int8*,native int)",
		"T::M(System.Int32&, System.String&, System.Int32[], System.Int32[,], "
		"System.Collections.Generic.List`1[System.String], System.Byte*, System.IntPtr)",
	};
	static const char *const different[] = {
		"T::M(int32&,string&,int32[],int32[],System.Collections.Generic.List`1[System.String],uint8*,nint)",
		"T::M(int,out string,int[],int[,],List<string>,byte*,nint)",
		"T::M(ref int, out string, int[], int[,], List<object>, byte*, nint)",
	};
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "T", "", "M", "",
		 "int32&,string&,int32[],int32[,],"
		 "System.Collections.Generic.List`1[System.String],uint8*,nint");
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(matches(same[i], &name), 1);
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++)
		assert_int_equal(matches(different[i], &name), 0);
}

UNIT_TEST(function_pointers)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "T", "", "M", "", "void(*)(int32,string&)&,int32(*)()");
	assert_int_equal(matches("T::M(void(*)(int,ref string)&,int(*)())", &name), 1);
	assert_int_equal(
		matches("T::M(System.Void (System.Int32, System.String&)&, System.Int32 ())",
			&name),
		1);
	assert_int_equal(matches("T::M(void(*)(int,string)&,int(*)())", &name), 0);
}

UNIT_TEST(generics)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "System.Collections.Generic.List`1", "System.Int32", "Add", "", "!0");
	assert_int_equal(matches("System.Collections.Generic.List`1::Add", &name), 1);
	assert_int_equal(matches("System.Collections.Generic.List`1[System.Int32]::Add", &name), 1);
	assert_int_equal(matches("System.Collections.Generic.List`1[int]::Add", &name), 1);
	assert_int_equal(matches("System.Collections.Generic.List`1[*]::Add", &name), 1);
	assert_int_equal(matches("System.Collections.Generic.List`1[string]::Add", &name), 0);
	assert_int_equal(matches("System.Collections.Generic.List`1::Add(!0)", &name), 1);
	assert_int_equal(matches("System.Collections.Generic.List`1::Add(int)", &name), 1);
	assert_int_equal(matches("System.Collections.Generic.List`1::Add(long)", &name), 0);

	set_name(&name, "D`2", "System.String,App.Pt[]", "Get", "System.Int64", "!1,!!0&,L`1[!0]");
	assert_int_equal(matches("D`2[string,App.Pt[]]::Get[long]", &name), 1);
	assert_int_equal(matches("D`2[System.String,App.*]::Get", &name), 1);
	assert_int_equal(matches("D`2[string]::Get", &name), 0);
	assert_int_equal(matches("D`2::Get(Pt[],ref long,L<string>)", &name), 1);
	assert_int_equal(matches("D`2::Get(Pt[],ref int,L<string>)", &name), 0);
	assert_int_equal(matches("D`2::Get[int]", &name), 0);
}

UNIT_TEST(globs)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "System.Threading.Thread", "", "Sleep", "", "int32");
	assert_int_equal(matches("System.Threading.Thread::*", &name), 1);
	assert_int_equal(matches("System.*::Sle?p", &name), 1);
	assert_int_equal(matches("*::Sleep(int)", &name), 1);
	assert_int_equal(matches("*::Sleep(string)", &name), 0);
	assert_int_equal(matches("*Thread::S*p", &name), 1);
	assert_int_equal(matches("*Sleep*", &name), 1);
	assert_int_equal(matches("Sleep*", &name), 0);
	assert_int_equal(matches("System.Threading.Thread?::Sleep", &name), 0);
	assert_int_equal(matches("*::*", &name), 1);
	assert_int_equal(matches("*", &name), 1);
}

UNIT_TEST(regexes)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };

	set_name(&name, "System.Threading.Thread", "", "Sleep", "", "int32");
	assert_int_equal(matches("/Thread::Sl(ee|i)p\\(int32\\)$/", &name), 1);
	assert_int_equal(matches("/^Thread/", &name), 0);
	assert_int_equal(matches("/thread::SLEEP/i", &name), 1);
	assert_int_equal(matches("/thread::SLEEP/", &name), 0);
}

/* PCRE2's limit ends what would otherwise run for the age of the universe. */
UNIT_TEST(a_catastrophic_regex_ends)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	struct error err = { .text = "" };
	struct pattern *pattern;

	set_name(&name, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", "b",
		 "", "");
	assert_int_equal(pattern_create(&pattern, "/^(a+)+$/", &err), 0);
	assert_int_equal(pattern_matches(pattern, &name, &err), -E2BIG);
	assert_non_null(strstr(err.text, "simplify the regex"));
	pattern_destroy(pattern);
}

UNIT_TEST(images)
{
	struct pattern *pattern;

	assert_int_equal(pattern_create(&pattern, "System.Private.CoreLib!T::M", NULL), 0);
	assert_true(pattern_wants_image(pattern, "System.Private.CoreLib.dll"));
	assert_true(pattern_wants_image(pattern, "System.Private.CoreLib"));
	assert_false(pattern_wants_image(pattern, "System.Linq.dll"));
	pattern_destroy(pattern);

	assert_int_equal(pattern_create(&pattern, "System.*!/Sleep/", NULL), 0);
	assert_true(pattern_wants_image(pattern, "System.Linq.dll"));
	assert_false(pattern_wants_image(pattern, "app.dll"));
	pattern_destroy(pattern);

	/* This "!" is a generic parameter. */
	assert_int_equal(pattern_create(&pattern, "List`1::Add(!0)", NULL), 0);
	assert_true(pattern_wants_image(pattern, "any.dll"));
	pattern_destroy(pattern);
}

/* Does @pattern match the function with @symbol? */
static bool matches_symbol(const char *text, const char *symbol)
{
	struct native_name name = { 0 };
	struct error err = { .text = "" };
	struct pattern *pattern;
	int result;

	if (pattern_create(&pattern, text, &err))
		fail_msg("%s", err.text);
	assert_int_equal(native_name_read(&name, symbol), 0);
	result = pattern_matches_native(pattern, name.forms, name.count, &err);
	assert_in_range(result, 0, 1);
	native_name_deinit(&name);
	pattern_destroy(pattern);
	return result;
}

UNIT_TEST(native_functions)
{
	static const struct {
		const char *pattern;
		const char *symbol;
		bool matches;
	} cases[] = {
		{ "libc!malloc", "malloc", true },
		{ "libc!malloc", "__libc_malloc", false },
		{ "libc!malloc", "malloc_trim", false },
		{ "libc!*malloc", "__libc_malloc", true },
		{ "libc!/^m.lloc$/", "malloc", true },
		{ "libc!memcpy", "memcpy@@GLIBC_2.14", true },
		{ "libc!memcpy", "memcpy@GLIBC_2.2.5", true },
		{ "libc!memcpy@GLIBC_2.2.5", "memcpy@@GLIBC_2.14", false },
		{ "app!work", "work.constprop.0", true },
		{ "app!work", "work.part.0", false },
		{ "app!work.part.0", "work.part.0", true },
		{ "app!shop::till::add", "_ZN4shop4till3addEi", true },
		{ "app!shop::till::add(int)", "_ZN4shop4till3addEi", true },
		{ "app!shop::till::add(long)", "_ZN4shop4till3addEi", false },
		{ "app!till::add", "_ZN4shop4till3addEi", false },
		{ "app!add(char const *, int)", "_Z3addPKci", true },
		{ "app!twice<int>", "_Z5twiceIiET_S0_", true },
		{ "app!twice<int>(int)", "_Z5twiceIiET_S0_", true },
		{ "app!Till::~Till", "_ZN4TillD1Ev", true },
		{ "app!Till::~Till", "_ZN4TillD0Ev", false },
		{ "app!Till::~Till() [deleting]", "_ZN4TillD0Ev", true },
		{ "app!(anonymous namespace)::f()", "_ZN12_GLOBAL__N_11fEv", true },
		{ "app!operator new(unsigned long)", "_Znwm", true },
	};
	struct pattern *pattern;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (matches_symbol(cases[i].pattern, cases[i].symbol) != cases[i].matches)
			fail_msg("%s and %s", cases[i].pattern, cases[i].symbol);
	}

	/* What is no method's name is none of any managed image's. */
	assert_int_equal(pattern_create(&pattern, "libc.so.6!malloc", NULL), 0);
	assert_non_null(strstr(pattern_native_only(pattern), "has no '::'"));
	assert_true(pattern_wants_native_image(pattern, "libc.so.6"));
	assert_false(pattern_wants_native_image(pattern, "libm.so.6"));
	assert_false(pattern_wants_image(pattern, "libc.so.6"));
	assert_false(pattern_wants_type(pattern, ""));
	assert_false(pattern_wants_method(pattern, "malloc"));
	assert_false(pattern_is_exact(pattern));
	pattern_destroy(pattern);

	assert_int_equal(pattern_create(&pattern, "App!T::M", NULL), 0);
	assert_null(pattern_native_only(pattern));
	assert_true(pattern_wants_image(pattern, "App.dll"));
	assert_true(pattern_wants_native_image(pattern, "App"));
	pattern_destroy(pattern);

	/* Without an image it is of no native function. */
	assert_int_equal(pattern_create(&pattern, "T*::M", NULL), 0);
	assert_false(pattern_wants_native_image(pattern, "libc.so.6"));
	pattern_destroy(pattern);
}

UNIT_TEST(shown_names)
{
	static const char *const names[][2] = {
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "memcpy@GLIBC_2.2.5", "memcpy@GLIBC_2.2.5" },
		{ "_Z5twiceIiET_S0_", "int twice<int>(int)" },
		{ "_ZN4TillD0Ev", "Till::~Till() [deleting]" },
		{ "work.constprop.0", "work.constprop.0" },
		{ "a\nb", "a?b" },
	};
	struct native_name name = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(native_name_read(&name, names[i][0]), 0);
		assert_string_equal(text_chars(&name.shown), names[i][1]);
	}
	native_name_deinit(&name);
	assert_true(native_name_is_part("work.cold"));
	assert_true(native_name_is_part("work.constprop.0.cold"));
	assert_false(native_name_is_part("scold"));
}

UNIT_TEST(bad_patterns_are_refused)
{
	static const struct {
		const char *text;
		const char *said;
	} bad[] = {
		{ "", "is empty" },
		{ "image!", "is empty" },
		{ "!T::M", "names no image" },
		{ "app!/malloc", "ends with '/'" },
		{ "app!T::M(int", "')' is missing" },
		{ "Sleep", "has no '::'" },
		{ "::Sleep", "lacks a type or a method" },
		{ "Thread::", "lacks a type or a method" },
		{ "T::M(int", "')' is missing" },
		{ "T::M(int]", "')' is missing" },
		{ "T::M(,)", "is no type" },
		{ "T::M(int[)", "is no type" },
		{ "T::M(List<int)", "is no type" },
		{ "T]::M", "is not opened" },
		{ "/(/", "regex" },
		{ "/abc", "ends with '/'" },
		{ "/", "ends with '/'" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = { .text = "" };
		struct pattern *pattern;

		assert_int_equal(pattern_create(&pattern, bad[i].text, &err), -EINVAL);
		if (!strstr(err.text, bad[i].said))
			fail_msg("'%s' gave: %s", bad[i].text, err.text);
	}
}

UNIT_TEST(near_misses)
{
	struct pattern *pattern;

	assert_int_equal(pattern_create(&pattern, "System.Threading.Thred::Slep", NULL), 0);
	assert_true(pattern_is_exact(pattern));
	assert_int_equal(pattern_type_distance(pattern, "System.Threading.Thread", 8), 1);
	assert_int_equal(pattern_method_distance(pattern, "Sleep", 8), 1);
	assert_int_equal(pattern_method_distance(pattern, "Slep", 8), 0);
	assert_true(pattern_method_distance(pattern, "Interrupt", 8) > 8);
	assert_true(pattern_type_distance(pattern, "System.String", 8) > 8);
	pattern_destroy(pattern);

	/* A forgotten namespace is near. */
	assert_int_equal(pattern_create(&pattern, "Thread::Sleep", NULL), 0);
	assert_int_equal(pattern_type_distance(pattern, "System.Threading.Thread", 8), 1);
	pattern_destroy(pattern);

	assert_int_equal(pattern_create(&pattern, "T*::M", NULL), 0);
	assert_false(pattern_is_exact(pattern));
	pattern_destroy(pattern);
}

UNIT_MAIN(NULL, NULL)
