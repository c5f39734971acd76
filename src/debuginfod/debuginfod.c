// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was asked for and what has come: between runtime/native/ and the process that fetches. That
 * loads libdebuginfod, which brings an HTTP client, TLS and threads, and has neither place-probe's
 * locked memory, descriptors nor priority. The library is loaded by name, as elfutils does it: who
 * never asks for it need not have it.
 */
#include "debuginfod/debuginfod.h"

#include <cap-ng.h>
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/text.h"
#include "base/vector.h"

enum {
	SOCKET = 3, /* of the process, and its last descriptor */
	WANTED_MAX = 4096,
	FAILURES_MAX = 3, /* in a row: no server can be reached */
	WAIT_MAX_MS = 120000,
	LOOK_MS = 50, /* for signals, while it waits */
	START_MS = 10000,
	ID_MAX_BYTES = 64,
};

/*
 * What we and the process say to each other, by a socket of packets. First one without an ID comes
 * from the process: what became of its start.
 */
struct fetch_message {
	int32_t result; /* of an answer: 0, with a descriptor, or -errno */
	uint32_t size;
	uint8_t id[ID_MAX_BYTES];
};

/* A debug file that was asked for. */
struct wanted {
	uint8_t id[ID_MAX_BYTES];
	size_t size;
	int fd; /* or -errno: -EAGAIN before its answer has come */
	bool refused;
};

struct debuginfod {
	pid_t pid;
	int fd; /* -1: nothing is asked any more */
	struct wanted *wanted;
	size_t count;
	size_t capacity;
	size_t waiting; /* of them */
	uint64_t version;
	bool may_wait;
	uint64_t waited_ms;
	unsigned int failures; /* in a row */
	int problem;	       /* the last of them */
};

/* The process --------------------------------------------------------------------------------- */

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

/* Until @socket ends. */
_Noreturn static void fetch(int socket)
{
	struct fetch_message message = { 0 };
	struct library library = { 0 };

	asker = socket;
	set_bounds();
	message.result = load(&library);
	if (rights_send(socket, &message, sizeof(message), -1) || message.result || !library.find)
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

_Noreturn static void be_fetcher(int socket)
{
	prctl(PR_SET_NAME, "debuginfod");
	if (dup2(socket, SOCKET) < 0)
		_exit(1);
	syscall(SYS_close_range, SOCKET + 1, ~0U, 0);
	/* What comes from a network is read by one who may do no more than its user. */
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		_exit(1);
	fetch(SOCKET);
}

static int check_environment(struct error *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && urls[strspn(urls, " ")])
		return 0;
	return error_set(
		err, -EINVAL,
		"--debuginfod asks the servers that DEBUGINFOD_URLS names, and that is not "
		"set: set it to their URLs, with blanks between them");
}

/* It says first whether it can do what it is for. */
static int wait_for_start(const struct debuginfod *debuginfod, struct error *err)
{
	struct pollfd ready = { .fd = debuginfod->fd, .events = POLLIN };
	struct fetch_message message = { .result = -ETIMEDOUT };

	if (poll(&ready, 1, START_MS) == 1 &&
	    recv(debuginfod->fd, &message, sizeof(message), 0) != (ssize_t)sizeof(message))
		message.result = -ECHILD;
	if (message.result == -ELIBACC)
		return error_set(
			err, -ELIBACC,
			"--debuginfod needs libdebuginfod.so.1, which is not there: install it "
			"(Debian: libdebuginfod1)");
	if (message.result)
		return error_set(err, message.result,
				 "the process that --debuginfod fetches by does not start: %s",
				 strerror(-message.result));
	return 0;
}

