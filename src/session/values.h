/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch, --if and --by=EXPR: what captures the values of each method's calls, filters them or
 * tells them apart, and what becomes of what was captured. Between the runtimes, which know
 * signatures, value/, which makes programs of them and text of what they bring, and capture/, which
 * runs them.
 */
#ifndef SESSION_VALUES_H
#define SESSION_VALUES_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct hit;
struct hit_event;
struct session;
struct session_values;

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

#endif
