/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --watch: which exceptions calls are left by, where the runtime can be asked for it. */
#ifndef SESSION_THROWN_H
#define SESSION_THROWN_H

#include <stddef.h>

#include "method/method_id.h"

struct hit_event;
struct session;
struct text;
struct value_lookup;

/* Once, as soon as it is known where. What calls threw before that is not known. */
void session_watch_thrown(struct session *session);

/*
 * Append the exception that has left the call of @event, in the words of the format. NULL; or why
 * it is not known, and nothing is added.
 */
const char *session_add_thrown(const struct session *session, const struct hit_event *event,
			       const struct value_lookup *lookup, uint32_t string_bytes,
			       struct text *out);

/* Of which of @count types called @names it is, as value_thrown_types(); -1: it is not known. */
int session_thrown_types(const struct session *session, const struct hit_event *event,
			 const struct value_lookup *lookup, const char *const *names, size_t count);

#endif
