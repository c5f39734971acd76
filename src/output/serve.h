/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --listen: what a format exposes, by HTTP, to whoever asks: GET and HEAD of /metrics and no more.
 * It has no thread: the main loop waits for its descriptor and has it answer (session/serve.c).
 */
#ifndef OUTPUT_SERVE_H
#define OUTPUT_SERVE_H

#include <stdbool.h>

struct error;
struct output_server;
struct sockaddr_storage;
struct text;

/* What is asked for: append it, as it is now. False: it cannot be had. */
typedef bool (*output_serve_fn)(void *ctx, struct text *to);

/*
 * Listen at @address, and nowhere else; port 0 is any that is free. Nobody is answered before
 * output_server_run(). -errno with @err set.
 */
int output_server_open(struct output_server **server, const struct sockaddr_storage *address,
		       struct error *err);

/* Becomes readable when there is something to do; owned by the server. */
int output_server_fd(const struct output_server *server);

/* Where it is: "http://ADDR:PORT/metrics". */
const char *output_server_url(const struct output_server *server);

/*
 * Do what can be done without waiting; also to be called now and then, for clients that have
 * gone silent. @fn is called once at most: those who ask at the same time get the same.
 */
void output_server_run(struct output_server *server, output_serve_fn fn, void *ctx);

/* Nobody is listening any more. NULL is fine. */
void output_server_close(struct output_server *server);

#endif
