// SPDX-License-Identifier: GPL-2.0-or-later
/* See expressions.h. */
#include "session/expressions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options.h"

int expressions_init(struct expressions *expressions, const struct options *options,
		     struct error *err)
{
	int result = 0;

	*expressions = (struct expressions){
		.filters = options->filter,
		.has_value = options->by_value,
	};
	if (options->filter) {
		expressions->compiled = calloc(1, sizeof(*expressions->compiled));
		if (!expressions->compiled)
			return error_set(err, -ENOMEM, "no memory for --if");
		result = filter_parse(&expressions->filter, options->filter, err);
	}
	if (result == 0 && options->by_value)
		result = filter_parse_operand(&expressions->value, options->by_value, err);
	return result;
}

void expressions_deinit(struct expressions *expressions)
{
	filter_deinit(&expressions->filter);
	filter_deinit(&expressions->value);
	free(expressions->compiled);
}

/* Only the first problem is told. */
static struct error *problem_of(struct expressions *expressions)
{
	return expressions->problem.text[0] ? NULL : &expressions->problem;
}

static int refuse_types(const struct filter *filter, const char *method, const char *why,
			struct error *err)
{
	_cleanup_(text_deinit) struct text what = { 0 };
	size_t i = 0;

	while (i < filter->count &&
	       (filter->nodes[i].kind != FILTER_COMPARE || filter->nodes[i].literal != FILTER_TYPE))
		i++;
	text_printf(&what,
		    "there is the type of an exception, and of %s none is known: %s (leave it out)",
		    method, why);
	return filter_refuse(filter, filter->nodes[i].at, text_chars(&what), err);
}

void expressions_filter(struct expressions *expressions, const char *method,
			const struct value_signature *signature, const char *no_types,
			struct watch_filter_of *filter)
{
	static const struct watch_op undecided = { .code = WATCH_UNDECIDED };
	const struct value_filter *compiled = expressions->compiled;

	if (!expressions->filters)
		return;
	if ((no_types && expressions->filter.type_count &&
	     refuse_types(&expressions->filter, method, no_types, problem_of(expressions))) ||
	    value_filter_compile(expressions->compiled, &expressions->filter, method, signature,
				 problem_of(expressions))) {
		filter->ops = (struct watch_ops_of){ &undecided, 1 };
		return;
	}
	filter->ops = (struct watch_ops_of){ compiled->ops, compiled->count };
	filter->exit = (struct watch_ops_of){ compiled->exit_ops, compiled->exit_count };
	filter->constants = compiled->constants;
	filter->constant_count = compiled->constant_count;
}

const struct value_type *expressions_value(struct expressions *expressions, const char *method,
					   const struct value_signature *signature,
					   const struct value_options *options,
					   struct watch_ops_of *entry, struct watch_ops_of *exit)
{
	struct value_by *by = &expressions->by;

	if (!expressions->has_value || value_by_compile(by, &expressions->value, method, signature,
							options, problem_of(expressions)))
		return NULL;
	*(by->at_end ? exit : entry) = (struct watch_ops_of){ by->ops, by->count };
	return by->type;
}
