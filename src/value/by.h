/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --by=EXPR means for the calls of one method: the program that takes the value of a call, and
 * the value that a key of the kernel's table (bpf/by.h) has, as text.
 */
#ifndef VALUE_BY_H
#define VALUE_BY_H

#include "bpf/by.h"
#include "value/value.h"

struct filter;

struct value_by {
	struct watch_op ops[WATCH_OPS];
	size_t count;
	const struct value_type *type; /* of the value */
	bool at_end;		       /* it is of the result: the program is for the exit */
};

/*
 * @filter, an operand, for calls of @signature of @method; of @options, which say how much of a
 * string is taken, and what is not to be shown. -EINVAL with @err set, which points at what does
 * not fit.
 */
int value_by_compile(struct value_by *out, const struct filter *filter, const char *method,
		     const struct value_signature *signature, const struct value_options *options,
		     struct error *err);

/*
 * Append the value that @key has: `Paid`, or in JSON {"type":"App.Status","value":"Paid"}. Its
 * bytes are hostile.
 */
void value_by_add(const struct value_type *type, const struct by_key *key, enum value_format format,
		  struct text *out);

#endif
