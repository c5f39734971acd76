// SPDX-License-Identifier: GPL-2.0-or-later
/* The watcher of --expire, beside the run: from session_run() on until the probes are gone. */
#include "session/expiry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

enum {
	GRACE_MS = 5000, /* to end in order, and print what has come */
	AGAIN_MS = 200,	 /* who is removing probes and is stopped goes on */
	TOLD = 3,	 /* the descriptors that the watcher keeps, beside standard error */
	WATCHED = 4,
	KEPT = 5,
};

struct watcher {
	struct pollfd fds[2]; /* what it is told, and whether the process has exited */
	bool detaching;
	bool over;
};

/* Until something has changed, or @until_ns. */
static void watch(struct watcher *watcher, uint64_t until_ns)
{
	uint64_t now = clock_now_ns();
	uint64_t ms = until_ns > now ? (until_ns - now) / NS_PER_MS + 1 : 0;
	char byte;

	if (poll(watcher->fds, 2, ms > INT32_MAX ? INT32_MAX : (int)ms) <= 0)
		return;
	watcher->over = watcher->fds[1].revents != 0;
	if (watcher->fds[0].revents) {
		if (read(TOLD, &byte, 1) == 1)
			watcher->detaching = true;
		else
			watcher->over = true;
	}
}

static void tell(int number)
{
	(void)syscall(SYS_pidfd_send_signal, WATCHED, number, NULL, 0);
}

/* It may be stopped again, or be waiting for whoever reads what it prints. */
static void see_it_end(struct watcher *watcher, uint64_t kill_ns)
{
	while (!watcher->over) {
		uint64_t now = clock_now_ns();

		if (!watcher->detaching && now >= kill_ns) {
			fputs("place-probe: killed, since it had not begun to remove its probes 5 s "
			      "after --expire: it did not run, or nobody read its output\n",
			      stderr);
			tell(SIGKILL);
			return;
		}
		tell(SIGCONT);
		watch(watcher, now + (uint64_t)AGAIN_MS * NS_PER_MS);
	}
}

/* Signals for the run, also of a terminal, are none for it. */
static void run_watcher(uint64_t at_ns)
{
	struct watcher watcher = { .fds = { { .fd = TOLD, .events = POLLIN },
					    { .fd = WATCHED, .events = POLLIN } } };
	sigset_t all;

	setsid();
	prctl(PR_SET_NAME, "place-probe-exp");
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (!watcher.over && clock_now_ns() < at_ns)
		watch(&watcher, at_ns);
	see_it_end(&watcher, at_ns + (uint64_t)GRACE_MS * NS_PER_MS);
}

/* Whoever reads what the run prints waits until nobody has it open: only these stay. */
static bool keep_only(int told, int watched)
{
	int high_told = fcntl(told, F_DUPFD, KEPT), high_watched = fcntl(watched, F_DUPFD, KEPT);

	return high_told >= 0 && high_watched >= 0 && dup2(high_told, TOLD) == TOLD &&
	       dup2(high_watched, WATCHED) == WATCHED &&
	       syscall(SYS_close_range, KEPT, ~0U, 0) == 0 && close(STDIN_FILENO) == 0 &&
	       close(STDOUT_FILENO) == 0;
}

int expiry_begin(uint64_t at_ns, struct error *err)
{
	_cleanup_close_ int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int ends[2];
	pid_t pid;

	if (self < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, -errno, "cannot watch over --expire: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		if (keep_only(ends[0], self))
			run_watcher(at_ns);
		_exit(0);
	}
	close(ends[0]);
	if (pid > 0)
		return ends[1];
	close(ends[1]);
	return error_set(err, -errno, "cannot start the process that watches over --expire: %s",
			 strerror(errno));
}

void expiry_detaching(int expiry)
{
	/* It may be gone: then nobody watches, and this run ends all the same. */
	if (expiry >= 0 && write(expiry, "", 1) != 1)
		return;
}

void expiry_end(int *expiry)
{
	if (*expiry >= 0)
		close(*expiry);
	*expiry = -1;
}
