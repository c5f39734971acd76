/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of pattern.h share: pattern_parse.c makes a pattern, pattern.c matches it. */
#ifndef METHOD_PATTERN_INTERNAL_H
#define METHOD_PATTERN_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "method/pattern.h"
#include "method/pattern_list.h"
#include "base/text.h"

enum pattern_kind {
	PATTERN_EXACT,
	PATTERN_GLOB,
	PATTERN_REGEX,
	PATTERN_NATIVE, /* it is no method's name */
};

struct pattern {
	enum pattern_kind kind;
	char *text;
	char *image; /* NULL: every image */
	char *type;  /* NULL: a glob without "::", which @name then holds */
	char *name;
	struct pattern_list type_args;
	struct pattern_list method_args;
	struct pattern_list params;
	struct text scratch;
	/* Of one with an image that is no regex: as a native function's name, without blanks. */
	struct text native;
	char *native_only;    /* why it is no method's name */
	struct text literals; /* of a regex; see pattern_native_literals() */

	pcre2_code *regex;
	pcre2_match_data *regex_match;
	pcre2_match_context *regex_context;
};

/* Blanks in names of native functions are where their compiler likes them. */
void pattern_add_without_blanks(struct text *out, const char *name);

/* Append what must be in each name that a regex of @length characters finds, '*' between. */
void pattern_add_literals(struct text *out, const char *regex, size_t length);

#endif
