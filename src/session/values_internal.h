/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What values.c, which has the programs of methods, shares with values_write.c, which has calls, and
 * with histograms.c, which has them by value.
 */
#ifndef SESSION_VALUES_INTERNAL_H
#define SESSION_VALUES_INTERNAL_H

#include "base/error.h"
#include "base/text.h"
#include "bpf/watch.h"
#include "capture/capture.h"
#include "filter/filter.h"
#include "method/method_id.h"
#include "session/call_name.h"
#include "value/by.h"
#include "value/filter.h"
#include "value/value.h"

struct session;

/* What calls of one method are captured by. */
struct method_values {
	struct method_values *older; /* of what has the same key; or NULL */
	struct method_id id;
	uint64_t method_desc;
	const char *name;		  /* of the plan's site */
	struct value_signature signature; /* which .watch borrows */
	struct value_watch *watch;	  /* NULL: there is none, and .why says why */
	const struct value_type *by;	  /* --by=EXPR: of what it is; NULL: not to be had */
	const char *why;
	struct value_seen seen;
	size_t seen_before; /* of these, what the program knows */
	struct watch_program program;
	uint64_t asked_ms;
	unsigned int asked; /* how often */
};

/* What --if and --by=EXPR say, and what that was for the last method. */
struct expressions {
	bool filters;
	bool has_value;
	struct filter filter;
	struct filter value;
	struct value_filter *compiled;
	struct value_by by;
	struct error problem; /* with the first method that one of them does not fit */
};

struct session_values {
	struct value_types *types;
	struct redaction *redaction;
	struct expressions expressions; /* --if and --by */
	struct value_options options;
	struct method_values **list;
	size_t count;
	size_t capacity;
	void *newest;			 /* of list: struct newest_of */
	struct method_values **programs; /* those of them that have one */
	size_t program_count;
	size_t program_capacity;
	uint64_t mapped; /* follow_mapped() when files were looked for last */
	size_t sites;	 /* of the plan, that have been looked at */
	struct call_names names;
	struct text name;
	struct text arguments;
	struct text result;
	struct text exception;
};

/* The newest of what calls of @site are captured by; NULL: there is none. */
struct method_values *values_find(const struct session_values *values, const struct site *site);

/* That whose program begins at @first; NULL: none, as for 0. */
const struct method_values *values_of_program(const struct session_values *values, uint32_t first);

/*
 * Types that were not loaded when the method was asked for are by the time it has been called, and
 * what its objects are of is known then. What calls under way were captured by stays.
 */
void values_ask_again(struct session *session, uint32_t number);

/*
 * See which exceptions calls are left by, where the runtime can be asked for it: once, as soon as it
 * is known where. What calls threw before that is not known.
 */
void values_watch_thrown(struct session *session);

#endif
