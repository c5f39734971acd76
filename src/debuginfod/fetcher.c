// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that fetches: libdebuginfod, which brings an HTTP client, TLS and threads, is loaded
 * here and not by place-probe, of which it has neither memory locked, descriptors nor priority. The
 * library is loaded by name, as elfutils does it: who never asks for it need not have it.
 */
#include "debuginfod/fetcher.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rights.h"

static int asker; /* the socket; who asks is at its other end */

struct library {
	void *handle; /* stays open */
	__typeof__(&debuginfod_begin) begin;
	__typeof__(&debuginfod_set_progressfn) set_progress;
	__typeof__(&debuginfod_find_debuginfo) find;
	debuginfod_client *client;
};

/*
 * Called at least each second. Not 0: nobody waits for the file any more. A signal at the parent's
 * death would not come: it has no right to signal us by then (broker/).
 */
static int is_alone(debuginfod_client *client, long done, long all)
{
	struct pollfd end = { .fd = asker };

	(void)client;
	(void)done;
	(void)all;
	return poll(&end, 1, 0) == 1;
}

static int load(struct library *library)
{
	library->handle = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return -ELIBACC;
	library->begin = (__typeof__(library->begin))dlsym(library->handle, "debuginfod_begin");
	library->find =
		(__typeof__(library->find))dlsym(library->handle, "debuginfod_find_debuginfo");
	library->set_progress = (__typeof__(library->set_progress))dlsym(
		library->handle, "debuginfod_set_progressfn");
	if (!library->begin || !library->find || !library->set_progress)
		return -ELIBBAD;
	library->client = library->begin();
	if (!library->client)
		return -ENOMEM;
	library->set_progress(library->client, is_alone);
	return 0;
}

/* What is sent may be as large and take as long as the user says, and else no more than this. */
static void set_bounds(void)
{
	setenv(DEBUGINFOD_TIMEOUT_ENV_VAR, "30", 0);
	setenv(DEBUGINFOD_MAXTIME_ENV_VAR, "120", 0);
	setenv(DEBUGINFOD_MAXSIZE_ENV_VAR, "1073741824", 0);
}

void fetcher_run(int socket)
{
	struct fetch_message message = { 0 };
	struct library library = { 0 };
	int result;

	asker = socket;
	set_bounds();
	result = load(&library);
	message.result = result;
	if (rights_send(socket, &message, sizeof(message), -1) || result || !library.find)
		_exit(1);
	while (recv(socket, &message, sizeof(message), 0) == (ssize_t)sizeof(message)) {
		int fd = library.find(library.client, message.id, (int)message.size, NULL);

		message.result = fd < 0 ? fd : 0;
		if (rights_send(socket, &message, sizeof(message), fd))
			break;
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}
