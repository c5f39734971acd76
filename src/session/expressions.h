/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --if and --by=EXPR say, and what that is for each method: for values.c. The first method
 * that was there and that one of them does not fit is a mistake of the user's.
 */
#ifndef SESSION_EXPRESSIONS_H
#define SESSION_EXPRESSIONS_H

#include "base/error.h"
#include "capture/capture.h"
#include "filter/filter.h"
#include "value/by.h"
#include "value/filter.h"

struct options;

struct expressions {
	bool filters;
	bool has_value;
	struct filter filter;
	struct filter value;
	struct value_filter *compiled;
	struct value_by by;
	struct error problem;
};

/* -EINVAL or -ENOMEM with @err set. */
int expressions_init(struct expressions *expressions, const struct options *options,
		     struct error *err);
void expressions_deinit(struct expressions *expressions);

/*
 * What filters calls of @method; what does not fit it leaves them undecided. @no_types: why it is
 * not known of which types exceptions are that leave them; or NULL.
 */
void expressions_filter(struct expressions *expressions, const char *method,
			const struct value_signature *signature, const char *no_types,
			struct watch_filter_of *filter);

/*
 * What takes their value, at the entry or the exit, until the next one is made. The type of it;
 * NULL: it is not to be had.
 */
const struct value_type *expressions_value(struct expressions *expressions, const char *method,
					   const struct value_signature *signature,
					   const struct value_options *options,
					   struct watch_ops_of *entry, struct watch_ops_of *exit);

#endif
