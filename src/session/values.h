/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch, --if and --by=EXPR: what captures the values of each method's calls, filters them or
 * tells them apart (values.c), and what becomes of what was captured (values_write.c, histograms.c,
 * async.c). Between the runtimes, which know signatures, value/, which makes programs of them and
 * text of what they bring, and capture/, which runs them.
 */
#ifndef SESSION_VALUES_H
#define SESSION_VALUES_H

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

struct hit;
struct hit_event;
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

/* What @options ask for. -EINVAL with @err set if they make no sense, or -ENOMEM. */
int session_values_create(struct session *session, struct error *err);
void session_values_destroy(struct session_values *values);

/*
 * Programs for the sites that have come to the plan since the last time, as far as what they are of
 * can be told by now. Nothing without --watch or --if.
 */
void session_values_add(struct session *session);

/* --if, for the methods that are there: -EINVAL with @err set if it does not fit one of them. */
int session_values_check(const struct session *session, struct error *err);

/*
 * Is a call that has come one that --if asks for? Some are sent before that is known, and decided
 * here by what has left them; what cannot be told stays undecided.
 */
bool session_values_decide(struct session *session, const struct hit_event *event);

/* A call that has come, which @hit describes but for its values, goes to the output. */
void session_values_write(struct session *session, const struct hit_event *event,
			  const struct hit *hit);

/* Why nothing is known of what @method is given; NULL: it is known. */
const char *session_values_why(const struct session *session, const char *method);

/* At the end, with -v: of which methods values were not to be had, and why. */
void session_values_log(const struct session *session);

/* For those who write what was captured -------------------------------------------------------- */

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
 * See which exceptions calls are left by, where the runtime can be asked for it: once, as soon as
 * it is known where. What calls threw before that is not known.
 */
void values_watch_thrown(struct session *session);

#endif