int debuginfod_start(struct debuginfod **out, struct error *err)
{
	struct debuginfod *debuginfod = NULL;
	int ends[2], result = check_environment(err);

	if (result)
		return result;
	debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		free(debuginfod);
		return error_set(err, -ENOMEM, "cannot make a socket for --debuginfod");
	}
	debuginfod->fd = ends[0];
	debuginfod->may_wait = true;
	debuginfod->pid = fork();
	if (debuginfod->pid == 0)
		be_fetcher(ends[1]);
	close(ends[1]);
	result = debuginfod->pid < 0 ?
			 error_set(err, -errno, "cannot start a process for --debuginfod: %s",
				   strerror(errno)) :
			 wait_for_start(debuginfod, err);
	if (result) {
		debuginfod_stop(debuginfod);
		return result;
	}
	*out = debuginfod;
	return 0;
}

pid_t debuginfod_pid(const struct debuginfod *debuginfod)
{
	return debuginfod->pid;
}

/* Whatever it is doing. */
static void end_process(struct debuginfod *debuginfod)
{
	if (debuginfod->fd >= 0)
		close(debuginfod->fd);
	debuginfod->fd = -1;
	if (debuginfod->pid <= 0)
		return;
	kill(debuginfod->pid, SIGKILL);
	while (waitpid(debuginfod->pid, NULL, 0) < 0 && errno == EINTR)
		;
	debuginfod->pid = 0;
}

void debuginfod_stop(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	end_process(debuginfod);
	for (size_t i = 0; i < debuginfod->count; i++) {
		if (debuginfod->wanted[i].fd >= 0)
			close(debuginfod->wanted[i].fd);
	}
	free(debuginfod->wanted);
	free(debuginfod);
}

/* Answers ------------------------------------------------------------------------------------- */

static struct wanted *find_wanted(struct debuginfod *debuginfod, const uint8_t *id, size_t size)
{
	for (size_t i = 0; i < debuginfod->count; i++) {
		struct wanted *wanted = &debuginfod->wanted[i];

		if (wanted->size == size && memcmp(wanted->id, id, size) == 0)
			return wanted;
	}
	return NULL;
}

static void settle(struct debuginfod *debuginfod, struct wanted *wanted, int fd)
{
	wanted->fd = fd;
	debuginfod->waiting--;
	debuginfod->version++;
}

/* Nothing more will come. */
static void give_up(struct debuginfod *debuginfod, int problem)
{
	end_process(debuginfod);
	for (size_t i = 0; i < debuginfod->count; i++) {
		if (debuginfod->wanted[i].fd == -EAGAIN)
			settle(debuginfod, &debuginfod->wanted[i], problem);
	}
}

/* One answer, and the descriptor with it. 0: there is none; negative: there will be none. */
static int receive(const struct debuginfod *debuginfod, struct fetch_message *message, int *fd)
{
	ssize_t got = rights_receive(debuginfod->fd, message, sizeof(*message), MSG_DONTWAIT, fd);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return got == (ssize_t)sizeof(*message) ? 1 : -ECHILD;
}

static void take(struct debuginfod *debuginfod, const struct fetch_message *message, int fd)
{
	int result = message->result ? message->result : fd >= 0 ? fd : -EBADMSG;
	struct wanted *wanted = message->size <= ID_MAX_BYTES ?
					find_wanted(debuginfod, message->id, message->size) :
					NULL;

	if (!wanted || wanted->fd != -EAGAIN) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (result == -EAGAIN)
		result = -EIO;
	settle(debuginfod, wanted, result);
	/* One of a size that was not wanted, say, tells nothing of the next. */
	debuginfod->failures =
		result >= 0 || result == -ENOENT || result == -EFBIG ? 0 : debuginfod->failures + 1;
	if (result < 0 && result != -ENOENT)
		debuginfod->problem = result;
	if (debuginfod->failures == FAILURES_MAX)
		give_up(debuginfod, result);
}

bool debuginfod_is_busy(struct debuginfod *debuginfod)
{
	struct fetch_message message;
	int fd, more = 1;

	while (more > 0 && debuginfod->fd >= 0 && debuginfod->waiting) {
		more = receive(debuginfod, &message, &fd);
		if (more > 0)
			take(debuginfod, &message, fd);
		else if (more < 0)
			give_up(debuginfod, debuginfod->problem = more);
	}
	return debuginfod->waiting != 0;
}

