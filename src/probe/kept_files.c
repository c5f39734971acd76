// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes may have to be put into a file again when who found it has closed it: for uprobes.c. */
#include "probe/kept_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"

int kept_files_get(struct kept_files *files, int fd)
{
	struct kept_file kept;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	for (size_t i = 0; i < files->count; i++) {
		const struct kept_file *file = &files->list[i];

		if (file->device == status.st_dev && file->inode == status.st_ino)
			return file->fd;
	}
	kept = (struct kept_file){ .device = status.st_dev, .inode = status.st_ino };
	kept.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (kept.fd < 0)
		return -errno;
	if (!vector_add(&files->list, &files->count, &files->capacity, kept)) {
		close(kept.fd);
		return -ENOMEM;
	}
	return kept.fd;
}

void kept_files_close(struct kept_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		close(files->list[i].fd);
	free(files->list);
	*files = (struct kept_files){ .count = 0 };
}
