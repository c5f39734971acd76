// SPDX-License-Identifier: GPL-2.0-or-later
/* settle.h, by what /proc/PID/task says of each thread. */
#include "target/settle.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/vector.h"
#include "target/process.h"

enum {
	LOOK_MS = 2,  /* from one look to the next */
	LONG_MS = 50, /* on a CPU; a body takes microseconds */
	TEXT_BYTES = 512,
	TICKS_FIELD = 11, /* of stat behind the name: utime and stime */
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

/* 0 if it has gone. */
static size_t read_text(const struct process *process, pid_t tid, const char *name,
			char text[TEXT_BYTES])
{
	char path[48];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	fd = openat(process->proc_fd, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

static bool is_asleep_in_call(const char *text)
{
	/* "NUMBER ARGUMENTS... SP PC", "-1 SP PC" for a fault, or "running". */
	return isdigit((unsigned char)text[0]) != 0;
}

/* The time that it has had a CPU; the state is what stands between name and numbers. */
static bool read_ticks(const char *stat, char *state, uint64_t *ticks)
{
	const char *at = strrchr(stat, ')');
	unsigned long long user, system;

	if (!at || at[1] != ' ' || !at[2])
		return false;
	*state = at[2];
	at++;
	for (int i = 0; i < TICKS_FIELD && at; i++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %llu %llu", &user, &system) != 2)
		return false;
	*ticks = user + system;
	return true;
}

/* Is it out of it? @first: only begin to count its time. */
static bool has_settled(const struct process *process, struct thread *thread, bool first)
{
	uint64_t long_ticks = ((uint64_t)LONG_MS * (uint64_t)sysconf(_SC_CLK_TCK) + 999) / 1000 + 1;
	char text[TEXT_BYTES], state;
	uint64_t ticks;

	if (read_text(process, thread->tid, "syscall", text) && is_asleep_in_call(text))
		return true;
	if (!read_text(process, thread->tid, "stat", text))
		return true;
	if (!read_ticks(text, &state, &ticks))
		return false;
	if (first)
		thread->ticks = ticks;
	return state == 'Z' || state == 'X' || ticks - thread->ticks >= long_ticks;
}

/* The threads that there are now. */
static int list_threads(struct settling *settling)
{
	int fd = openat(settling->process->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int result = 0;

	if (!tasks) {
		result = -errno;
		if (fd >= 0)
			close(fd);
		return result;
	}
	while (result == 0 && (entry = readdir(tasks))) {
		struct thread thread = { .tid = (pid_t)strtol(entry->d_name, NULL, 10) };

		if (thread.tid <= 0 || has_settled(settling->process, &thread, true))
			continue;
		if (vector_reserve(&settling->list, &settling->capacity, settling->count + 1))
			settling->list[settling->count++] = thread;
		else
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
			"thread %d of process %d has neither slept nor run long enough in %u ms to tell what it is doing",
			settling->list[0].tid, process->pid, most_ms);
	settling_end(settling);
	return result;
}
