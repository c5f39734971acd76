// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that the target has not mapped yet, known by another that it has: for who waits for it. */
#include "target/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "target/process.h"

enum { BESIDE_MAX_BYTES = 256 << 20 };

static int map_whole(struct target_file *beside, struct error *err)
{
	struct stat status;
	int result = -EBADMSG;

	if (fstat(beside->fd, &status) != 0)
		result = -errno;
	else if (status.st_size > 0)
		result = target_bytes_map(beside->fd, (size_t)status.st_size, &beside->bytes);
	if (result)
		error_set(err, result, "%s cannot be read: %s", beside->path, strerror(-result));
	return result;
}

int target_beside_open(struct target_file *beside, struct process *process,
		       const struct target_file *file, const char *name, struct error *err)
{
	const char *slash = strrchr(file->path, '/');
	_cleanup_free_ char *path = NULL;
	int fd, result;

	if (file->path[0] != '/' || file->mapping.deleted)
		return error_set(err, -ENOENT, "%s was deleted", file->path);
	if (asprintf(&path, "%.*s/%s", (int)(slash - file->path), file->path, name) < 0)
		return error_set(err, -ENOMEM, "no memory for a file's path");
	error_set(err, -ENOENT, "there is no %s", path);
	fd = process_open_owned(process, path + 1, BESIDE_MAX_BYTES, err);
	if (fd < 0)
		return fd;
	*beside = (struct target_file){ .fd = fd, .path = cleanup_take(path) };
	result = map_whole(beside, err);
	if (result)
		target_beside_close(beside);
	return result;
}

void target_beside_close(struct target_file *beside)
{
	target_bytes_unmap(beside->bytes);
	close(beside->fd);
	free(beside->path);
}
