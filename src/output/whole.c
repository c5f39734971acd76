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
#include "base/request.h"
#include "output/ops.h"

enum {
	RIGHTS = 0777,
	RIGHTS_DEFAULT = 0644,
};

/* A file beside @path; its name, which the caller frees and unlinks, into @name: NULL if none. */
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
static int take_rights(int fd, const struct stat *old)
{
	if (old && fchown(fd, old->st_uid, old->st_gid) != 0)
		return -errno;
	return fchmod(fd, old ? old->st_mode & RIGHTS : RIGHTS_DEFAULT) == 0 ? 0 : -errno;
}

static int replace(const char *path, const struct stat *old, const char *bytes, size_t length)
{
	_cleanup_free_ char *name = NULL;
	int fd = make_beside(path, &name), result;

	if (fd < 0 || !name)
		return fd;
	result = write_all(fd, bytes, length);
	if (result == 0)
		result = take_rights(fd, old);
	if (close(fd) != 0 && result == 0)
		result = -errno;
	if (result == 0 && rename(name, path) != 0)
		result = -errno;
	if (result)
		unlink(name);
	return result;
}

/* The file that is to be replaced, or made, which the caller frees; NULL: @path is no such. */
static int find_file(const char *path, struct stat *st, bool *is_there, char **file)
{
	*file = NULL;
	*is_there = stat(path, st) == 0;
	if (*is_there && S_ISDIR(st->st_mode))
		return -EISDIR;
	if (*is_there && !S_ISREG(st->st_mode))
		return 0;
	/* A link that leads nowhere stays one. */
	if (!*is_there && lstat(path, st) == 0)
		return -ENOENT;
	/* Through links, also those of /proc: nothing takes their place. */
	*file = *is_there ? realpath(path, NULL) : strdup(path);
	return *file ? 0 : -errno;
}

int output_replace(const char *path, const char *bytes, size_t length)
{
	_cleanup_free_ char *file = NULL;
	struct stat st;
	bool is_there;
	int result = find_file(path, &st, &is_there, &file);

	/* It is none any more. */
	if (result == 0 && !file)
		return -ESTALE;
	return result ? result : replace(file, is_there ? &st : NULL, bytes, length);
}

/* By the broker, if there is one: it may write there. */
static int publish(const char *path, const struct text *all)
{
	struct request_publish request = {
		.bytes = (uint64_t)(uintptr_t)text_chars(all),
		.length = all->length,
	};

	return request_make(REQUEST_PUBLISH, &request.answer) ?
		       request.answer.result :
		       output_replace(path, text_chars(all), all->length);
}

void output_whole(struct output *output, const struct text *all)
{
	int result = text_ok(all) ? 0 : -ENOMEM;

	if (result == 0 && output->whole_path)
		result = publish(output->whole_path, all);
	else if (result == 0)
		fwrite(text_chars(all), 1, all->length, output->to);
	if (result && !output->problem)
		output->problem = result;
}

int output_try_whole(const char *path, bool *is_file, struct error *err)
{
	_cleanup_free_ char *file = NULL, *name = NULL;
	struct stat st;
	bool is_there;
	int fd = find_file(path, &st, &is_there, &file);

	*is_file = fd || file;
	if (!*is_file)
		return 0;
	if (fd == 0)
		fd = make_beside(file, &name);
	if (fd < 0 || !name)
		return error_set(err, fd, "cannot write to %s: %s; name another file with -o", path,
				 strerror(-fd));
	close(fd);
	unlink(name);
	return 0;
}
