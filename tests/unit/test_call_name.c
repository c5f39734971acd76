// SPDX-License-Identifier: GPL-2.0-or-later
/* What calls of --watch are called. */
#include "base/cleanup.h"
#include "session/call_name.h"

#include <string.h>

#include "base/text.h"
#include "tests/unit/unit.h"

static unsigned int asked;

/* Handles are addresses of names here; 8 has none. */
static bool context_name(struct runtime *runtime, uint64_t handle, bool is_method, struct text *out)
{
	(void)runtime;
	(void)is_method;
	asked++;
	if (handle == 8)
		return false;
	text_add(out, (const char *)(uintptr_t)handle);
	return true;
}

static const struct runtime_ops ops = { .id = RUNTIME_DOTNET, .context_name = context_name };

static struct runtime runtime = { &ops };
static const struct runtimes runtimes = { .list = { &runtime }, .count = 1 };

/* NULL: there is none. */
static void expect(struct call_names *names, const char *method, enum value_context is,
		   const char *context, const char *expected)
{
	_cleanup_(text_deinit) struct text out = { 0 };
	bool found = call_name_add_instance(names, &runtimes, RUNTIME_DOTNET, method, is,
					    (uint64_t)(uintptr_t)context, &out);

	assert_int_equal(found, expected != NULL);
	assert_string_equal(text_chars(&out), expected ? expected : "");
}

UNIT_TEST(names_without_parameters)
{
	static const char *const names[][2] = {
		{ "App.Shop::Checkout(int)", "App.Shop::Checkout" },
		{ "App.Shop::Map[System.Int32](int(*)(int))", "App.Shop::Map[System.Int32]" },
		{ "shop::get(int) const", "shop::get" },
		{ "malloc", "malloc" },
		{ ")", ")" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(text_deinit) struct text out = { 0 };

		call_name_add_plain(&out, names[i][0]);
		assert_string_equal(text_chars(&out), names[i][1]);
	}
}

UNIT_TEST(shared_code_is_called_as_what_it_was_told)
{
	_cleanup_(call_names_deinit) struct call_names names = { 0 };

	expect(&names, "A::Get[System.__Canon](!!0,int)", VALUE_CONTEXT_METHOD,
	       "A::Get[B[][System.String],C](!!0,int)", "A::Get[B[][System.String],C]");
	expect(&names, "A`1[System.__Canon]::Get(int)", VALUE_CONTEXT_TYPE, "A`1[System.String]",
	       "A`1[System.String]::Get");
	expect(&names, "A`1[System.__Canon]::Get(int)", VALUE_CONTEXT_THIS, "A`1[System.String]",
	       "A`1[System.String]::Get");
}

UNIT_TEST(what_is_told_may_be_anything)
{
	_cleanup_(call_names_deinit) struct call_names names = { 0 };
	const char shared[] = "A::Get[System.__Canon](int)";

	expect(&names, shared, VALUE_CONTEXT_METHOD, "A::Set[System.String](int)", NULL);
	expect(&names, shared, VALUE_CONTEXT_METHOD, "A::GetAll[System.String](int)", NULL);
	expect(&names, shared, VALUE_CONTEXT_METHOD, "A::Get[System.String", NULL);
	expect(&names, shared, VALUE_CONTEXT_METHOD, "", NULL);
	expect(&names, shared, VALUE_CONTEXT_TYPE, "B", NULL);
	expect(&names, shared, VALUE_CONTEXT_NONE, "A", NULL);
	expect(&names, shared, VALUE_CONTEXT_METHOD, NULL, NULL);
	expect(&names, "Get", VALUE_CONTEXT_TYPE, "Get", NULL);
	/* What has no name is asked for once. */
	asked = 0;
	expect(&names, shared, VALUE_CONTEXT_METHOD, (const char *)8, NULL);
	expect(&names, shared, VALUE_CONTEXT_METHOD, (const char *)8, NULL);
	assert_int_equal(asked, 1);
}

UNIT_MAIN(NULL, NULL)
