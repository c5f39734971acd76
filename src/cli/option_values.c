// SPDX-License-Identifier: GPL-2.0-or-later
/* From the text that an option has to its value, for options.c. */
#include "cli/option_values.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/options.h"

enum {
	BUFFER_MIN_BYTES = 4096,
	HIST_LINEAR_MAX = 1000, /* buckets */
	LISTEN_PORT = 9464,	/* as other exporters for OpenMetrics have it */
	PORT_DIGITS = 5,
};

/* Seconds beyond this are a slip of the hand, and would not fit in nanoseconds. */
static const double SECONDS_MAX = 1e9;
/* And less than a nanosecond would be 0, which stands for no limit. */
static const double SECONDS_MIN = 1e-9;
static const double BUFFER_MAX_BYTES = 1 << 30;
static int bad_value(struct error *err, const char *name, const char *value, const char *wanted)
{
	return error_set(err, -EINVAL, "--%s takes %s, not '%s'", name, wanted, value);
}

int option_seconds(const char *name, const char *value, uint64_t *ns, struct error *err)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds >= SECONDS_MIN) || seconds > SECONDS_MAX)
		return bad_value(err, name, value, "a number of seconds above 0");
	*ns = (uint64_t)(seconds * 1e9);
	return 0;
}

int option_whole(const char *name, const char *value, uint64_t low, uint64_t high, uint64_t *number,
		 struct error *err)
{
	char wanted[80];
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	if (value[0] >= '0' && value[0] <= '9' && !*end && !errno && *number >= low &&
	    *number <= high)
		return 0;
	snprintf(wanted, sizeof(wanted), "a whole number from %llu to %llu",
		 (unsigned long long)low, (unsigned long long)high);
	return bad_value(err, name, value, wanted);
}

/* A ring buffer's size must be a power of two, and of whole pages. */
int option_size(const char *name, const char *value, size_t *bytes, struct error *err)
{
	static const char units[] = "KMG";
	char *end;
	double size = strtod(value, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (unit) {
		size *= (double)(1ULL << (10 * (unit - units + 1)));
		end++;
	}
	if (end == value || *end || !(size >= 1) || size > BUFFER_MAX_BYTES)
		return bad_value(err, name, value, "a size up to 1G, such as 64M");
	*bytes = BUFFER_MIN_BYTES;
	while ((double)*bytes < size)
		*bytes *= 2;
	return 0;
}

int option_word(const char *name, const char *value, const char *const *words, unsigned int *index,
		const char *wanted, struct error *err)
{
	for (unsigned int i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) == 0) {
			*index = i;
			return 0;
		}
	}
	return bad_value(err, name, value, wanted);
}

/* A number and its unit, to @end or the string's end. */
static bool read_time(const char *value, uint64_t *ns, char **end)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	double number = strtod(value, end), in_ns = -1;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && in_ns < 0; i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(*end, units[i].name, length) != 0)
			continue;
		in_ns = number * units[i].ns;
		*end += length;
	}
	if (*end == value || !(in_ns >= 0 && in_ns <= SECONDS_MAX * 1e9))
		return false;
	*ns = (uint64_t)in_ns;
	return true;
}

int option_time(const char *name, const char *value, uint64_t *ns, struct error *err)
{
	char *end;

	if (read_time(value, ns, &end) && *ns && !*end)
		return 0;
	return bad_value(err, name, value, "a time with its unit, such as 10ms, 500us or 1.5s");
}

static bool read_port(const char *text, in_port_t *port)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long number = strtoul(text, NULL, 10);

	*port = htons((uint16_t)number);
	return digits > 0 && digits <= PORT_DIGITS && !text[digits] && number <= UINT16_MAX;
}

/* What stands before the port; an IPv6 address in brackets, as it has colons itself. */
static bool read_host(const char *text, size_t length, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	char host[INET6_ADDRSTRLEN] = "127.0.0.1";
	bool in_brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';

	if (length >= sizeof(host))
		return false;
	if (length)
		snprintf(host, sizeof(host), "%.*s", (int)length - 2 * in_brackets,
			 text + in_brackets);
	*address = (struct sockaddr_storage){ .ss_family = in_brackets ? AF_INET6 : AF_INET };
	return in_brackets ? inet_pton(AF_INET6, host, &six->sin6_addr) == 1 :
			     inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

int option_address(const char *name, const char *value, struct sockaddr_storage *address,
		   struct error *err)
{
	const char *colon = value ? strrchr(value, ':') : NULL;
	size_t host_length = colon ? (size_t)(colon - value) : 0;
	in_port_t port = htons(LISTEN_PORT);

	if (!read_host(value, host_length, address) ||
	    (value && !read_port(colon ? colon + 1 : value, &port)))
		return bad_value(
			err, name, value,
			"ADDR:PORT or PORT, such as 127.0.0.1:9464 or [::1]:9464, without names");
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = port;
	else
		((struct sockaddr_in *)address)->sin_port = port;
	return 0;
}

int option_linear(const char *value, struct hist_range *range, struct error *err)
{
	static const char kind[] = "linear:";
	struct hist_range read = { 0 };
	char *end;

	if (strncmp(value, kind, strlen(kind)) == 0 &&
	    read_time(value + strlen(kind), &read.min_ns, &end) && *end == ':' &&
	    read_time(end + 1, &read.max_ns, &end) && *end == ':' &&
	    read_time(end + 1, &read.step_ns, &end) && !*end && read.step_ns &&
	    read.max_ns > read.min_ns &&
	    (read.max_ns - read.min_ns) / read.step_ns <= HIST_LINEAR_MAX) {
		*range = read;
		return 0;
	}
	return bad_value(
		err, "hist", value,
		"linear:MIN:MAX:STEP, such as linear:0ms:50ms:5ms with 1000 steps at most");
}
