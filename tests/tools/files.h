/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tools that read files have in common: a file's bytes, and the time. */
#ifndef TESTS_TOOLS_FILES_H
#define TESTS_TOOLS_FILES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/cursor.h"

/* Ends the program if there is none. */
static inline struct span map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(1);
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return (struct span){ bytes, (size_t)st.st_size };
}

static inline double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

#endif
