// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads where each thread is, before one is stopped; what it does in between is seen at the stop.
 */
#include "inject/program/choose.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { CALL_BYTES = 256 };

void tried_add(struct tried *tried, pid_t tid)
{
	if (tried->count < TRIED_MAX)
		tried->tids[tried->count++] = tid;
}

static bool was_tried(const struct tried *tried, pid_t tid)
{
	for (size_t i = 0; i < tried->count; i++) {
		if (tried->tids[i] == tid)
			return true;
	}
	/* Who has no room left to note more is done with choosing. */
	return tried->count == TRIED_MAX;
}

/* Pipes and eventfds can be read again; sockets with a time limit return EINTR. */
static bool is_pipe(const struct subject *subject, uint64_t fd)
{
	char path[64], target[32] = "";

	if (fd > INT32_MAX)
		return false;
	snprintf(path, sizeof(path), "task/%d/fd/%d", subject->view, (int)fd);
	if (readlinkat(subject->process_fd, path, target, sizeof(target) - 1) < 0)
		return false;
	return strncmp(target, "pipe:[", 6) == 0 || strcmp(target, "anon_inode:[eventfd]") == 0;
}

static enum call_restart fitness(const struct subject *subject, pid_t tid)
{
	_cleanup_close_ int fd = subject_open(subject, tid, "syscall", O_RDONLY);
	char text[CALL_BYTES];
	struct thread_call call;
	enum call_restart restart;
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (got <= 0)
		return RESTART_NEVER;
	text[got] = '\0';
	thread_call_parse(&call, text);
	switch (call.where) {
	case THREAD_RUNNING:
		return RESTART_RUNNING;
	case THREAD_OUT_OF_CALL:
		return RESTART_STOPPED;
	case THREAD_IN_CALL:
		restart = call_restart(call.number, call.arguments);
		if (restart == RESTART_READ && !is_pipe(subject, call.arguments[0]))
			return RESTART_NEVER;
		return restart;
	case THREAD_UNKNOWN:
		break;
	}
	return RESTART_NEVER;
}

pid_t choose_thread(const struct subject *subject, const struct tried *tried)
{
	enum call_restart best = RESTART_NEVER;
	int fd = openat(subject->process_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	pid_t chosen = 0;

	if (!tasks) {
		cleanup_close(&fd);
		return 0;
	}
	while (best != RESTART_LOCK && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		enum call_restart restart;

		if (tid <= 0 || was_tried(tried, tid))
			continue;
		restart = fitness(subject, tid);
		if (restart < best) {
			best = restart;
			chosen = tid;
		}
	}
	closedir(tasks);
	return chosen;
}
