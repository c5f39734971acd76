/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is shown on a terminal while hits are counted; the final results follow as text, as ever. */
#ifndef SESSION_LIVE_H
#define SESSION_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct output;
struct session;
struct session_live;

/*
 * Between session_load() and the report. Draw from now on, if this run and its terminal are such:
 * else there is none, and nothing is different.
 */
void session_live_start(struct session *session);

/* The terminal is as it was; what was said meanwhile is on it now. */
void session_live_stop(struct session *session);

/* Does it show the counts instead of --interval? */
bool session_is_live(const struct session *session);

/* Now and then, and when there is a key. Negative: the user has had enough, or it failed. */
int session_live_tend(struct session *session);

/* See capture_handlers.wake_fd. */
const int *session_live_input(const struct session *session);

/* Hand the status to @output, as it is @elapsed_ns after counting began. */
void session_write_status(struct session *session, struct output *output, uint64_t elapsed_ns,
			  bool over);

#endif
