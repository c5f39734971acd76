// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens and keeps the files that loads_files.c takes, until the follower ends. */
#include "follow/loader/loaded_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"
#include "target/files.h"
#include "target/process.h"

enum {
	FILES_MAX = 16384,
	FILE_MAX_BYTES = 1 << 30,
	NAME_BYTES = 64, /* "fd/" and a number */
};

void loaded_files_deinit(struct loaded_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		target_bytes_unmap(files->files[i].bytes);
		if (files->files[i].fd >= 0)
			close(files->files[i].fd);
		free(files->files[i].name);
	}
	free(files->files);
}

struct loaded_file *loaded_files_find(const struct loaded_files *files, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->files[i].device == device && files->files[i].inode == inode)
			return &files->files[i];
	}
	return NULL;
}

struct loaded_file *loaded_files_find_number(const struct loaded_files *files, size_t number)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->files[i].number == number)
			return &files->files[i];
	}
	return NULL;
}

struct loaded_file *loaded_files_add(struct loaded_files *files, dev_t device, ino_t inode,
				     size_t number)
{
	struct loaded_file *file;

	if (files->count == FILES_MAX ||
	    !vector_reserve(&files->files, &files->capacity, files->count + 1))
		return NULL;
	file = &files->files[files->count++];
	*file = (struct loaded_file){
		.device = device,
		.inode = inode,
		.number = number,
		.fd = -1,
		.known_fd = -1,
	};
	return file;
}

struct span loaded_file_map(int fd, const struct stat *status)
{
	struct span bytes = { 0 };

	if (S_ISREG(status->st_mode) && status->st_size > 0 && status->st_size <= FILE_MAX_BYTES)
		(void)target_bytes_map(fd, (size_t)status->st_size, &bytes);
	return bytes;
}

/* As mappings have the path of a file that is no longer there. */
static void cut_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), cut = sizeof(deleted) - 1;

	if (length > cut && strcmp(path + length - cut, deleted) == 0)
		path[length - cut] = '\0';
}

int loaded_file_open(struct process *process, int number, char target[LOADED_PATH_BYTES])
{
	char link[NAME_BYTES], again[NAME_BYTES];
	struct stat status;
	ssize_t length;
	int fd = -1, found;

	snprintf(link, sizeof(link), "fd/%d", number);
	found = process_open_descriptor(process, number, O_PATH);
	if (found < 0)
		return found;
	length = readlinkat(process->view_fd, link, target, LOADED_PATH_BYTES - 1);
	target[length < 0 ? 0 : length] = '\0';
	cut_deleted(target);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	/* A broker gives one with the right to read. */
	if (fstat(found, &status) == 0 && S_ISREG(status.st_mode) &&
	    !(fcntl(found, F_GETFL) & O_PATH))
		return found;
	if (fstat(found, &status) == 0 && S_ISREG(status.st_mode))
		/* Nor wait for a process that has a lease on it. */
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	else
		fd = -ENOTSUP;
	close(found);
	return fd < 0 ? (fd == -1 ? -errno : fd) : fd;
}
