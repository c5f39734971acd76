/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of pattern.h share: pattern_parse.c makes a pattern, pattern_list.c the lists in
 * it, pattern.c matches it.
 */
#ifndef METHOD_PATTERN_INTERNAL_H
#define METHOD_PATTERN_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "method/pattern.h"
#include "base/text.h"

enum pattern_kind {
	PATTERN_EXACT,
	PATTERN_GLOB,
	PATTERN_REGEX,
	PATTERN_NATIVE, /* it is no method's name */
};

/* "(...)" and "[...]": the parameters or generic arguments that a method must have. */
struct pattern_list {
	bool given;
	bool any; /* "*": whatever is there, also nothing */
	size_t count;
	char **elements; /* canonical spelling, or "*" */
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

/* Globs over names: * and ? only, since brackets belong to names. */
bool glob_matches(const char *glob, const char *s);

/* Is it one? Else it matches itself alone. */
bool glob_has_wildcard(const char *s);

/* What stands between the brackets of @pattern. -EINVAL or -ENOMEM with @err set. */
int pattern_list_parse(struct pattern_list *list, const char *start, const char *end,
		       bool as_argument, const char *pattern, struct error *err);
void pattern_list_deinit(struct pattern_list *list);

/*
 * Are those of @actual, a comma-separated list, as asked for? @instance: whose arguments replace
 * generic parameters, or NULL. @element is scratch.
 */
bool pattern_list_matches(const struct pattern_list *list, const struct text *actual,
			  const struct method_name *instance, struct text *element);

#endif
