// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --listen: between the main loop (consume.c), which waits for whoever asks, and the HTTP server of
 * src/output/. Each answer is of the moment it is asked for: the counts are read from the kernel
 * then, on this thread, as they are at the end of an interval. The target is not looked at for it.
 */
#include "base/log.h"
#include "output/serve.h"
#include "session/session_internal.h"

int session_listen(struct session *session, struct error *err)
{
	struct session_serving *serving = &session->serving;
	int result = 0;

	if (session->options->listen.ss_family)
		result = output_server_open(&serving->server, &session->options->listen, err);
	if (serving->server)
		serving->fd = output_server_fd(serving->server);
	return result;
}

void session_log_serving(const struct session *session)
{
	if (session->serving.server)
		log_print("serving %s", output_server_url(session->serving.server));
}

static bool make_exposition(void *ctx, struct text *to)
{
	struct session *session = ctx;

	session->serving.failed = session_add_new(session) != 0;
	if (!session->serving.failed)
		output_expose(&session->output, to);
	return !session->serving.failed;
}

int session_serve(struct session *session)
{
	if (session->serving.server)
		output_server_run(session->serving.server, make_exposition, session);
	return session->serving.failed ? -1 : 0;
}

void session_stop_serving(struct session *session)
{
	output_server_close(session->serving.server);
	session->serving.server = NULL;
}
