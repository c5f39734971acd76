// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that waits beside a run for its probes to be gone. It has nothing but a pipe to read
 * from and a descriptor of who is to be ended; in a session of its own no terminal stops it.
 */
#include "session/expire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum {
	FROM = 0, /* the descriptors that it has */
	WHOM = 1,
	FIRST_OTHER = 2,
};

static int wait_ms(uint64_t end)
{
	uint64_t now = clock_now_ns();

	return end == 0 ? -1 : now >= end ? 0 : (int)((end - now) / NS_PER_MS + 1);
}

static void tell(int number)
{
	syscall(SYS_pidfd_send_signal, WHOM, number, NULL, 0);
}

/*
 * Until who writes has gone or says that it is over. When the time is up who is stopped goes on,
 * and ends in order; who does not, as it waits for whoever reads what it prints, is killed.
 */
static void guard(void)
{
	struct pollfd from = { .fd = FROM, .events = POLLIN };
	uint64_t end = 0, ns;
	bool told = false;

	for (;;) {
		int ready = poll(&from, 1, wait_ms(end));

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 && !told) {
			tell(SIGCONT);
			end = clock_now_ns() + EXPIRE_GRACE_NS;
			told = true;
			continue;
		}
		if (ready <= 0) {
			tell(SIGKILL);
			_exit(1);
		}
		if (read(FROM, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
			_exit(0);
		end = clock_now_ns() + ns;
		told = false;
	}
}

static void be_guard(int from, int whom)
{
	prctl(PR_SET_NAME, "expire");
	if (setsid() < 0)
		_exit(0);
	/* In this order: neither is among those that they become. */
	if (dup2(fcntl(whom, F_DUPFD, FIRST_OTHER + 2), WHOM) < 0 ||
	    dup2(fcntl(from, F_DUPFD, FIRST_OTHER + 2), FROM) < 0)
		_exit(0);
	syscall(SYS_close_range, FIRST_OTHER, ~0U, 0);
	guard();
}

int expire_start(struct error *err)
{
	int whom, ends[2], result;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, -errno, "cannot make a pipe for --expire: %s",
				 strerror(errno));
	whom = (int)syscall(SYS_pidfd_open, getpid(), 0);
	child = whom < 0 ? -1 : fork();
	result = child < 0 ? -errno : 0;
	if (child == 0)
		be_guard(ends[0], whom);
	close(ends[0]);
	if (whom >= 0)
		close(whom);
	if (result == 0)
		return ends[1];
	close(ends[1]);
	return error_set(err, result, "cannot start the process for --expire: %s",
			 strerror(-result));
}

void expire_in(int guard_fd, uint64_t ns)
{
	if (guard_fd >= 0 && write(guard_fd, &ns, sizeof(ns)) < 0)
		return; /* it has gone, with the last word that it had */
}

void expire_end(int *guard_fd)
{
	if (*guard_fd >= 0)
		close(*guard_fd);
	*guard_fd = -1;
}
