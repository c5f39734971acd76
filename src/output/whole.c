// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output that is read as a whole, at any time: a file of it is written beside the old one and then
 * takes its place, so a reader has the one or the other and never a part.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "output/ops.h"

enum { MODE_DEFAULT = 0644 };

/* A file beside @path; its name, which the caller frees and unlinks, into @name: NULL if it fails. */
static int make_beside(const char *path, char **name)
{
	int fd, result;

	if (asprintf(name, "%s.XXXXXX", path) < 0) {
		*name = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*name, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	result = -errno;
	free(*name);
	*name = NULL;
	return result;
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		length -= (size_t)written;
	}
	return 0;
}

/* Whoever reads the old file may read the new one. */
static int replace(const char *path, const struct stat *old, const struct text *all)
{
	mode_t mode = old ? old->st_mode & 07777 : MODE_DEFAULT;
	_cleanup_free_ char *name = NULL;
	int fd = make_beside(path, &name), result;

	if (fd < 0 || !name)
		return fd;
	result = write_all(fd, text_chars(all), all->length);
	if (result == 0 && fchmod(fd, mode) != 0)
		result = -errno;
	if (close(fd) != 0 && result == 0)
		result = -errno;
	if (result == 0 && rename(name, path) != 0)
		result = -errno;
	if (result)
		unlink(name);
	return result;
}

/* What is no ordinary file, such as a pipe, keeps its place. */
static int write_into(const char *path, const struct text *all)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), result;

	if (fd < 0)
		return -errno;
	result = write_all(fd, text_chars(all), all->length);
	if (close(fd) != 0 && result == 0)
		result = -errno;
	return result;
}

static int put(const char *path, const struct text *all)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct stat st;

	/* Where there is none yet. */
	if (!real || stat(real, &st) != 0)
		return replace(path, NULL, all);
	return S_ISREG(st.st_mode) ? replace(real, &st, all) : write_into(real, all);
}

void output_whole(struct output *output, const struct text *all)
{
	int result = text_ok(all) ? 0 : -ENOMEM;

	if (result == 0 && output->whole_path)
		result = put(output->whole_path, all);
	else if (result == 0)
		fwrite(text_chars(all), 1, all->length, output->to);
	if (result && !output->problem)
		output->problem = result;
}

int output_try_whole(const char *path, struct error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL), *name = NULL;
	struct stat st;
	bool is_there = real && stat(real, &st) == 0;
	int fd;

	if (is_there && S_ISDIR(st.st_mode))
		fd = -EISDIR;
	else if (is_there && !S_ISREG(st.st_mode))
		return 0;
	else
		fd = make_beside(is_there ? real : path, &name);
	if (fd < 0 || !name)
		return error_set(err, fd, "cannot write to %s: %s", path, strerror(-fd));
	close(fd);
	unlink(name);
	return 0;
}
