// SPDX-License-Identifier: GPL-2.0-or-later
/* settle.h, by what /proc/PID/task says of each thread. */
#include "target/settle.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/vector.h"
#include "target/proc.h"
#include "target/process.h"

enum {
	LOOK_MS = 2,  /* from one look to the next */
	LONG_MS = 50, /* on a CPU; a body takes microseconds */
	TEXT_BYTES = 512,
};

struct thread {
	pid_t tid;
	uint64_t ticks; /* on a CPU, at the first look */
};

struct settling {
	const struct process *process;
	struct thread *list; /* those that have not */
	size_t count;
	size_t capacity;
};

static bool is_asleep_in_call(const char *text)
{
	/* "NUMBER ARGUMENTS... SP PC", "-1 SP PC" for a fault, or "running". */
	return isdigit((unsigned char)text[0]) != 0;
}

/* Is it out of it? @first: only begin to count its time. */
static bool has_settled(const struct process *process, struct thread *thread, bool first)
{
	uint64_t long_ticks = ((uint64_t)LONG_MS * (uint64_t)sysconf(_SC_CLK_TCK) + 999) / 1000 + 1;
	char path[48], text[TEXT_BYTES];
	struct proc_stat stat;
	int result;

	snprintf(path, sizeof(path), "task/%d/syscall", thread->tid);
	if (proc_read(process->proc_fd, path, text, sizeof(text)) > 0 && is_asleep_in_call(text))
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
	DIR *tasks = proc_open_list(settling->process->proc_fd, "task");
	int result = 0;
	pid_t tid;

	if (!tasks)
		return -errno;
	while (result == 0 && (tid = proc_next(tasks))) {
		struct thread thread = { .tid = tid };

		if (!has_settled(settling->process, &thread, true) &&
		    !vector_add(&settling->list, &settling->count, &settling->capacity, thread))
			result = -ENOMEM;
	}
	closedir(tasks);
	return result;
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
