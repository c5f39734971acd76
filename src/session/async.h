/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch --async: asynchronous calls of .NET as a whole: which sites are of them, and what comes
 * of their beginnings and ends (bpf/async.bpf.h) put together.
 */
#ifndef SESSION_ASYNC_H
#define SESSION_ASYNC_H

#include <stdbool.h>

struct error;
struct hit_event;
struct output_call;
struct session;
struct session_async;

/* Nothing without --async. -ENOMEM with @err set. */
int session_async_create(struct session *session, struct error *err);
void session_async_destroy(struct session_async *async);

/* Whatever is known by now of sites that were not told of yet. */
void session_async_add(struct session *session);

/* Is @event, with what @call says of it, of such a call, and so no call to be shown by itself? */
bool session_async_take(struct session *session, const struct hit_event *event,
			const struct output_call *call);

/*
 * At the end: what was counted, by method, and calls whose beginning was lost. False: of some it is
 * not known whether they are over.
 */
bool session_async_report(struct session *session);

#endif
