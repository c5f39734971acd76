// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of a run: what they are unwound by, kept up to date, and printing them. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "events/symbols.h"
#include "say.h"
#include "session_internal.h"
#include "unwind/tables.h"

enum {
	/* The list of mappings is read again for a frame that nothing was known of, but not all the time. */
	AGAIN_MS = 200,
	AGAIN_PART = 20, /* nor for more than one part in so many of our time */
};

/* What stacks are unwound by ------------------------------------------------------------------ */

static bool wants_stacks(const struct session *session)
{
	return (session->options->mode == MODE_HITS || session->options->mode == MODE_FOLDED) &&
	       session->options->stack != STACK_MODE_NONE;
}

static int read_tables(struct session *session, const struct maps *maps,
		       const struct target_files *files, struct error *err)
{
	const struct resolution *resolution = &session->resolution;
	const struct unwind_sources sources = {
		.maps = maps,
		.files = files,
		.images = &resolution->images,
		.image_files = &resolution->files,
		.clr = resolution->jit ? jit_clr(resolution->jit) : NULL,
		.memory = resolution->memory,
	};

	return unwind_tables_read(session->unwind, &sources, err);
}

int session_read_unwind(struct session *session, struct error *err)
{
	int result;

	if (!wants_stacks(session))
		return 0;
	result = unwind_tables_create(&session->unwind, err);
	/* A program that is being started has nothing yet. */
	if (result || !session->resolved)
		return result;
	return read_tables(session, &session->resolution.maps, &session->resolution.files, err);
}

static void read_again(struct session *session)
{
	struct target_files files;
	struct maps maps;

	if (maps_read(&maps, &session->resolution.process, NULL))
		return;
	/* The target is gone: what was read before still holds. */
	if (maps.count && target_files_open(&files, &session->resolution.process, &maps,
					    mapping_is_file_code, NULL) == 0) {
		if (read_tables(session, &maps, &files, NULL) == 0 &&
		    capture_set_unwind(session->capture, session->unwind) && !session->told_room) {
			say("so much code has been loaded that there is no room for how to unwind all of it: stacks may lack callers");
			session->told_room = true;
		}
		target_files_close(&files);
	}
	maps_deinit(&maps);
}

void session_refresh_unwind(struct session *session)
{
	uint64_t now = clock_now_ns(), took;

	if (!session->unwind || !session->resolved || !session->unwind_stale ||
	    now < session->unwind_again_ns)
		return;
	session->unwind_stale = false;
	read_again(session);
	took = clock_now_ns() - now;
	session->unwind_again_ns = now + AGAIN_MS * NS_PER_MS + AGAIN_PART * took;
}

/* Printing them ------------------------------------------------------------------------------- */

/*
 * A handler is called by the runtime, while its method's frame is still there, and with it frames that
 * an exception has left for good: to who looks for methods it is that frame, and what is between is nothing.
 * But a filter runs when nothing has been left yet.
 */
struct handler {
	bool waits; /* for its method's frame */
	uint32_t frame_pointer;
	char *name;
};

static bool is_before_method(struct handler *handler, const struct event_frame *at,
			     const struct frame *frame)
{
	bool before = handler->waits;

	if (before && at->frame_pointer == handler->frame_pointer && frame->name &&
	    strcmp(frame->name, handler->name) == 0 && !frame->funclet)
		handler->waits = false;
	if (!before && frame->funclet && !frame->filter && frame->name) {
		free(handler->name);
		handler->name = strdup(frame->name);
		handler->frame_pointer = at->frame_pointer;
		handler->waits = handler->name != NULL;
	}
	return before;
}

void session_print_frames(struct session *session, const struct hit_event *event)
{
	struct handler handler = { 0 };

	for (uint16_t i = 0; i < event->frame_count; i++) {
		const struct event_frame *at = &event->frames[i];
		struct frame frame = { .kind = FRAME_UNKNOWN, .address.value = at->pc };

		session->unwind_stale |= (at->flags & EVENT_FRAME_GUESSED) != 0;
		session->stacks.guessed += (at->flags & EVENT_FRAME_GUESSED) != 0;
		if (session->symbols)
			symbols_name(session->symbols, at, i > 0, &frame);
		if (!is_before_method(&handler, at, &frame) ||
		    session->options->stack == STACK_MODE_FULL)
			output_hit_frame(&session->output, &frame);
	}
	session->stacks.ends[event->stack_end]++;
	free(handler.name);
}
