// SPDX-License-Identifier: GPL-2.0-or-later
/* See async_calls.h. Calls have numbers one after the other, as they begin. */
#include "session/async_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/tree.h"

static const char lost[] = "its beginning was lost";
static const char forgotten[] = "too many calls were under way";

static void free_call(void *node)
{
	struct async_call *call = node;

	free(call->arguments);
	free(call);
}

static void drop(struct async_calls *calls, struct async_call *call)
{
	tdelete(call, &calls->tree, by_leading_number);
	free_call(call);
	calls->count--;
}

static void write_call(struct async_calls *calls, struct async_call *call)
{
	if (!call->begun && !call->why)
		call->why = lost;
	calls->write(calls->ctx, call);
}

static void drop_oldest(struct async_calls *calls)
{
	struct async_call *call = NULL;

	while (!call && calls->oldest <= calls->newest)
		call = tree_find(&calls->tree, calls->oldest++);
	if (!call)
		return;
	if (call->ended)
		write_call(calls, call);
	drop(calls, call);
}

/* What is kept of call @id from now on; NULL: nothing can be. */
static struct async_call *take(struct async_calls *calls, uint64_t id)
{
	bool is_new;
	struct async_call *call = tree_take(&calls->tree, id, sizeof(*call), &is_new);

	if (!call)
		return NULL;
	calls->count += is_new;
	if (id > calls->newest)
		calls->newest = id;
	return call;
}

static void settle(struct async_calls *calls, struct async_call *call)
{
	if (call->begun && call->ended) {
		write_call(calls, call);
		drop(calls, call);
	}
	while (calls->count > calls->limit)
		drop_oldest(calls);
}

void async_calls_begun(struct async_calls *calls, uint64_t id, const char *arguments,
		       const char *why)
{
	/* Its end has been written, or is going to be as it comes. */
	struct async_call *call = id < calls->oldest ? NULL : take(calls, id);

	if (!call || call->begun)
		return;
	call->begun = true;
	call->arguments = arguments ? strdup(arguments) : NULL;
	call->why = call->arguments ? NULL : arguments ? "no memory" : why;
	settle(calls, call);
}

void async_calls_ended(struct async_calls *calls, uint64_t id, const struct async_end *end)
{
	struct async_call *call = id < calls->oldest ? NULL : take(calls, id);

	if (call && !call->ended) {
		call->ended = true;
		call->end = *end;
		settle(calls, call);
	} else if (!call) {
		write_call(calls, &(struct async_call){
					  .id = id,
					  .why = id < calls->oldest ? forgotten : "no memory",
					  .ended = true,
					  .end = *end,
				  });
	}
}

void async_calls_finish(struct async_calls *calls)
{
	while (calls->count)
		drop_oldest(calls);
}

void async_calls_deinit(struct async_calls *calls)
{
	tdestroy(calls->tree, free_call);
	calls->tree = NULL;
	calls->count = 0;
}
