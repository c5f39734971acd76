/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files behind the target's mappings, opened so that it is that very file: through
 * /proc/PID/map_files (works for deleted, overlay and container files), else by path
 * beneath the target's root with device and inode compared. Each file is opened once.
 */
#ifndef TARGET_FILES_H
#define TARGET_FILES_H

#include <sys/types.h>

#include "image/cursor.h"
#include "target/maps.h"

struct process;

/* So many are open at a time at most; sigbus.h has room for no more. */
enum { TARGET_FILES_MAX = 4096 };

struct target_file {
	size_t number;		/* see numbers.h; by it sites and images know the file */
	int fd;			/* kept for attaching: the kernel is given this very file */
	struct span bytes;	/* the whole file, mapped read-only */
	struct mapping mapping; /* one that maps it, executable if any is, as it was then */
	char *path;		/* as the target sees it, for people; the mapping's */
	char *user_path;	/* one that leads to the file from here; NULL if none does */
	const char *name;	/* last component of the path */
	dev_t device;		/* which file it is */
	ino_t inode;
};

struct target_files {
	struct file_numbers *numbers; /* borrowed; NULL: they are numbered as they come */
	struct target_file *files; /* in the order in which they came; they stay where they are */
	size_t count;
	struct target_file **by_inode;
	struct target_file **by_number; /* NULL where there is none of that number */
	size_t number_capacity;
	size_t unreadable;	   /* that could not be opened or mapped */
	struct error *first_error; /* of those; NULL if there was none */
};

/*
 * Open each file for which @wanted says yes for one of its mappings, and that is not in @files,
 * which may be empty (zeros but for numbers). Only -ENOMEM and a vanished target (-ESRCH) fail; a
 * file that cannot be opened is counted, with the first reason kept. What is in @files stays open
 * and keeps its place in any case.
 */
int target_files_add(struct target_files *files, struct process *process, const struct maps *maps,
		     bool (*wanted)(const struct mapping *row), struct error *err);

void target_files_close(struct target_files *files);

/*
 * Map a file's @size bytes so that they can be read whatever becomes of the file: see sigbus.h; a
 * string at the end ends. 0, -EMFILE if too many are mapped so, or another -errno: also -ENOMEM,
 * for a sparse file that is larger than our address space.
 */
int target_bytes_map(int fd, size_t size, struct span *bytes);
void target_bytes_unmap(struct span bytes); /* there may be none */

/*
 * Open the file that @row maps, whatever became of its name. A descriptor or a negative errno: not
 * every user may do that.
 */
int target_file_open_mapped(struct process *process, const struct mapping *row);

/* Which file it is, by value: the same however often it is opened, and whoever opens it. */
uint64_t target_file_place(dev_t device, ino_t inode);

/* The file of that number, or NULL if it is not among them. */
const struct target_file *target_files_get(const struct target_files *files, size_t number);

/* The file that @row maps, likewise. */
const struct target_file *target_files_find(const struct target_files *files,
					    const struct mapping *row);

/*
 * A file that is not mapped yet, for who waits for it: open @name in the directory of @file, as the
 * target sees it: one of the target's user or root, see process_open_owned(). It has a descriptor,
 * a path and bytes, and no mapping. -ENOENT if there is none, or another -errno, with @err set.
 * target_beside_close() ends it.
 */
int target_beside_open(struct target_file *beside, struct process *process,
		       const struct target_file *file, const char *name, struct error *err);
void target_beside_close(struct target_file *beside);

#endif
