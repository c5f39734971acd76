// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The HTTP side of --listen, by libmicrohttpd, whose epoll descriptor the main loop waits for. We
 * are root and whoever reaches the address may ask: so a request is a few lines, of which only
 * method and path matter, its body is not read, and each connection is for one answer.
 *
 * The library is loaded here and not with the program: with what it needs itself (GnuTLS) that
 * would take a third of the time of every start.
 */
#include "output/serve.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum {
	CONNECTIONS_MAX = 16,
	BACKLOG = 16,
	SILENT_MAX_S = 5,	  /* then a connection is closed */
	REQUEST_MAX_BYTES = 8192, /* with what is kept of its answer's head */
	URL_BYTES = INET6_ADDRSTRLEN + sizeof("http://[]:65535/metrics"),
};

static const char PATH[] = "/metrics";
static const char CONTENT_TYPE[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#define SONAME "libmicrohttpd.so.12"

/* Once a server is open. */
static struct {
	void *library; /* which stays loaded */
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_run) run;
	__typeof__(&MHD_get_daemon_info) get_daemon_info;
	__typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
} mhd;

struct output_server {
	struct MHD_Daemon *daemon;
	int fd; /* its epoll descriptor */
	char url[URL_BYTES];
	/* While it runs: */
	output_serve_fn fn;
	void *ctx;
	struct MHD_Response *fresh; /* NULL: nobody has asked yet */
};

/* Answers ------------------------------------------------------------------------------------- */

static struct MHD_Response *make_response(const char *bytes, size_t length, const char *type)
{
	struct MHD_Response *response = mhd.create_response_from_buffer(
		length, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);

	if (response &&
	    mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    mhd.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES)
		return response;
	if (response)
		mhd.destroy_response(response);
	return NULL;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      struct MHD_Response *response)
{
	/* Without an answer the connection is closed. */
	return response ? mhd.queue_response(connection, status, response) : MHD_NO;
}

/* In a sentence, for people. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status,
			      const char *why)
{
	struct MHD_Response *response =
		make_response(why, strlen(why), "text/plain; charset=utf-8");
	enum MHD_Result result;

	if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = answer(connection, status, response);
	if (response)
		mhd.destroy_response(response);
	return result;
}

static void make_fresh(struct output_server *server)
{
	_cleanup_(text_deinit) struct text all = { 0 };

	if (!server->fresh && server->fn(server->ctx, &all) && text_ok(&all))
		server->fresh = make_response(text_chars(&all), all.length, CONTENT_TYPE);
}

/* Called when the head of a request has come; an answer is given at once. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *body,
				  size_t *body_size, void **request)
{
	struct output_server *server = ctx;

	(void)version;
	(void)body;
	(void)body_size;
	(void)request;
	if (strcmp(path, PATH) != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "There is nothing but /metrics.\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "It can be read, by GET and HEAD.\n");
	make_fresh(server);
	if (!server->fresh)
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			      "The counts cannot be read.\n");
	return answer(connection, MHD_HTTP_OK, server->fresh);
}

void output_server_run(struct output_server *server, output_serve_fn fn, void *ctx)
{
	server->fn = fn;
	server->ctx = ctx;
	mhd.run(server->daemon);
	if (server->fresh)
		mhd.destroy_response(server->fresh);
	server->fresh = NULL;
}

/* Listening ----------------------------------------------------------------------------------- */

/* What it is called; also of an address that the kernel has completed. */
static void print_url(const struct sockaddr_storage *address, char url[URL_BYTES])
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	bool is_six = address->ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "?";

	inet_ntop(address->ss_family,
		  is_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr, host,
		  sizeof(host));
	snprintf(url, URL_BYTES, is_six ? "http://[%s]:%u%s" : "http://%s:%u%s", host,
		 (unsigned int)ntohs(is_six ? six->sin6_port : four->sin_port), PATH);
}

/* A socket that listens at @address, which is completed; or -errno. */
static int open_socket(struct sockaddr_storage *address)
{
	const int yes = 1;
	bool six = address->ss_family == AF_INET6;
	socklen_t size = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), result;

	if (fd < 0)
		return -errno;
	/* What the last run has answered may still be on its way. IPv6 stands for itself. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
	    (!six || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes)) == 0) &&
	    bind(fd, (const struct sockaddr *)address, size) == 0 && listen(fd, BACKLOG) == 0 &&
	    getsockname(fd, (struct sockaddr *)address, &size) == 0)
		return fd;
	result = -errno;
	close(fd);
	return result;
}

static bool find(const char *name, void *function)
{
	void *found = dlsym(mhd.library, name);

	memcpy(function, &found, sizeof(found));
	return found;
}

static int load(struct error *err)
{
	mhd.library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!mhd.library)
		return error_set(err, -ELIBACC,
				 "--listen needs " SONAME ", which is not there: install it "
				 "(Debian: libmicrohttpd12), or use --format=openmetrics with -o");
	if (find("MHD_start_daemon", &mhd.start_daemon) &&
	    find("MHD_stop_daemon", &mhd.stop_daemon) && find("MHD_run", &mhd.run) &&
	    find("MHD_get_daemon_info", &mhd.get_daemon_info) &&
	    find("MHD_create_response_from_buffer", &mhd.create_response_from_buffer) &&
	    find("MHD_add_response_header", &mhd.add_response_header) &&
	    find("MHD_queue_response", &mhd.queue_response) &&
	    find("MHD_destroy_response", &mhd.destroy_response))
		return 0;
	return error_set(err, -ELIBBAD,
			 SONAME " lacks what --listen needs of it: install another one");
}

static int start(struct output_server *server, int fd)
{
	const union MHD_DaemonInfo *info;

	server->daemon = mhd.start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SILENT_MAX_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MAX_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!server->daemon)
		return -ENOMEM;
	info = mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -ENOTSUP;
	server->fd = info->epoll_fd;
	return 0;
}

int output_server_open(struct output_server **out, const struct sockaddr_storage *address,
		       struct error *err)
{
	struct output_server *server = calloc(1, sizeof(*server));
	struct sockaddr_storage bound = *address;
	int fd, result;

	if (!server)
		return error_set(err, -ENOMEM, "no memory to listen");
	result = load(err);
	if (result) {
		free(server);
		return result;
	}
	print_url(&bound, server->url);
	fd = open_socket(&bound);
	if (fd < 0) {
		error_set(err, fd, "cannot serve %s: %s%s", server->url, strerror(-fd),
			  fd == -EADDRINUSE ? ", so name another port with --listen" : "");
		free(server);
		return fd;
	}
	print_url(&bound, server->url);
	result = start(server, fd);
	if (result) {
		error_set(err, result, "cannot serve %s: %s (--listen=ADDR:PORT names another)",
			  server->url, strerror(-result));
		output_server_close(server);
		return result;
	}
	*out = server;
	return 0;
}

int output_server_fd(const struct output_server *server)
{
	return server->fd;
}

const char *output_server_url(const struct output_server *server)
{
	return server->url;
}

void output_server_close(struct output_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		mhd.stop_daemon(server->daemon);
	free(server);
}
