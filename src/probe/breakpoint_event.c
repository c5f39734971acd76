// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the perf event of one breakpoint, for breakpoints.c. */
#include "probe/breakpoint_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/request.h"
#include "probe/perf_holders.h"
#include "target/proc.h"

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

/* Others ---------------------------------------------------------------------------------- */

/* Who traces one or more threads and has debug registers of theirs. */
struct tracer {
	pid_t pid;
	int registers;
};

/* One traced thread: has its tracer more registers of it than @most says of the worst so far? */
static void look_at_thread(int proc_fd, pid_t pid, pid_t tid, int free_elsewhere,
			   struct tracer *most)
{
	char path[64];
	pid_t tracer;
	int free_here;

	snprintf(path, sizeof(path), "%d/task/%d/status", pid, tid);
	tracer = (pid_t)proc_read_status(proc_fd, path, "\nTracerPid:");
	if (tracer <= 0)
		return;
	free_here = breakpoint_events_free(tid, -1);
	if (free_here >= 0 && free_elsewhere - free_here > most->registers)
		*most = (struct tracer){ tracer, free_elsewhere - free_here };
}

static void look_at_process(int proc_fd, pid_t pid, int free_elsewhere, struct tracer *most)
{
	char path[32];
	DIR *tasks;

	snprintf(path, sizeof(path), "%d/task", pid);
	tasks = proc_open_list(proc_fd, path);
	if (!tasks)
		return;
	for (pid_t tid; (tid = proc_next(tasks));)
		look_at_thread(proc_fd, pid, tid, free_elsewhere, most);
	closedir(tasks);
}

/* The tracer with the most debug registers in one thread: a CPU must hold them beside ours. */
static struct tracer find_tracer(int free_elsewhere)
{
	struct tracer most = { 0 };
	DIR *proc = opendir("/proc");

	if (!proc)
		return most;
	for (pid_t pid; (pid = proc_next(proc));)
		look_at_process(dirfd(proc), pid, free_elsewhere, &most);
	closedir(proc);
	return most;
}

/* The same for one thread: what is taken there and not on every CPU is its tracer's. */
static struct tracer tracer_of(pid_t tid, int taken)
{
	char path[32];
	pid_t tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	tracer = (pid_t)proc_read_status(AT_FDCWD, path, "\nTracerPid:");
	return tracer > 0 ? (struct tracer){ tracer, taken } : (struct tracer){ 0 };
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

/* Who has them ----------------------------------------------------------------------------- */

static void tell_users(int ours, pid_t tid, char words[BREAKPOINT_USERS_BYTES])
{
	/* No thread of ours has breakpoints or a tracer, so it lacks what every CPU lacks. */
	int free_elsewhere = breakpoint_events_free(0, -1), others = DEBUG_REGISTERS - ours;
	struct tracer tracer = { 0 };
	char comm[16];
	char holders[PERF_HOLDERS_BYTES];
	size_t used;

	if (!breakpoint_events_fire()) {
		snprintf(words, BREAKPOINT_USERS_BYTES, "%s", BREAKPOINTS_DEAD);
		return;
	}
	if (others == 0)
		free_elsewhere = -1; /* nobody else to look for */
	if (free_elsewhere >= 0 && tid)
		tracer = tracer_of(tid, free_elsewhere - ours);
	else if (free_elsewhere >= 0)
		tracer = find_tracer(free_elsewhere);
	others -= tracer.registers;
	snprintf(words, BREAKPOINT_USERS_BYTES, "of %d, place-probe itself has %d", DEBUG_REGISTERS,
		 ours);
	if (tracer.registers > 0) {
		perf_holders_name(tracer.pid, comm);
		used = strlen(words);
		snprintf(words + used, BREAKPOINT_USERS_BYTES - used, ", %s (%d) %d", comm,
			 tracer.pid, tracer.registers);
	}
	if (others <= 0)
		return;
	perf_holders_tell(holders);
	used = strlen(words);
	snprintf(words + used, BREAKPOINT_USERS_BYTES - used,
		 ", another place-probe, perf or a debugger that is gone %d%s%s%s", others,
		 holders[0] ? " (perf events are held by " : "", holders, holders[0] ? ")" : "");
}

_Static_assert((int)REQUEST_WORDS >= (int)BREAKPOINT_USERS_BYTES, "room for what is told");

void breakpoint_users_tell(int ours, pid_t tid, char words[BREAKPOINT_USERS_BYTES])
{
	struct request_users request = { .ours = ours, .tid = tid };

	if (!request_make(REQUEST_USERS, &request.answer)) {
		tell_users(ours, tid, words);
		return;
	}
	request.words[BREAKPOINT_USERS_BYTES - 1] = '\0';
	memcpy(words, request.words, BREAKPOINT_USERS_BYTES);
}
