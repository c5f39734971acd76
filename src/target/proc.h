/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files and lists beneath /proc, read by a path from a directory that is held open. */
#ifndef TARGET_PROC_H
#define TARGET_PROC_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Put at most @size - 1 bytes of the file into @text, and a NUL. How many, or -errno and none. */
ssize_t proc_read(int dir_fd, const char *path, char *text, size_t size);

/* The value of "\nKey:" in a status file; for a list of numbers, the last one. -1: there is none. */
long proc_read_status(int dir_fd, const char *path, const char *key);

/* The fields of a stat file that are used here. */
struct proc_stat {
	char comm[16];
	char state;
	uint64_t flags;
	uint64_t cpu_ticks; /* that it has had a CPU, in user mode or in the kernel */
	long threads;
};

/* -errno; -EPROTO if it is no such file. */
int proc_read_stat(int dir_fd, const char *path, struct proc_stat *stat);

/* The same of a file that is open, as it is now. The broker is not asked for it. */
int proc_reread_stat(int fd, struct proc_stat *stat);

/* A directory, for closedir(); NULL with errno set. */
DIR *proc_open_list(int dir_fd, const char *path);

/* For such a list; NULL is fine. */
#define _cleanup_closedir_ _cleanup_(proc_close_list)

static inline void proc_close_list(DIR *const *list)
{
	if (*list)
		closedir(*list);
}

/* The next number in it, of a process, thread or descriptor above 0; 0: there is no more. */
pid_t proc_next(DIR *list);

#endif
