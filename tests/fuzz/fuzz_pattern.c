// SPDX-License-Identifier: GPL-2.0-or-later
/* A pattern and a method's name, part by part on lines: the quick looks never deny what matches. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "base/error.h"
#include "method/pattern.h"
#include "runtime/native/symbols.h"

static void normalise(const char *type, bool as_argument)
{
	struct text out = { 0 };

	(void)type_name_normalise(type, strlen(type), as_argument, &out);
	text_deinit(&out);
}

static void fuzz_native(struct pattern *pattern, const char *symbol)
{
	struct native_name name = { 0 };

	if (native_name_read(&name, symbol) == 0) {
		check(name.count > 0 && name.count <= NATIVE_NAME_FORMS);
		/* Only one with an image can match; a regex may do without. */
		if (pattern_matches_native(pattern, name.forms, name.count, NULL) == 1 &&
		    pattern_native_only(pattern) && !pattern_has_image(pattern))
			__builtin_trap();
	}
	check(!pattern_wants_native_image(pattern, symbol) || pattern_has_image(pattern));
	check(!pattern_native_only(pattern) || !pattern_wants_image(pattern, symbol));
	native_name_deinit(&name);
}

/* What no pattern can match is not near either, and only what is exact is. */
static void fuzz_near(const struct pattern *pattern, const struct method_name *name)
{
	enum { LIMIT = 8 };
	unsigned int type = pattern_type_distance(pattern, text_chars(&name->type), LIMIT);
	unsigned int method = pattern_method_distance(pattern, text_chars(&name->name), LIMIT);

	check(pattern_is_exact(pattern) || (type > LIMIT && method > LIMIT));
	check(!pattern_is_exact(pattern) ||
	      ((type == 0) == pattern_wants_type(pattern, text_chars(&name->type)) &&
	       (method == 0) == pattern_wants_method(pattern, text_chars(&name->name))));
}

/* As the only one of a request. */
static void fuzz_request(const char *text, struct pattern *pattern)
{
	struct pattern **patterns;

	check(patterns_create(&patterns, (char *[]){ (char *)text }, 1, NULL) == 0);
	check(patterns_have_image(patterns, 1) == pattern_has_image(pattern) &&
	      pattern_has_params(patterns[0]) == pattern_has_params(pattern) &&
	      strcmp(pattern_text(patterns[0]), text) == 0);
	patterns_destroy(patterns, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct method_name name = { 0 };
	struct text *parts[] = { &name.type, &name.type_args, &name.name, &name.method_args,
				 &name.params };
	struct error err = { .text = "" };
	struct pattern *pattern;
	char *copy = malloc(size + 1), *rest = copy;
	const char *text;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	text = strsep(&rest, "\n");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *part = rest ? strsep(&rest, "\n") : NULL;

		text_add(parts[i], part ? part : "");
		normalise(part ? part : "", i % 2);
	}
	if (pattern_create(&pattern, text, &err) == 0) {
		if (pattern_matches(pattern, &name, &err) == 1 &&
		    (!pattern_wants_type(pattern, text_chars(&name.type)) ||
		     !pattern_wants_method(pattern, text_chars(&name.name))))
			__builtin_trap();
		fuzz_near(pattern, &name);
		fuzz_request(text, pattern);
		(void)pattern_wants_image(pattern, text_chars(&name.type));
		fuzz_native(pattern, text_chars(&name.type));
		pattern_destroy(pattern);
	}
	method_name_deinit(&name);
	free(copy);
	return 0;
}
