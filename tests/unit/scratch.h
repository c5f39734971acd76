/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a test writes: a directory of its own, made and removed as the group's set-up. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_dir[] = "/tmp/place-probe-unit.XXXXXX";

static inline int scratch_make(void **state)
{
	(void)state;
	return mkdtemp(scratch_dir) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
	char command[sizeof(scratch_dir) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch_dir);
	return system(command);
}

/* The path lasts until the one after the next is asked for. */
static inline const char *scratch_path(const char *name)
{
	static char path[2][PATH_MAX];
	static unsigned int next;
	char *to = path[next++ % 2];

	snprintf(to, sizeof(path[0]), "%s/%s", scratch_dir, name);
	return to;
}

static inline const char *scratch_file(const char *name, mode_t mode, const void *bytes,
				       size_t size)
{
	const char *path = scratch_path(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
	return path;
}

static inline const char *scratch_script(const char *name, mode_t mode, const char *text)
{
	return scratch_file(name, mode, text, strlen(text));
}

#endif