uint64_t debuginfod_version(const struct debuginfod *debuginfod)
{
	return debuginfod->version;
}

/* Questions ----------------------------------------------------------------------------------- */

/* They are blocked where they are not to end us at once, and then stay pending. */
static bool is_interrupted(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

static void wait_for_all(struct debuginfod *debuginfod)
{
	uint64_t began = clock_now_ms();

	while (debuginfod_is_busy(debuginfod) && !is_interrupted() &&
	       debuginfod->waited_ms + clock_now_ms() - began < WAIT_MAX_MS) {
		struct pollfd ready = { .fd = debuginfod->fd, .events = POLLIN };

		poll(&ready, 1, LOOK_MS);
	}
	debuginfod->waited_ms += clock_now_ms() - began;
}

void debuginfod_may_wait(struct debuginfod *debuginfod, bool may)
{
	debuginfod->may_wait = may;
	if (may)
		wait_for_all(debuginfod);
}

static struct wanted *ask(struct debuginfod *debuginfod, const uint8_t *id, size_t size)
{
	struct fetch_message message = { .size = (uint32_t)size };
	struct wanted wanted = { .size = size, .fd = -EAGAIN };

	if (debuginfod->fd < 0 || size < 2 || size > ID_MAX_BYTES ||
	    debuginfod->count == WANTED_MAX)
		return NULL;
	memcpy(message.id, id, size);
	memcpy(wanted.id, id, size);
	if (send(debuginfod->fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(message) ||
	    !vector_add(&debuginfod->wanted, &debuginfod->count, &debuginfod->capacity, wanted))
		return NULL;
	debuginfod->waiting++;
	if (debuginfod->count == 1)
		log_print("asking the servers of DEBUGINFOD_URLS for debug files");
	return &debuginfod->wanted[debuginfod->count - 1];
}

int debuginfod_get(struct debuginfod *debuginfod, const uint8_t *id, size_t size)
{
	struct wanted *wanted = find_wanted(debuginfod, id, size);
	int fd;

	if (!wanted)
		wanted = ask(debuginfod, id, size);
	if (wanted && wanted->fd == -EAGAIN && debuginfod->may_wait)
		wait_for_all(debuginfod);
	if (wanted && wanted->fd == -EAGAIN)
		return -EAGAIN;
	if (!wanted || wanted->fd < 0 || wanted->refused)
		return -ENOENT;
	fd = fcntl(wanted->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -ENOENT : fd;
}

void debuginfod_refuse(struct debuginfod *debuginfod, const uint8_t *id, size_t size)
{
	struct wanted *wanted = find_wanted(debuginfod, id, size);

	if (wanted)
		wanted->refused = true;
}

void debuginfod_sum_up(const struct debuginfod *debuginfod, struct text *to)
{
	size_t fetched = 0, missing = 0, refused = 0, failed = 0;

	for (size_t i = 0; i < debuginfod->count; i++) {
		const struct wanted *wanted = &debuginfod->wanted[i];

		refused += wanted->refused;
		fetched += wanted->fd >= 0 && !wanted->refused;
		missing += wanted->fd == -ENOENT;
		failed += wanted->fd < 0 && wanted->fd != -ENOENT && wanted->fd != -EAGAIN;
	}
	text_printf(to, "debuginfod: %zu of %zu debug files fetched, %zu not there", fetched,
		    debuginfod->count, missing);
	if (refused)
		text_printf(to, ", %zu refused as of another build ID", refused);
	if (failed)
		text_printf(to, ", %zu failed: %s", failed, strerror(-debuginfod->problem));
	if (debuginfod->waiting)
		text_printf(to, ", %zu not waited for", debuginfod->waiting);
}
