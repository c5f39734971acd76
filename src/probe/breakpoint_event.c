// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the perf event of one breakpoint, for breakpoints.c, and tries whether such fire. */
#include "probe/breakpoint_event.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"

struct perf_event_attr breakpoint_event_attr(struct address address, bool disabled)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address.value,
		.bp_len = arch.breakpoint_bytes,
		/*
		 * The program runs for every hit. A breakpoint with a period of 1 is not throttled
		 * (perf_swevent_overflow() in the kernel), whatever perf_event_max_sample_rate
		 * says.
		 */
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = disabled,
	};
}

int breakpoint_event_open(struct address address, pid_t pid, int cpu)
{
	struct perf_event_attr attr = breakpoint_event_attr(address, true);
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int breakpoint_events_free(pid_t pid, int cpu)
{
	/* Never enabled, so where they stand does not matter. */
	const struct address anywhere = { 0x1000 };
	int fds[DEBUG_REGISTERS], count, fd = 0;

	for (count = 0; count < DEBUG_REGISTERS; count++) {
		fd = breakpoint_event_open(anywhere, pid, cpu);
		if (fd < 0)
			break;
		fds[count] = fd;
	}
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return count == 0 && fd != -ENOSPC ? fd : count;
}

/* Whether they fire ------------------------------------------------------------------------ */

enum { TRIAL_CALLS = 4 };

__attribute__((noinline)) static void trial_function(void)
{
	__asm__ volatile("" ::: "memory");
}

/* A hypervisor that loses the cause of an exception makes a signal of it. */
static void on_trap(int number)
{
	(void)number;
}

/* How often a breakpoint at it fires; -errno. */
static int64_t try_breakpoint(void)
{
	const struct address at = { (uint64_t)(uintptr_t)trial_function };
	uint64_t hits = 0;
	ssize_t got = -1;
	int fd = breakpoint_event_open(at, 0, -1);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
		for (int i = 0; i < TRIAL_CALLS; i++)
			trial_function();
		got = read(fd, &hits, sizeof(hits));
	}
	close(fd);
	return got == sizeof(hits) ? (int64_t)hits : -EIO;
}

/* The same, with SIGTRAP handled meanwhile. */
static int64_t try_safely(void)
{
	const struct sigaction ours = { .sa_handler = on_trap };
	struct sigaction before;
	sigset_t trap, mask;
	int64_t hits;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	if (sigaction(SIGTRAP, &ours, &before) != 0)
		return -errno;
	pthread_sigmask(SIG_UNBLOCK, &trap, &mask);
	hits = try_breakpoint();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTRAP, &before, NULL);
	return hits;
}

bool breakpoint_events_fire(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static int64_t hits = -EAGAIN; /* negative: nobody knows yet */
	bool fire;

	pthread_mutex_lock(&mutex);
	if (hits < 0)
		hits = try_safely();
	fire = hits != 0;
	pthread_mutex_unlock(&mutex);
	return fire;
}
