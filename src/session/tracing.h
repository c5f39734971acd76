/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --trace: the calls of each thread that has one of a root under way are kept as they end, until
 * that one ends, and then go to the output as a tree (trace_tree.h).
 */
#ifndef SESSION_TRACING_H
#define SESSION_TRACING_H

struct error;
struct hit;
struct hit_event;
struct session;
struct session_traces;

/* Nothing without --trace. -ENOMEM with @err set. */
int session_traces_create(struct session *session, struct error *err);
void session_traces_destroy(struct session_traces *traces);

/* A call has ended, which @hit describes; if it is of a root, its trace may go to the output. */
void session_trace(struct session *session, const struct hit_event *event, const struct hit *hit);

/* At the end: what of the traces is not shown. */
void session_traces_log(const struct session *session);

#endif
