// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --debuginfod: debug files come from servers while hits come from the kernel (consume.c). The
 * plan waits for those that patterns need. Later nothing waits but hits, in the ring buffer, and
 * only while half of it is free: then they are named by what is here, and those that come after the
 * files by all. Hits whose names fade, those of JavaScript, do not wait.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/text.h"
#include "debuginfod/debuginfod.h"
#include "session/session_internal.h"
#include "target/target.h"

int session_hold_target(struct session *session, struct error *err)
{
	int result = target_init(&session->target, session->pid, err);

	session->target.debuginfod = session->fetching.debuginfod;
	if (result == 0)
		result = session_enter_sandbox(session, err);
	if (result == 0)
		heap_begin();
	return result;
}

bool session_waits_for_files(struct session *session)
{
	struct session_fetching *fetching = &session->fetching;
	bool busy = fetching->debuginfod && debuginfod_is_busy(fetching->debuginfod);

	fetching->passes &= busy;
	return busy && fetching->held;
}

uint64_t session_files_version(const struct session *session)
{
	return session->fetching.debuginfod ? debuginfod_version(session->fetching.debuginfod) : 0;
}

bool session_hold_back(struct session *session, const struct hit_event *event, uint64_t version)
{
	struct session_fetching *fetching = &session->fetching;
	size_t size = HIT_EVENT_HEADER_BYTES + event->frame_count * sizeof(event->frames[0]);

	if (!fetching->debuginfod || fetching->passes || session->state != RUN_CONSUME ||
	    session->stacks.fading ||
	    (!debuginfod_is_busy(fetching->debuginfod) &&
	     session_files_version(session) == version))
		return false;
	fetching->held = calloc(1, sizeof(*event));
	if (fetching->held)
		memcpy(fetching->held, event, size);
	return fetching->held;
}

struct hit_event *session_take_held(struct session *session)
{
	struct session_fetching *fetching = &session->fetching;
	struct hit_event *held = fetching->held;

	/* It has waited as long as was possible. */
	fetching->passes |= held != NULL;
	fetching->held = NULL;
	return held;
}

void session_may_wait(const struct session *session, bool may)
{
	if (session->fetching.debuginfod)
		debuginfod_may_wait(session->fetching.debuginfod, may);
}

void session_log_fetched(const struct session *session)
{
	_cleanup_(text_deinit) struct text text = { 0 };

	if (!session->fetching.debuginfod)
		return;
	debuginfod_sum_up(session->fetching.debuginfod, &text);
	log_print("%s", text_chars(&text));
}

void session_stop_fetching(struct session *session)
{
	debuginfod_stop(session->fetching.debuginfod);
	session->fetching.debuginfod = NULL;
	session->target.debuginfod = NULL;
	free(session->fetching.held);
	session->fetching.held = NULL;
}
