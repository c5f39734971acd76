/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc says of the target and its threads, as values. The target has a say in these texts
 * (names, arguments of system calls), so nothing in them is taken for granted.
 */
#ifndef INJECT_PROGRAM_PROC_TEXT_H
#define INJECT_PROGRAM_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/injection.h"

enum { LINES_BYTES = 8192 };

/* A text of any length, line by line. The rest of a line that is too long is left out. */
struct lines {
	int fd;
	size_t at;
	size_t end;
	bool cut; /* what comes next is the rest of such a line */
	char bytes[LINES_BYTES + 1];
};

void lines_start(struct lines *lines, int fd);

/* The next line without its newline, valid until the next call; NULL at the end. */
char *lines_next(struct lines *lines);

/* /proc/PID/task/TID/syscall */
enum thread_whereabouts {
	THREAD_UNKNOWN, /* it has gone, or the text makes no sense */
	THREAD_RUNNING,
	THREAD_IN_CALL,
	THREAD_OUT_OF_CALL, /* in the kernel, but not for a system call */
};

struct thread_call {
	enum thread_whereabouts where;
	long number;
	uint64_t arguments[INJECTION_ARGUMENTS];
};

void thread_call_parse(struct thread_call *call, const char *text);

/* /proc/PID/task/TID/status; what is not there is 0. */
struct thread_status {
	char state;
	int32_t tracer;
	int seccomp;	  /* 0: none, 1: strict, 2: filters */
	uint64_t pending; /* signals of the thread, and of the process */
	uint64_t ignored; /* bit 0 is signal 1 */
};

void thread_status_add(struct thread_status *status, const char *line);

#endif
