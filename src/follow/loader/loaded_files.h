/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that the target has mapped, as far as something of theirs is probed or may be: what
 * loads.h keeps of them, by the numbers that the session has for them, too.
 */
#ifndef FOLLOW_LOADED_FILES_H
#define FOLLOW_LOADED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "image/cursor.h"

struct process;

enum { LOADED_PATH_BYTES = 4096 };

/* Where code of a file is, or is about to be. */
struct code_place {
	uint64_t address;
	uint64_t offset;
	uint64_t length;
};

struct loaded_file {
	dev_t device;
	ino_t inode;
	size_t number;	   /* as sites and images have it */
	int fd;		   /* our own, or -1 */
	int known_fd;	   /* the session's, or -1 */
	struct span bytes; /* there may be none */
	char *name;	   /* of one with native functions, which borrow it; or NULL */
	bool is_bundle;
	struct code_place code; /* once it was mapped */
};

struct loaded_files {
	struct loaded_file *files; /* moves as it grows */
	size_t count;
	size_t capacity;
};

void loaded_files_deinit(struct loaded_files *files);

struct loaded_file *loaded_files_find(const struct loaded_files *files, dev_t device, ino_t inode);
struct loaded_file *loaded_files_find_number(const struct loaded_files *files, size_t number);

/*
 * Without descriptors and bytes; its own it closes and unmaps in the end. NULL if there is no room.
 */
struct loaded_file *loaded_files_add(struct loaded_files *files, dev_t device, ino_t inode,
				     size_t number);

/* All of a regular file of reasonable size; none otherwise. */
struct span loaded_file_map(int fd, const struct stat *status);

/*
 * Open what the target has open as @number, if that is a file: anything else (-ENOTSUP) is not even
 * opened. @target is where it is, as the target sees it. A descriptor, or a negative errno.
 */
int loaded_file_open(struct process *process, int number, char target[LOADED_PATH_BYTES]);

#endif
