// SPDX-License-Identifier: GPL-2.0-or-later
/* A pattern and a method's name, part by part on lines: the quick looks never deny what matches. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "method/pattern.h"
#include "method/type_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void normalise(const char *type, bool as_argument)
{
	struct text out = { 0 };

	(void)type_name_normalise(type, strlen(type), as_argument, &out);
	text_deinit(&out);
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
		(void)pattern_type_distance(pattern, text_chars(&name.type), 8);
		(void)pattern_method_distance(pattern, text_chars(&name.name), 8);
		(void)pattern_wants_image(pattern, text_chars(&name.type));
		pattern_destroy(pattern);
	}
	method_name_deinit(&name);
	free(copy);
	return 0;
}
