/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch --async: beginnings and ends of asynchronous calls put together, by the numbers that the
 * programs gave to calls (bpf/async.bpf.h). Either may come first, since a call can end in another
 * thread before the event of its beginning is sent; and either may be lost on its way.
 */
#ifndef SESSION_ASYNC_CALLS_H
#define SESSION_ASYNC_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/async.h"
#include "bpf/event.h"

/* What is told of an end. */
struct async_end {
	uint64_t time_ns;
	uint64_t took_ns;
	uint32_t method; /* by number */
	enum async_outcome outcome;
	const char *exception; /* type of what it has faulted by, or NULL; lasts for ever */
	pid_t tid;
	char comm[EVENT_COMM_BYTES];
};

/* A call that is over. */
struct async_call {
	uint64_t id;	 /* first: base/tree.h */
	char *arguments; /* that it began with, or NULL */
	const char *why; /* there are none, or NULL; lasts for ever */
	bool begun;	 /* whether its beginning, and its end, have come */
	bool ended;
	struct async_end end;
};

typedef void (*async_call_fn)(void *ctx, const struct async_call *call);

struct async_calls {
	size_t limit;	     /* so many are kept for what is to come */
	async_call_fn write; /* each call that has ended goes there, once */
	void *ctx;
	void *tree; /* of struct async_call, by id */
	size_t count;
	uint64_t oldest; /* of none before this one anything is kept */
	uint64_t newest;
};

/* Call @id has begun, with @arguments; NULL: @why there are none, or NULL. */
void async_calls_begun(struct async_calls *calls, uint64_t id, const char *arguments,
		       const char *why);

/* Likewise, it has ended. */
void async_calls_ended(struct async_calls *calls, uint64_t id, const struct async_end *end);

/* Nothing more comes: ends without their beginnings are written, and all is forgotten. */
void async_calls_finish(struct async_calls *calls);

/* Likewise, and nothing is written. */
void async_calls_deinit(struct async_calls *calls);

#endif
