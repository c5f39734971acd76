// SPDX-License-Identifier: GPL-2.0-or-later
/* settle.h, by what /proc/PID/task says of each thread. */
#include "target/settle.h"

#include <ctype.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/vector.h"
#include "target/proc.h"
#include "target/process.h"

enum {
	LOOK_MS = 2,   /* from one look to the next */
	LONG_MS = 50,  /* on a CPU; a body takes microseconds */
	LOCK_MS = 500, /* for one that somebody has who goes on */
	TEXT_BYTES = 512,
};

struct thread {
	pid_t tid;
	uint64_t ticks;	    /* on a CPU, at the first look */
	uint64_t waits_for; /* the futex, if it may be a lock */
	uint64_t since_ns;
};

struct settling {
	const struct process *process;
	struct thread *list; /* those that have not */
	size_t count;
	size_t capacity;
};

/* Calls that code is also compiled with: for memory, and for locks of who else does. */
static bool is_at_work(long call)
{
	switch (call) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
	case SYS_madvise:
	case SYS_brk:
	case SYS_membarrier:
	case SYS_sched_yield:
		return true;
	default:
		return false;
	}
}

/* Does it wait for what is not there yet, and not in the middle of what it does? */
static bool is_at_rest(struct thread *thread, const char *text)
{
	unsigned long address, operation;
	uint64_t now = clock_now_ns();
	long call;

	/* "NUMBER ARGUMENTS... SP PC", "-1 SP PC" for a fault, or "running". */
	if (!isdigit((unsigned char)text[0]) ||
	    sscanf(text, "%ld %lx %lx", &call, &address, &operation) != 3 || is_at_work(call))
		return false;
	/* For work, and not for a lock: pthread's conditions have another operation, but musl's. */
	if (call != SYS_futex || (operation & FUTEX_CMD_MASK) != FUTEX_WAIT)
		return true;
	if (!thread->waits_for || thread->waits_for != address) {
		thread->waits_for = address;
		thread->since_ns = now;
	}
	return now - thread->since_ns >= (uint64_t)LOCK_MS * NS_PER_MS;
}

/* Is it out of it? @first: only begin to count its time. */
static bool has_settled(const struct process *process, struct thread *thread, bool first)
{
	uint64_t long_ticks = ((uint64_t)LONG_MS * (uint64_t)sysconf(_SC_CLK_TCK) + 999) / 1000 + 1;
	char path[48], text[TEXT_BYTES];
	struct proc_stat stat;
	int result;

	snprintf(path, sizeof(path), "task/%d/syscall", thread->tid);
	if (proc_read(process->proc_fd, path, text, sizeof(text)) > 0 && is_at_rest(thread, text))
		return true;
	snprintf(path, sizeof(path), "task/%d/stat", thread->tid);
	result = proc_read_stat(process->proc_fd, path, &stat);
	if (result)
		return result != -EPROTO; /* it has gone */
	if (first)
		thread->ticks = stat.cpu_ticks;
	return stat.state == 'Z' || stat.state == 'X' ||
	       stat.cpu_ticks - thread->ticks >= long_ticks;
}

/* The threads that there are now. */
static int list_threads(struct settling *settling)
{
	_cleanup_closedir_ DIR *tasks = proc_open_list(settling->process->proc_fd, "task");
	pid_t tid;

	if (!tasks)
		return -errno;
	while ((tid = proc_next(tasks))) {
		struct thread thread = { .tid = tid };

		if (!has_settled(settling->process, &thread, true) &&
		    !vector_add(&settling->list, &settling->count, &settling->capacity, thread))
			return -ENOMEM;
	}
	return 0;
}

int settling_begin(struct settling **out, const struct process *process, struct error *err)
{
	struct settling *settling = calloc(1, sizeof(*settling));
	int result = -ENOMEM;

	if (settling) {
		settling->process = process;
		result = list_threads(settling);
	}
	if (result) {
		settling_end(settling);
		return error_set(err, result, "cannot look at the threads of process %d: %s",
				 process->pid, strerror(-result));
	}
	*out = settling;
	return 0;
}

bool settling_look(struct settling *settling)
{
	size_t kept = 0;

	for (size_t i = 0; i < settling->count; i++) {
		if (!has_settled(settling->process, &settling->list[i], false))
			settling->list[kept++] = settling->list[i];
	}
	settling->count = kept;
	return kept == 0;
}

void settling_end(struct settling *settling)
{
	if (!settling)
		return;
	free(settling->list);
	free(settling);
}

int process_settle(const struct process *process, unsigned int most_ms, struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * NS_PER_MS };
	uint64_t until = clock_now_ns() + (uint64_t)most_ms * NS_PER_MS;
	struct settling *settling;
	int result = settling_begin(&settling, process, err);

	if (result)
		return result;
	while (!settling_look(settling) && clock_now_ns() < until)
		nanosleep(&pause, NULL);
	if (settling->count)
		result = error_set(
			err, -EAGAIN,
			"thread %d of process %d has neither slept nor run long enough in %u ms to tell what it is doing; run again, or give --no-remap",
			settling->list[0].tid, process->pid, most_ms);
	settling_end(settling);
	return result;
}
