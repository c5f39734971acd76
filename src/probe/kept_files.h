/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that stay open, once each, whoever has opened them: for uprobes.c. */
#ifndef PROBE_KEPT_FILES_H
#define PROBE_KEPT_FILES_H

#include <stddef.h>
#include <sys/types.h>

struct kept_file {
	int fd;
	dev_t device;
	ino_t inode;
};

/* All zero: none. Ends with kept_files_close(). */
struct kept_files {
	struct kept_file *list;
	size_t count;
	size_t capacity;
};

/* The descriptor, until the end, of the file that is open as @fd; or -errno. */
int kept_files_get(struct kept_files *files, int fd);

void kept_files_close(struct kept_files *files);

#endif
