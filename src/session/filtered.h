/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that --if did not ask for: counted, by method, and said at the end. */
#ifndef SESSION_FILTERED_H
#define SESSION_FILTERED_H

struct output_filtered;
struct session;

/* For the caller to free; NULL: no memory, or no filter. */
struct output_filtered *filtered_collect(const struct session *session);

void filtered_log(const struct session *session, const struct output_filtered *filtered);

#endif
