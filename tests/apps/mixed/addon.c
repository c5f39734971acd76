// SPDX-License-Identifier: GPL-2.0-or-later
// A Node addon that hosts .NET: JavaScript calls managed code through it, and managed code JavaScript. See mixed.js.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Of Node-API, which has the same ABI in all versions.
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
enum { NAPI_AUTO_LENGTH = -1 };

int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
int napi_get_undefined(napi_env, napi_value *);
int napi_get_value_int32(napi_env, napi_value, int32_t *);
int napi_get_value_string_utf8(napi_env, napi_value, char *, size_t, size_t *);
int napi_create_int32(napi_env, int32_t, napi_value *);
int napi_create_string_utf8(napi_env, const char *, size_t, napi_value *);
int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
int napi_call_function(napi_env, napi_value, napi_value, size_t, const napi_value *, napi_value *);

// Of hostfxr and coreclr_delegates.
enum { HDT_LOAD_ASSEMBLY_AND_GET_FUNCTION_POINTER = 5 };
#define UNMANAGED_CALLERS_ONLY ((const char *)-1)

typedef int (*initialize_fn)(const char *config, const void *parameters, void **handle);
typedef int (*get_delegate_fn)(void *handle, int type, void **delegate);
typedef int (*load_fn)(const char *assembly, const char *type, const char *method,
		       const char *delegate_type, void *reserved, void **function);

typedef int (*call_fn)(napi_env, napi_value, int, const char *);
typedef int (*entry_fn)(napi_env, napi_value into, napi_value note, int levels, call_fn);

// Mixed.Hosted.Enter
static entry_fn entry;

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "addon: %s: %x\n", what, failed);
	abort();
}

/* Of a .NET process that runs Node. */
void mixed_set_entry(entry_fn function)
{
	entry = function;
}

/* What is to be probed. */
__attribute__((noinline)) int mixed_reach(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value + 1;
}

/* Call a JavaScript function, with a number or a text. */
int mixed_call(napi_env env, napi_value function, int number, const char *text)
{
	napi_value nothing, argument, result;
	int32_t value;

	check(napi_get_undefined(env, &nothing), "napi_get_undefined");
	if (text)
		check(napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &argument), "a string");
	else
		check(napi_create_int32(env, number, &argument), "a number");
	check(napi_call_function(env, nothing, function, 1, &argument, &result), "a function");
	check(napi_get_value_int32(env, result, &value), "a result");
	return value;
}

static napi_value make_number(napi_env env, int value)
{
	napi_value number;

	check(napi_create_int32(env, value, &number), "napi_create_int32");
	return number;
}

/* enter(LEVELS, INTO, NOTE): see Mixed.Chain.Enter. */
napi_value mixed_enter(napi_env env, napi_callback_info info)
{
	napi_value words[3];
	size_t count = 3;
	int32_t levels;

	check(napi_get_cb_info(env, info, &count, words, NULL, NULL), "napi_get_cb_info");
	check(napi_get_value_int32(env, words[0], &levels), "levels");
	return make_number(env, entry(env, words[1], words[2], levels, mixed_call));
}

/* reach(NOTE): the JavaScript functions that NOTE sees are those that are on the stack at mixed_reach(). */
napi_value mixed_reach_noted(napi_env env, napi_callback_info info)
{
	napi_value note;
	size_t count = 1;

	check(napi_get_cb_info(env, info, &count, &note, NULL, NULL), "napi_get_cb_info");
	mixed_call(env, note, 0, "");
	return make_number(env, mixed_reach(0));
}

/* host(HOSTFXR, CONFIG, ASSEMBLY): once a process */
static napi_value host(napi_env env, napi_callback_info info)
{
	void *library, *handle = NULL, *load = NULL, *function = NULL;
	initialize_fn initialize;
	get_delegate_fn get_delegate;
	napi_value words[3];
	char text[3][4096];
	size_t count = 3, length;

	check(napi_get_cb_info(env, info, &count, words, NULL, NULL), "napi_get_cb_info");
	for (size_t i = 0; i < count; i++)
		check(napi_get_value_string_utf8(env, words[i], text[i], sizeof(text[i]), &length),
		      "a path");
	library = dlopen(text[0], RTLD_NOW);
	check(!library, text[0]);
	initialize = (initialize_fn)dlsym(library, "hostfxr_initialize_for_runtime_config");
	get_delegate = (get_delegate_fn)dlsym(library, "hostfxr_get_runtime_delegate");
	check(!initialize || !get_delegate, text[0]);
	check(initialize(text[1], NULL, &handle), text[1]);
	check(get_delegate(handle, HDT_LOAD_ASSEMBLY_AND_GET_FUNCTION_POINTER, &load), text[1]);
	check(((load_fn)load)(text[2], "Mixed.Hosted, mixed", "Enter", UNMANAGED_CALLERS_ONLY, NULL,
			      &function),
	      text[2]);
	entry = (entry_fn)function;
	return make_number(env, 0);
}

/* For each of Node's threads that requires it. */
napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	static const struct {
		const char *name;
		napi_callback function;
	} functions[] = {
		{ "host", host },
		{ "enter", mixed_enter },
		{ "reach", mixed_reach_noted },
	};
	napi_value function;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		check(napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
					   functions[i].function, NULL, &function),
		      functions[i].name);
		check(napi_set_named_property(env, exports, functions[i].name, function),
		      functions[i].name);
	}
	return exports;
}
