// SPDX-License-Identifier: GPL-2.0-or-later
/* The HTTP side of --listen, asked by sockets of our own; what it serves is counted here. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/text.h"
#include "output/serve.h"

enum { ANSWER_BYTES = 4096, TURN_MS = 100, TURNS_MAX = 100, CLIENTS = 16 };

static struct output_server *server;
static struct sockaddr_storage bound; /* has room for any address */
static struct sockaddr_in address;
static int made; /* how often it was asked for the counts */
static bool broken;

static bool make(void *ctx, struct text *to)
{
	assert_null(ctx);
	made++;
	text_add(to, "x 1\n# EOF\n");
	return !broken;
}

static int set_up(void **state)
{
	unsigned int port;

	(void)state;
	address = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	made = 0;
	broken = false;
	memcpy(&bound, &address, sizeof(address));
	if (output_server_open(&server, &bound, NULL) ||
	    sscanf(output_server_url(server), "http://127.0.0.1:%u/metrics", &port) != 1)
		return -1;
	address.sin_port = htons((uint16_t)port);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	output_server_close(server);
	return 0;
}

static int connect_to(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* A client that has said @words. */
static int ask(const char *words)
{
	int fd = connect_to(&address);

	assert_true(fd >= 0);
	assert_int_equal(send(fd, words, strlen(words), MSG_NOSIGNAL), strlen(words));
	return fd;
}

/* As the main loop does it, until all that comes to @fd has come; false: that does not happen. */
static bool finish(int fd, char answer[ANSWER_BYTES])
{
	size_t length = 0;

	for (int turn = 0; turn < TURNS_MAX; turn++) {
		struct pollfd fds[] = { { .fd = output_server_fd(server), .events = POLLIN },
					{ .fd = fd, .events = POLLIN } };
		ssize_t got;

		assert_true(poll(fds, 2, TURN_MS) >= 0);
		output_server_run(server, make, NULL);
		if (!fds[1].revents)
			continue;
		got = recv(fd, answer + length, ANSWER_BYTES - 1 - length, 0);
		if (got <= 0) {
			answer[length] = '\0';
			close(fd);
			return true;
		}
		length += (size_t)got;
	}
	return false;
}

static void check(const char *words, const char *status, const char *header, const char *body)
{
	char answer[ANSWER_BYTES];

	assert_true(finish(ask(words), answer));
	assert_memory_equal(answer, status, strlen(status));
	if (header)
		assert_non_null(strstr(answer, header));
	assert_non_null(strstr(answer, "\r\n\r\n"));
	if (body)
		assert_string_equal(strstr(answer, "\r\n\r\n") + 4, body);
}

#define TYPE "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
#define HOST " HTTP/1.1\r\nHost: x\r\n"

UNIT_TEST_WITHIN(what_is_served, set_up, tear_down)
{
	check("GET /metrics" HOST "\r\n", "HTTP/1.1 200 ", TYPE, "x 1\n# EOF\n");
	check("GET /metrics?name=x HTTP/1.0\r\n\r\n", "HTTP/1.", TYPE, "x 1\n# EOF\n");
	check("HEAD /metrics" HOST "\r\n", "HTTP/1.1 200 ", "Content-Length: 10\r\n", "");
	assert_int_equal(made, 3);
	broken = true;
	check("GET /metrics" HOST "\r\n", "HTTP/1.1 500 ", NULL, NULL);
}

UNIT_TEST_WITHIN(what_is_refused, set_up, tear_down)
{
	check("GET /" HOST "\r\n", "HTTP/1.1 404 ", NULL, NULL);
	check("GET /metrics/" HOST "\r\n", "HTTP/1.1 404 ", NULL, NULL);
	check("GET /../metrics" HOST "\r\n", "HTTP/1.1 404 ", NULL, NULL);
	check("DELETE /metrics" HOST "\r\n", "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n", NULL);
	/* Before the body that is announced. */
	check("POST /metrics" HOST "Content-Length: 1000000\r\n\r\n", "HTTP/1.1 405 ", NULL, NULL);
	check("get /metrics" HOST "\r\n", "HTTP/1.1 405 ", NULL, NULL);
	check("GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", NULL, NULL);
	assert_int_equal(made, 0);
}

/* Who is connected and silent is in nobody's way, as long as there are not too many. */
UNIT_TEST_WITHIN(silent_clients, set_up, tear_down)
{
	int silent[] = { ask(""), ask("GET /met"), ask("GET /metrics" HOST "X: y") };

	check("GET /metrics" HOST "\r\n", "HTTP/1.1 200 ", TYPE, NULL);
	assert_int_equal(made, 1);
	for (size_t i = 0; i < 3; i++)
		close(silent[i]);
}

/* They get the same. */
UNIT_TEST_WITHIN(many_at_once, set_up, tear_down)
{
	char answer[ANSWER_BYTES];
	int fds[CLIENTS];

	for (size_t i = 0; i < CLIENTS; i++)
		fds[i] = ask("GET /metrics" HOST "\r\n");
	for (size_t i = 0; i < CLIENTS; i++) {
		assert_true(finish(fds[i], answer));
		assert_non_null(strstr(answer, "# EOF"));
	}
	assert_true(made < CLIENTS / 2);
}

UNIT_TEST_WITHIN(address_is_taken, set_up, tear_down)
{
	struct output_server *other = NULL;
	struct error err = { .text = "" };

	assert_int_equal(
		output_server_open(&other, (const struct sockaddr_storage *)&address, &err),
		-EADDRINUSE);
	assert_null(other);
	assert_non_null(strstr(err.text, "Address already in use"));
	/* Only there, and no longer than it lives. */
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_int_equal(connect_to(&address), -ECONNREFUSED);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	output_server_close(server);
	assert_int_equal(connect_to(&address), -ECONNREFUSED);
	assert_int_equal(
		output_server_open(&server, (const struct sockaddr_storage *)&address, NULL), 0);
}

UNIT_MAIN(NULL, NULL)
