// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blocked CALL [HOW]: one thread is in CALL, with patterns in all its registers, and the other waits in epoll_wait().
 * "go" on standard input has the first one return, and both say what they have seen, as a line of JSON; EINTR from
 * epoll_wait() and registers that have changed are faults. HOW "storm": signals come all the while, each of which is
 * counted twice, by who sends it and by who handles it; "ignore": SIGTRAP is ignored; others: as filter_install().
 */
#include "blocked.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SLEEP_S = 8,
	LONG_S = 1000,
	STORM_NS = 300000,
	PAUSE_US = 100,
	/* So that each thread has a mask of its own to be compared. */
	BLOCKED_SIGNAL = 12, /* SIGUSR2 */
};

static uint32_t word;
static int pipe_fds[2], event_fd, sockets[2], epoll_fd;
static pid_t child, blocked_tid;
static volatile int until, storming;
static volatile long sent, handled;
static struct timespec short_time = { .tv_sec = SLEEP_S }, long_time = { .tv_sec = LONG_S },
		       absolute;
static struct timeval long_timeval = { .tv_sec = LONG_S };
static struct pollfd polled;
static fd_set selected;
static uint64_t signal_set = UINT64_C(1) << 9, other_mask = UINT64_C(1) << 20;
static char buffer[64];
static struct epoll_event event;
static siginfo_t info;
static struct {
	const void *mask;
	size_t size;
} select_mask = { &other_mask, 8 };

/* What system call, and what it returns when it is let go. */
struct call {
	const char *name;
	long number;
	uint64_t arguments[6];
	long result;
};

#define AT(thing) ((uint64_t)(uintptr_t)(thing))

