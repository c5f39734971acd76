/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "(...)" and "[...]" of a pattern: the parameters or generic arguments that a method must have. */
#ifndef METHOD_PATTERN_LIST_H
#define METHOD_PATTERN_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "method/method_name.h"

struct error;

struct pattern_list {
	bool given;
	bool any; /* "*": whatever is there, also nothing */
	size_t count;
	char **elements; /* canonical spelling, or "*" */
};

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
