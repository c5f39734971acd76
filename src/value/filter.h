/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --if means for the calls of one method: the program that accepts or rejects them at their
 * entry, before anything is captured, and, if that does not decide it, the one at their end. What
 * is reached by a null is not equal, less or greater than anything, and so is the result of a call
 * that was left otherwise; where memory cannot be read the call is undecided.
 */
#ifndef VALUE_FILTER_H
#define VALUE_FILTER_H

#include "value/value.h"

struct filter;

enum { VALUE_FILTER_CONSTANTS = 16 };

/* They run as those that capture do; constants are those that WATCH_IF_SAME_BYTES names. */
struct value_filter {
	struct watch_op ops[WATCH_OPS];
	size_t count;
	struct watch_op exit_ops[WATCH_OPS]; /* after WATCH_LATER */
	size_t exit_count;
	struct watch_constant constants[VALUE_FILTER_CONSTANTS];
	size_t constant_count;
};

/*
 * @filter for calls of @signature of @method. -EINVAL with @err set, which points at what does not
 * fit in the filter.
 */
int value_filter_compile(struct value_filter *out, const struct filter *filter, const char *method,
			 const struct value_signature *signature, struct error *err);

#endif