static void prepare(void)
{
	struct timeval limit = { .tv_sec = LONG_S };

	if (pipe2(pipe_fds, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		abort();
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	event_fd = eventfd(0, EFD_CLOEXEC);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	event.events = EPOLLIN;
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fds[0], &event);
	polled = (struct pollfd){ .fd = pipe_fds[0], .events = POLLIN };
	FD_SET(pipe_fds[0], &selected);
}

/* The arguments are known only now. */
static struct call find_call(const char *name)
{
	uint64_t fd = (uint64_t)pipe_fds[0];
	const struct call calls[] = {
		{ "futex", SYS_futex, { AT(&word), FUTEX_WAIT_PRIVATE }, 0 },
		{ "futex-timed",
		  SYS_futex,
		  { AT(&word), FUTEX_WAIT_PRIVATE, 0, AT(&long_time) },
		  0 },
		{ "futex-until",
		  SYS_futex,
		  { AT(&word), FUTEX_WAIT_BITSET_PRIVATE, 0, AT(&absolute), 0, UINT32_MAX },
		  -ETIMEDOUT },
		{ "nanosleep", SYS_nanosleep, { AT(&short_time) }, 0 },
		{ "clock_nanosleep",
		  SYS_clock_nanosleep,
		  { CLOCK_MONOTONIC, 0, AT(&short_time) },
		  0 },
		{ "clock_nanosleep-until",
		  SYS_clock_nanosleep,
		  { CLOCK_MONOTONIC, TIMER_ABSTIME, AT(&absolute) },
		  0 },
		{ "poll", SYS_poll, { AT(&polled), 1, UINT64_MAX }, 1 },
		{ "poll-timed", SYS_poll, { AT(&polled), 1, SLEEP_S * 1000 }, 0 },
		{ "ppoll", SYS_ppoll, { AT(&polled), 1, AT(&long_time), AT(&other_mask), 8 }, 1 },
		{ "select", SYS_select, { fd + 1, AT(&selected), 0, 0, AT(&long_timeval) }, 1 },
		{ "pselect6",
		  SYS_pselect6,
		  { fd + 1, AT(&selected), 0, 0, AT(&long_time), AT(&select_mask) },
		  1 },
		{ "read-pipe", SYS_read, { fd, AT(buffer), 1 }, 1 },
		{ "read-eventfd", SYS_read, { (uint64_t)event_fd, AT(buffer), 8 }, 8 },
		{ "wait4", SYS_wait4, { (uint64_t)child, AT(buffer) }, child },
		{ "waitid", SYS_waitid, { P_PID, (uint64_t)child, AT(&info), WEXITED }, 0 },
		{ "spin", -1, { 0 }, 0 },
		/* In user space now and in epoll_wait() in the next moment. */
		{ "waver", -2, { 0 }, 0 },
		/* These are never to be stopped. */
		{ "epoll_wait",
		  SYS_epoll_wait,
		  { (uint64_t)epoll_fd, AT(&event), 1, UINT64_MAX },
		  1 },
		{ "epoll_pwait",
		  SYS_epoll_pwait,
		  { (uint64_t)epoll_fd, AT(&event), 1, UINT64_MAX, AT(&other_mask), 8 },
		  1 },
		{ "epoll_pwait2",
		  SYS_epoll_pwait2,
		  { (uint64_t)epoll_fd, AT(&event), 1, AT(&long_time), 0, 8 },
		  1 },
		{ "sigtimedwait",
		  SYS_rt_sigtimedwait,
		  { AT(&signal_set), AT(&info), AT(&long_time), 8 },
		  SIGUSR1 },
		{ "recv-timed", SYS_recvfrom, { (uint64_t)sockets[0], AT(buffer), 1 }, 1 },
		{ "read-timed", SYS_read, { (uint64_t)sockets[0], AT(buffer), 1 }, 1 },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return calls[i];
	}
	fprintf(stderr, "no call named %s\n", name);
	exit(2);
}

static void set_mask(int how, uint64_t mask)
{
	syscall(SYS_rt_sigprocmask, how, &mask, NULL, sizeof(mask));
}

static double to_seconds(struct timespec time)
{
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return to_seconds(now);
}

struct outcome {
	struct call call;
	int wrong;
	double seconds;
};

/* Returns how often epoll_wait() has returned EINTR. */
static int waver(void)
{
	struct epoll_event got;
	int interrupted = 0;

	while (!until) {
		for (volatile int i = 0; i < 100000; i++)
			;
		interrupted += epoll_wait(epoll_fd, &got, 1, 1) < 0;
	}
	return interrupted;
}

static void *block(void *argument)
{
	static const int places[] = { RDI, RSI, RDX, R10, R8, R9 };
	struct outcome *outcome = argument;
	const struct call *call = &outcome->call;
	struct crossing crossing;
	uint64_t mask = 0, expected = UINT64_C(1) << (BLOCKED_SIGNAL - 1);
	double begin;

	if (strcmp(call->name, "sigtimedwait") == 0)
		expected |= signal_set;
	set_mask(SIG_SETMASK, expected);
	crossing_prepare(&crossing);
	crossing.before[RAX] = (uint64_t)call->number;
	for (int i = 0; i < 6; i++)
		crossing.before[places[i]] = call->arguments[i];
	__atomic_store_n(&blocked_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	if (call->number == -2) {
		outcome->wrong = waver();
		return NULL;
	}
	/* Counted from one and the same moment. */
	clock_gettime(CLOCK_MONOTONIC, &absolute);
	begin = to_seconds(absolute);
	absolute.tv_sec += SLEEP_S;
	crossing_make(&crossing, call->number < 0 ? &until : NULL);
	outcome->seconds = seconds() - begin;
	outcome->wrong = crossing_compare(&crossing, call->number >= 0);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	if (mask != expected) {
		fprintf(stderr, "the signal mask was %lx and is %lx\n", expected, mask);
		outcome->wrong++;
	}
	if (call->number >= 0 && (long)crossing.after[RAX] != call->result) {
		fprintf(stderr, "the call has returned %ld, not %ld\n", (long)crossing.after[RAX],
			call->result);
		outcome->wrong++;
	}
	return NULL;
}

/* Have the thread return, by what it waits for. */
static void let_go(pthread_t thread, const struct call *call)
{
	until = 1;
	/* Time alone ends it. */
	if (call->result == -ETIMEDOUT || (call->number == SYS_poll && call->result == 0))
		return;
	if (call->number == SYS_wait4 || call->number == SYS_waitid)
		kill(child, SIGKILL);
	/* One that has just been continued is not in the call again yet, and would not be woken. */
	else if (call->number == SYS_futex)
		while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0)
			usleep(PAUSE_US);
	else if (call->number == SYS_rt_sigtimedwait)
		pthread_kill(thread, SIGUSR1);
	else if (write(pipe_fds[1], "x", 1) != 1 || write(event_fd, "12345678", 8) != 8 ||
		 write(sockets[1], "x", 1) != 1)
		abort();
}

static void on_signal(int number)
{
	if (number == SIGSYS || number == SIGTRAP)
		abort();
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

/* To the thread that is in the call, and to the process: that one takes these as well, if all others block them. */
static void *storm(void *argument)
{
	const struct timespec pause = { .tv_nsec = STORM_NS };

	(void)argument;
	set_mask(SIG_BLOCK, UINT64_MAX);
	while (storming) {
		if (kill(getpid(), SIGRTMIN + 1) == 0)
			sent++;
		if (syscall(SYS_tgkill, getpid(), blocked_tid, SIGRTMIN + 1) == 0)
			sent++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Whether @number has another handler than @expected. */
static int has_other_handler(int number, void (*expected)(int))
{
	struct sigaction action;

	return sigaction(number, NULL, &action) || action.sa_handler != expected;
}

/* Wait for a line by epoll_wait() alone. How often that has returned EINTR. */
static int await_line(void)
{
	struct epoll_event input = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC), interrupted = 0;
	char line[16];

	epoll_ctl(fd, EPOLL_CTL_ADD, STDIN_FILENO, &input);
	while (epoll_wait(fd, &input, 1, -1) < 0)
		interrupted++;
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		interrupted++;
	return interrupted;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct outcome outcome = { .wrong = 0 };
	void (*on_trap)(int) = argc > 2 && strcmp(argv[2], "ignore") == 0 ? SIG_IGN : on_signal;
	pthread_t thread, sender;
	int interrupted;

	if (argc < 2)
		return 2;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	prepare();
	code_map();
	outcome.call = find_call(argv[1]);
	sigaction(SIGRTMIN + 1, &action, NULL);
	sigaction(SIGSYS, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	storming = argc > 2 && strcmp(argv[2], "storm") == 0;
	if (on_trap == SIG_IGN)
		signal(SIGTRAP, SIG_IGN);
	else if (argc > 2 && !storming && !filter_install(argv[2]))
		return 2;
	set_mask(SIG_BLOCK, UINT64_MAX & ~(UINT64_C(1) << (SIGTERM - 1)));
	if (pthread_create(&thread, NULL, block, &outcome))
		return 1;
	while (!__atomic_load_n(&blocked_tid, __ATOMIC_SEQ_CST))
		sched_yield();
	if (storming && pthread_create(&sender, NULL, storm, NULL))
		return 1;
	printf("{\"pid\": %d, \"tid\": %d, \"main\": %d}\n", getpid(), blocked_tid, getpid());
	fflush(stdout);
	interrupted = await_line();
	if (storming) {
		storming = 0;
		pthread_join(sender, NULL);
		for (double limit = seconds() + 10; handled < sent && seconds() < limit;)
			sched_yield();
	}
	let_go(thread, &outcome.call);
	pthread_join(thread, NULL);
	outcome.wrong += has_other_handler(SIGSYS, on_signal);
	outcome.wrong += has_other_handler(SIGTRAP, on_trap);
	kill(child, SIGKILL);
	printf("{\"wrong\": %d, \"interrupted\": %d, \"code\": %d, \"sent\": %ld, \"handled\": %ld, \"seconds\": %.3f}\n",
	       outcome.wrong, interrupted, code_check(), sent, handled, outcome.seconds);
	return 0;
}
