/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target as the injector sees it: its directory in /proc, which place-probe has handed over,
 * its memory as it is at a request, its threads and its rows.
 */
#ifndef INJECT_PROGRAM_SUBJECT_H
#define INJECT_PROGRAM_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/message.h"
#include "inject/program/proc_text.h"

struct subject {
	int process_fd; /* /proc/PID */
	pid_t view;	/* a live thread: the main one may have exited */
	int memory_fd;	/* bound to the memory that it had then: an exec makes it read nothing */
	int lock_fd;	/* of the file with its code, or -1 */
	uint64_t instruction; /* in that memory, one that makes a system call */
	struct lines lines;
};

/*
 * Look at it anew, for one request. INJECT_DONE, or why nothing can be done: INJECT_GONE, _TRACED
 * (with the tracer in @detail), _IGNORES_TRAP, _NO_INSTRUCTION.
 */
enum inject_result subject_look(struct subject *subject, int *detail);

/* What /proc says of thread @tid; false if it has gone. */
bool subject_status(struct subject *subject, pid_t tid, struct thread_status *status);

/* Is it neither dead nor about to be? */
static inline bool thread_lives(const struct thread_status *status)
{
	return status->state && status->state != 'Z' && status->state != 'X';
}

/* Open @name of thread @tid. A descriptor or -errno. */
int subject_open(const struct subject *subject, pid_t tid, const char *name, int flags);

/* Is the instruction still there, in the memory that was looked at? */
bool subject_has_instruction(const struct subject *subject);

/* How rows are mapped. */
struct row_state {
	bool expected; /* executable pages of that file, all of them, which nobody may write */
	bool has_private;
	bool has_shared;
};

/* @states of @rows. False if the table cannot be read: the process has gone. */
bool subject_rows(struct subject *subject, const struct inject_row *rows, size_t count,
		  struct row_state *states);

/*
 * Have the target's code to ourselves, until this process ends: by a lock of the file that @fd, a
 * descriptor of the target, is of. What cannot be locked is nobody's. False: another has it.
 */
bool subject_lock(struct subject *subject, int fd);

/*
 * How many pages of @row the process has copies of its own of; with @differing, only those that are
 * not as the file is (it is a descriptor of it).
 */
uint64_t subject_copies(const struct subject *subject, const struct inject_row *row,
			const int *differing);

#endif
